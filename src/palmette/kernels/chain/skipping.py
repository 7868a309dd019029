"""The best path over hundreds of states or more, exactly, without looking at all pairs of states.

    D[i, h] = U[i, h] + max over g of D[i-1, g] + E[g, h]

A previous state g can give no more than D[i-1, g] + top[g], its score and its largest edge. Previous states are taken
in falling order of this bound, until it is not larger than the least of the maxima found so far: rounding is monotone,
so that the rest cannot change any of them. States that may follow only a few others (I-X only B-X and I-X) would keep
that least at minus infinity; they do not count for it, and look at their few previous states alone. The result is that
of viterbi.py to the last bit, ties included: backtracking computes one column again, of the previous states whose bound
allows it. It needs edges that all tokens share.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Skips
from palmette.kernels.core.compile import inline, part

ROWS = 4  # rows between two looks at the least maximum


@part
def fill_tops(E: np.ndarray, skips: Skips, first: int, last: int) -> None:
    """The largest edges of the states first .. last - 1."""
    top, H = skips.top, E.shape[1]
    for g in range(first, last):
        row, most = E[0, g], np.float32(-np.inf)
        for h in range(H):
            most = max(most, row[h])
        top[g] = most


@inline
def _largest(row: np.ndarray, H: int) -> int:
    best = 0
    for h in range(1, H):
        if row[h] > row[best]:
            best = h
    return best


@inline
def _least(out: np.ndarray, u: np.ndarray, few: np.ndarray, H: int) -> np.float32:
    """The least maximum of the states that count for it: not excluded by the mask, and with many previous states."""
    least = np.float32(np.inf)
    for h in range(H):
        if out[h] < least and u[h] > np.float32(-np.inf) and not few[h]:
            least = out[h]
    return least


@part
def _sink(bound: np.ndarray, heap: np.ndarray, at: int, size: int) -> None:
    """Move a state down a heap with the largest bound on top."""
    own = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and bound[heap[child + 1]] > bound[heap[child]]:
            child += 1
        if bound[heap[child]] <= bound[own]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = own


@part
def _raise(out: np.ndarray, row: np.ndarray, score: np.float32, H: int) -> None:
    for h in range(H):
        out[h] = max(out[h], score + row[h])


@part
def best_by_bounds(before: np.ndarray, e: np.ndarray, u: np.ndarray, skips: Skips, out: np.ndarray) -> None:
    """out[h] = u[h] + max over g of before[g] + e[g, h]"""
    top, few, first, previous, bound, heap = skips
    H = top.size
    best = _largest(before, H)
    for h in range(H):
        out[h] = before[best] + e[best, h]
    least = _least(out, u, few, H)
    size = 0
    for g in range(H):
        bound[g] = before[g] + top[g]
        if bound[g] > least and g != best:
            heap[size] = g
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(bound, heap, at, size)
    done = 0
    while size > 0 and bound[heap[0]] > least:
        g = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sink(bound, heap, 0, size)
        _raise(out, e[g], before[g], H)
        done += 1
        if done % ROWS == 0:
            least = _least(out, u, few, H)
    for h in range(H):
        if few[h]:
            for p in range(first[h], first[h + 1]):
                g = previous[p]
                out[h] = max(out[h], before[g] + e[g, h])
        out[h] += u[h]


@part
def came_from_by_bounds(before: np.ndarray, e: np.ndarray, top: np.ndarray, h: int) -> int:
    """The smallest g with the largest before[g] + e[g, h]."""
    H = top.size
    likely = _largest(before, H)
    low, most, best = before[likely] + e[likely, h], np.float32(-np.inf), 0
    for g in range(H):
        bound = before[g] + top[g]
        if bound >= low and bound > most:
            value = before[g] + e[g, h]
            if value > most:
                most, best = value, g
    return best
