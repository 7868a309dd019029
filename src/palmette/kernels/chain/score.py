"""Fill the trellis of one sentence.

    U[i, h]       = bias[h] + sum over attributes of w1[attribute, h]          (+ start, end)
    E[i, g, h]    = forbid[g, h] + pair[g, h] + sum of w2[attribute, g, h]      i >= 1
    S[i, f, g, h] = triple[f, g, h] + sum of w3[attribute, f, g, h]             i >= 2

Most of the time is spent on gathering rows. They are added four at a time: the loads are independent, and the sum is
stored a quarter as often. Attributes without weights, and the places after the last one, add the zero row, which is
always in the cache: cheaper than an unpredictable branch.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Gather, Trellis
from palmette.kernels.chain.local import normalise
from palmette.kernels.chain.skipping import fill_tops
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.vector import add_attribute_rows, add_run, fetch_early


@inline
def _add_valued(
    out: np.ndarray, w: np.ndarray, slot: np.ndarray, att: np.ndarray, val: np.ndarray, z: int, end: int
) -> None:
    for k in range(z, end):
        v = val[k]
        a = w[slot[att[k]]]
        for h in range(out.size):
            out[h] += v * a[h]


@part
def gather_for(m: Chain, r: FeatureWeights, arity: int) -> Gather:
    """Scratch space for the blocks of seen combinations of one arity."""
    H, W, states_per_label, block = m.label_of.size, m.bias.size, m.states_per_label, r.w.shape[1]
    Y = H // states_per_label
    n = Y**arity if r.first.size > 0 else 0
    place = np.empty(n, np.int64)
    for q in range(n):
        rest, at, stride = q // Y, (q % Y) * states_per_label, W
        for _ in range(arity - 1):
            at += (rest % Y) * states_per_label * stride
            rest //= Y
            stride *= H
        place[q] = at
    return Gather(np.empty((n, block), r.w.dtype), np.full(n, -1, np.int64), np.empty(n, np.int64), place)


@part
def _add_lists(out: np.ndarray, r: FeatureWeights, m: Chain, x: Active, lo: int) -> None:
    """As `add_rows` for single labels, whose combinations are listed."""
    first, size, combo, w = r.first, r.slot, r.combo, r.w.reshape(-1)
    ptr, att, val, block = x.ptr, x.att, x.val, np.int64(m.states_per_label)
    for i in range(out.shape[0]):
        row = out[i]
        for k in range(ptr[lo + i], ptr[lo + i + 1]):
            v = np.float32(1.0) if val.size == 0 else val[k]
            begin = first[att[k]]
            for p in range(begin, begin + size[att[k]]):
                at = np.int64(combo[p]) * block
                for cell in range(block):
                    row[at + cell] += v * w[p * block + cell]


@part
def _add_seen(out: np.ndarray, r: FeatureWeights, m: Chain, g: Gather, x: Active, lo: int, skip: int) -> None:
    """As `add_rows`, for seen combinations. Blocks of consecutive combinations are added at once; then each sum is
    added to the table in runs of adjacent states."""
    first, size, combo, w, block = r.first, r.slot, r.combo, r.w.reshape(-1), np.int64(r.w.shape[1])
    total, token, touched, place = g.total.reshape(-1), g.token, g.touched, g.place
    ptr, att, val = x.ptr, x.att, x.val
    states_per_label, H, W = np.int64(m.states_per_label), m.label_of.size, m.bias.size
    token[:] = -1
    for i in range(skip, out.shape[0]):
        n = 0
        for k in range(ptr[lo + i], ptr[lo + i + 1]):
            v = np.float32(1.0) if val.size == 0 else val[k]
            p = first[att[k]]
            end = p + size[att[k]]
            while p < end:
                q, begin = np.int64(combo[p]), p
                while p < end and combo[p] - q == p - begin:
                    new = q + p - begin
                    if token[new] != i:
                        token[new] = i
                        touched[n] = new
                        n += 1
                        for cell in range(new * block, (new + 1) * block):
                            total[cell] = np.float32(0.0)
                    p += 1
                add_run(total, q * block, w, begin * block, (p - begin) * block, v)
        row = out[i]
        for t in range(n):
            q = touched[t]
            at, begin = place[q], q * block
            for run in range(block // states_per_label):
                before, previous = run // states_per_label, run % states_per_label  # for pairs `before` is always 0
                to, from_ = at + (before * H + previous) * W, begin + run * states_per_label
                add_run(row, to, total, from_, states_per_label, np.float32(1.0))


@part
def add_rows(out: np.ndarray, r: FeatureWeights, x: Active, lo: int, skip: int) -> None:
    """out f32[n, width] += the rows of the attributes of the tokens from lo on, except for the first `skip`.

    Arrays are taken out of their tuples once: inside the loop each access would count a reference."""
    w, slot, ptr, att, val = r.w, r.slot, x.ptr, x.att, x.val
    for i in range(skip, out.shape[0]):
        z, end = ptr[lo + i], ptr[lo + i + 1]
        if val.size > 0:
            _add_valued(out[i], w, slot, att, val, z, end)
        else:
            if i + 1 < out.shape[0]:  # rows are scattered over the memory: prefetch those of the next token
                for k in range(end, ptr[lo + i + 2]):
                    fetch_early(w, np.int64(slot[att[k]]))
            add_attribute_rows(out, i, w, slot, att, z, end)


@part
def fill_bias(T: Trellis, m: Chain, n: int) -> None:
    U, bias = T.U, m.bias
    for i in range(n):
        u = U[i]
        for h in range(u.size):
            u[h] = bias[h]


@part
def add_ends(T: Trellis, m: Chain, n: int) -> None:
    U, first, last, ends = T.U, m.first, m.last, m.transitions[0].w
    for h in range(first.size):
        U[0, h] += first[h] + ends[0, h]
        U[n - 1, h] += last[h] + ends[1, h]


@part
def score_states(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    fill_bias(T, m, n)
    if m.weights[0].first.size > 0:
        _add_lists(T.U[:n], m.weights[0], m, x, lo)
    else:
        add_rows(T.U[:n], m.weights[0], x, lo, 0)
    add_ends(T, m, n)


@part
def _score_pairs(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    E, forbid, pair = T.E, m.forbid, m.transitions[1].w
    edges = n if E.shape[0] > 1 else 1
    for i in range(edges):
        for g in range(forbid.shape[0]):
            e, f, p = E[i, g], forbid[g], pair[g]
            for h in range(e.size):
                e[h] = f[h] + p[h]
    if T.skips.top.size > 0:
        fill_tops(E, T.skips, 0, forbid.shape[0])
    if m.weights[1].first.size > 0:
        _add_seen(E[:edges].reshape(edges, -1), m.weights[1], m, gather_for(m, m.weights[1], 2), x, lo, 1)
    elif x.ptr.size > 0:
        add_rows(E[:edges].reshape(edges, -1), m.weights[1], x, lo, 1)


@part
def score_changed_pairs(T: Trellis, m: Chain, n: int, path: np.ndarray) -> None:
    """Fill the edges that an update by a path changed, where all tokens share them and nothing else changed."""
    E, forbid, pair, size = T.E, m.forbid, m.transitions[1].w, m.states_per_label
    for i in range(n - 1):
        begin = path[i] // size * size  # a tied update changes all states of the label
        for g in range(begin, begin + size):
            e, f, p = E[0, g], forbid[g], pair[g]
            for h in range(e.size):
                e[h] = f[h] + p[h]
        fill_tops(E, T.skips, begin, begin + size)


@part
def _score_triples(T: Trellis, m: Chain, x: Active, lo: int, n: int) -> None:
    S = T.S.reshape(T.S.shape[0], -1)
    triple = m.transitions[2].w.reshape(-1)
    edges = n if S.shape[0] > 1 else 1
    for i in range(edges):
        t = S[i]
        for k in range(t.size):
            t[k] = triple[k]
    if m.weights[2].first.size > 0:
        _add_seen(S[:edges], m.weights[2], m, gather_for(m, m.weights[2], 3), x, lo, 2)
    elif x.ptr.size > 0:
        add_rows(S[:edges], m.weights[2], x, lo, 2)


@part
def score_edges(T: Trellis, m: Chain, x: Data, lo: int, n: int, changed: bool) -> None:
    """Fill E and S, and normalise if the chain is a local one. Edges that all tokens share are filled again only if
    weights have changed: a table of triples of fifty labels takes longer to copy than a short sentence to search."""
    if m.order >= 1 and (changed or x.features[1].ptr.size > 0 or T.E.shape[0] > 1):
        _score_pairs(T, m, x.features[1], lo, n)
    if m.order >= 2 and (changed or x.features[2].ptr.size > 0):
        _score_triples(T, m, x.features[2], lo, n)
    if m.local:
        normalise(T, m, n, x.features[1].ptr.size == 0 and x.features[2].ptr.size == 0)


@part
def score(T: Trellis, m: Chain, x: Data, s: int, changed: bool) -> int:
    """Fill T for sentence s. Returns its length. `changed`: weights have changed since the last call."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    score_states(T, m, x.features[0], lo, n)
    score_edges(T, m, x, lo, n, changed)
    return n


@part
def restrict(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> None:
    """Forbid all states whose label the mask of their token excludes. This overwrites T.U, so that a restricted search
    must come last."""
    for i in range(n):
        known = x.known[lo + i]
        for h in range(m.label_of.size):
            if not x.allow[known, m.label_of[h]]:
                T.U[i, h] = -np.inf
