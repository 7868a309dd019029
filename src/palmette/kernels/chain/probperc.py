"""The probabilistic perceptron (probPerc): gold up by the rate, every candidate down by its share of the rate.

    P_k  = how probable candidate k is among the n best, gold added where it is missing
    w   += rate * (f(gold) - sum over k of P_k f(candidate k))

One sparse pass: the coefficients of all paths are added up at each token before any weight is touched (see
blend.py). With one candidate, gold not added and a constant rate of 1 this is the perceptron, bit for bit.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.blend import add_weighted_paths, room_for_sums
from palmette.kernels.chain.candidates import Listed, is_gold, list_candidates, room_for_listed
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.chain.score import score
from palmette.kernels.chain.train import make_workspace
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.learning.steps import shares


@part
def factors_of(
    r: Listed, n: int, found: int, add_gold: bool, kind: int, degree: float, rate: float, out: np.ndarray
) -> None:
    """out[0] for gold, out[k] for candidate k; they add up to 0."""
    first = 0 if add_gold else 1
    for k in range(1, found + 1):
        if first == 0 and is_gold(r, n, k):
            first = 1
    shares(kind, degree, r.scores[first : found + 1], out[first : found + 1])
    for k in range(1, found + 1):
        out[k] *= -rate
    out[0] = rate - rate * out[0] if first == 0 else rate


@kernel
def train_probperc(
    m: Chain, x: Data, order: np.ndarray, first: int, last: int, clock: float, K: int, rate: float, fall: float,
    add_gold: bool, on_errors: bool, kind: int, degree: float,
) -> tuple:  # fmt: skip
    """One slice of a pass: (clock, updates, tokens wrong, sentences without an allowed path). The rate at clock c is
    rate / (1 + fall * (c - 1))."""
    T = make_workspace(m, x, first, last, order)
    r = room_for_listed(T, m, K)
    sums = room_for_sums(m, K + 1)
    factors = np.zeros(K + 1)
    updates, wrong, infeasible = 0, 0, 0
    changed = True
    for k in range(first, last):
        s = order[k]
        n = score(T, m, x, s, changed)
        found, missed = list_candidates(T, m, x, x.offset[s], n, r)
        wrong += missed
        changed = False
        if found < 0:
            infeasible += 1
        elif missed > 0 or not on_errors:
            step = rate / (1.0 + fall * (clock - 1.0)) * float(x.weight[s])
            factors_of(r, n, found, add_gold, kind, degree, step, factors)
            add_weighted_paths(m, x, s, r.paths, factors, found + 1, clock, sums)
            updates += 1
            changed = True
        clock += 1.0
    return clock, updates, wrong, infeasible
