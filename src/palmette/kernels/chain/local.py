"""Local normalisation of a scored trellis (maximum entropy Markov models).

Each label is drawn given the labels before it, so that the scores of the states of a token are normalised for each
history separately:

    P(h | f, g) = exp(U[i, h] + E[i, g, h] + S[i, f, g, h]) / Z[i, f, g]        f, g according to the order

The score of a path is then the sum of log P. The normaliser of token i depends only on the states before it, so it is
subtracted from their scores: log Z[i, g] from U[i-1, g], log Z[i, f, g] from E[i-1, f, g]. So edges that are the same
at all tokens stay the same (at order 2 pairs get a table per token), and all searches and sums work on the trellis
unchanged. log Z of the trellis is 0, or less if histories without a continuation lose their probability.

Sums are computed as in forward.py: products with X = exp(edges - C), logarithms if they become too small.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Trellis
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.exponent import exp_of, log_of

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
