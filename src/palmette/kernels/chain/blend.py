"""Add a weighted sum of paths to the weights: w += sum over k of coefficient[k] * features(path k).

The coefficients of a sentence add up to zero, gold up and candidates down, so that a token at which all paths agree
adds nothing and is passed over; at the others the coefficients of equal states (pairs, triples) are added up first, and
most of them cancel. As in update.py every change is also added, times the clock, to the accumulators, and all
states of a label get their share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Ngrams, StateLayout
from palmette.kernels.chain.ngrams import (
    all_agree,
    block_and_cell,
    layout_of,
    pairs_of,
    place_of,
    same_labels,
    singles_of,
    triples_of,
)
from palmette.kernels.chain.update import change_seen, share_dense, share_seen
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.vector import fetch_early

NOTHING = 1e-9  # a coefficient that float32 weights would not notice


class Sums(NamedTuple):
    """The coefficients of the places of one token: a dense table that is empty between tokens, and what is in it."""

    table: np.ndarray  # f64[places of the largest arity]
    place: np.ndarray  # i64[K]
    factor: np.ndarray  # f64[K]
    shared: np.ndarray  # i64[K]     a place for each combination of labels whose coefficients do not cancel
    share: np.ndarray  # f64[K]      their sum, times the share of all states


@part
def make_sums(m: Chain, K: int) -> Sums:
    return Sums(
        np.zeros(m.label_of.size**m.order * m.bias.size),
        np.empty(K, np.int64),
        np.empty(K),
        np.empty(K, np.int64),
        np.empty(K),
    )


@part
def _sum_places(q: StateLayout, arity: int, paths: np.ndarray, factors: np.ndarray, i: int, sums: Sums) -> int:
    """The distinct places of token i whose coefficients do not cancel; how many there are."""
    H, W, table, place, factor = q.H, q.W, sums.table, sums.place, sums.factor
    n = 0
    for k in range(factors.size):
        p = place_of(H, W, paths[k], i, arity)
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
def _sum_labels(q: StateLayout, arity: int, n: int, sums: Sums) -> int:
    """The combinations of labels of n places whose coefficients do not cancel; how many there are."""
    place, factor, shared, share = sums.place, sums.factor, sums.shared, sums.share
    found = 0
    for j in range(n):
        at = 0
        while at < found and not same_labels(shared[at], place[j], arity, q):
            at += 1
        if at == found:
            shared[at], share[at] = place[j], 0.0
            found += 1
        share[at] += factor[j]
    kept = 0
    for j in range(found):
        if abs(share[j]) > NOTHING:
            shared[kept], share[kept] = shared[j], q.share * share[j]
            kept += 1
    return kept


@part
def _blend_seen(g: Ngrams, q: StateLayout, i: int, sums: Sums, n: int, labels: int, c: float) -> None:
    """The seen combinations of the attributes of token i."""
    r, x, arity = g.weights, g.features, g.arity
    for k in range(x.ptr[i], x.ptr[i + 1]):
        value = 1.0 if x.val.size == 0 else float(x.val[k])
        for j in range(n):
            combo, cell = block_and_cell(sums.place[j], arity, q)
            change_seen(r, x.att[k], combo, cell, value * sums.factor[j], c)
        for j in range(labels):
            combo, _ = block_and_cell(sums.shared[j], arity, q)
            share_seen(r, q, arity, x.att[k], combo, value * sums.share[j], c)


@inline
def _blend_rows(g: Ngrams, i: int, sums: Sums, n: int, c: float) -> None:
    """The rows of the attributes of token i. A row is given out on its first change."""
    slot, used, w, a = g.weights.slot, g.weights.used, g.weights.w, g.weights.a
    ptr, att, val, place, factor = g.features.ptr, g.features.att, g.features.val, sums.place, sums.factor
    for k in range(ptr[i], ptr[i + 1]):  # the weights have just been read, the accumulators have not
        fetch_early(a, np.int64(slot[att[k]]))
    for k in range(ptr[i], ptr[i + 1]):
        value = 1.0 if val.size == 0 else float(val[k])
        s = np.int64(slot[att[k]])
        if s == 0:
            s = used[0]
            slot[att[k]] = s
            used[0] = s + 1
        own, total = w[s], a[s]
        for j in range(n):
            change = value * factor[j]
            own[place[j]] += change
            total[place[j]] += c * change


@part
def _share_rows(g: Ngrams, q: StateLayout, i: int, sums: Sums, labels: int, c: float) -> None:
    """What all states of the labels get, of rows that have been given out by then."""
    r, x = g.weights, g.features
    for k in range(x.ptr[i], x.ptr[i + 1]):
        value = 1.0 if x.val.size == 0 else float(x.val[k])
        s = np.int64(r.slot[x.att[k]])
        for j in range(labels):
            share_dense(r.w[s], r.a[s], q, g.arity, sums.shared[j], value * sums.share[j], c)


@inline
def _blend_transitions(
    w: np.ndarray, a: np.ndarray, q: StateLayout, arity: int, sums: Sums, n: int, labels: int, c: float
) -> None:
    """One row of transition weights, or all of them side by side."""
    for j in range(n):
        w[sums.place[j]] += sums.factor[j]
        a[sums.place[j]] += c * sums.factor[j]
    for j in range(labels):
        share_dense(w, a, q, arity, sums.shared[j], sums.share[j], c)


@part
def _blend_token(
    g: Ngrams, q: StateLayout, lo: int, n: int, i: int, paths: np.ndarray, factors: np.ndarray, c: float, sums: Sums
) -> None:
    """The features of one arity that end at token i of a sentence of n tokens from lo on."""
    kept = _sum_places(q, g.arity, paths, factors, i, sums)
    if kept == 0:  # all of it cancels: no attribute gets a row for that
        return
    labels = _sum_labels(q, g.arity, kept, sums) if q.share > 0.0 else 0
    w, a = g.transitions.w, g.transitions.a
    if g.learns and g.arity > 1:
        _blend_transitions(w.reshape(-1), a.reshape(-1), q, g.arity, sums, kept, labels, c)
    elif g.learns and i == 0:
        _blend_transitions(w[0], a[0], q, 1, sums, kept, labels, c)
    if g.learns and g.arity == 1 and i == n - 1:
        _blend_transitions(w[1], a[1], q, 1, sums, kept, labels, c)
    if g.weights.first.size > 0:
        _blend_seen(g, q, lo + i, sums, kept, labels, c)
    elif g.features.ptr.size > 0:
        _blend_rows(g, lo + i, sums, kept, c)
        if labels > 0:
            _share_rows(g, q, lo + i, sums, labels, c)


@part
def add_weighted_prefixes(
    m: Chain, x: Data, s: int, paths: np.ndarray, factors: np.ndarray, at: int, c: float, sums: Sums
) -> None:
    """w += sum of factors[k] * f(the first `at` tokens of paths[k]) for sentence s at time c; the factors add up to
    0."""
    q, lo = layout_of(m), x.offset[s]
    n = x.offset[s + 1] - lo
    for i in range(at):
        if not all_agree(paths, i, 1):
            _blend_token(singles_of(m, x), q, lo, n, i, paths, factors, c, sums)
        if m.order >= 1 and i >= 1 and not all_agree(paths, i, 2):
            _blend_token(pairs_of(m, x), q, lo, n, i, paths, factors, c, sums)
        if m.order >= 2 and i >= 2 and not all_agree(paths, i, 3):
            _blend_token(triples_of(m, x), q, lo, n, i, paths, factors, c, sums)


@part
def add_weighted_paths(m: Chain, x: Data, s: int, paths: np.ndarray, factors: np.ndarray, c: float, sums: Sums) -> None:
    """w += sum of factors[k] * f(paths[k]) for sentence s at time c; the factors add up to 0."""
    add_weighted_prefixes(m, x, s, paths, factors, x.offset[s + 1] - x.offset[s], c, sums)
