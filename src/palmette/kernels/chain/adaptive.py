"""Updates that adapt to each weight i by its learner state, from a table of differences (see differences.py).

    scale_i  = 1 / (1 + state_i)
    A[k, l]  = sum over i of scale_i * d_ki * d_li                      the inner products that the rule gets
    w_i     += scale_i * u_i,    u_i = sum over k of alpha_k * d_ki
    state_i += spread * (u_i / sum of alphas)^2

d_ki is the whole difference of candidate k in weight i over the sentence, so that weights of attributes that occur at
several tokens take one step. Weights that all states of a label share have no state of their own: tied updates do not
go together with such rules.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.differences import Differences
from palmette.kernels.chain.forms import Chain, FeatureWeights, TransitionWeights
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.kernels.chain.ngrams import block_and_cell, find_combination, layout_of
from palmette.kernels.core.compile import inline, part

CONTEXT = 0  # the arity of keys of label contexts: (row * W + label + 1) * 8


@part
def no_contexts(W: int) -> LabelContextWeights:
    """For chains without templates that read earlier labels."""
    i32, i64, u64 = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return LabelContextWeights(
        i32, np.zeros(1, np.int64), i32, u64, i32, np.zeros(1, np.int64), i32, i64,
        np.zeros((0, W), np.float32), np.zeros((0, W)), np.zeros((0, W), np.float32),
    )  # fmt: skip


@inline
def _split(key: np.uint64, places: int) -> tuple[int, int]:
    """The attribute and the place of a key."""
    rest = np.int64(key >> np.uint64(3))
    return int(rest // places), int(rest % places)


@part
def _row_of(m: Chain, r: FeatureWeights, arity: int, attribute: int, place: int, make: bool) -> tuple[int, int]:
    """Row and column of a weight of an attribute. Dense weights that have no row have the empty row 0, unless one is to
    be made."""
    if r.first.size > 0:
        combo, cell = block_and_cell(place, arity, layout_of(m))
        return find_combination(r.first, r.combo, attribute, combo), cell
    row = np.int64(r.slot[attribute])
    if row == 0 and make:
        row = r.used[0]
        r.slot[attribute] = row
        r.used[0] = row + 1
    return int(row), place


@inline
def _transition(t: TransitionWeights, number: int, place: int) -> tuple[int, int]:
    """Row and column of a transition weight: `number` is 1 for the end of a sentence."""
    W = t.w.shape[1]
    return number + place // W, place % W


@part
def _state_of(m: Chain, r: FeatureWeights, t: TransitionWeights, arity: int, attribute: int, place: int) -> float:
    A = r.slot.size
    if attribute < A:
        row, column = _row_of(m, r, arity, attribute, place, False)
        return float(r.state[row, column])  # row 0 never moves
    row, column = _transition(t, attribute - A, place)
    return float(t.state[row, column])


@part
def _add(
    m: Chain, r: FeatureWeights, t: TransitionWeights, arity: int, attribute: int, place: int, change: np.ndarray
) -> None:
    """change: the step, the step times the clock, and what the state grows by."""
    A = r.slot.size
    if attribute < A:
        row, column = _row_of(m, r, arity, attribute, place, True)
        w, a, state = r.w, r.a, r.state
    else:
        row, column = _transition(t, attribute - A, place)
        w, a, state = t.w, t.a, t.state
    w[row, column] += change[0]
    a[row, column] += change[1]
    state[row, column] += change[2]


@part
def state_of(m: Chain, p: LabelContextWeights, key: np.uint64) -> float:
    """The learner state of the weight of a key."""
    arity, H, W = np.int64(key >> np.uint64(1)) & 3, m.label_of.size, m.bias.size
    if arity == CONTEXT:
        row, label = _split(key - np.uint64(8), W)
        return float(p.state[row, label])
    attribute, place = _split(key, H ** (arity - 1) * W)
    if arity == 1:
        return _state_of(m, m.weights[0], m.transitions[0], 1, attribute, place)
    if arity == 2:
        return _state_of(m, m.weights[1], m.transitions[1], 2, attribute, place)
    return _state_of(m, m.weights[2], m.transitions[2], 3, attribute, place)


@part
def add_to(m: Chain, p: LabelContextWeights, key: np.uint64, change: np.ndarray) -> None:
    """Change the weight of a key, its accumulator and its learner state; see `_add`."""
    arity, H, W = np.int64(key >> np.uint64(1)) & 3, m.label_of.size, m.bias.size
    if arity == CONTEXT:
        row, label = _split(key - np.uint64(8), W)
        p.w[row, label] += change[0]
        p.a[row, label] += change[1]
        p.state[row, label] += change[2]
        return
    attribute, place = _split(key, H ** (arity - 1) * W)
    if arity == 1:
        _add(m, m.weights[0], m.transitions[0], 1, attribute, place, change)
    elif arity == 2:
        _add(m, m.weights[1], m.transitions[1], 2, attribute, place, change)
    else:
        _add(m, m.weights[2], m.transitions[2], 3, attribute, place, change)


@part
def scaled_products(m: Chain, p: LabelContextWeights, K: int, t: Differences, A: np.ndarray) -> None:
    """A[k, l] = sum over weights of scale * difference k * difference l for K candidates; the table stays filled."""
    A[:K, :K] = 0.0
    for e in range(t.n_used[0]):
        row = t.values[t.used[e]]
        scale = 1.0 / (1.0 + state_of(m, p, t.keys[t.used[e]]))
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += scale * row[k] * row[j]


@part
def apply_differences(
    m: Chain, p: LabelContextWeights, t: Differences, coefficient: np.ndarray, spread: float, clock: float
) -> None:
    """Move the weights by the coefficients, gold first. Empties the table."""
    K, change = coefficient.size - 1, np.zeros(3)
    for e in range(t.n_used[0]):
        at = t.used[e]
        total = 0.0
        for k in range(K):
            total -= coefficient[k + 1] * t.values[at, k]
        if total != 0.0:
            step = total / (1.0 + state_of(m, p, t.keys[at]))
            change[0], change[1], change[2] = step, clock * step, spread * (total / coefficient[0]) ** 2
            add_to(m, p, t.keys[at], change)
    clear(t)


@part
def clear(t: Differences) -> None:
    """Empty the table."""
    for e in range(t.n_used[0]):
        t.keys[t.used[e]] = np.uint64(0)
        for k in range(t.values.shape[1]):
            t.values[t.used[e], k] = 0.0
    t.n_used[0] = 0
