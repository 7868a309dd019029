"""Updates that adapt to each weight i by its learner state, from a table of differences (see differences.py).

    scale_i  = 1 / (1 + state_i)                                        kept as 1 + state_i: `divisor`
    A[k, l]  = sum over i of scale_i * d_ki * d_li                      the inner products that the rule gets
    w_i     += scale_i * u_i,    u_i = sum over k of alpha_k * d_ki
    state_i += spread * (u_i / sum of alphas)^2

d_ki is the whole difference of candidate k in weight i over the sentence, so that weights of attributes that occur at
several tokens take one step. Such rules do not support tied updates, whose features of labels have no learner state.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.differences import Differences
from palmette.kernels.chain.forms import Chain, FeatureWeights, StateLayout, TransitionWeights
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.kernels.chain.lists import find_combination, place_to_change
from palmette.kernels.chain.ngrams import block_and_cell, layout_of
from palmette.kernels.core.compile import inline, part

CONTEXT = 0  # the arity of keys of label contexts: (row * W + label + 1) * 8


def no_contexts(W: int) -> LabelContextWeights:
    """Empty weights, for chains without templates that read earlier labels."""
    i32, i64, u64 = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return LabelContextWeights(
        i32, np.zeros(1, np.int64), i32, u64, i32, np.zeros(1, np.int64), i32, i64,
        np.zeros((0, W), np.float32), np.zeros((0, W)), np.zeros((0, W), np.float32),
    )  # fmt: skip


@inline
def _arity_of(key: np.uint64) -> int:
    return int(np.int64(key >> np.uint64(1)) & 3)


@inline
def _split(key: np.uint64, places: int) -> tuple[int, int]:
    """The attribute and the place of a key."""
    rest = np.int64(key >> np.uint64(3))
    return int(rest // places), int(rest % places)


@inline
def _cell_of(
    slot: np.ndarray, first: np.ndarray, combos: np.ndarray, q: StateLayout, arity: int, attribute: int, place: int
) -> tuple[int, int]:
    """Row and column of a weight of an attribute, or of a transition weight: these are numbered after the attributes,
    those of the end of a sentence by 1. Dense weights without a row have row 0, which is zero; combinations that are
    not listed have row -1."""
    if attribute >= slot.size:
        return attribute - slot.size + place // q.W, place % q.W
    if first.size > 0:
        combo, cell = block_and_cell(place, arity, q)
        return find_combination(first, slot, combos, attribute, combo), cell
    return int(np.int64(slot[attribute])), place


@inline
def _direction(values: np.ndarray, at: int, coefficient: np.ndarray) -> float:
    """u_i of the entry `at`. The coefficients, gold first, have the sign of their outputs."""
    total = 0.0
    for k in range(1, coefficient.size):
        total -= coefficient[k] * values[at, k - 1]
    return total


@inline
def _change(
    w: np.ndarray, a: np.ndarray, state: np.ndarray, row: int, column: int, step: float, clock: float, grown: float
) -> None:
    w[row, column] += step
    a[row, column] += clock * step
    state[row, column] += grown


@part
def _divide_arity(r: FeatureWeights, v: TransitionWeights, q: StateLayout, arity: int, t: Differences) -> None:
    """Set the divisors of the features of one arity."""
    slot, first, combos, state, bare = r.slot, r.first, r.combo, r.state, v.state
    keys, used, divisor = t.keys, t.used, t.divisor
    places = q.H ** (arity - 1) * q.W
    for e in range(t.n_used[0]):
        key = keys[used[e]]
        if _arity_of(key) == arity:
            attribute, place = _split(key, places)
            row, column = _cell_of(slot, first, combos, q, arity, attribute, place)
            divisor[e] = 1.0
            if row >= 0:
                divisor[e] += state[row, column] if attribute < slot.size else bare[row, column]


@part
def _divide_contexts(p: LabelContextWeights, t: Differences) -> None:
    """Set the divisors of the features of label contexts."""
    state, W, keys, used, divisor = p.state, p.w.shape[1], t.keys, t.used, t.divisor
    for e in range(t.n_used[0]):
        key = keys[used[e]]
        if _arity_of(key) == CONTEXT:
            row, column = _split(key - np.uint64(8), W)
            divisor[e] = 1.0 + state[row, column]


@part
def _move_arity(
    r: FeatureWeights, v: TransitionWeights, q: StateLayout, arity: int, t: Differences,
    coefficient: np.ndarray, spread: float, clock: float,
) -> None:  # fmt: skip
    """Update the weights of one arity. A dense row, or a place of a list, is allocated at its first change."""
    slot, rows, first, combos, w, a, state = r.slot, r.used, r.first, r.combo, r.w, r.a, r.state
    bare, bare_sum, bare_state = v.w, v.a, v.state
    keys, values, used, divisor = t.keys, t.values, t.used, t.divisor
    places = q.H ** (arity - 1) * q.W
    for e in range(t.n_used[0]):
        key, u = keys[used[e]], _direction(values, used[e], coefficient)
        if _arity_of(key) != arity or u == 0.0:
            continue
        step, grown = u / divisor[e], spread * (u / coefficient[0]) ** 2
        attribute, place = _split(key, places)
        if attribute < slot.size and first.size == 0 and slot[attribute] == 0:
            slot[attribute] = rows[0]
            rows[0] += 1
        elif attribute < slot.size and first.size > 0:
            place_to_change(r, attribute, block_and_cell(place, arity, q)[0])
        row, column = _cell_of(slot, first, combos, q, arity, attribute, place)
        if attribute < slot.size:
            _change(w, a, state, row, column, step, clock, grown)
        else:
            _change(bare, bare_sum, bare_state, row, column, step, clock, grown)


@part
def _move_contexts(
    p: LabelContextWeights, t: Differences, coefficient: np.ndarray, spread: float, clock: float
) -> None:
    """Update the weights of label contexts."""
    w, a, state, W = p.w, p.a, p.state, p.w.shape[1]
    keys, values, used, divisor = t.keys, t.values, t.used, t.divisor
    for e in range(t.n_used[0]):
        key, u = keys[used[e]], _direction(values, used[e], coefficient)
        if _arity_of(key) == CONTEXT and u != 0.0:
            row, column = _split(key - np.uint64(8), W)
            _change(w, a, state, row, column, u / divisor[e], clock, spread * (u / coefficient[0]) ** 2)


@part
def scaled_products(m: Chain, p: LabelContextWeights, K: int, t: Differences, A: np.ndarray) -> None:
    """A[k, l] = sum over weights of scale * difference k * difference l for K candidates; the table stays filled, and
    keeps the scales for `apply_differences`."""
    q = layout_of(m)
    _divide_arity(m.weights[0], m.transitions[0], q, 1, t)
    if m.order >= 1:
        _divide_arity(m.weights[1], m.transitions[1], q, 2, t)
    if m.order >= 2:
        _divide_arity(m.weights[2], m.transitions[2], q, 3, t)
    if p.w.shape[0] > 0:
        _divide_contexts(p, t)
    values, used, divisor = t.values, t.used, t.divisor
    A[:K, :K] = 0.0
    for e in range(t.n_used[0]):
        row, scale = values[used[e]], 1.0 / divisor[e]
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += scale * row[k] * row[j]


@part
def apply_differences(
    m: Chain, p: LabelContextWeights, t: Differences, coefficient: np.ndarray, spread: float, clock: float
) -> None:
    """Update the weights by the coefficients, gold first, after `scaled_products`. Empties the table."""
    q = layout_of(m)
    _move_arity(m.weights[0], m.transitions[0], q, 1, t, coefficient, spread, clock)
    if m.order >= 1:
        _move_arity(m.weights[1], m.transitions[1], q, 2, t, coefficient, spread, clock)
    if m.order >= 2:
        _move_arity(m.weights[2], m.transitions[2], q, 3, t, coefficient, spread, clock)
    if p.w.shape[0] > 0:
        _move_contexts(p, t, coefficient, spread, clock)
    clear(t)


@part
def clear(t: Differences) -> None:
    """Empty the table."""
    keys, values, used = t.keys, t.values, t.used
    for e in range(t.n_used[0]):
        keys[used[e]] = np.uint64(0)
        for k in range(values.shape[1]):
            values[used[e], k] = 0.0
    t.n_used[0] = 0
