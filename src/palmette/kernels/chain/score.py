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

from palmette.kernels.chain.forms import (
    ENTRIES_ALONE,
    NOT_STORED,
    WHOLE_ROWS,
    Active,
    Chain,
    Data,
    FeatureWeights,
    Gather,
    Skips,
    StoredRows,
    Trellis,
)
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.prefetch import fetch_row
from palmette.kernels.core.vector import add_attribute_rows, add_run, exp_of, log_of


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
                    fetch_row(w, np.int64(slot[att[k]]))
            add_attribute_rows(out, i, w, slot, att, z, end)


# --- stored rows -----------------------------------------------------------------------------------------------
# The rows of a token's attributes are unpacked side by side, where they stay in the cache, and summed as rows are: with
# the same result to the last bit. With many labels entries are added one by one, as those of lists are.


@inline
def state_at(r: StoredRows, p: int) -> int:
    """The state n-gram of entry p."""
    state = r.state
    if r.item == 1:
        return np.int64(state[p])
    if r.item == 2:
        return np.int64(state[2 * p]) | np.int64(state[2 * p + 1]) << 8
    low = np.int64(state[4 * p]) | np.int64(state[4 * p + 1]) << 8
    return low | np.int64(state[4 * p + 2]) << 16 | np.int64(state[4 * p + 3]) << 24


@inline
def place_in_row(state: int, H: int, W: int, size: int) -> int:
    """The place of a state n-gram in a row of `size` numbers, W for each H states."""
    return state + state // H * (W - H) if size > W > H else state


