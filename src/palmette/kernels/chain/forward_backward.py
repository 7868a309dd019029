"""Sums over all paths of a trellis: log Z and forward sums, in float64.

    A[i, k, h] = log sum over the paths that end in state h at token i, in context k
    B[i, k, h] = log sum over the continuations from there to the end

The context is the previous state at order 2 (K = H contexts) and empty otherwise (K = 1). With L for the edges into a
token (E at order 1, S at order 2) and V for the own scores of its states (U; at order 2 U + E), both orders are one
recursion. Below, (f, k) is the state at the token before: the k-th state there in context f at order 2,
the f-th state there at order 1.

    A[i, k, h]    = V[i, k, h] + log sum over f of exp(A[i-1, (f, k)] + L[i, f, k, h])
    B[i-1, (f, k)] = log sum over h of exp(L[i, f, k, h] + V[i, k, h] + B[i, k, h])

A sum of products is far cheaper than a sum of exponentials: X = exp(L - C) with C[k, h] the largest edge into (k, h) is
computed once if all tokens have the same edges, and a step is X times exp(A). All factors are at most 1, so a sum above
TINY is accurate in float64; one below is computed again from the logarithms. So scores may have any size, and the
result is -inf only if no path is allowed. The largest A (and B) of each token is subtracted: values are comparable
within a token, not between tokens, and log Z includes the subtracted values. Most of the time is spent on exp and log
of rows, so these two are polynomials, which become vector code.

Backward sums and marginals follow below, in the same notation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, F64_2D, F64_3D, F64_4D, struct
from palmette.kernels.core.vector import exp_of, log_of

TINY = 1e-280  # terms below 1e-308 are lost, which is negligible in a sum of at least this


class Sums(NamedTuple):
    """Arrays for the sums over the paths of one sentence. Rows are processed whole, so that vectors are full: padding
    (h >= H) is -inf in A, C and V, 0 in X, a, q and sums, and 0 or -inf in B."""

    A: F64_3D  # [n, K, W]
    B: F64_3D  # [n, K, W], or with n = 0 for log Z alone
    C: F64_3D  # [1 or n, K, W]     largest edge into (k, h)
    X: F64_4D  # [1 or n, H, K, W]  exp(edge - C)
    V: F64_2D  # [K, W]             own scores of the states of one token
    a: F64_2D  # [K, W]             exp(A) of the previous token
    q: F64_2D  # [K, W]             exp(C + V + B) over the largest one of the context
    sums: F64_2D  # [K, W]          of products, before their logarithms are taken


def make_sums(T: Trellis, m: Chain, both: bool) -> Sums:
    """Arrays for sentences of the maximum length of T; `both`: for marginals, not only for log Z."""
    n, W = T.U.shape
    H = m.label_of.size
    K = H if m.order == 2 else 1
    edges = 1
    if m.order > 0:
        edges = T.E.shape[0] if m.order == 1 else T.S.shape[0]
    return Sums(
        np.full((n, K, W), -np.inf),
        np.zeros((n if both else 0, K, W)),
        np.full((edges, K, W), -np.inf),
        np.empty((edges, H if m.order > 0 else 0, K, W)),
        np.full((K, W), -np.inf),
        np.zeros((K, W)),
        np.zeros((K, W)),
        np.zeros((K, W)),
    )


@inline
def edges_into(T: Trellis, m: Chain) -> np.ndarray:
    """L f32[1 or n, H, K, W]"""
    if m.order == 1:
        return T.E.reshape(T.E.shape[0], m.label_of.size, 1, T.E.shape[2])
    return T.S


@part
def exp_edges(T: Trellis, m: Chain, n: int, w: Sums) -> None:
    """Fill X and C, for one table of edges or for those of n tokens."""
    if m.order == 0:
        return
    L, X, C = edges_into(T, m), w.X, w.C
    H, K = X.shape[1], X.shape[2]
    several = X.shape[0] > 1
    for i in range(m.order if several else 0, n if several else 1):
        for k in range(K):
            c = C[i, k]
            for h in range(H):
                c[h] = -np.inf
            for f in range(H):
                edge = L[i, f, k]
                for h in range(H):
                    c[h] = max(c[h], edge[h])
            for f in range(H):
                edge, x = L[i, f, k], X[i, f, k]
                for h in range(x.size):
                    x[h] = exp_of(edge[h] - (c[h] if c[h] > -np.inf else 0.0))
                for h in range(H, x.size):
                    x[h] = 0.0


# --- pieces of a step ---------------------------------------------------------------------------------------


@inline
def in_context(before: np.ndarray, f: int, k: int) -> float:
    """A[(f, k)] or B[(f, k)] of one token."""
    return before[f, k] if before.shape[0] > 1 else before[0, f]


@inline
def own_scores(T: Trellis, m: Chain, i: int, V: np.ndarray) -> None:
    """V[k, h] of token i."""
    u = T.U[i]
    for k in range(V.shape[0]):
        v = V[k]
        for h in range(m.label_of.size):
            v[h] = u[h]
        if m.order == 2:
            e = T.E[i if T.E.shape[0] > 1 else 0, k]
            for h in range(m.label_of.size):
                v[h] += e[h]


@inline
def largest(row: np.ndarray) -> float:
    """The largest number of a row, by four independent searches: in a single one each comparison waits for the last."""
    t0, t1, t2, t3 = -np.inf, -np.inf, -np.inf, -np.inf
    h = 0
    while h + 4 <= row.size:
        t0 = row[h] if row[h] > t0 else t0
        t1 = row[h + 1] if row[h + 1] > t1 else t1
        t2 = row[h + 2] if row[h + 2] > t2 else t2
        t3 = row[h + 3] if row[h + 3] > t3 else t3
        h += 4
    while h < row.size:
        t0 = row[h] if row[h] > t0 else t0
        h += 1
    return max(max(t0, t1), max(t2, t3))


@inline
def taken_out(table: np.ndarray) -> float:
    """Subtract the largest number from all of them and return it. The table is unchanged if it is -inf."""
    top = -np.inf
    for k in range(table.shape[0]):
        top = max(top, largest(table[k]))
    if top > -np.inf:
        for k in range(table.shape[0]):
            row = table[k]
            for h in range(row.size):
                row[h] -= top
    return top


@inline
def _log_total(table: np.ndarray) -> float:
    """log sum of exp over a table whose largest number is 0."""
    total = 0.0
    for k in range(table.shape[0]):
        row = table[k]
        for h in range(row.size):
            total += exp_of(row[h])
    return np.log(total)


@inline
def exp_rows(table: np.ndarray, out: np.ndarray) -> None:
    for k in range(table.shape[0]):
        row, o = table[k], out[k]
        for h in range(o.size):
            o[h] = exp_of(row[h])


@inline
def _weighted_rows(a: np.ndarray, x: np.ndarray, k: int, out: np.ndarray) -> None:
    """out[h] = sum over f of a[(f, k)] * x[f, k, h]. Four rows at a time; rows of weight 0 are skipped, which are
    most of them in a restricted trellis."""
    H = x.shape[0]
    for h in range(out.size):
        out[h] = 0.0
    f = 0
    while f + 4 <= H:
        p, q = in_context(a, f, k), in_context(a, f + 1, k)
        r, s = in_context(a, f + 2, k), in_context(a, f + 3, k)
        if p + q + r + s > 0.0:
            x0, x1, x2, x3 = x[f, k], x[f + 1, k], x[f + 2, k], x[f + 3, k]
            for h in range(out.size):
                out[h] += (p * x0[h] + q * x1[h]) + (r * x2[h] + s * x3[h])
        f += 4
    while f < H:
        p = in_context(a, f, k)
        if p > 0.0:
            x0 = x[f, k]
            for h in range(out.size):
                out[h] += p * x0[h]
        f += 1


@inline
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """a . b, by four independent sums: in a single one each addition waits for the last."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    h = 0
    while h + 4 <= a.size:
        s0 += a[h] * b[h]
        s1 += a[h + 1] * b[h + 1]
        s2 += a[h + 2] * b[h + 2]
        s3 += a[h + 3] * b[h + 3]
        h += 4
    while h < a.size:
        s0 += a[h] * b[h]
        h += 1
    return (s0 + s1) + (s2 + s3)


