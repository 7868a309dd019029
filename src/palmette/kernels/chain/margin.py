"""Margins: the best path that agrees with the known labels against the best path that does not.

The max recursion runs on two tables: R of paths that agree so far, X of paths that differ from the known labels at some
token. At every token, paths of R with a state that the mask excludes are moved to X:

    X[k, h] = max(X[k, h], R[k, h]),   R[k, h] = -inf          for every excluded state h
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward import edges_into, own_scores
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


@kernel
def margins(m: Chain, x: Data, T: Trellis, right: F64, wrong: F64) -> None:
    """Write for each sentence the score of the best path that agrees with the known labels into right f64[S], and that
    of the best path that does not into wrong f64[S]; -inf if there is none."""
    L, H, K, W = edges_into(T, m), m.label_of.size, T.D.shape[1], m.bias.size
    R, X, V = np.empty((2, K, W)), np.empty((2, K, W)), np.zeros((K, W))  # of the token before and of this one
    for s in range(x.offset.size - 1):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        for i in range(n):
            before, now = (i + 1) % 2, i % 2
            if i == 0:
                first_scores(T, m, R[now])
                X[now, 0] = -np.inf
            else:
                own_scores(T, m, i, V)
                next_scores(L, m.order, i, H, V, R[before], R[now])
                next_scores(L, m.order, i, H, V, X[before], X[now])
            _move_over(m, x, lo + i, K if i > 0 else 1, R[now], X[now])
        last = (n - 1) % 2
        right[s], wrong[s] = best_of(R[last], n - 1, H), best_of(X[last], n - 1, H)
