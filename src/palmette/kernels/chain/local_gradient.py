"""Value and gradient of the likelihood of a locally normalised chain: a classifier per token, given the gold labels.

    value = sum over tokens of weight * -log P(gold label | gold labels before it)

Only one row of scores per token is needed, that of the gold history: there is no sum over paths. The tables are those
of gradient.py, with differences only in the row of the gold history, and `gather` sums them.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.gradient import Expected, path_allowed
from palmette.kernels.chain.score import score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.exponent import exp_of


@part
def _history_row(T: Trellis, m: Chain, x: Data, lo: int, i: int, row: np.ndarray) -> None:
    """row[h] = the score of state h at token i after the gold labels."""
    H, u = m.label_of.size, T.U[i]
    for h in range(H):
        row[h] = u[h]
    if i >= 1 and m.order >= 1:
        g = x.known[lo + i - 1]
        e = T.E[i if T.E.shape[0] > 1 else 0, g]
        for h in range(H):
            row[h] += e[h]
        if i >= 2 and m.order >= 2:
            s = T.S[i if T.S.shape[0] > 1 else 0, x.known[lo + i - 2], g]
            for h in range(H):
                row[h] += s[h]


@part
def _softmax(row: np.ndarray, H: int) -> float:
    """Replace scores by probabilities. Returns the log of the sum of their exponentials."""
    top = -np.inf
    for h in range(H):
        top = max(top, row[h])
    total = 0.0
    for h in range(H):
        row[h] = exp_of(row[h] - top)
        total += row[h]
    for h in range(H):
        row[h] /= total
    return top + np.log(total)


@inline
def _add(to: np.ndarray, at: int, row: np.ndarray) -> None:
    for h in range(row.size):
        to[at + h] += row[h]


@part
def _spread(m: Chain, x: Data, lo: int, at: int, i: int, n: int, row: np.ndarray, out: Expected) -> None:
    """Add the differences of token i to all tables that they belong to, those of the sentence being from `at` on."""
    H, W = m.label_of.size, m.bias.size
    states, pairs, triples = out.tables
    _add(states[at + i], 0, row)
    if i == 0:
        _add(out.transitions[0][0], 0, row)
    if i == n - 1:
        _add(out.transitions[0][1], 0, row)
    if i >= 1 and m.order >= 1:
        g = x.known[lo + i - 1]
        _add(out.transitions[1][g], 0, row)
        if pairs.shape[0] > 0:
            _add(pairs[at + i], g * W, row)
        if i >= 2 and m.order >= 2:
            before = x.known[lo + i - 2] * H + g
            _add(out.transitions[2][before], 0, row)
            if triples.shape[0] > 0:
                _add(triples[at + i], before * W, row)


@kernel
def local_expectations(
    m: Chain, x: Data, T: Trellis, first: int, last: int, start: int, out: Expected
) -> tuple[float, int, int]:
    """As `expectations`; all labels are known. `m.local` must be False, since this needs unnormalised scores."""
    H, row = m.label_of.size, np.zeros(m.bias.size)
    objective, wrong, infeasible = 0.0, 0, 0
    for s in range(first, last):
        n = score(T, m, x, s, s == first)
        lo, weight = x.offset[s], float(x.weight[s])
        if not path_allowed(T.U, m.order, m.forbid, x.known[lo : lo + n]):
            infeasible += 1
            continue
        for i in range(n):
            gold = x.known[lo + i]
            _history_row(T, m, x, lo, i, row)
            own = row[gold]
            objective += weight * (_softmax(row, H) - own)
            best = 0
            for h in range(1, H):
                if row[h] > row[best]:
                    best = h
            wrong += 1 if best != gold else 0
            row[gold] -= 1.0
            for h in range(H):
                row[h] *= weight
            _spread(m, x, lo, lo - start, i, n, row, out)
    return objective, wrong, infeasible