@part
def _log_sum_before(before: np.ndarray, edge: np.ndarray, k: int, h: int) -> float:
    """log sum over f of exp(before[(f, k)] + edge[f, k, h]), whatever the size of the scores."""
    top = -np.inf
    for f in range(edge.shape[0]):
        top = max(top, in_context(before, f, k) + edge[f, k, h])
    if top == -np.inf:
        return top
    total = 0.0
    for f in range(edge.shape[0]):
        total += np.exp(in_context(before, f, k) + edge[f, k, h] - top)
    return top + np.log(total)


@part
def log_sum_after(edge: np.ndarray, own: np.ndarray, after: np.ndarray, H: int) -> float:
    """log sum over h of exp(edge[h] + own[h] + after[h]), whatever the size of the scores."""
    top = -np.inf
    for h in range(H):
        top = max(top, edge[h] + own[h] + after[h])
    if top == -np.inf:
        return top
    total = 0.0
    for h in range(H):
        total += np.exp(edge[h] + own[h] + after[h] - top)
    return top + np.log(total)


# --- forward ------------------------------------------------------------------------------------------------


@inline
def first_context(m: Chain, n: int) -> int:
    """The first token with a context, where the recursion starts."""
    return 1 if m.order == 2 and n > 1 else 0


@part
def _start(T: Trellis, m: Chain, n: int, w: Sums) -> float:
    """Set A of the first token, or of the first two at order 2. Returns the subtracted value."""
    H, U = m.label_of.size, T.U
    A = w.A[0, :1]
    for h in range(H):
        A[0, h] = U[0, h]
    if first_context(m, n) == 0:
        return taken_out(A)
    A = w.A[1]
    own_scores(T, m, 1, A)
    for g in range(H):
        for h in range(H):
            A[g, h] += U[0, g]
    return taken_out(A)


