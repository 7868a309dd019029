"""Progress on stderr: of a training and its workers, and of a comparison."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from palmette.structures.training_log import Epoch, unit_of
from palmette.training.cluster import Watcher, WorkerProgress
from palmette.training.result import EpochLines

ROWS = 16  # bars at most: those of the workers that are furthest behind
EVERY = 10.0  # seconds between two lines
SHOWN = 12  # workers in a line


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


class WorkerLines:
    """A line now and then about work that takes long: `pass 2: shard 1 40%, shard 2 done, shard 3 35% (replaced)`."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.write, self.clock = write, clock
        self.doing, self.last = "", clock()

    def __call__(self, doing: str, workers: Sequence[WorkerProgress]) -> None:
        if doing != self.doing:
            self.doing, self.last = doing, self.clock()
        if self.clock() - self.last < EVERY or all(one.finished for one in workers):
            return
        self.last = self.clock()
        self.write(f"{doing}: {', '.join(_shown(workers))}")


def _shown(workers: Sequence[WorkerProgress]) -> list[str]:
    """The workers that are furthest behind, in order; how many others there are."""
    numbers = behind(workers, SHOWN)
    parts = [f"shard {k + 1} {state_of(workers[k])}" for k in numbers]
    return parts if len(numbers) == len(workers) else [*parts, f"{len(workers) - len(numbers)} others further"]


def behind(workers: Sequence[WorkerProgress], most: int) -> list[int]:
    """The numbers of the workers that are furthest behind, at most so many, in order."""
    order = sorted(range(len(workers)), key=lambda k: (workers[k].finished, _share(workers[k])))
    return sorted(order[:most])


def _share(worker: WorkerProgress) -> float:
    return 1.0 if worker.finished else worker.done / worker.total if worker.total else 0.0


def state_of(worker: WorkerProgress) -> str:
    """How far a worker is, in words."""
    share = f"{100 * _share(worker):.0f}%" if worker.total else "at work"
    lost = "" if not worker.replaced else " (replaced)" if worker.replaced == 1 else f" (replaced {worker.replaced}x)"
    return ("done" if worker.finished else share) + lost


class WorkerBars:
    """A bar per worker below the bar of the training; `bars` is that rich.progress.Progress."""

    def __init__(self, bars: Any) -> None:
        self.bars = bars
        self.rows: list[Any] = []

    def __call__(self, doing: str, workers: Sequence[WorkerProgress]) -> None:
        numbers = behind(workers, ROWS)
        while len(self.rows) < len(numbers):
            self.rows.append(self.bars.add_task("", total=None, speed=""))  # None: a bar that moves
        for row, k in zip(self.rows, numbers, strict=False):
            worker = workers[k]
            self.bars.update(
                row, description=f"  shard {k + 1}", completed=_share(worker), total=1.0 if worker.total else None,
                speed=f"{doing}: {state_of(worker)}",
            )  # fmt: skip


class Meter:
    """Progress on stderr: the current step, after the first second."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.next = time.perf_counter() + 1.0
        self.unfinished = False

    def tell(self, message: str) -> None:
        now = time.perf_counter()
        if not self.quiet and now >= self.next:
            # A log of lines needs fewer of them than a line that is written over.
            self.next = now + (0.2 if self.live else 5.0)
            self.unfinished = self.live
            text = f"\r\x1b[K{message}" if self.live else f"{message}\n"
            print(text, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove an unfinished line."""
        if self.unfinished:
            self.unfinished = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
