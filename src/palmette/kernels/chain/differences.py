"""Differences of feature vectors, gold minus candidate, and their inner products: what margin learners need.

An attribute may occur at several tokens, and its weights then count several times: so the parts of a difference are
added up in a hash table by (attribute, place) before anything is squared. What all states of a label share is one more
feature of the labels, whose products count by the share. (Not with the root of the share as its value: what cancels
would leave a rounding error, and a step divides by the square of that.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.blend import all_agree, place_of
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights
from palmette.kernels.core.compile import inline, part

MIX = np.uint64(0x9E3779B97F4A7C15)


class Token(NamedTuple):
    """Where gold and the candidates differ at one token: index 0 is gold, 1..K are the candidates."""

    place: np.ndarray  # i64[K + 1]  of the state n-gram in a dense row
    combo: np.ndarray  # i64[K + 1]  the number of its combination of labels
    label: np.ndarray  # i64[K + 1]  the place of the first states of these labels


@part
def _look_at(m: Chain, paths: np.ndarray, K: int, i: int, order: int, t: Token) -> int:
    """Fill in the places of token i; how many candidates differ from gold."""
    H, W, per = m.label_of.size, m.bias.size, m.per
    different = 0
    for k in range(K + 1):
        place = place_of(H, W, paths[k], i, order)
        t.place[k] = place
        h, g, f = (place % W) // per, (place // W) % H // per, (place // W) // H // per
        t.combo[k] = h if order == 1 else (g * (H // per) + h if order == 2 else (f * (H // per) + g) * (H // per) + h)
        first = h * per
        t.label[k] = first if order == 1 else ((f * per * H if order == 3 else 0) + g * per) * W + first
        different += place != t.place[0]
    return different


@part
def entries(m: Chain, x: Data, lo: int, n: int, paths: np.ndarray, K: int) -> int:
    """At most so many features differ between gold (path 0) and K candidates."""
    total = 0
    for i in range(n):
        for order in range(1, min(i, m.order) + 2):
            if not all_agree(paths, K + 1, i, order):
                ptr = x.one.ptr if order == 1 else (x.two.ptr if order == 2 else x.three.ptr)
                own = 2 if order == 1 else 1
                if ptr.size > 0:
                    own += ptr[lo + i + 1] - ptr[lo + i]
                total += own * (K + 1) * (2 if m.share > 0.0 else 1)
    return total


class Differences(NamedTuple):
    """A hash table of features: the parts of all differences, empty between sentences."""

    keys: np.ndarray  # u64[size]       0 where nothing is
    values: np.ndarray  # f64[size, K]  gold minus candidate
    used: np.ndarray  # i64[size / 2]   places in use, in the order in which they were taken


@part
def make_differences(K: int) -> Differences:
    return Differences(np.zeros(64, np.uint64), np.zeros((64, K)), np.empty(32, np.int64))


@part
def with_room(t: Differences, needed: int) -> Differences:
    """An empty table, large enough for so many entries."""
    size = t.keys.size
    if size >= 2 * needed:
        return t
    while size < 2 * needed:
        size *= 2
    return Differences(np.zeros(size, np.uint64), np.zeros((size, t.values.shape[1])), np.empty(size // 2, np.int64))


@inline
def entry_of(keys: np.ndarray, used: np.ndarray, count: int, key: np.uint64) -> tuple[int, int]:
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
def _has_weight(first: np.ndarray, combos: np.ndarray, attribute: int, combo: int) -> bool:
    """Whether a combination was seen with an attribute."""
    low, high = first[attribute], first[attribute + 1]
    while low < high:
        middle = (low + high) // 2
        if combos[middle] < combo:
            low = middle + 1
        else:
            high = middle
    return low < first[attribute + 1] and combos[low] == combo


@part
def _add_feature(
    attribute: int, value: float, order: int, places: int, share: float, place: np.ndarray, combo: np.ndarray,
    label: np.ndarray, K: int, first: np.ndarray, combos: np.ndarray, keys: np.ndarray, values: np.ndarray,
    used: np.ndarray, count: int,
) -> int:  # fmt: skip
    """One attribute (or bare weight) of a token, for every candidate that differs from gold there. `first` of size 0:
    every combination has a weight."""
    for k in range(1, K + 1):
        if place[k] == place[0]:
            continue
        for side in range(2):
            j, sign = (0, value) if side == 0 else (k, -value)
            if first.size > 0 and not _has_weight(first, combos, attribute, combo[j]):
                continue
            at, count = entry_of(keys, used, count, _key(attribute, places, place[j], order, 0))
            values[at, k - 1] += sign
            if share > 0.0 and combo[k] != combo[0]:
                at, count = entry_of(keys, used, count, _key(attribute, places, label[j], order, 1))
                values[at, k - 1] += sign
    return count


@part
def _add_token(
    r: FeatureWeights,
    x: Active,
    token: int,
    order: int,
    places: int,
    share: float,
    bare: tuple[bool, bool],
    t: Token,
    K: int,
    keys: np.ndarray,
    values: np.ndarray,
    used: np.ndarray,
    count: int,
) -> int:
    """All features of `order` states that end at a token. Bare weights are numbered after the attributes."""
    place, combo, label, first, combos = t.place, t.combo, t.label, r.first, r.combo
    att, val, A = x.att, x.val, r.slot.size
    if x.ptr.size > 0 and A > 0:
        for z in range(x.ptr[token], x.ptr[token + 1]):
            value = 1.0 if val.size == 0 else float(val[z])
            count = _add_feature(
                att[z], value, order, places, share, place, combo, label, K, first, combos, keys, values, used, count
            )
    for number in range(2):
        if bare[number]:
            count = _add_feature(
                A + number, 1.0, order, places, share, place, combo, label, K, first[:0], combos, keys, values, used,
                count,
            )  # fmt: skip
    return count


@part
def add_differences(
    m: Chain, x: Data, lo: int, n: int, at: int, paths: np.ndarray, K: int, keys: np.ndarray, values: np.ndarray,
    used: np.ndarray,
) -> int:  # fmt: skip
    """The differences of the first `at` of n tokens, gold (path 0) minus each of K candidates, into an empty table; how
    many entries it has."""
    count = 0
    H, W, share = m.label_of.size, m.bias.size, m.share
    t = Token(np.empty(K + 1, np.int64), np.empty(K + 1, np.int64), np.empty(K + 1, np.int64))
    for i in range(at):
        for order in range(1, min(i, m.order) + 2):
            if _look_at(m, paths, K, i, order, t) == 0:
                continue
            places = H ** (order - 1) * W
            if order == 1:
                ends = m.ends and i == 0, m.ends and i == n - 1
                count = _add_token(m.one, x.one, lo + i, 1, places, share, ends, t, K, keys, values, used, count)
            elif order == 2:
                bare = m.transitions, False
                count = _add_token(m.two, x.two, lo + i, 2, places, share, bare, t, K, keys, values, used, count)
            else:
                bare = m.triples, False
                count = _add_token(m.three, x.three, lo + i, 3, places, share, bare, t, K, keys, values, used, count)
    return count


@part
def products(share: float, t: Differences, count: int, K: int, A: np.ndarray) -> None:
    """A[k, l] = difference k . difference l; the table is empty again."""
    keys, values, used = t.keys, t.values, t.used
    A[:K, :K] = 0.0
    for e in range(count):
        row = values[used[e]]
        part_of = share if keys[used[e]] & np.uint64(1) else 1.0
        keys[used[e]] = np.uint64(0)
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += part_of * row[k] * row[j]
        for k in range(K):
            row[k] = 0.0


@part
def gram(m: Chain, x: Data, s: int, paths: np.ndarray, K: int, t: Differences, A: np.ndarray) -> Differences:
    """A[k, l] = (f(gold) - f(candidate k)) . (f(gold) - f(candidate l)) for the candidates 1..K of sentence s; the
    table, empty again, for the next sentence."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    t = with_room(t, entries(m, x, lo, n, paths, K) + 1)
    count = add_differences(m, x, lo, n, n, paths, K, t.keys, t.values, t.used)
    products(m.share, t, count, K, A)
    return t