@part
def _step_forward(before: np.ndarray, edge: np.ndarray, x: np.ndarray, C: np.ndarray, w: Sums, out: np.ndarray) -> None:
    """out = A of a token, from that of the token before."""
    V, a, H = w.V, w.a, x.shape[0]
    exp_rows(before, a)
    for k in range(out.shape[0]):
        o, v, c, s = out[k], V[k], C[k], w.sums[k]
        _weighted_rows(a, x, k, s)
        for h in range(o.size):
            o[h] = log_of(s[h]) + c[h] + v[h]
        for h in range(H):
            if s[h] <= TINY:
                o[h] = _log_sum_before(before, edge, k, h) + v[h] if v[h] > -np.inf else -np.inf


@part
def log_partition(T: Trellis, m: Chain, n: int, w: Sums) -> float:
    """Compute log Z and A, after `exp_edges`. -inf: no path is allowed, and A is incomplete."""
    H, A = m.label_of.size, w.A
    first = first_context(m, n)
    total = _start(T, m, n, w)
    L = edges_into(T, m)
    several = w.X.shape[0] > 1
    for i in range(first + 1, n):
        if total == -np.inf:
            return total
        if m.order == 0:
            total += _log_total(A[i - 1])
            for h in range(H):
                A[i, 0, h] = T.U[i, h]
        else:
            e = i if several else 0
            own_scores(T, m, i, w.V)
            _step_forward(A[i - 1], L[e], w.X[e], w.C[e], w, A[i])
        total += taken_out(A[i])
    if total == -np.inf:
        return total
    return total + _log_total(A[n - 1, : A.shape[1] if n > 1 else 1])


# --- whole corpora ------------------------------------------------------------------------------------------


@part
def scored(T: Trellis, m: Chain, x: Data, s: int, w: Sums, restricted: bool) -> int:
    """Score sentence s into T and prepare the edges of w; weights are the same for all sentences. Returns its
    length."""
    n = score(T, m, x, s, s == 0)
    if restricted:
        restrict(T, m, x, x.offset[s], n)
    if s == 0 or w.X.shape[0] > 1:
        exp_edges(T, m, n, w)
    return n


@struct
class SumWorkspace(NamedTuple):
    """Arrays for the scores and sums of one sentence."""

    trellis: Trellis
    sums: Sums


def make_sum_workspace(m: Chain, x: Data, both: bool = False) -> SumWorkspace:
    """For any sentence of the corpus; `both`: for marginals, not for log Z alone."""
    T = make_trellis(m, x)
    return SumWorkspace(T, make_sums(T, m, both))


@kernel
def log_partitions(m: Chain, x: Data, workspace: SumWorkspace, log_z: F64, restricted: bool) -> None:
    """Write log Z of each sentence to log_z f64[S]: of all paths, or of those that the label mask allows."""
    T, w = workspace
    for s in range(x.offset.size - 1):
        n = scored(T, m, x, s, w, restricted)
        log_z[s] = log_partition(T, m, n, w)


# --- backward sums and marginals -------------------------------------------------------------------------------
# Use by a gradient, for a scored (and, for known labels, restricted) trellis:
#
#     w = make_sums(T, m, True)                   once
#     exp_edges(T, m, n, w)                       if edges have changed: by new weights, or per sentence
#     log_z = marginals(T, m, n, w, P)            P[i, h]; all 0 when log_z is -inf
#     pair_marginals(T, m, w, i, out)             out[g, h],    i >= 1, order 1 and 2
#     triple_marginals(T, m, w, i, out)           out[f, g, h], i >= 2, order 2
#
# Each table sums to 1; the padding (h >= H) of a row is 0.


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
