"""Sums over long vectors in a fixed order, block by block.

BLAS splits a long dot product over its threads, so that the last bits of the result depend on their number.
`np.einsum` without `optimize` runs in one thread and always in the same order, so that a training gives the same
weights on any number of threads. Blocks keep data that several steps use in the cache, and keep temporaries small.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

TILE = 1024  # numbers; see `curvature.py`
BLOCK = (
    15 * TILE
)  # numbers: large, so that calls cost little, but below 128 KB, from where each temporary is mapped anew


def blocks(n: int) -> Iterator[slice]:
    """The slices that cover range(n), in order."""
    for first in range(0, n, BLOCK):
        yield slice(first, min(first + BLOCK, n))


def dot(left: np.ndarray, right: np.ndarray) -> float:
    """left . right"""
    return sum(float(np.einsum("i,i", left[part], right[part])) for part in blocks(len(left)))


def absolute_sum(vector: np.ndarray) -> float:
    """The L1 norm."""
    return sum(float(np.abs(vector[part]).sum()) for part in blocks(len(vector)))
