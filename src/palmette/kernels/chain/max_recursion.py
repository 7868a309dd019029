"""The best scores of paths up to each token: one max recursion over contexts, in float64, for every order.

    D[0, 0, h] = U[0, h]
    D[i, k, h] = V[i, k, h] + max over f of D[i-1, (f, k)] + L[i, f, k, h]

Contexts k, edges L, own scores V and the notation (f, k) are those of forward.py, which sums instead of
maximising: at order 2 a context is the previous state (K = H contexts), otherwise there is one context. At order 2
the second token is entered from D[0, 0, k] without an edge, and at order 0 there are no edges at all.

It is used by all searches that need more than the best path: n-best lists (nbest.py), lists of paths for exact decoding
(exact.py) and margins (margin.py). `viterbi` computes the same table in float32, with loops tuned for the best
path.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Trellis
from palmette.kernels.chain.forward import edges_into, in_context, own_scores
from palmette.kernels.core.compile import inline, part
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
