"""Training and tagging CoNLL-2000 beside python-crfsuite, warm in one process. For whole processes see start.py."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import rival
from bench.measure import TEMPLATES, alternating, keep, median
from palmette import Tagger

CRFPP = TEMPLATES / "crfpp.txt"


def _palmette_train(train: Path, model: Path) -> Callable[[], Any]:
    return lambda: (
        Tagger(template=CRFPP, learner="perceptron", passes=10, seed=1).fit_file(train, threads=1).save(model)
    )


def bench_train(data: Path, times: int) -> None:
    """File to saved model, 19 CRF++ templates, averaged perceptron, 10 passes."""
    train = data / "conll2000" / "train.txt"
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = Path(folder, "mine.palm"), Path(folder, "theirs.crfsuite")
        steps: list[dict[str, float]] = []
        _palmette_train(train, mine)()
        print("training, warm in one process", file=sys.stderr)
        warm = alternating(
            {
                "palmette": _palmette_train(train, mine),
                "python-crfsuite": lambda: steps.append(rival.train(train, theirs)),
            },
            times,
        )
    keep("train", {"warm": warm, "rival_steps": _medians(steps)})
    _tell("training, warm", median(warm["palmette"]), median(warm["python-crfsuite"]))


def bench_tag(data: Path, times: int) -> None:
    """The test file ten times over, file to file."""
    train, test = data / "conll2000" / "train.txt", data / "conll2000" / "test.txt"
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = Path(folder, "mine.palm"), Path(folder, "theirs.crfsuite")
        big = Path(folder, "test10.txt")
        big.write_bytes((test.read_bytes().rstrip(b"\n") + b"\n\n") * 10)
        tokens = sum(1 for line in big.open("rb") if line.strip())
        _palmette_train(train, mine)()
        rival.train(train, theirs)
        out = [Path(folder, "mine.txt"), Path(folder, "theirs.txt")]
        tag_mine = lambda: Tagger.load(mine).tag_file(big, out[0])  # noqa: E731
        tag_mine()
        print("tagging, warm in one process", file=sys.stderr)
        warm = alternating({"palmette": tag_mine, "python-crfsuite": lambda: rival.tag(theirs, big, out[1])}, times)
    keep("tag", {"tokens": tokens, "warm": warm})
    _tell("tagging, warm", median(warm["palmette"]), median(warm["python-crfsuite"]), tokens)


def _medians(steps: list[dict[str, float]]) -> dict[str, float]:
    return {name: median([step[name] for step in steps]) for name in steps[0]}


def _tell(what: str, mine: float, theirs: float, tokens: int | None = None) -> None:
    rate = "" if tokens is None else f" ({tokens / mine:,.0f} against {tokens / theirs:,.0f} tokens/s)"
    print(f"{what}: palmette {mine:.2f} s, python-crfsuite {theirs:.2f} s, {theirs / mine:.1f} times faster{rate}")
