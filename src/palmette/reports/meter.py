"""Progress of a comparison, on stderr."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING

from palmette.structures.training_log import unit_of
from palmette.training.result import CUT_SHORT

if TYPE_CHECKING:
    from palmette.lab.ablation import LearnerSpec, Run
    from palmette.structures.training_log import Epoch
    from palmette.training.result import Progress


class Meter:
    """Progress on stderr: the current step, after the first second, and each training as it ends."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.next = time.perf_counter() + 1.0
        self.shown: set[str] = set()
        self.first_run = False
        self.unfinished = False

    def begins(self, learner: LearnerSpec, seed: int) -> Progress:
        self.first_run = seed == 1

        def show_epoch(number: int, done: int, total: int, finished: Epoch | None) -> None:
            unit = "pass" if finished is None else unit_of(finished.figures)
            self.tell(f"{learner.name}, seed {seed}: {unit} {number}, {100 * done // max(1, total)}%")

        return show_epoch

    def ended(self, learner: LearnerSpec, run: Run) -> None:
        self.first_run = False
        if not self.quiet:
            self.clear()
            spans = "" if run.f1 is None else f"F1 {100 * run.f1:.2f}, "
            text = f"{learner.name}, seed {run.seed}: {spans}accuracy {100 * run.accuracy:.2f}, {run.seconds:.2f} s"
            print(text, file=sys.stderr, flush=True)

    def tell(self, message: str) -> None:
        now = time.perf_counter()
        if not self.quiet and now >= self.next:
            # A log of lines needs fewer of them than a line that is written over.
            self.next = now + (0.2 if self.live else 5.0)
            self.unfinished = self.live
            text = f"\r\x1b[K{message}" if self.live else f"{message}\n"
            print(text, end="", file=sys.stderr, flush=True)

    def shows(self, record: logging.LogRecord) -> bool:
        """A filter of log messages: those of a learner's first training, once; the other seeds would repeat them."""
        message = record.getMessage()
        if not self.first_run or message in self.shown or hasattr(record, CUT_SHORT):  # the table marks such learners
            return False
        self.shown.add(message)
        self.clear()
        return True

    def clear(self) -> None:
        """Remove an unfinished line."""
        if self.unfinished:
            self.unfinished = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
