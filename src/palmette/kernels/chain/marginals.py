"""Backward sums, and marginals of states, pairs and triples. Recursion and notation are those of forward.py.

Use by a gradient, for a scored (and, for known labels, restricted) trellis:

    w = make_sums(T, m, True)                   once
    exp_edges(T, m, n, w)                       if edges have changed: by new weights, or per sentence
    log_z = marginals(T, m, n, w, P)            P[i, h]; all 0 when log_z is -inf
    pair_marginals(T, m, w, i, out)             out[g, h],    i >= 1, order 1 and 2
    triple_marginals(T, m, w, i, out)           out[f, g, h], i >= 2, order 2

Each table sums to 1; the padding (h >= H) of a row is 0.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward import (
    TINY,
    Sums,
    SumWorkspace,
    dot,
    edges_into,
    exp_rows,
    first_context,
    in_context,
    largest,
    log_partition,
    log_sum_after,
    own_scores,
    scored,
    taken_out,
)
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.exponent import exp_of, log_of
from palmette.kernels.core.types import F64, I32

TIE = 1e-12  # labels whose probabilities differ by rounding are equally good


# --- backward -----------------------------------------------------------------------------------------------


@inline
def _weights_after(C: np.ndarray, V: np.ndarray, after: np.ndarray, q: np.ndarray) -> float:
    """q[h] = exp(C[h] + V[h] + after[h] - the largest such sum). Returns that sum."""
    for h in range(q.size):
        q[h] = C[h] + V[h] + after[h]
    top = largest(q)
    shift = top if top > -np.inf else 0.0
    for h in range(q.size):
        q[h] = exp_of(q[h] - shift)
    return top


@part
def _step_backward(
    after: np.ndarray, edge: np.ndarray, x: np.ndarray, C: np.ndarray, w: Sums, reached: np.ndarray, out: np.ndarray
) -> None:
    """out = B of a token, from that of the token after it. States that no path reaches (A = -inf) are skipped."""
    V, sums, q, tops, H = w.V, w.sums, w.q, w.a[0], x.shape[0]
    K = after.shape[0]
    for k in range(K):
        tops[k] = _weights_after(C[k], V[k], after[k], q[k])
    if K == 1:
        for h in range(1, H):
            tops[h] = tops[0]
    for h in range(H, tops.size):
        tops[h] = -np.inf
    for g in range(K):
        o, s, r = out[g], sums[g], reached[g]
        for h in range(H):
            f, k = (g, h) if K > 1 else (h, 0)
            s[h] = dot(x[f, k], q[k]) if r[h] > -np.inf else 0.0
        for h in range(o.size):
            o[h] = log_of(s[h]) + tops[h]
        for h in range(H):
            f, k = (g, h) if K > 1 else (h, 0)
            if s[h] <= TINY:
                o[h] = log_sum_after(edge[f, k], V[k], after[k], H) if r[h] > -np.inf else -np.inf


@part
def backward(T: Trellis, m: Chain, n: int, w: Sums) -> None:
    """Compute B, after a log_partition that found a path."""
    H, A, B = m.label_of.size, w.A, w.B
    L = edges_into(T, m)
    several = w.X.shape[0] > 1
    for k in range(B.shape[1]):
        for h in range(H):
            B[n - 1, k, h] = 0.0
    for i in range(n - 1, first_context(m, n), -1):
        if m.order == 0:
            for h in range(H):
                B[i - 1, 0, h] = 0.0
        else:
            e = i if several else 0
            own_scores(T, m, i, w.V)
            _step_backward(B[i], L[e], w.X[e], w.C[e], w, A[i - 1], B[i - 1])
            taken_out(B[i - 1])


# --- marginals ----------------------------------------------------------------------------------------------


@inline
def total_of(row: np.ndarray) -> float:
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    h = 0
    while h + 4 <= row.size:
        s0 += row[h]
        s1 += row[h + 1]
        s2 += row[h + 2]
        s3 += row[h + 3]
        h += 4
    while h < row.size:
        s0 += row[h]
        h += 1
    return (s0 + s1) + (s2 + s3)


@inline
def _scale_to_one(table: np.ndarray) -> None:
    total = 0.0
    for k in range(table.shape[0]):
        total += total_of(table[k])
    by = 1.0 / total if total != 0.0 else np.nan  # scores overflowed float32; log Z is NaN too
    for k in range(table.shape[0]):
        row = table[k]
        for h in range(row.size):
            row[h] *= by


@part
def _context_marginals(A: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
    """out[k, h] = exp(A[k, h] + B[k, h]), normalised to sum to 1."""
    K = out.shape[0]
    top = -np.inf
    for k in range(K):
        a, b, o = A[k], B[k], out[k]
        for h in range(o.size):
            o[h] = a[h] + b[h]
        top = max(top, largest(o))
    for k in range(K):
        o = out[k]
        for h in range(o.size):
            o[h] = exp_of(o[h] - top)
    _scale_to_one(out)


@part
def _state_marginals(m: Chain, n: int, w: Sums, P: np.ndarray) -> None:
    H, A, B = m.label_of.size, w.A, w.B
    first = first_context(m, n)
    for i in range(first, n):
        if first == 0:
            _context_marginals(A[i, :1], B[i, :1], P[i : i + 1])
            continue
        pairs, p = w.q, P[i]
        _context_marginals(A[i], B[i], pairs)
        for h in range(p.size):
            p[h] = 0.0
        for g in range(H):
            row = pairs[g]
            for h in range(p.size):
                p[h] += row[h]
        if i == 1:
            for g in range(p.size):
                P[0, g] = total_of(pairs[g]) if g < H else 0.0


@part
def marginals(T: Trellis, m: Chain, n: int, w: Sums, P: np.ndarray) -> float:
    """Write the marginals of all states to P f64[n, W], after `exp_edges`. Returns log Z."""
    log_z = log_partition(T, m, n, w)
    if log_z > -np.inf:
        backward(T, m, n, w)
        _state_marginals(m, n, w, P)
        return log_z
    for i in range(n):
        for h in range(P.shape[1]):
            P[i, h] = 0.0
    return log_z


@part
def _edge_marginals_by_logs(A: np.ndarray, edge: np.ndarray, V: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
    H, K = edge.shape[0], edge.shape[1]
    top = -np.inf
    for f in range(H):
        for k in range(K):
            for h in range(H):
                out[f, k, h] = in_context(A, f, k) + edge[f, k, h] + V[k, h] + B[k, h]
                top = max(top, out[f, k, h])
    for f in range(H):
        for k in range(K):
            for h in range(H):
                out[f, k, h] = exp_of(out[f, k, h] - top)


@part
def _edge_marginals(T: Trellis, m: Chain, w: Sums, i: int, out: np.ndarray) -> None:
    """out f64[H, K, W]: the marginals of the edges into token i."""
    H, K = out.shape[0], out.shape[1]
    e = i if w.X.shape[0] > 1 else 0
    V, a, x, C, B = w.V, w.a, w.X[e], w.C[e], w.B[i]
    own_scores(T, m, i, V)
    exp_rows(w.A[i - 1], a)
    top = -np.inf
    for k in range(K):
        c, v, b, q = C[k], V[k], B[k], w.q[k]
        for h in range(q.size):
            q[h] = c[h] + v[h] + b[h]
        top = max(top, largest(q))
    for k in range(K):
        q = w.q[k]
        for h in range(q.size):
            q[h] = exp_of(q[h] - top)
    total = 0.0
    for f in range(H):
        for k in range(K):
            o, r, q, weight = out[f, k], x[f, k], w.q[k], in_context(a, f, k)
            for h in range(o.size):
                o[h] = weight * r[h] * q[h]
            total += total_of(o)
    if total <= TINY:
        _edge_marginals_by_logs(w.A[i - 1], edges_into(T, m)[e], V, B, out)
    _scale_to_one(out.reshape(H * K, out.shape[2]))


@part
def pair_marginals(T: Trellis, m: Chain, w: Sums, i: int, out: np.ndarray) -> None:
    """Write the marginals of the states g, h of tokens i - 1 and i to out f64[H, W], after `marginals` found a path."""
    if m.order == 2:
        _context_marginals(w.A[i], w.B[i], out)
    else:
        _edge_marginals(T, m, w, i, out.reshape(out.shape[0], 1, out.shape[1]))


@part
def triple_marginals(T: Trellis, m: Chain, w: Sums, i: int, out: np.ndarray) -> None:
    """Write the marginals of the states f, g, h of tokens i - 2, i - 1 and i to out f64[H, H, W], after `marginals`
    found a path."""
    _edge_marginals(T, m, w, i, out)


# --- whole corpora ------------------------------------------------------------------------------------------


@part
def most_probable_label(p: np.ndarray, label_of: np.ndarray, of_label: np.ndarray) -> int:
    """The label with the largest sum of its states' probabilities, which are summed in of_label."""
    for y in range(of_label.size):
        of_label[y] = 0.0
    for h in range(label_of.size):
        of_label[label_of[h]] += p[h]
    best = 0
    for y in range(1, of_label.size):
        if of_label[y] > of_label[best] * (1.0 + TIE):
            best = y
    return best


@kernel
def decode_marginal(
    m: Chain, x: Data, workspace: SumWorkspace, out: I32, confidence: F64, log_z: F64,
    restricted: bool,
) -> None:  # fmt: skip
    """Write the label with the largest marginal of each token to out i32[N] (on ties the smaller one), its probability
    to confidence f64[N], and log Z of each sentence to log_z f64[S]. If no path is allowed: label 0, confidence 0."""
    T, w = workspace
    P, of_label = np.empty(T.U.shape), np.empty(m.label_of.max() + 1)
    for s in range(x.offset.size - 1):
        n = scored(T, m, x, s, w, restricted)
        lo = x.offset[s]
        log_z[s] = marginals(T, m, n, w, P)
        for i in range(n):
            out[lo + i] = most_probable_label(P[i], m.label_of, of_label)
            confidence[lo + i] = of_label[out[lo + i]]
