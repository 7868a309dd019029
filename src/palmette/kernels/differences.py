"""Differences of feature vectors, gold minus candidate, and their inner products: what margin learners need.

An attribute may occur at several tokens, and its weights then count several times: so the parts of a difference are
added up in a hash table by (attribute, place) before anything is squared. What all states of a label share is one more
feature of the labels, whose products count by the share. (Not with the root of the share as its value: what cancels
would leave a rounding error, and a step divides by the square of that.)
"""

from __future__ import annotations

import numpy as np

from .blend import place_of
from .compile import inline, part
from .forms import Active, Chain, Data, Rows
from .update import block_and_cell, same_labels

MIX = np.uint64(0x9E3779B97F4A7C15)


@part
def _entries(m: Chain, x: Data, lo: int, n: int, paths: np.ndarray, K: int) -> int:
    """At most so many features differ between gold (path 0) and K candidates."""
    total = 0
    for i in range(n):
        for order in range(1, min(i, m.order) + 2):
            different = 0
            for k in range(1, K + 1):
                different += place_of(m, paths[k], i, order) != place_of(m, paths[0], i, order)
            if different > 0:
                active = x.one if order == 1 else (x.two if order == 2 else x.three)
                own = 2 if order == 1 else 1
                if active.ptr.size > 0:
                    own += active.ptr[lo + i + 1] - active.ptr[lo + i]
                total += own * (different + 1) * (2 if m.share > 0.0 else 1)
    return total


@part
def room_for_entries(keys: np.ndarray, values: np.ndarray, needed: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """The table, empty, and large enough: keys u64, 0 where nothing is, values f64[size, K]."""
    size = keys.size
    if size >= 2 * needed:
        return keys, values
    while size < 2 * needed:
        size *= 2
    return np.zeros(size, np.uint64), np.zeros((size, K))


@inline
def _entry(keys: np.ndarray, used: np.ndarray, count: int, key: np.uint64) -> tuple[int, int]:
    """The place of a key in the table, and how many are used now."""
    mask = np.uint64(keys.size - 1)
    at = (key * MIX >> np.uint64(20)) & mask
    while keys[at] != np.uint64(0) and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    if keys[at] == np.uint64(0):
        keys[at] = key
        used[count] = np.int64(at)
        count += 1
    return int(at), count


@inline
def _key(attribute: int, places: int, place: int, order: int, of_labels: int) -> np.uint64:
    """Never 0; the last bit tells a feature of labels from one of states."""
    return np.uint64((attribute * places + place) * 8 + order * 2 + of_labels)


@inline
def _has_weight(r: Rows, attribute: int, combo: int) -> bool:
    """Whether a combination was seen; dense rows have them all."""
    low, high = r.first[attribute], r.first[attribute + 1]
    while low < high:
        middle = (low + high) // 2
        if r.combo[middle] < combo:
            low = middle + 1
        else:
            high = middle
    return low < r.first[attribute + 1] and r.combo[low] == combo


@inline
def _label_place(m: Chain, place: int, order: int) -> int:
    """The place of the first states of the same labels: the name of a label combination."""
    H, W, per = m.label_of.size, m.bias.size, m.per
    h, g, f = (place % W) // per, (place // W) % H // per, (place // W) // H // per
    if order == 1:
        return h * per
    if order == 2:
        return g * per * W + h * per
    return (f * per * H + g * per) * W + h * per


@part
def _add_feature(
    m: Chain, order: int, attribute: int, value: float, paths: np.ndarray, K: int, i: int, keys: np.ndarray,
    values: np.ndarray, used: np.ndarray, count: int, r: Rows, real: bool,
) -> int:  # fmt: skip
    """One attribute (or bare weight) of token i, for every candidate that differs from gold there."""
    H, W = m.label_of.size, m.bias.size
    places = H ** (order - 1) * W
    seen = real and r.first.size > 0
    gold = place_of(m, paths[0], i, order)
    for k in range(1, K + 1):
        own = place_of(m, paths[k], i, order)
        if own == gold:
            continue
        for side in range(2):
            place, sign = (gold, value) if side == 0 else (own, -value)
            if seen and not _has_weight(r, attribute, block_and_cell(place, order, m)[0]):
                continue
            at, count = _entry(keys, used, count, _key(attribute, places, place, order, 0))
            values[at, k - 1] += sign
            if m.share > 0.0 and not same_labels(gold, own, order, m):
                label = _label_place(m, place, order)
                at, count = _entry(keys, used, count, _key(attribute, places, label, order, 1))
                values[at, k - 1] += sign
    return count


@part
def _add_token(
    m: Chain, order: int, r: Rows, x: Active, lo: int, n: int, i: int, paths: np.ndarray, K: int, keys: np.ndarray,
    values: np.ndarray, used: np.ndarray, count: int,
) -> int:  # fmt: skip
    """All features of `order` states that end at token i. Bare weights come after the attributes of their order."""
    A = r.slot.size
    if x.ptr.size > 0 and A > 0:
        for z in range(x.ptr[lo + i], x.ptr[lo + i + 1]):
            value = 1.0 if x.val.size == 0 else float(x.val[z])
            count = _add_feature(m, order, x.att[z], value, paths, K, i, keys, values, used, count, r, True)
    if order == 1 and m.ends and i == 0:
        count = _add_feature(m, order, A, 1.0, paths, K, i, keys, values, used, count, r, False)
    if order == 1 and m.ends and i == n - 1:
        count = _add_feature(m, order, A + 1, 1.0, paths, K, i, keys, values, used, count, r, False)
    if (order == 2 and m.transitions) or (order == 3 and m.triples):
        count = _add_feature(m, order, A, 1.0, paths, K, i, keys, values, used, count, r, False)
    return count


@part
def gram(
    m: Chain, x: Data, s: int, paths: np.ndarray, K: int, keys: np.ndarray, values: np.ndarray, A: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A[k, l] = (f(gold) - f(candidate k)) . (f(gold) - f(candidate l)) for the candidates 1..K of sentence s; the
    table, empty again, for the next sentence."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    needed = _entries(m, x, lo, n, paths, K)
    keys, values = room_for_entries(keys, values, needed + 1, values.shape[1])
    used = np.empty(needed, np.int64)
    count = 0
    for i in range(n):
        for order in range(1, min(i, m.order) + 2):
            if order == 1:
                count = _add_token(m, 1, m.one, x.one, lo, n, i, paths, K, keys, values, used, count)
            elif order == 2:
                count = _add_token(m, 2, m.two, x.two, lo, n, i, paths, K, keys, values, used, count)
            else:
                count = _add_token(m, 3, m.three, x.three, lo, n, i, paths, K, keys, values, used, count)
    A[:K, :K] = 0.0
    for e in range(count):
        row = values[used[e]]
        part_of = m.share if keys[used[e]] & np.uint64(1) else 1.0
        keys[used[e]] = np.uint64(0)
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += part_of * row[k] * row[j]
        for k in range(K):
            row[k] = 0.0
    return keys, values
