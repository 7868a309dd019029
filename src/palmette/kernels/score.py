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
from .vector import add_four, add_run, fetch_early


@inline
def _add_ones(out: np.ndarray, w: np.ndarray, slot: np.ndarray, att: np.ndarray, z: int, end: int) -> None:
    while z < end:
        a = w[slot[att[z]]]
        b = w[slot[att[z + 1]] if z + 1 < end else 0]
        c = w[slot[att[z + 2]] if z + 2 < end else 0]
        d = w[slot[att[z + 3]] if z + 3 < end else 0]
        add_four(out, a, b, c, d)
        z += 4


@inline
def _add_valued(
    out: np.ndarray, w: np.ndarray, slot: np.ndarray, att: np.ndarray, val: np.ndarray, z: int, end: int
) -> None:
    for k in range(z, end):
        v = val[k]
        a = w[slot[att[k]]]
        for h in range(out.size):
            out[h] += v * a[h]


@inline
def _add_seen(
    out: np.ndarray, first: np.ndarray, combo: np.ndarray, w: np.ndarray, block: int, per: int, H: int, W: int,
    att: np.ndarray, val: np.ndarray, z: int, end: int,
) -> None:  # fmt: skip
    """Add the blocks (w: all of them, one after the other) of the combinations that were seen."""
    runs = block // per  # of `per` numbers that lie side by side: one of each pair or triple of states but the last
    for k in range(z, end):
        a = att[k]
        v = np.float32(1.0) if val.size == 0 else val[k]
        for place in range(first[a], first[a + 1]):
            at, begin = np.int64(combo[place]), np.int64(place * block)
            if block == 1:
                out[at] += v * w[begin]
                continue
            for run in range(runs):
                before, previous = run // per, run % per  # for pairs `before` is always 0
                add_run(out, at + (before * H + previous) * W, w, begin + run * per, np.int64(per), v)


@part
def add_rows(out: np.ndarray, r: Rows, m: Chain, x: Active, lo: int, skip: int) -> None:
    """out f32[n, width] += the rows of the attributes of the tokens lo.., but for the first `skip` of them.

    The arrays are taken out of their tuples once: inside the loop each would count as a reference each time."""
    w, slot, ptr, att, val = r.w, r.slot, x.ptr, x.att, x.val
    first, combo, blocks = r.first, r.combo, r.w.reshape(-1)
    block, per, H, W = r.w.shape[1], m.per, m.label_of.size, m.bias.size
    for i in range(skip, out.shape[0]):
        z, end = ptr[lo + i], ptr[lo + i + 1]
        if first.size > 0:
            _add_seen(out[i], first, combo, blocks, block, per, H, W, att, val, z, end)
        elif val.size > 0:
            _add_valued(out[i], w, slot, att, val, z, end)
        else:
            if i + 1 < out.shape[0]:  # rows lie all over the memory: ask for the next token's while adding this one's
                for k in range(end, ptr[lo + i + 2]):
                    fetch_early(w, np.int64(slot[att[k]]))
            _add_ones(out[i], w, slot, att, z, end)


@part
def _score_states(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    U, bias = T.U, m.bias
    for i in range(n):
        u = U[i]
        for h in range(u.size):
            u[h] = bias[h]
    add_rows(U[:n], m.one, m, x, lo, 0)
    for h in range(bias.size):
        U[0, h] += m.first[h] + m.bare.end[0, h]
        U[n - 1, h] += m.last[h] + m.bare.end[1, h]


@part
def _score_pairs(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    E, forbid, pair = T.E, m.forbid, m.bare.pair
    edges = n if E.shape[0] > 1 else 1
    for i in range(edges):
        for g in range(forbid.shape[0]):
            e, f, p = E[i, g], forbid[g], pair[g]
            for h in range(e.size):
                e[h] = f[h] + p[h]
    if x.ptr.size > 0:
        add_rows(E[:edges].reshape(edges, -1), m.two, m, x, lo, 1)


@part
def _score_triples(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    S = T.S.reshape(T.S.shape[0], -1)
    triple = m.bare.triple.reshape(-1)
    edges = n if S.shape[0] > 1 else 1
    for i in range(edges):
        t = S[i]
        for k in range(t.size):
            t[k] = triple[k]
    if x.ptr.size > 0:
        add_rows(S[:edges], m.three, m, x, lo, 2)


@part
def score(T: Trellis, m: Chain, x: Data, s: int, changed: bool) -> int:
    """Fill T for sentence s; its length. Edges that are the same for all tokens are filled again only when weights
    have changed since: a table of triples of fifty labels takes longer to copy than a short sentence to search."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _score_states(T, m, x.one, lo, n)
    if m.order >= 1 and (changed or x.two.ptr.size > 0):
        _score_pairs(T, m, x.two, lo, n)
    if m.order >= 2 and (changed or x.three.ptr.size > 0):
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
