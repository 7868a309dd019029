"""Differences of feature vectors, gold minus candidate, and their inner products: what margin learners need.

An attribute may occur at several tokens, and its weights then count several times: so the parts of a difference are
added up in a hash table by (attribute, place) before anything is squared. What all states of a label share is one more
feature of the labels, whose products count by the share. (Not with the root of the share as its value: what cancels
would leave a rounding error, and a step divides by the square of that.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Ngrams, StateLayout
from palmette.kernels.chain.ngrams import (
    all_agree,
    find_combination,
    layout_of,
    pairs_of,
    place_of,
    singles_of,
    triples_of,
)
from palmette.kernels.core.compile import inline, part

MIX = np.uint64(0x9E3779B97F4A7C15)


class Token(NamedTuple):
    """Where gold and the candidates differ at one token: index 0 is gold, 1..K are the candidates."""

    place: np.ndarray  # i64[K + 1]  of the state n-gram in a dense row
    combo: np.ndarray  # i64[K + 1]  the number of its combination of labels
    label: np.ndarray  # i64[K + 1]  the place of the first states of these labels


class Differences(NamedTuple):
    """A hash table of features: the parts of all differences, empty between sentences."""

    keys: np.ndarray  # u64[size]       0 where nothing is
    values: np.ndarray  # f64[size, K]  gold minus candidate
    used: np.ndarray  # i64[size / 2]   places in use, in the order in which they were taken
    n_used: np.ndarray  # i64[1]        how many these are


@part
def make_differences(K: int) -> Differences:
    return Differences(np.zeros(64, np.uint64), np.zeros((64, K)), np.empty(32, np.int64), np.zeros(1, np.int64))


@part
def with_room(t: Differences, needed: int) -> Differences:
    """An empty table, large enough for so many entries."""
    size = t.keys.size
    if size >= 2 * needed:
        return t
    while size < 2 * needed:
        size *= 2
    keys, values = np.zeros(size, np.uint64), np.zeros((size, t.values.shape[1]))
    return Differences(keys, values, np.empty(size // 2, np.int64), t.n_used)


@part
def _look_at(q: StateLayout, arity: int, paths: np.ndarray, i: int, t: Token) -> None:
    """Fill in the places of token i."""
    H, W, per = q.H, q.W, q.per
    Y = H // per
    for k in range(paths.shape[0]):
        place = place_of(H, W, paths[k], i, arity)
        t.place[k] = place
        h, g, f = (place % W) // per, (place // W) % H // per, (place // W) // H // per
        t.combo[k] = h if arity == 1 else (g * Y + h if arity == 2 else (f * Y + g) * Y + h)
        first = h * per
        t.label[k] = first if arity == 1 else ((f * per * H if arity == 3 else 0) + g * per) * W + first


@inline
def _entries_of(g: Ngrams, paths: np.ndarray, lo: int, i: int, sides: int) -> int:
    """At most so many features of one arity differ at token i."""
    if all_agree(paths, i, g.arity):
        return 0
    own = 2 if g.arity == 1 else 1
    ptr = g.features.ptr
    if ptr.size > 0:
        own += ptr[lo + i + 1] - ptr[lo + i]
    return own * sides


@part
def entries(m: Chain, x: Data, lo: int, n: int, paths: np.ndarray) -> int:
    """At most so many features differ between gold (path 0) and the candidates."""
    sides = paths.shape[0] * (2 if m.share > 0.0 else 1)
    total = 0
    for i in range(n):
        total += _entries_of(singles_of(m, x), paths, lo, i, sides)
        if m.order >= 1 and i >= 1:
            total += _entries_of(pairs_of(m, x), paths, lo, i, sides)
        if m.order >= 2 and i >= 2:
            total += _entries_of(triples_of(m, x), paths, lo, i, sides)
    return total


@inline
def entry_of(keys: np.ndarray, used: np.ndarray, count: np.ndarray, key: np.uint64) -> int:
    """The place of a key in the table, which is in use from now on."""
    mask = np.uint64(keys.size - 1)
    at = (key * MIX >> np.uint64(20)) & mask
    while keys[at] != np.uint64(0) and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    if keys[at] == np.uint64(0):
        keys[at] = key
        used[count[0]] = np.int64(at)
        count[0] += 1
    return int(at)


@inline
def _key(attribute: int, places: int, place: int, arity: int, of_labels: int) -> np.uint64:
    """Never 0; the last bit tells a feature of labels from one of states."""
    return np.uint64((attribute * places + place) * 8 + arity * 2 + of_labels)


@part
def _add_token(g: Ngrams, q: StateLayout, lo: int, n: int, i: int, paths: np.ndarray, s: Token, t: Differences) -> None:
    """All features of one arity that end at token i of a sentence of n tokens from lo on, for every candidate that
    differs from gold there. Transition weights are numbered after the attributes; combinations that were not seen have
    no weight."""
    if all_agree(paths, i, g.arity):
        return
    _look_at(q, g.arity, paths, i, s)
    place, combo, label = s.place, s.combo, s.label
    keys, values, used, count = t.keys, t.values, t.used, t.n_used
    first, combos, att, val = g.weights.first, g.weights.combo, g.features.att, g.features.val
    arity, share, A, K = g.arity, q.share, g.weights.slot.size, paths.shape[0]
    places = q.H ** (arity - 1) * q.W
    begin, end = 0, 0
    if g.features.ptr.size > 0 and A > 0:
        begin, end = g.features.ptr[lo + i], g.features.ptr[lo + i + 1]
    opening = g.learns and (arity > 1 or i == 0)
    closing = g.learns and arity == 1 and i == n - 1
    for z in range(begin, end + 2):
        attribute, value = A + z - end, 1.0
        if z < end:
            attribute = int(att[z])
            value = 1.0 if val.size == 0 else float(val[z])
        elif not (opening if z == end else closing):
            continue
        for k in range(1, K):
            if place[k] == place[0]:
                continue
            for side in range(2):
                j, sign = (0, value) if side == 0 else (k, -value)
                if z < end and first.size > 0 and find_combination(first, combos, attribute, combo[j]) < 0:
                    continue
                at = entry_of(keys, used, count, _key(attribute, places, place[j], arity, 0))
                values[at, k - 1] += sign
                if share > 0.0 and combo[k] != combo[0]:
                    at = entry_of(keys, used, count, _key(attribute, places, label[j], arity, 1))
                    values[at, k - 1] += sign


@part
def add_differences(m: Chain, x: Data, lo: int, n: int, steps: int, paths: np.ndarray, t: Differences) -> None:
    """The differences of the first `steps` of n tokens, gold (path 0) minus each candidate, into an empty table."""
    q, K = layout_of(m), paths.shape[0]
    token = Token(np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64))
    for i in range(steps):
        _add_token(singles_of(m, x), q, lo, n, i, paths, token, t)
        if m.order >= 1 and i >= 1:
            _add_token(pairs_of(m, x), q, lo, n, i, paths, token, t)
        if m.order >= 2 and i >= 2:
            _add_token(triples_of(m, x), q, lo, n, i, paths, token, t)


@part
def products(share: float, K: int, t: Differences, A: np.ndarray) -> None:
    """A[k, l] = difference k . difference l for K candidates; the table is empty again."""
    keys, values, used = t.keys, t.values, t.used
    A[:K, :K] = 0.0
    for e in range(t.n_used[0]):
        row = values[used[e]]
        part_of = share if keys[used[e]] & np.uint64(1) else 1.0
        keys[used[e]] = np.uint64(0)
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += part_of * row[k] * row[j]
        for k in range(K):
            row[k] = 0.0
    t.n_used[0] = 0


@part
def differences_of(m: Chain, x: Data, s: int, paths: np.ndarray, t: Differences) -> Differences:
    """The differences between gold, path 0 of sentence s, and the other paths; the table that holds them."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    t = with_room(t, entries(m, x, lo, n, paths) + 1)
    add_differences(m, x, lo, n, n, paths, t)
    return t


@part
def gram(m: Chain, x: Data, s: int, paths: np.ndarray, t: Differences, A: np.ndarray) -> Differences:
    """A[k, l] = (f(gold) - f(candidate k)) . (f(gold) - f(candidate l)), gold being path 0 of sentence s and candidate
    k path k + 1; the table, empty again, for the next sentence."""
    t = differences_of(m, x, s, paths, t)
    products(m.share, paths.shape[0] - 1, t, A)
    return t
