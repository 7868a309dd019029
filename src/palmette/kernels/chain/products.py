"""Forward-backward by products instead of logarithms, for chains of order 0 and 1 whose edges are the same at all
tokens. With X = exp(edges) and V[i] = exp(states), both divided by their largest value,

    Y[i] = A[i-1] X        A[i] = Y[i] * V[i] * c[i]       c[i] = 1 / sum of A[i-1]
    B[i-1] = X Q[i]        Q[i] = B[i] * V[i] * c[i]       B[n-1] = 1 / sum of A[n-1]

    P[i] = Y[i] * Q[i]     the pairs of i-1 and i: A[i-1] X Q[i]

so that both directions use the same step (`chain_step`), and all numbers stay around 1. For sentences for which they
become too small, forward.py computes with logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Trellis
from palmette.kernels.core.aligned import aligned_zeros
from palmette.kernels.core.compile import part
from palmette.kernels.core.exponent import exp_of
from palmette.kernels.core.types import F64, F64_2D
from palmette.kernels.core.vector_sums import add_neighbours, below_largest, chain_step

SMALL = 1e-250  # sums below this may be inaccurate


class Scaled(NamedTuple):
    """Arrays for one sentence. The padding (h >= H) of all rows is 0."""

    X: F64_2D  # [H, W]    exp(edge - top)
    back: F64_2D  # [H, W] X transposed
    top: F64  # [1]     the largest edge
    V: F64_2D  # [n, W]
    A: F64_2D  # [n, W]
    Y: F64_2D  # [n, W]
    B: F64_2D  # [n, W]
    Q: F64_2D  # [n, W]
    c: F64  # [n]
    O: F64_2D  # [H, W]    sums of A[i-1] Q[i] over all tokens: times X the expected pairs


def make_products(T: Trellis, m: Chain, fast: bool) -> Scaled:
    """Arrays for sentences as long as T has room for; of no rows unless they go the fast way."""
    W = m.bias.size
    H, n = (m.label_of.size, T.U.shape[0]) if fast else (0, 0)
    X, back, O = (aligned_zeros((H, W), np.float64) for _ in range(3))
    V, A, Y, B, Q = (aligned_zeros((n, W), np.float64) for _ in range(5))
    return Scaled(X, back, np.zeros(1), V, A, Y, B, Q, np.zeros(n), O)


@part
def exp_all_edges(T: Trellis, m: Chain, r: Scaled) -> None:
    """Compute X from the edges of the trellis; without transitions all are 1."""
    H = m.label_of.size
    top = -np.inf
    for g in range(H):
        for h in range(H):
            top = max(top, float(T.E[0, g, h]) if m.order >= 1 else 0.0)
    r.top[0] = top if top > -np.inf else 0.0
    for g in range(H):
        for h in range(H):
            x = exp_of((float(T.E[0, g, h]) if m.order >= 1 else 0.0) - r.top[0])
            r.X[g, h] = x
            r.back[h, g] = x


@part
def _exp_states(U: np.ndarray, H: int, n: int, V: np.ndarray) -> float:
    """Fill V. Returns the sum of the subtracted values."""
    taken = 0.0
    for i in range(n):
        for h in range(H, U.shape[1]):
            U[i, h] = -np.inf
        taken += below_largest(V, U, i)
    if taken > -np.inf:
        all_states = V[:n].reshape(-1)  # one long loop becomes vector code, many short ones do not
        for k in range(all_states.size):
            all_states[k] = exp_of(all_states[k])
    return taken


@part
def forward_products(U: np.ndarray, n: int, r: Scaled) -> float:
    """Fill V, Y, A and c. Returns log Z; -inf if no path is allowed, NaN if numbers became too small. U is that of the
    trellis: passing the whole trellis would cost more than processing a token."""
    V, A, Y, X, c = r.V, r.A, r.Y, r.X, r.c
    H, W = X.shape
    log_z = _exp_states(U, H, n, V)
    if log_z == -np.inf:
        return log_z
    log_z += (n - 1) * r.top[0]
    total = 0.0
    for h in range(W):
        Y[0, h] = 1.0 if h < H else 0.0
        A[0, h] = V[0, h]
        total += V[0, h]
    if not total > SMALL:  # at least 1, unless a score is infinite
        return np.nan
    c[0] = 1.0
    scale = 1.0  # product of many sums, so that few logarithms are needed
    for i in range(1, n):
        c[i] = 1.0 / total
        scale *= total
        if scale < 1e-30 or scale > 1e30:
            log_z += np.log(scale)
            scale = 1.0
        total = chain_step(A, Y, V, i, i - 1, X, c[i])
        if not total > SMALL:
            return np.nan
    return log_z + np.log(scale) + np.log(total)


@part
def backward_products(n: int, r: Scaled, pairs: bool, weight: float, P: np.ndarray) -> None:
    """Write the marginals of states to P f64[n, W]; with `pairs`, add `weight` times the products of neighbours to
    O."""
    A, B, Q, V, Y, back, c = r.A, r.B, r.Q, r.V, r.Y, r.back, r.c
    total = 0.0
    for h in range(V.shape[1]):
        total += A[n - 1, h]
    last = c[n - 1] / total
    for h in range(V.shape[1]):
        Q[n - 1, h] = V[n - 1, h] * last
    for i in range(n - 1, 0, -1):
        chain_step(Q, B, V, i - 1, i, back, c[i - 1])
    before, after, out = Y[:n].reshape(-1), Q[:n].reshape(-1), P[:n].reshape(-1)
    for k in range(out.size):
        out[k] = before[k] * after[k]
    if pairs:
        if weight != 1.0:
            for k in range(after.size):
                after[k] *= weight
        add_neighbours(r.O, A, Q, n)
