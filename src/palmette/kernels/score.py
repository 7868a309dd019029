"""Fill the trellis of one sentence.

    U[i, h]       = bias[h] + sum over attributes of w1[attribute, h]          (+ start, end)
    E[i, g, h]    = forbid[g, h] + pair[g, h] + sum of w2[attribute, g, h]      i >= 1
    S[i, f, g, h] = triple[f, g, h] + sum of w3[attribute, f, g, h]             i >= 2

Most of the time goes into gathering rows. They are added four at a time: the loads do not wait for each other
and the sum is stored a quarter as often. Attributes without weights, and the places after the last one, add the
zero row, which is always in the cache: cheaper than a branch that cannot be predicted.
"""

from __future__ import annotations

import numpy as np

from .compile import inline, part
from .forms import Active, Chain, Data, Rows, Trellis


@inline
def _add_ones(out: np.ndarray, r: Rows, x: Active, i: int) -> None:
    z, end = x.ptr[i], x.ptr[i + 1]
    while z < end:
        a = r.w[r.slot[x.att[z]]]
        b = r.w[r.slot[x.att[z + 1]] if z + 1 < end else 0]
        c = r.w[r.slot[x.att[z + 2]] if z + 2 < end else 0]
        d = r.w[r.slot[x.att[z + 3]] if z + 3 < end else 0]
        for h in range(out.size):
            out[h] += (a[h] + b[h]) + (c[h] + d[h])
        z += 4


@inline
def _add_seen(out: np.ndarray, r: Rows, x: Active, i: int) -> None:
    for k in range(x.ptr[i], x.ptr[i + 1]):
        a = x.att[k]
        v = np.float32(1.0) if x.val.size == 0 else x.val[k]
        for place in range(r.first[a], r.first[a + 1]):
            out[r.combo[place]] += v * r.w[place, 0]


@inline
def _add_valued(out: np.ndarray, r: Rows, x: Active, i: int) -> None:
    for k in range(x.ptr[i], x.ptr[i + 1]):
        v = x.val[k]
        a = r.w[r.slot[x.att[k]]]
        for h in range(out.size):
            out[h] += v * a[h]


@inline
def add_rows(out: np.ndarray, r: Rows, x: Active, i: int) -> None:
    """out f32[width] += the rows of token i's attributes."""
    if r.first.size > 0:
        _add_seen(out, r, x, i)
    elif x.val.size > 0:
        _add_valued(out, r, x, i)
    else:
        _add_ones(out, r, x, i)


@part
def _score_states(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    W = m.bias.size
    for i in range(n):
        u = T.U[i]
        for h in range(W):
            u[h] = m.bias[h]
        add_rows(u, m.one, x, lo + i)
    for h in range(W):
        T.U[0, h] += m.first[h] + m.bare.end[0, h]
        T.U[n - 1, h] += m.last[h] + m.bare.end[1, h]


@part
def _score_pairs(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    for i in range(T.E.shape[0] if T.E.shape[0] < n else n):
        for g in range(m.forbid.shape[0]):
            e, forbid, pair = T.E[i, g], m.forbid[g], m.bare.pair[g]
            for h in range(e.size):
                e[h] = forbid[h] + pair[h]
        if x.ptr.size > 0 and i > 0:
            add_rows(T.E[i].reshape(-1), m.two, x, lo + i)


@part
def _score_triples(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    triple = m.bare.triple.reshape(-1)
    for i in range(T.S.shape[0] if T.S.shape[0] < n else n):
        t = T.S[i].reshape(-1)
        for k in range(t.size):
            t[k] = triple[k]
        if x.ptr.size > 0 and i > 1:
            add_rows(t, m.three, x, lo + i)


@part
def score(T: Trellis, m: Chain, x: Data, s: int) -> int:
    """Fill T for sentence s; its length."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _score_states(T, m, x.one, lo, n)
    if m.order >= 1:
        _score_pairs(T, m, x.two, lo, n)
    if m.order >= 2:
        _score_triples(T, m, x.three, lo, n)
    return n


@part
def restrict(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> None:
    """Forbid every state whose label is not among those known for its token. This destroys scores in T.U, so a
    restricted search comes last."""
    for i in range(n):
        known = x.known[lo + i]
        for h in range(m.label_of.size):
            if not x.allow[known, m.label_of[h]]:
                T.U[i, h] = -np.inf
