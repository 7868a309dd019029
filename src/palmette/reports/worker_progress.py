"""How far each worker of a training in shards is: a bar per worker on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from palmette.training.cluster import WorkerProgress

ROWS = 16  # bars at most: those of the workers that are furthest behind
EVERY = 10.0  # seconds between two lines
SHOWN = 12  # workers in a line


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
