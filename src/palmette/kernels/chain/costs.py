"""Costs of wrong paths, for margin learners: wrong tokens, or chunks that only one of two paths has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.core.compile import part
from palmette.kernels.core.types import I64, Bool_2D, struct


@struct
class Chunks(NamedTuple):
    """Where chunks begin and end, by pairs of labels; index Y is outside. Of size 0: the cost is that of tokens."""

    starts: Bool_2D  # [Y+1, Y+1]
    ends: Bool_2D  # [Y+1, Y+1]
    type_of: I64  # [Y+1]


def no_chunks() -> Chunks:
    """Empty tables: the cost is the number of wrong tokens."""
    square = np.zeros((0, 0), np.bool_)
    return Chunks(square, square, np.zeros(0, np.int64))


@part
def wrong_labels(m: Chain, x: Data, lo: int, n: int, path: np.ndarray) -> int:
    """The number of tokens whose label the mask excludes."""
    wrong = 0
    for i in range(n):
        if not x.allow[x.known[lo + i], m.label_of[path[i]]]:
            wrong += 1
    return wrong


@part
def span_cost(m: Chain, n: int, gold: np.ndarray, path: np.ndarray, c: Chunks) -> int:
    """Chunks that only one of two paths has."""
    outside = c.type_of.size - 1
    count = 0
    opened, other = -1, -1  # first tokens of the open chunks
    g0, p0 = outside, outside
    for i in range(n + 1):
        g = m.label_of[gold[i]] if i < n else outside
        p = m.label_of[path[i]] if i < n else outside
        g_ends, p_ends = c.ends[g0, g], c.ends[p0, p]
        same = g_ends and p_ends and opened == other and c.type_of[g0] == c.type_of[p0]
        if not same:
            count += int(g_ends) + int(p_ends)
        if c.starts[g0, g]:
            opened = i
        if c.starts[p0, p]:
            other = i
        g0, p0 = g, p
    return count


@part
def path_cost(m: Chain, n: int, gold: np.ndarray, path: np.ndarray, tokens: int, c: Chunks) -> int:
    """The cost of a path with `tokens` wrong tokens: 0 for correct paths, whatever their chunks are."""
    return span_cost(m, n, gold, path, c) if tokens > 0 and c.type_of.size > 0 else tokens


@part
def augment(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> None:
    """Add 1 to the scores of all states whose label the mask excludes."""
    for i in range(n):
        known = x.known[lo + i]
        for h in range(m.label_of.size):
            if not x.allow[known, m.label_of[h]]:
                T.U[i, h] += np.float32(1.0)
