"""What several verbs print: JSON, progress of long work, and how a training ended."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.training.result import TrainResult

WIDTH = 70  # of a line that is written over


def print_json(about: Any) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(about), indent=2).decode())


class Ticker:
    """Lines on stderr about long work, from its second second on: one after the other, or in a terminal in place."""

    def __init__(self, seconds: float = 1.0, live_seconds: float = 0.2) -> None:
        self.live = sys.stderr.isatty()
        self.every = live_seconds if self.live else seconds
        self.next = time.perf_counter() + 1.0

    def due(self) -> bool:
        return time.perf_counter() >= self.next

    def tell(self, text: str) -> None:
        self.next = time.perf_counter() + self.every
        print(f"{text:{WIDTH}}" if self.live else text, end="\r" if self.live else "\n", file=sys.stderr, flush=True)


class Meter(Ticker):
    """How far tagging has come."""

    def __init__(self, unit: str = "tokens") -> None:
        super().__init__()
        self.unit = unit

    def __call__(self, done: int) -> None:
        if self.due():
            self.tell(f"{done:,} {self.unit}")


def report_source(data: str, quiet: bool, what: str = "") -> None:
    """A terminal that waits for input says so."""
    if data == "-" and sys.stdin is not None and sys.stdin.isatty() and not quiet:
        print(f"reading {what}from the terminal; end with Ctrl-D (or give a file, or --text)", file=sys.stderr)


def report_rate(n: int, unit: str, seconds: float, files: list[str]) -> None:
    """How fast it was, and where it is now."""
    rate = f"{n:,} {unit} in {seconds:.2f} s ({n / max(seconds, 1e-9):,.0f} a second)"
    print(f"{rate}; wrote {' and '.join(files)}", file=sys.stderr)


def report_training(
    outcome: TrainResult, output: str, seconds: float, about: Callable[[], dict[str, Any]], json: bool, quiet: bool,
    score: str = "dev",
) -> None:  # fmt: skip
    """How a training ended: a line; or as JSON, with what there is `about` the model, which only then is looked for."""
    best = next((row.dev for row in outcome.training_log if row.number == outcome.best_epoch), None)
    if json:
        ending = {
            "model": output,
            "bytes": os.path.getsize(output) if os.path.isfile(output) else None,
            "best_pass": outcome.best_epoch,
            "dev": best,
            "interrupted": outcome.interrupted,
            "ended": outcome.ended,
            "seconds": round(seconds, 3),
        }
        print_json(ending | about())
    elif not quiet:
        kept = f"pass {outcome.best_epoch}" + (f" ({score} {100 * best:.2f})" if best is not None else "")
        print(f"ended: {outcome.ended}; kept {kept}; {seconds:.1f} s in all; saved {output}")
