"""How far right beats wrong: the best path that agrees with what is known, and the best one that does not.

One pass over the trellis with two tables, of paths that are right so far and of paths that have gone wrong somewhere:

    R[h] = U[i, h] + max over g of R[g] + E[i, g, h]                if h is allowed at token i, else -inf
    X[h] = U[i, h] + max over g of X[g] (or R[g] too, if h is not allowed) + E[i, g, h]

and the same over pairs at order 2. All sums are float64.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.score import score
from palmette.kernels.chain.train import make_workspace
from palmette.kernels.core.compile import inline, kernel, part


@inline
def _first_token(m: Chain, x: Data, u: np.ndarray, token: int, R: np.ndarray, X: np.ndarray) -> None:
    for h in range(m.label_of.size):
        fine = x.allow[x.known[token], m.label_of[h]]
        R[h] = u[h] if fine else -np.inf
        X[h] = -np.inf if fine else u[h]


@part
def _through_pairs(T: Trellis, m: Chain, x: Data, lo: int, n: int, R: np.ndarray, X: np.ndarray) -> tuple[float, float]:
    """Orders 0 and 1. R and X f64[2, H]: of the token before and of this one."""
    H = m.label_of.size
    _first_token(m, x, T.U[0], lo, R[0], X[0])
    for i in range(1, n):
        before, now = (i - 1) % 2, i % 2
        for h in range(H):
            fine = x.allow[x.known[lo + i], m.label_of[h]]
            right, wrong = -np.inf, -np.inf
            for g in range(H):
                edge = float(T.E[i if T.E.shape[0] > 1 else 0, g, h]) if m.order >= 1 else 0.0
                right = max(right, R[before, g] + edge)
                wrong = max(wrong, X[before, g] + edge)
            R[now, h] = T.U[i, h] + right if fine else -np.inf
            X[now, h] = T.U[i, h] + (wrong if fine else max(wrong, right))
    last = (n - 1) % 2
    return R[last, :H].max(), X[last, :H].max()


@part
def _through_triples(
    T: Trellis, m: Chain, x: Data, lo: int, n: int, R: np.ndarray, X: np.ndarray, R2: np.ndarray, X2: np.ndarray
) -> tuple[float, float]:
    """Order 2. R2 and X2 f64[2, H, H]: of the last two states."""
    H = m.label_of.size
    _first_token(m, x, T.U[0], lo, R[0], X[0])
    if n == 1:
        return R[0, :H].max(), X[0, :H].max()
    for i in range(1, n):
        before, now = (i - 1) % 2, i % 2
        e = T.E[i if T.E.shape[0] > 1 else 0]
        s = T.S[i if T.S.shape[0] > 1 else 0]
        for g in range(H):
            for h in range(H):
                fine = x.allow[x.known[lo + i], m.label_of[h]]
                right, wrong = -np.inf, -np.inf
                if i == 1:
                    right, wrong = R[0, g], X[0, g]
                else:
                    for f in range(H):
                        right = max(right, R2[before, f, g] + s[f, g, h])
                        wrong = max(wrong, X2[before, f, g] + s[f, g, h])
                own = float(T.U[i, h]) + float(e[g, h])
                R2[now, g, h] = own + right if fine else -np.inf
                X2[now, g, h] = own + (wrong if fine else max(wrong, right))
    last = (n - 1) % 2
    return R2[last].max(), X2[last].max()


@kernel
def margins(m: Chain, x: Data, right: np.ndarray, wrong: np.ndarray) -> None:
    """Of each sentence: the score of the best path that agrees with what is known f64[S], and of the best one that
    does not f64[S]; -inf where there is none."""
    S = x.offset.size - 1
    order = np.arange(S)
    T = make_workspace(m, x, 0, S, order)
    H = m.label_of.size
    R, X = np.empty((2, H)), np.empty((2, H))
    square = H if m.order >= 2 else 0
    R2, X2 = np.empty((2, square, square)), np.empty((2, square, square))
    for s in range(S):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        if m.order < 2:
            right[s], wrong[s] = _through_pairs(T, m, x, lo, n, R, X)
        else:
            right[s], wrong[s] = _through_triples(T, m, x, lo, n, R, X, R2, X2)
