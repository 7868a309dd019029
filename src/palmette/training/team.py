"""The threads that train one model together: how many there are, and how they run a kernel.

Learners whose sentences are learnt from one by one have batches of one, and need one thread. With larger batches the
model depends on the size of the batch, never on the number of threads (kernels/core/team.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from palmette.errors import counted
from palmette.kernels.core.compile import MODE, PYTHON, prepared
from palmette.kernels.core.team import Team, break_up, make_team

logger = logging.getLogger(__name__)


class ThreadTeam:
    """Threads that share the sentences of a batch. Kernels that run uncompiled have one.

    Free threads do not share batches: each learns from sentences of its own, one by one, and changes the same weights
    as the others without waiting for them."""

    def __init__(self, threads: int = 1, batch: int = 1, free: bool = False) -> None:
        self.batch, self.free = batch, free
        size = 1 if MODE == PYTHON else max(1, threads if free else min(threads, batch))
        self.members = [Team(k, 1, make_team(1)[0].meeting) for k in range(size)] if free else make_team(size)
        if threads > batch > 1:
            idle = counted(threads - batch, "thread")
            logger.info(f"{idle} will find no work: a batch has {counted(batch, 'sentence')}")

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.members) - 1, "palmette")

    def parts(self, examples: np.ndarray) -> list[np.ndarray]:
        """The examples of each thread: all of them, or if threads are free a part."""
        return np.array_split(examples, len(self.members)) if self.free else [examples] * len(self.members)

    def run(self, kernel: Callable[..., Any], arguments: Callable[[Team], tuple[Any, ...]]) -> None:
        """Run a kernel that returns nothing on all threads, each with its own arguments. An error of one ends all."""
        calls = [(member, prepared(kernel, *arguments(member))) for member in self.members]
        others = [self._pool.submit(_guarded, *call) for call in calls[1:]] if len(calls) > 1 else []
        try:
            _guarded(*calls[0])
        finally:
            for other in others:
                other.result()


def _guarded(member: Team, call: Callable[[], None]) -> None:
    try:
        call()
    except BaseException:
        break_up(member)
        raise
