"""Add a weighted sum of paths to the weights: w += sum over k of coefficient[k] * features(path k).

The coefficients of a sentence add up to zero, gold up and candidates down, so that a token at which all paths agree
adds nothing and is passed over; at the others the coefficients of equal states (pairs, triples) are added up first, and
most of them cancel. As in update.py every change is also added, times the clock, to the accumulators, and all
states of a label get their share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights
from palmette.kernels.chain.update import block_and_cell, change_seen, same_labels, share_dense, share_seen
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.vector import fetch_early

NOTHING = 1e-9  # a coefficient that float32 weights would not notice


class Sums(NamedTuple):
    """The coefficients of the places of one token: a dense table that is empty between tokens, and what is in it."""

    table: np.ndarray  # f64[places of the largest order]
    place: np.ndarray  # i64[K]
    factor: np.ndarray  # f64[K]
    shared: np.ndarray  # i64[K]     a place for each combination of labels whose coefficients do not cancel
    share: np.ndarray  # f64[K]      their sum, times the share of all states


@part
def room_for_sums(m: Chain, K: int) -> Sums:
    return Sums(
        np.zeros(m.label_of.size**m.order * m.bias.size),
        np.empty(K, np.int64),
        np.empty(K),
        np.empty(K, np.int64),
        np.empty(K),
    )


@inline
def place_of(H: int, W: int, path: np.ndarray, i: int, order: int) -> int:
    """Where the state n-gram of `order` states that ends at token i stands in a row."""
    if order == 1:
        return path[i]
    if order == 2:
        return path[i - 1] * W + path[i]
    return (path[i - 2] * H + path[i - 1]) * W + path[i]


@inline
def all_agree(paths: np.ndarray, K: int, i: int, order: int) -> bool:
    """Whether all paths have the same `order` states up to token i."""
    for t in range(i - order + 1, i + 1):
        for k in range(1, K):
            if paths[k, t] != paths[0, t]:
                return False
    return True


@part
def _sum_places(
    H: int, W: int, paths: np.ndarray, factors: np.ndarray, K: int, i: int, order: int, table: np.ndarray,
    place: np.ndarray, factor: np.ndarray,
) -> int:  # fmt: skip
    """The distinct places of token i whose coefficients do not cancel; how many there are."""
    n = 0
    for k in range(K):
        p = place_of(H, W, paths[k], i, order)
        known = False
        for j in range(n):
            known = known or place[j] == p
        if not known:
            place[n] = p
            n += 1
        table[p] += factors[k]
    kept = 0
    for j in range(n):
        value = table[place[j]]
        table[place[j]] = 0.0
        if abs(value) > NOTHING:
            place[kept], factor[kept] = place[j], value
            kept += 1
    return kept


@part
def _sum_labels(m: Chain, order: int, n: int, r: Sums) -> int:
    """The same for the labels of the places: how many combinations of labels change."""
    shared, share = r.shared, r.share
    found = 0
    for j in range(n):
        at = 0
        while at < found and not same_labels(shared[at], r.place[j], order, m):
            at += 1
        if at == found:
            shared[at], share[at] = r.place[j], 0.0
            found += 1
        share[at] += r.factor[j]
    kept = 0
    for j in range(found):
        if abs(share[j]) > NOTHING:
            shared[kept], share[kept] = shared[j], m.share * share[j]
            kept += 1
    return kept


@part
def _blend_seen(
    m: Chain, order: int, r: FeatureWeights, x: Active, i: int, sums: Sums, n: int, labels: int, c: float
) -> None:
    for k in range(x.ptr[i], x.ptr[i + 1]):
        value = 1.0 if x.val.size == 0 else float(x.val[k])
        for j in range(n):
            combo, cell = block_and_cell(sums.place[j], order, m)
            change_seen(r, x.att[k], combo, cell, value * sums.factor[j], c)
        for j in range(labels):
            combo, _ = block_and_cell(sums.shared[j], order, m)
            share_seen(r, m, order, x.att[k], combo, value * sums.share[j], c)


@part
def _blend_rows(
    slot: np.ndarray, used: np.ndarray, w: np.ndarray, a: np.ndarray, ptr: np.ndarray, att: np.ndarray,
    val: np.ndarray, i: int, place: np.ndarray, factor: np.ndarray, n: int, c: float,
) -> None:  # fmt: skip
    """The rows of the attributes of token i. A row is given out on its first change."""
    for k in range(ptr[i], ptr[i + 1]):  # the weights have just been read, the accumulators have not
        fetch_early(a, np.int64(slot[att[k]]))
    for k in range(ptr[i], ptr[i + 1]):
        value = 1.0 if val.size == 0 else float(val[k])
        s = np.int64(slot[att[k]])
        if s == 0:
            s = used[0]
            slot[att[k]] = s
            used[0] = s + 1
        own, sums = w[s], a[s]
        for j in range(n):
            change = value * factor[j]
            own[place[j]] += change
            sums[place[j]] += c * change


@inline
def _blend_dense(
    m: Chain, order: int, r: FeatureWeights, x: Active, i: int, sums: Sums, n: int, labels: int, c: float
) -> None:
    _blend_rows(r.slot, r.used, r.w, r.a, x.ptr, x.att, x.val, i, sums.place, sums.factor, n, c)
    if labels > 0:
        _share_dense_rows(m, order, r, x, i, sums, labels, c)


@part
def _share_dense_rows(
    m: Chain, order: int, r: FeatureWeights, x: Active, i: int, sums: Sums, labels: int, c: float
) -> None:
    """What all states of the labels get, of rows that have been given out by then."""
    for k in range(x.ptr[i], x.ptr[i + 1]):
        value = 1.0 if x.val.size == 0 else float(x.val[k])
        s = np.int64(r.slot[x.att[k]])
        for j in range(labels):
            share_dense(r.w[s], r.a[s], m, order, sums.shared[j], value * sums.share[j], c)


@inline
def _blend_bare(m: Chain, order: int, w: np.ndarray, a: np.ndarray, sums: Sums, n: int, labels: int, c: float) -> None:
    for j in range(n):
        w[sums.place[j]] += sums.factor[j]
        a[sums.place[j]] += c * sums.factor[j]
    for j in range(labels):
        share_dense(w, a, m, order, sums.shared[j], sums.share[j], c)


@part
def _blend_token(
    m: Chain, x: Data, lo: int, n: int, i: int, order: int, paths: np.ndarray, factors: np.ndarray, K: int, c: float,
    r: Sums,
) -> None:  # fmt: skip
    """The features of `order` states that end at token i."""
    kept = _sum_places(m.label_of.size, m.bias.size, paths, factors, K, i, order, r.table, r.place, r.factor)
    if kept == 0:  # all of it cancels: no attribute gets a row for that
        return
    labels = _sum_labels(m, order, kept, r) if m.share > 0.0 else 0
    if order == 1:
        if m.ends and i == 0:
            _blend_bare(m, 1, m.bare.end[0], m.bare_a.end[0], r, kept, labels, c)
        if m.ends and i == n - 1:
            _blend_bare(m, 1, m.bare.end[1], m.bare_a.end[1], r, kept, labels, c)
        if m.one.slot.size > 0:
            _blend_dense(m, 1, m.one, x.one, lo + i, r, kept, labels, c)
    elif order == 2:
        if m.transitions:
            _blend_bare(m, 2, m.bare.pair.reshape(-1), m.bare_a.pair.reshape(-1), r, kept, labels, c)
        if m.two.first.size > 0:
            _blend_seen(m, 2, m.two, x.two, lo + i, r, kept, labels, c)
        elif x.two.ptr.size > 0:
            _blend_dense(m, 2, m.two, x.two, lo + i, r, kept, labels, c)
    else:
        if m.triples:
            _blend_bare(m, 3, m.bare.triple.reshape(-1), m.bare_a.triple.reshape(-1), r, kept, labels, c)
        if m.three.first.size > 0:
            _blend_seen(m, 3, m.three, x.three, lo + i, r, kept, labels, c)
        elif x.three.ptr.size > 0:
            _blend_dense(m, 3, m.three, x.three, lo + i, r, kept, labels, c)


@part
def add_weighted_prefixes(
    m: Chain, x: Data, s: int, paths: np.ndarray, factors: np.ndarray, K: int, at: int, c: float, r: Sums
) -> None:
    """w += sum of factors[k] * f(the first `at` tokens of paths[k]) over K paths of sentence s, at time c; the factors
    add up to 0."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    for i in range(at):
        for order in range(1, min(i, m.order) + 2):
            if not all_agree(paths, K, i, order):
                _blend_token(m, x, lo, n, i, order, paths, factors, K, c, r)


@part
def add_weighted_paths(
    m: Chain, x: Data, s: int, paths: np.ndarray, factors: np.ndarray, K: int, c: float, r: Sums
) -> None:
    """The same for whole paths."""
    add_weighted_prefixes(m, x, s, paths, factors, K, x.offset[s + 1] - x.offset[s], c, r)
