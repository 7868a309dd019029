"""Where the time of threads goes that learn together: finding the updates of a batch, waiting for the others, what is
done in order by one of them, applying the updates, waiting again. Kernels note the cycles of each (core/team.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from palmette.kernels.core.team import APPLY, FIND, HAS_CYCLES, IN_ORDER, WAIT
from palmette.training.team import ThreadTeam

NAMES = {"find": FIND, "wait": WAIT + FIND, "in order": IN_ORDER, "apply": APPLY, "wait again": WAIT + APPLY}


@contextmanager
def _teams() -> Iterator[list[ThreadTeam]]:
    """The teams that are made meanwhile."""
    made: list[ThreadTeam] = []
    plain = ThreadTeam.__init__

    def noted(self: ThreadTeam, *given: Any, **named: Any) -> None:
        plain(self, *given, **named)
        made.append(self)

    ThreadTeam.__init__ = noted  # type: ignore[method-assign]
    try:
        yield made
    finally:
        ThreadTeam.__init__ = plain  # type: ignore[method-assign]


def phases(train: Callable[[int, int], list[float]], threads: int, batch: int) -> dict[str, float]:
    """Seconds of each phase, the mean of the threads, and `all`: those of the passes, which have some Python besides.
    Empty if this processor has no clock that kernels can read. Work that was left to one thread is not counted."""
    if not HAS_CYCLES:
        return {}
    with _teams() as made:
        seconds = sum(train(threads, batch))
    spent = np.mean([member.spent for member in made[-1].members], axis=0)
    share = seconds / max(1.0, float(sum(spent[place] for place in NAMES.values())))
    return {name: float(spent[place]) * share for name, place in NAMES.items()} | {"all": seconds}


def best_phases(train: Callable[[int, int], list[float]], threads: int, batch: int, times: int) -> dict[str, float]:
    """Those of the fastest of several runs."""
    return min((phases(train, threads, batch) for _ in range(times)), key=lambda found: found.get("all", 0.0))


def show(name: str, threads: int, found: dict[str, float]) -> None:
    if found:
        cells = "   ".join(f"{phase} {1000 * found[phase]:6.0f}" for phase in NAMES)
        print(f"{name:<16} {threads} threads, ms:   {cells}", flush=True)
