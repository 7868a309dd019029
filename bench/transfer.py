"""What two threads that learn together pay for their cores: a meeting, a cache line that the other core has changed,
and reading memory side by side. Run by `python -m bench threads` in a process whose kernels Numba compiles.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from palmette.kernels.core.team import Team, make_team, meet

MEETINGS, LINES, ROUNDS, TIMES = 200_000, 1 << 14, 100, 5
LINE = 8  # numbers of 8 bytes
LARGE = 1 << 25  # numbers of 8 bytes: more than the caches hold


@njit(nogil=True)
def _meetings(team: Team, n: int) -> None:
    for _ in range(n):
        meet(team)


@njit(nogil=True)
def _turns(team: Team, numbers: np.ndarray, order: np.ndarray, rounds: int, writer: int, reader: int) -> float:
    """One thread changes lines of memory, then one reads them, in an order that cannot be foreseen."""
    total = 0.0
    for _ in range(rounds):
        if team.number == writer:
            for k in order:
                numbers[k * LINE] += 1.0
        meet(team)
        if team.number == reader:
            for k in order:
                total += numbers[k * LINE]
        meet(team)
    return total


@njit(nogil=True)
def _sum(numbers: np.ndarray) -> float:
    total = 0.0
    for k in range(0, numbers.size, LINE):
        total += numbers[k]
    return total


def _seconds(work: Callable[[], None]) -> float:
    """The median of several runs; the first one compiles and does not count."""
    found = []
    for _ in range(TIMES + 1):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return statistics.median(found[1:])


def _on_threads(pool: ThreadPoolExecutor, work: Callable[[Team], None]) -> Callable[[], None]:
    return lambda: list(pool.map(work, make_team(2))) and None


def measured() -> dict[str, float]:
    order = np.random.default_rng(1).permutation(LINES)
    lines, large = np.zeros(LINES * LINE), [np.ones(LARGE) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        met = _seconds(_on_threads(pool, lambda team: _meetings(team, MEETINGS)))
        same, other = (
            _seconds(_on_threads(pool, lambda team, to=to: _turns(team, lines, order, ROUNDS, 0, to))) for to in (0, 1)
        )
        alone = _seconds(lambda: _sum(large[0]))
        both = _seconds(lambda: list(pool.map(_sum, large)) and None)
    return {
        "meeting, ns": met / MEETINGS * 1e9,
        "line changed by the same core, ns": same / ROUNDS / LINES * 1e9,
        "line changed by the other core, ns": other / ROUNDS / LINES * 1e9,
        "memory read by one core, GB/s": LARGE * 8 / alone / 1e9,
        "memory read by two cores, GB/s": 2 * LARGE * 8 / both / 1e9,
    }


if __name__ == "__main__":
    print(json.dumps(measured()))
