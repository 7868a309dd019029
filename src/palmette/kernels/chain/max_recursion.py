"""The best scores of paths up to each token: one max recursion over contexts, in float64, for every order.

    D[0, 0, h] = U[0, h]
    D[i, k, h] = V[i, k, h] + max over f of D[i-1, (f, k)] + L[i, f, k, h]

Contexts k, edges L, own scores V and the notation (f, k) are those of forward_backward.py, which sums instead of
maximising: at order 2 a context is the previous state (K = H contexts), otherwise there is one context. At order 2
the second token is entered from D[0, 0, k] without an edge, and at order 0 there are no edges at all.

It is used by all searches that need more than the best path: n-best lists (nbest.py), lists of paths for exact decoding
(exact.py) and margins. `viterbi` computes the same table in float32, with loops tuned for the best
path.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward_backward import edges_into, in_context, own_scores
from palmette.kernels.chain.score import score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64
from palmette.kernels.core.vector import max_four


@inline
def first_scores(T: Trellis, m: Chain, out: np.ndarray) -> None:
    """D of the first token into out f64[K, W]. It has one context: out[0]."""
    u = T.U[0]
    for h in range(m.label_of.size):
        out[0, h] = u[h]


@inline
def best_of(D: np.ndarray, i: int, H: int) -> float:
    """The best score in D f64[K, W] of token i; the first token has one context."""
    top = -np.inf
    for k in range(D.shape[0] if i > 0 else 1):
        for h in range(H):
            top = max(top, D[k, h])
    return top


@inline
def _max_over_previous(before: np.ndarray, edge: np.ndarray, k: int, out: np.ndarray) -> None:
    """out[h] = max over f of before[(f, k)] + edge[f, k, h]. Four previous states at a time; states that no path
    reaches are skipped."""
    for h in range(out.size):
        out[h] = -np.inf
    H, f = edge.shape[0], 0
    while f + 4 <= H:
        a, b = in_context(before, f, k), in_context(before, f + 1, k)
        c, d = in_context(before, f + 2, k), in_context(before, f + 3, k)
        if max(max(a, b), max(c, d)) > -np.inf:
            max_four(out, (a, b, c, d), edge[f, k], edge[f + 1, k], edge[f + 2, k], edge[f + 3, k])
        f += 4
    while f < H:
        a = in_context(before, f, k)
        if a > -np.inf:
            e = edge[f, k]
            for h in range(out.size):
                out[h] = max(out[h], a + e[h])
        f += 1


@inline
def next_scores(L: np.ndarray, order: int, i: int, H: int, V: np.ndarray, before: np.ndarray, out: np.ndarray) -> None:
    """D of token i >= 1 into out f64[K, W], from that of the token before it. L is `edges_into` of the trellis, V
    f64[K, W] `own_scores` of token i."""
    edge = L[i if L.shape[0] > 1 else 0]
    for k in range(out.shape[0]):
        o, v = out[k], V[k]
        if order == 0 or i < order:
            start = before[0, k] if order == 2 else best_of(before, 0, H)
            for h in range(o.size):
                o[h] = start
        else:
            _max_over_previous(before, edge, k, o)
        for h in range(o.size):
            o[h] += v[h]


@part
def best_scores(T: Trellis, m: Chain, n: int, V: np.ndarray, D: np.ndarray) -> float:
    """Fill D f64[n, K, W] for a scored trellis. Returns the score of the best path (-inf: none is allowed). V f64[K, W]
    is overwritten."""
    H, order, L = m.label_of.size, m.order, edges_into(T, m)
    first_scores(T, m, D[0])
    for i in range(1, n):
        own_scores(T, m, i, V)
        next_scores(L, order, i, H, V, D[i - 1], D[i])
    return best_of(D[n - 1], n - 1, H)


# --- margins ---------------------------------------------------------------------------------------------------
# Margins: the best and the worst path that agree with the known labels, against the best path that does not.
#
# The max recursion runs on two tables: R of paths that agree so far, X of paths that differ from the known labels at
# some token. At every token, paths of R with a state that the mask excludes are moved to X:
#
#     X[k, h] = max(X[k, h], R[k, h]),   R[k, h] = -inf          for every excluded state h
#
# A min recursion finds the worst path that agrees. Forbidden edges and states are no part of a path, so that its
# table Q has +inf where no path ends:
#
#     Q[i, k, h] = V[i, k, h] + min over f of Q[i-1, (f, k)] + L[i, f, k, h],   Q[i, k, h] = +inf    for excluded h


@part
def _move_over(m: Chain, x: Data, token: int, contexts: int, R: np.ndarray, X: np.ndarray) -> None:
    """Move paths that end in a state which is not allowed at the token from R f64[K, W] to X f64[K, W]."""
    for h in range(m.label_of.size):
        if not x.allow[x.known[token], m.label_of[h]]:
            for k in range(contexts):
                X[k, h] = max(X[k, h], R[k, h])
                R[k, h] = -np.inf


@part
def _first_least(T: Trellis, m: Chain, Q: np.ndarray) -> None:
    u = T.U[0]
    for h in range(m.label_of.size):
        Q[0, h] = u[h] if u[h] > -np.inf else np.inf


@part
def _least_before(L: np.ndarray, order: int, i: int, k: int, h: int, before: np.ndarray, H: int) -> float:
    """The least score of a path up to the token before i that can go on to (k, h), with the edge to it."""
    least = np.inf
    if order == 2 and i == 1:
        return before[0, k]
    for f in range(H):
        edge = L[i if L.shape[0] > 1 else 0, f, k, h] if order > 0 else 0.0
        if edge > -np.inf:
            least = min(least, in_context(before, f, k) + edge)
    return least


@part
def _next_least(L: np.ndarray, order: int, i: int, V: np.ndarray, before: np.ndarray, H: int, Q: np.ndarray) -> None:
    """Q f64[K, W] of token i >= 1 from that of the token before it."""
    for k in range(Q.shape[0]):
        for h in range(H):
            Q[k, h] = _least_before(L, order, i, k, h, before, H) + V[k, h] if V[k, h] > -np.inf else np.inf


@part
def _exclude(m: Chain, x: Data, token: int, contexts: int, Q: np.ndarray) -> float:
    """Exclude the states that are not allowed at the token. Returns the least score of the others."""
    least = np.inf
    for h in range(m.label_of.size):
        for k in range(contexts):
            if not x.allow[x.known[token], m.label_of[h]]:
                Q[k, h] = np.inf
            least = min(least, Q[k, h])
    return least


@kernel
def margins(m: Chain, x: Data, T: Trellis, right: F64, worst: F64, wrong: F64) -> None:
    """Write for each sentence the scores of the best and of the worst path that agree with the known labels into right
    and worst f64[S], and that of the best path that does not into wrong f64[S]. None: -inf, and inf in worst."""
    L, H, K, W = edges_into(T, m), m.label_of.size, T.D.shape[1], m.bias.size
    R, X, V = np.empty((2, K, W)), np.empty((2, K, W)), np.zeros((K, W))  # of the token before and of this one
    Q = np.empty((2, K, W))
    for s in range(x.offset.size - 1):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        for i in range(n):
            before, now = (i + 1) % 2, i % 2
            if i == 0:
                first_scores(T, m, R[now])
                X[now, 0] = -np.inf
                _first_least(T, m, Q[now])
            else:
                own_scores(T, m, i, V)
                next_scores(L, m.order, i, H, V, R[before], R[now])
                next_scores(L, m.order, i, H, V, X[before], X[now])
                _next_least(L, m.order, i, V, Q[before], H, Q[now])
            contexts = K if i > 0 else 1
            _move_over(m, x, lo + i, contexts, R[now], X[now])
            worst[s] = _exclude(m, x, lo + i, contexts, Q[now])
        last = (n - 1) % 2
        right[s], wrong[s] = best_of(R[last], n - 1, H), best_of(X[last], n - 1, H)
