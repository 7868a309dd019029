"""Progress of training on stderr: a bar and a table that grows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from palmette.reports.worker_progress import WorkerBars, WorkerLines
from palmette.structures.training_log import Epoch, unit_of
from palmette.training.cluster import Watcher, WorkerProgress
from palmette.training.result import EpochLines


class TrainingDisplay:
    """Shows epochs as they end; a context manager, called by the trainer."""

    def __init__(self, epochs: int, metric: str | None, quiet: bool = False) -> None:
        self.epochs = epochs
        self.lines = EpochLines(metric or "score")
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.unit = "pass"
        self.began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None
        self._workers: Watcher = WorkerLines(self._write)

    def __enter__(self) -> TrainingDisplay:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[speed]}"),
                TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task("training", total=self.epochs, speed="")
            self._workers = WorkerBars(self._bar)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self.quiet:
            return
        if finished is not None:
            self.unit = unit_of(finished.figures)
        if self._bar is not None:
            share = done / max(1, total)
            speed = (number - 1 + share) * total / max(1e-9, time.perf_counter() - self.began)
            self._bar.update(
                self._task, completed=number - 1 + share, total=max(self.epochs, number),
                description=f"{self.unit} {number}", speed=f"{speed / 1000:,.0f}k tokens/s",
            )  # fmt: skip
        if finished is not None:
            self._print(finished)

    def workers(self, doing: str, workers: Sequence[WorkerProgress]) -> None:
        """Show how far each worker of a training in shards is."""
        if not self.quiet:
            self._workers(doing, workers)

    def _print(self, row: Epoch) -> None:
        for line in self.lines.of(row):
            self._write(line)

    def _write(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)
