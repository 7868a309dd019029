"""Learning the weights of parts: after an error the parts of gold go up, those of the guess down.

The guess is the label with the largest score plus cost, 1 for every wrong label. The step is the smallest one after
which gold scores as much as the guess, at most `cap` (the first passive-aggressive rule); parts that both have cancel
out. Only attributes and parts that were seen together have a weight.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import I32, I64
from palmette.pipeline.kernels.forms import Bundles, PartWeights


@part
def _score(s: np.ndarray, w: PartWeights, x: Active, i: int) -> None:
    first, parts, weight, ptr, att = w.first, w.part, w.w, x.ptr, x.att
    for p in range(s.size):
        s[p] = np.float32(0.0)
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            s[parts[z]] += weight[z]


@part
def _guess(s: np.ndarray, b: Bundles, group: int, gold: int) -> tuple[np.int64, np.float32]:
    """The label of a group with the largest score plus cost, the smaller one of equal ones; and how much larger that is
    than the score of gold."""
    first, parts, member = b.first, b.part, b.member
    best, most, own = np.int64(gold), np.float32(-np.inf), np.float32(0.0)
    for k in range(b.begin[group], b.begin[group + 1]):
        y = np.int64(member[k])
        total = np.float32(0.0)
        for z in range(first[y], first[y + 1]):
            total += s[parts[z]]
        if y == gold:
            own = total
        else:
            total += np.float32(1.0)
        if total > most:
            best, most = y, total
    return best, most - own


@part
def _mark(sign: np.ndarray, b: Bundles, y: int, value: int) -> None:
    first, parts = b.first, b.part
    for z in range(first[y], first[y + 1]):
        sign[parts[z]] += value


@part
def _changing(w: PartWeights, x: Active, i: int, sign: np.ndarray) -> int:
    """The number of weights that an update moves."""
    first, parts, ptr, att = w.first, w.part, x.ptr, x.att
    n = 0
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            n += sign[parts[z]] != 0
    return n


@part
def _update(w: PartWeights, x: Active, i: int, sign: np.ndarray, step: np.float32, clock: float) -> None:
    first, parts, weight, a, ptr, att = w.first, w.part, w.w, w.a, x.ptr, x.att
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            change = sign[parts[z]]
            if change != 0:
                weight[z] += np.float32(change) * step
                a[z] += clock * np.float64(np.float32(change) * step)


@kernel
def train_bundles(
    b: Bundles, w: PartWeights, x: Active, group: I32, gold: I32, permutation: I64, first: int, last: int, cap: float,
    clock: float,
) -> tuple[float, int]:  # fmt: skip
    """Learn from the tokens permutation[first : last], whose labels gold i32[N] are in their groups i32[N]: the clock
    after it, and how many of them the weights had wrong or by less than the cost."""
    n_parts = np.int64(0)
    for z in range(b.part.size):
        n_parts = max(n_parts, np.int64(b.part[z]) + 1)
    s, sign = np.zeros(n_parts, np.float32), np.zeros(n_parts, np.int32)
    wrong = 0
    for k in range(first, last):
        i = permutation[k]
        y = np.int64(gold[i])
        now = clock
        clock += 1.0
        if b.begin[group[i] + 1] - b.begin[group[i]] < 2:
            continue
        _score(s, w, x, i)
        guess, loss = _guess(s, b, group[i], y)
        if guess == y:
            continue
        wrong += 1
        _mark(sign, b, y, 1)
        _mark(sign, b, guess, -1)
        step = np.float32(min(cap, np.float64(loss) / np.float64(max(1, _changing(w, x, i, sign)))))
        _update(w, x, i, sign, step, now)
        _mark(sign, b, y, -1)
        _mark(sign, b, guess, 1)
    return clock, wrong
