"""Counts for Prometheus, as its text format has them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
PREFIX = "palmette_"
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What the server counts. Only the event loop changes it."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * (len(BOUNDS) + 2))
        self.tokens: Counter[str] = Counter()
        self.sentences: Counter[str] = Counter()

    def request(self, address: str, status: int, seconds: float) -> None:
        """Count an answer; `address` is one of a few, not what a request names."""
        self.requests[address, status] += 1
        row = self.seconds[address]
        row[bisect_left(BOUNDS, seconds)] += 1
        row[-1] += seconds

    def work(self, model: str, sentences: int, tokens: int) -> None:
        self.sentences[model] += sentences
        self.tokens[model] += tokens

    def text(self, gauges: Iterable[tuple[str, str, Labels, float]]) -> str:
        """Everything, with further (name, help, labels, value)."""
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Iterable[tuple[str, str, Labels, float]]) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Answered requests.")
        for (address, status), count in sorted(self.requests.items()):
            yield _row("requests_total", (("address", address), ("status", str(status))), count)
        yield from _head("request_seconds", "histogram", "Seconds from the head of a request to its answer.")
        for address, row in sorted(self.seconds.items()):
            below = 0.0
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), row[:-1], strict=True):
                below += n
                yield _row("request_seconds_bucket", (("address", address), ("le", bound)), below)
            yield _row("request_seconds_sum", (("address", address),), row[-1])
            yield _row("request_seconds_count", (("address", address),), below)
        for name, about, counts in (
            ("sentences_total", "Sentences that models have annotated.", self.sentences),
            ("tokens_total", "Tokens that models have annotated.", self.tokens),
        ):
            yield from _head(name, "counter", about)
            for model, count in sorted(counts.items()):
                yield _row(name, (("model", model),), count)
        seen: set[str] = set()
        for name, about, labels, value in gauges:
            if name not in seen:
                seen.add(name)
                yield from _head(name, "counter" if name.endswith("_total") else "gauge", about)
            yield _row(name, labels, value)


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {PREFIX}{name} {about}"
    yield f"# TYPE {PREFIX}{name} {kind}"


def _row(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels)
    number = f"{value:.9g}"
    return f"{PREFIX}{name}{{{inside}}} {number}" if inside else f"{PREFIX}{name} {number}"
