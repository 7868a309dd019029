"""The threads that train one model together: how many there are, and how they run a kernel.

Learners whose sentences are learnt from one by one have batches of one, and need one thread. With larger batches the
model depends on the size of the batch, never on the number of threads (kernels/core/team.py).

Threads wait for each other many times in a millisecond. Where others use the cores too, a thread that does not run
holds all up, and two are far slower than one. So the team looks how much of its cores it got: if that was little, one
thread goes on alone for a while, which changes nothing but the time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

from palmette.errors import counted
from palmette.kernels.core.compile import MODE, PYTHON
from palmette.kernels.core.team import Team, break_up, make_team

logger = logging.getLogger(__name__)
ENOUGH = 0.8  # of the time of all cores that threads ask for
LEAST = 0.005  # seconds of a call that tells
ALONE, MOST_ALONE = 8, 256  # calls of one thread after a busy one: doubled as long as cores stay busy


class ThreadTeam:
    """Threads that share the sentences of a batch. Kernels that run uncompiled have one."""

    def __init__(self, threads: int = 1, batch: int = 1) -> None:
        self.batch = batch
        self.members = make_team(1 if MODE == PYTHON else max(1, min(threads, batch)))
        self._alone, self._pause = 0, ALONE  # calls that one thread makes alone, from now on and at the next busy one
        if threads > batch > 1:
            idle = counted(threads - batch, "thread")
            logger.info(f"{idle} will find no work: a batch has {counted(batch, 'sentence')}")

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.members) - 1, "palmette")

    def run(self, kernel: Callable[..., Any], arguments: Callable[[Team], tuple[Any, ...]]) -> None:
        """Run a kernel that returns nothing on all threads, each with its own arguments. An error of one ends all."""
        if self._alone > 0:
            self._alone -= 1
            members = make_team(1)
        else:
            members = self.members
        prepare = getattr(kernel, "prepare", None) or partial(partial, kernel)  # of a kernel that is plain Python
        calls = []
        for member in members:
            calls.append((member, prepare(*arguments(member))))
        begun, used = time.perf_counter(), time.process_time()
        others = [self._pool.submit(_guarded, *call) for call in calls[1:]] if len(calls) > 1 else []
        try:
            _guarded(*calls[0])
        finally:
            for other in others:
                other.result()
        if others:
            self._look(time.perf_counter() - begun, time.process_time() - used)

    def _look(self, seconds: float, used: float) -> None:
        """Whether all threads had a core, by the seconds of a call and those of CPU that it used."""
        if seconds < LEAST:
            return
        if used < ENOUGH * seconds * len(self.members):
            self._alone, self._pause = self._pause, min(2 * self._pause, MOST_ALONE)
        else:
            self._pause = ALONE


def _guarded(member: Team, call: Callable[[], None]) -> None:
    try:
        call()
    except BaseException:
        break_up(member)
        raise


# Pieces of work on threads; their results come in the order of the pieces.


class Workers:
    """Threads that are started at the first work and kept. Kernels release the lock of the interpreter."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = max(1, threads)
        self._pool: ThreadPoolExecutor | None = None

    def each(self, work: Callable[[int], Any], n: int) -> list[Any]:
        """work(0), ..., work(n - 1)."""
        if self.threads == 1 or n <= 1:
            return [work(k) for k in range(n)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        return list(self._pool.map(work, range(n)))
