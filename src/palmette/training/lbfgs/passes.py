"""Passes of the kernels over long vectors, on threads, with totals that do not depend on their number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from palmette.kernels.lbfgs.vectors import n_blocks, squares
from palmette.training.workers import Workers

FEWEST = 32  # blocks that are worth a thread


def over_blocks(workers: Workers, n: int, work: Callable[[np.ndarray, int, int], None], columns: int) -> np.ndarray:
    """work(sums f64[blocks, columns], first, last) on ranges of the blocks of a vector of n numbers. Returns the
    totals: every block leaves its own sums, and they are added in one order."""
    blocks = n_blocks(n)
    pieces = max(1, min(workers.threads, blocks // FEWEST))
    cuts = list(pairwise(int(cut) for cut in np.linspace(0, blocks, pieces + 1)))
    sums = np.zeros((blocks, columns))
    workers.each(lambda k: work(sums, *cuts[k]), pieces)
    with np.errstate(all="ignore"):  # a line search may try a point where a sum is not finite
        return np.asarray(sums.sum(axis=0))


def squared_norm(workers: Workers, vector: np.ndarray) -> float:
    """|vector|^2 of f32[n], in float64."""
    return float(over_blocks(workers, vector.size, lambda sums, a, b: squares(vector, sums, a, b), 1)[0])
