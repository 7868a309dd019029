"""Margins: the best and the worst path that agree with the known labels, against the best path that does not.

The max recursion runs on two tables: R of paths that agree so far, X of paths that differ from the known labels at some
token. At every token, paths of R with a state that the mask excludes are moved to X:

    X[k, h] = max(X[k, h], R[k, h]),   R[k, h] = -inf          for every excluded state h

A min recursion finds the worst path that agrees. Forbidden edges and states are no part of a path, so that its table Q
has +inf where no path ends:

    Q[i, k, h] = V[i, k, h] + min over f of Q[i-1, (f, k)] + L[i, f, k, h],   Q[i, k, h] = +inf    for excluded h
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward import edges_into, in_context, own_scores
from palmette.kernels.chain.max_recursion import best_of, first_scores, next_scores
from palmette.kernels.chain.score import score
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64


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
