"""Who works on the shards of a training: threads of this process, or actors of a cluster (ray_cluster.py).

The training code is the same for both, and so is the result: shards are numbered, what they return is put together in
that order, and a worker that is lost is replaced by one that begins the same piece of work again.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from palmette.errors import counted
from palmette.training.interrupt import Interrupt
from palmette.training.trainer import Monitor

logger = logging.getLogger(__name__)
PAUSE = 0.1  # seconds between two looks at the progress of workers


class Worker:
    """A shard, as a cluster sees it: one method works at a time, while `progress` and `stop` may be called."""

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        self.done = self.total = 0

    def report(self, done: int, total: int) -> None:
        """Called by the work itself: tokens done and in all."""
        self.done, self.total = done, total

    def progress(self) -> tuple[int, int]:
        """Tokens done and in all of the work at hand."""
        return self.done, self.total

    def stop(self, signal: int) -> None:
        """End the work at hand early."""
        self.interrupt.signal = signal


class WorkerProgress(NamedTuple):
    """How far a worker is with the work at hand."""

    done: int  # tokens; of work that does not count them 0
    total: int
    finished: bool
    replaced: int = 0  # how often its worker was lost


Watcher = Callable[[str, Sequence[WorkerProgress]], None]


class Cluster(ABC):
    """Workers, one for each shard."""

    doing = ""  # a name of the work at hand, for the watcher
    watcher: Watcher | None = None  # is told now and then how far each worker is

    def tell(self, progress: Sequence[WorkerProgress], monitor: Monitor | None = None) -> None:
        """Tell the watcher how far each worker is, and the monitor how far all are together; stop them if it is
        interrupted."""
        if self.watcher is not None:
            self.watcher(self.doing, progress)
        if monitor is None:
            return
        if monitor.interrupt:
            self.stop(monitor.interrupt.signal)
        done, total = sum(one.done for one in progress), sum(one.total for one in progress)
        if total:
            monitor.report(done, total)

    @abstractmethod
    def stop(self, signal: int) -> None:
        """Let all workers end the work at hand early."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of workers."""

    @abstractmethod
    def run(
        self,
        method: str,
        *arguments: Any,
        fresh: Callable[[], tuple[Any, ...]] | None = None,
        monitor: Monitor | None = None,
    ) -> list[Any]:
        """The results of a method of all workers, in their order.

        fresh: the arguments for a worker that has been replaced since, if other ones. monitor: is told the progress of
        all workers together; if it is interrupted, the workers are stopped and what they have is returned."""

    @abstractmethod
    def each(self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False) -> list[Any]:
        """The results of a method of all workers, in their order, each with arguments of its own. lasting: a worker
        that replaces another one must be brought to the same state by the same call."""

    @abstractmethod
    def close(self) -> None:
        """Give the workers up."""


class Threads(Cluster):
    """Workers in this process, on some threads. Kernels release the lock of the interpreter."""

    def __init__(self, workers: Sequence[Any], threads: int) -> None:
        self.workers = list(workers)
        if threads > len(self.workers):
            idle = counted(threads - len(self.workers), "thread finds", "threads find")
            logger.info("%s no work: there are %s", idle, counted(len(self.workers), "shard"))
        self.pool = ThreadPoolExecutor(max(1, min(threads, len(self.workers))))

    @property
    def size(self) -> int:
        return len(self.workers)

    def run(
        self,
        method: str,
        *arguments: Any,
        fresh: Callable[[], tuple[Any, ...]] | None = None,
        monitor: Monitor | None = None,
    ) -> list[Any]:
        return self._results(method, [arguments] * self.size, monitor)

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False) -> list[Any]:
        return self._results(method, arguments, None)

    def _results(self, method: str, arguments: Sequence[tuple[Any, ...]], monitor: Monitor | None) -> list[Any]:
        for worker in self.workers:
            worker.report(0, 0)
        pairs = list(zip(self.workers, arguments, strict=True))
        running = [self.pool.submit(getattr(worker, method), *own) for worker, own in pairs]
        if monitor is not None and monitor.interrupt:
            self.stop(monitor.interrupt.signal)
        while True:
            left = wait(running, PAUSE).not_done
            told = [worker.progress() for worker in self.workers]
            ended = [one.done() for one in running]
            self.tell([WorkerProgress(far[0], far[1], end) for far, end in zip(told, ended, strict=True)], monitor)
            if not left:
                return [one.result() for one in running]

    def stop(self, signal: int) -> None:
        for worker in self.workers:
            worker.stop(signal)

    def close(self) -> None:
        self.pool.shutdown()
