"""Weights of label combinations as lists per attribute: which place a combination has, and lists that grow.

An attribute owns the places first[a] .. first[a] + slot[a] - 1, its combinations ascending. Fixed lists hold the
combinations that exist; others have no weight. Lists that grow hold those that were changed so far; all others weigh
zero: of thousands of labels an attribute meets a few. They have room for 2, 4, 8 ... combinations. A full list is moved
to a place of twice the size behind all others; what it leaves is zero, and is reclaimed when Python makes room.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active, FeatureWeights
from palmette.kernels.core.compile import inline, part


@inline
def is_growing(r: FeatureWeights) -> bool:
    """Whether combinations get a place at their first change."""
    return r.first.size > 0 and r.first.size == r.slot.size


@inline
def lower_place(first: np.ndarray, size: np.ndarray, combos: np.ndarray, attribute: int, combo: int) -> int:
    """The first place of the attribute's list with this combination or a larger one; its end if there is none."""
    low = first[attribute]
    high = low + size[attribute]
    while low < high:
        middle = (low + high) // 2
        if combos[middle] < combo:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def find_combination(first: np.ndarray, size: np.ndarray, combos: np.ndarray, attribute: int, combo: int) -> int:
    """The place of a combination in the list of an attribute; -1 if it is not there."""
    at = lower_place(first, size, combos, attribute, combo)
    return at if at < first[attribute] + size[attribute] and combos[at] == combo else -1


@part
def _move_list(r: FeatureWeights, attribute: int) -> None:
    """Move a full list behind all others, where it has twice the room."""
    first, n, to = r.first[attribute], np.int64(r.slot[attribute]), r.used[0]
    r.first[attribute] = to
    r.used[0] = to + max(2, 2 * n)
    for k in range(n):
        r.combo[to + k] = r.combo[first + k]
        for cell in range(r.w.shape[1]):
            r.w[to + k, cell], r.w[first + k, cell] = r.w[first + k, cell], np.float32(0.0)
            r.a[to + k, cell], r.a[first + k, cell] = r.a[first + k, cell], 0.0
            if r.state.shape[0] > 0:
                r.state[to + k, cell], r.state[first + k, cell] = r.state[first + k, cell], np.float32(0.0)


@part
def _insert(r: FeatureWeights, attribute: int, at: int, combo: int) -> int:
    """Insert a combination with weights of zero before the place `at` of its list. Returns its place."""
    n = np.int64(r.slot[attribute])
    if n == 0 or (n > 1 and n & (n - 1) == 0):
        offset = at - r.first[attribute]
        _move_list(r, attribute)
        at = r.first[attribute] + offset
    for p in range(r.first[attribute] + n, at, -1):
        r.combo[p] = r.combo[p - 1]
        for cell in range(r.w.shape[1]):
            r.w[p, cell], r.a[p, cell] = r.w[p - 1, cell], r.a[p - 1, cell]
            if r.state.shape[0] > 0:
                r.state[p, cell] = r.state[p - 1, cell]
    r.combo[at] = combo
    for cell in range(r.w.shape[1]):
        r.w[at, cell], r.a[at, cell] = np.float32(0.0), 0.0
        if r.state.shape[0] > 0:
            r.state[at, cell] = np.float32(0.0)
    r.slot[attribute] = n + 1
    return at


@part
def place_to_change(r: FeatureWeights, attribute: int, combo: int) -> int:
    """The place of a combination in the list of an attribute; -1 if it has no weight. A list that grows gets it."""
    at = lower_place(r.first, r.slot, r.combo, attribute, combo)
    if at < r.first[attribute] + r.slot[attribute] and r.combo[at] == combo:
        return at
    return _insert(r, attribute, at, combo) if is_growing(r) else -1


@part
def places_needed(r: FeatureWeights, x: Active, lo: int, n: int, paths: int) -> int:
    """The places that lists that grow may need for an update by so many paths of the tokens lo .. lo + n - 1. A list of
    k combinations that gets m more takes less than 4 * (k + m) places, however often it is moved."""
    ptr, att, size = x.ptr, x.att, r.slot
    needed = 0
    for k in range(ptr[lo], ptr[lo + n]):
        needed += 4 * (size[att[k]] + paths)
    return needed
