"""Who does the trainings of a search: threads of this process. Kernels release the lock of the interpreter, the data is
there once, and a training is the same whoever does it.

A cluster is in ray_workers.py, with the same methods.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Protocol, Self

from palmette.tuning.trial import Material, Stopped, Task, Trial, Watch, run_trial


class Workers(Protocol):
    """Trainings side by side."""

    size: int  # how many at a time

    def run(self, tasks: Sequence[Task], deadline: float | None, watch: Watch) -> Iterator[Trial]:
        """The trials of the tasks as they end, those that the deadline (of `time.monotonic`) has not stopped."""

    def stop(self) -> None:
        """End all trainings, soon, and wait for that."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Trainings on threads of this process."""

    def __init__(self, material: Material, size: int | None = None) -> None:
        self.size = size or cores()
        self._material = material
        self._ended = Event()
        self._pool = ThreadPoolExecutor(self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def run(self, tasks: Sequence[Task], deadline: float | None, watch: Watch) -> Iterator[Trial]:
        def stopped() -> bool:
            return self._ended.is_set() or (deadline is not None and time.monotonic() >= deadline)

        # With fewer trainings than threads, L-BFGS has several: its result is the same for any number.
        threads = max(1, self.size // max(1, len(tasks)))
        left: set[Future[Trial]] = {
            self._pool.submit(run_trial, self._material, task, stopped, threads=threads, watch=watch) for task in tasks
        }
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            yield from _finished(done)

    def stop(self) -> None:
        self._ended.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _finished(done: set[Future[Trial]]) -> Iterator[Trial]:
    for future in done:
        try:
            trial = future.result()
        except Stopped:
            continue
        yield trial