@part
def unpack_row(r: StoredRows, attribute: int, factor: np.float32, H: int, W: int, row: np.ndarray) -> None:
    """row[..] = factor times the weights of an attribute; a row of zeros, or one that `clear_row` has cleared."""
    by, times, value, number, size = factor, np.float32(r.times), r.value, r.number, row.size
    small = number.size > 0
    if small:
        by *= r.scale[attribute]
    if r.kind == WHOLE_ROWS:
        begin = attribute * r.cells
        for q in range(size // W):
            source, target = begin + q * H, q * W
            if small:
                for h in range(H):
                    row[target + h] = by * np.float32(number[source + h]) * times
            else:
                for h in range(H):
                    row[target + h] = by * value[source + h] * times
        return
    for p in range(np.int64(r.first[attribute]), np.int64(r.first[attribute + 1])):
        own = np.float32(number[p]) if small else value[p]
        row[place_in_row(state_at(r, p), H, W, size)] = by * own * times


@part
def clear_row(r: StoredRows, attribute: int, H: int, W: int, row: np.ndarray) -> None:
    """Set what `unpack_row` wrote to zero, unless the next row overwrites it."""
    if r.kind != WHOLE_ROWS:
        for p in range(np.int64(r.first[attribute]), np.int64(r.first[attribute + 1])):
            row[place_in_row(state_at(r, p), H, W, row.size)] = np.float32(0.0)


@part
def _add_entries(out: np.ndarray, r: StoredRows, x: Active, lo: int) -> None:
    """As `_add_lists`, for the entries of single labels."""
    first, value, times = r.first, r.value, np.float32(r.times)
    ptr, att, val = x.ptr, x.att, x.val
    for i in range(out.shape[0]):
        row = out[i]
        for k in range(ptr[lo + i], ptr[lo + i + 1]):
            v = np.float32(1.0) if val.size == 0 else val[k]
            for p in range(np.int64(first[att[k]]), np.int64(first[att[k] + 1])):
                row[state_at(r, p)] += v * (value[p] * times)


@part
def add_stored(out: np.ndarray, r: StoredRows, H: int, W: int, x: Active, lo: int, skip: int) -> None:
    """As `add_rows`, for stored rows of W numbers for each H states."""
    if r.kind == ENTRIES_ALONE:
        _add_entries(out, r, x, lo)
        return
    ptr, att, val, most = x.ptr, x.att, x.val, 0
    for i in range(skip, out.shape[0]):
        most = max(most, ptr[lo + i + 1] - ptr[lo + i])
    room = np.zeros((most + 1, out.shape[1]), np.float32)  # row 0 stays zero
    place = np.arange(most + 1).astype(np.int32)
    last = r.times != 1.0  # values multiply finished weights
    for i in range(skip, out.shape[0]):
        begin, n = ptr[lo + i], ptr[lo + i + 1] - ptr[lo + i]
        for k in range(n):
            factor = np.float32(1.0) if val.size == 0 or last else val[begin + k]
            unpack_row(r, att[begin + k], factor, H, W, room[k + 1])
        if val.size == 0:
            add_attribute_rows(out, i, room, place, place, 1, n + 1)
        for k in range(n if val.size > 0 else 0):
            own, v = room[k + 1], val[begin + k] if last else np.float32(1.0)
            for h in range(own.size):
                out[i, h] += v * own[h]
        for k in range(n):
            clear_row(r, att[begin + k], H, W, room[k + 1])


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
    if m.stored[0].kind != NOT_STORED:
        add_stored(T.U[:n], m.stored[0], m.label_of.size, m.bias.size, x, lo, 0)
    elif m.weights[0].first.size > 0:
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
    if m.stored[1].kind != NOT_STORED:
        add_stored(E[:edges].reshape(edges, -1), m.stored[1], m.label_of.size, m.bias.size, x, lo, 1)
    elif m.weights[1].first.size > 0:
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
    if m.stored[2].kind != NOT_STORED:
        add_stored(S[:edges], m.stored[2], m.label_of.size, m.bias.size, x, lo, 2)
    elif m.weights[2].first.size > 0:
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


@part
def fill_tops(E: np.ndarray, skips: Skips, first: int, last: int) -> None:
    """The largest edges of the states first .. last - 1."""
    top, H = skips.top, E.shape[1]
    for g in range(first, last):
        row, most = E[0, g], np.float32(-np.inf)
        for h in range(H):
            most = max(most, row[h])
        top[g] = most


# --- local normalisation ---------------------------------------------------------------------------------------
# For maximum entropy Markov models. Each label is drawn given the labels before it, so that the scores of the states
# of a token are normalised for each history separately:
#
#     P(h | f, g) = exp(U[i, h] + E[i, g, h] + S[i, f, g, h]) / Z[i, f, g]        f, g according to the order
#
# The score of a path is then the sum of log P. The normaliser of token i depends only on the states before it, so it
# is subtracted from their scores: log Z[i, g] from U[i-1, g], log Z[i, f, g] from E[i-1, f, g]. So edges that are the
# same at all tokens stay the same (at order 2 pairs get a table per token), and all searches and sums work on the
# trellis unchanged. log Z of the trellis is 0, or less if histories without a continuation lose their probability.
#
# Sums are computed as in forward_backward.py: products with X = exp(edges - C), logarithms if they become too small.

TINY = 1e-280  # sums below this may be inaccurate


@part
def _exp_edges(T: Trellis, m: Chain, i: int, triples: bool, row: np.ndarray, X: np.ndarray, C: np.ndarray) -> None:
    """X[f, h, g] = exp(edges into token i - C[f, g]), C the largest edge of a history; `row` f64[W] is scratch
    space."""
    H = m.label_of.size
    pairs = T.E[i if T.E.shape[0] > 1 else 0]
    for f in range(H if triples else 1):
        for g in range(H):
            e = pairs[g]
            for h in range(H):
                row[h] = e[h]
            if triples:
                s = T.S[i if T.S.shape[0] > 1 else 0, f, g]
                for h in range(H):
                    row[h] += s[h]
            top = -np.inf
            for h in range(H):
                top = max(top, row[h])
            C[f, g] = top
            shift = top if top > -np.inf else 0.0
            for h in range(H):
                row[h] = exp_of(row[h] - shift)
            for h in range(H):
                X[f, h, g] = row[h]


@part
def _log_sum(T: Trellis, m: Chain, i: int, f: int, g: int, triples: bool) -> float:
    """log Z of one history, whatever the size of the scores."""
    H = m.label_of.size
    e = T.E[i if T.E.shape[0] > 1 else 0, g]
    k = i if T.S.shape[0] > 1 else 0
    top = -np.inf
    for h in range(H):
        top = max(top, float(T.U[i, h]) + float(e[h]) + (float(T.S[k, f, g, h]) if triples else 0.0))
    if top == -np.inf:
        return top
    total = 0.0
    for h in range(H):
        total += np.exp(float(T.U[i, h]) + float(e[h]) + (float(T.S[k, f, g, h]) if triples else 0.0) - top)
    return top + np.log(total)


@inline
def _without(score: float, log_z: float) -> float:
    """score - log_z; -inf for a history without a continuation."""
    return score - log_z if log_z > -np.inf else -np.inf


@part
def _take_off(
    T: Trellis, m: Chain, i: int, triples: bool, z: np.ndarray, v: np.ndarray, X: np.ndarray, C: np.ndarray
) -> None:
    """Subtract log Z of token i from the scores of the states before it; `z`, `v` f64[W] are scratch space."""
    H, u = m.label_of.size, T.U[i]
    top = -np.inf
    for h in range(H):
        top = max(top, float(u[h]))
    shift = top if top > -np.inf else 0.0
    for h in range(H):
        v[h] = exp_of(float(u[h]) - shift)
    for f in range(H if triples else 1):
        before, c, table = T.E[i - 1, f] if triples else T.U[i - 1], C[f], X[f]
        for g in range(z.size):
            z[g] = 0.0
        for h in range(H):
            x, weight = table[h], v[h]
            for g in range(z.size):  # contiguous, so that the loop becomes vector code
                z[g] += weight * x[g]
        least = np.inf
        for g in range(H):
            least = min(least, z[g])
        if least > TINY:
            for g in range(H):
                before[g] -= log_of(z[g]) + c[g] + top
            continue
        for g in range(H):
            log_z = log_of(z[g]) + c[g] + top if z[g] > TINY else _log_sum(T, m, i, f, g, triples)
            before[g] = _without(before[g], log_z)


@part
def _own_total(u: np.ndarray, H: int) -> float:
    """log of the sum of exp(u[h])"""
    top = -np.inf
    for h in range(H):
        top = max(top, float(u[h]))
    if top == -np.inf:
        return top
    total = 0.0
    for h in range(H):
        total += exp_of(float(u[h]) - top)
    return top + np.log(total)


@part
def normalise(T: Trellis, m: Chain, n: int, alike: bool) -> None:
    """Make the score of each path of n tokens its log probability; `alike`: all tokens have the same edges. Tokens are
    processed forwards: the scores of a token are used before its successor's normaliser is subtracted from them."""
    H, W, U = m.label_of.size, m.bias.size, T.U
    for i in range(n if m.order == 0 else 1):
        log_z = _own_total(U[i], H)
        for h in range(H):
            U[i, h] = _without(U[i, h], log_z)
    if m.order == 0 or n == 1:
        return
    K = H if m.order == 2 else 1
    X, C, row, v = np.zeros((K, H, W)), np.zeros((K, H)), np.zeros(W), np.zeros(W)
    for i in range(1, n):
        triples = m.order == 2 and i > 1
        if i == 1 or (i == 2 and triples) or not alike:
            _exp_edges(T, m, i, triples, row, X, C)
        _take_off(T, m, i, triples, row, v, X, C)
