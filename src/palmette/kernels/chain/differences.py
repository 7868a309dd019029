"""Differences of feature vectors, gold minus candidate, and their inner products, for margin learners.

An attribute may occur at several tokens, so the parts of a difference are summed in a hash table by (attribute, place)
before products are computed. With tied updates the labels have features too, whose products are multiplied by
`tied_update`. (Its square root as the value of these features would leave rounding errors where they should cancel, and
a step divides by the squared length.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import (
    Chain,
    Data,
    FeatureWeights,
    LabelContextWeights,
    Ngrams,
    StateLayout,
    TransitionWeights,
)
from palmette.kernels.chain.weights import (
    all_agree,
    block_and_cell,
    find_combination,
    is_growing,
    layout_of,
    ngrams_of,
    place_of,
    place_to_change,
)
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.types import F64, F64_2D, I64, U64

MIX = np.uint64(0x9E3779B97F4A7C15)


class Token(NamedTuple):
    """Gold (index 0) and the candidates (1..K) at one token."""

    place: I64  # [K + 1]  of the state n-gram in a dense row
    combo: I64  # [K + 1]  the number of its combination of labels
    label: I64  # [K + 1]  the place of the first states of these labels


class DifferenceTable(NamedTuple):
    """A hash table of features: the parts of all differences, empty between sentences."""

    keys: U64  # [size]       0 for an empty place
    values: F64_2D  # [size, K]  gold minus candidate
    used: I64  # [size / 2]   places in use, in order of insertion
    divisor: F64  # [size / 2]  of the steps of these features, see `scaled_products`
    n_used: I64  # [1]        number of places in use


def make_differences(K: int) -> DifferenceTable:
    keys, values = np.zeros(64, np.uint64), np.zeros((64, K))
    return DifferenceTable(keys, values, np.empty(32, np.int64), np.empty(32), np.zeros(1, np.int64))


@part
def with_capacity(t: DifferenceTable, needed: int) -> DifferenceTable:
    """An empty table, large enough for `needed` entries."""
    size = t.keys.size
    if size >= 2 * needed:
        return t
    while size < 2 * needed:
        size *= 2
    keys, values = np.zeros(size, np.uint64), np.zeros((size, t.values.shape[1]))
    return DifferenceTable(keys, values, np.empty(size // 2, np.int64), np.empty(size // 2), t.n_used)


@inline
def _fill_token(
    H: int, W: int, states_per_label: int, arity: int, paths: np.ndarray, i: int,
    place: np.ndarray, combo: np.ndarray, label: np.ndarray,
) -> None:  # fmt: skip
    """Set place, combo and label of token i."""
    Y = H // states_per_label
    for k in range(paths.shape[0]):
        own = place_of(H, W, paths[k], i, arity)
        place[k] = own
        h, g, f = (own % W) // states_per_label, (own // W) % H // states_per_label, (own // W) // H // states_per_label
        combo[k] = h if arity == 1 else (g * Y + h if arity == 2 else (f * Y + g) * Y + h)
        first = h * states_per_label
        before = (f * states_per_label * H if arity == 3 else 0) + g * states_per_label
        label[k] = first if arity == 1 else before * W + first


@part
def _features_at_differences(arity: int, ptr: np.ndarray, lo: int, steps: int, paths: np.ndarray) -> int:
    """The number of features of one arity at those of the first `steps` tokens from lo on where paths differ."""
    total = 0
    for i in range(arity - 1, steps):
        if not all_agree(paths, i, arity):
            total += 2 if arity == 1 else 1
            if ptr.size > 0:
                total += ptr[lo + i + 1] - ptr[lo + i]
    return total


@part
def entries(m: Chain, x: Data, lo: int, steps: int, paths: np.ndarray) -> int:
    """An upper bound of the number of features that differ between gold (path 0) and the candidates."""
    total = 0
    for arity in range(1, m.order + 2):
        total += _features_at_differences(arity, x.features[arity - 1].ptr, lo, steps, paths)
    return total * paths.shape[0] * (2 if m.tied_update > 0.0 else 1)


@inline
def entry_of(keys: np.ndarray, used: np.ndarray, count: np.ndarray, key: np.uint64) -> int:
    """The place of a key in the table, inserted if it is missing."""
    mask = np.uint64(keys.size - 1)
    at = (key * MIX >> np.uint64(20)) & mask
    while keys[at] != np.uint64(0) and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    if keys[at] == np.uint64(0):
        keys[at] = key
        used[count[0]] = np.int64(at)
        count[0] += 1
    return int(at)


@inline
def _key(attribute: int, places: int, place: int, arity: int, of_labels: int) -> np.uint64:
    """The key of a feature, never 0; the last bit is set for features of labels."""
    return np.uint64((attribute * places + place) * 8 + arity * 2 + of_labels)


@inline
def _count(values: np.ndarray, at: int, kind: np.ndarray, j: int, value: float) -> None:
    """Count the feature of entry `at` in path j: if j is gold (0), for all candidates of another kind than gold's; else
    against candidate j."""
    if j == 0:
        for k in range(1, kind.size):
            if kind[k] != kind[0]:
                values[at, k - 1] += value
    else:
        values[at, j - 1] -= value


@part
def _add_arity(
    g: Ngrams, q: StateLayout, lo: int, n: int, steps: int, paths: np.ndarray, s: Token, t: DifferenceTable
) -> None:
    """Add all features of one arity that end at the first `steps` tokens of a sentence of n tokens from lo on, where
    candidates differ from gold. Transition weights are numbered after the attributes; combinations that do not exist
    have no weight."""
    H, W, states_per_label, has_ties = q.H, q.W, q.states_per_label, q.tied_update > 0.0
    arity, K = g.arity, paths.shape[0]
    place, combo, label = s.place, s.combo, s.label
    keys, values, used, count = t.keys, t.values, t.used, t.n_used
    first, combos, ptr, att, val = g.weights.first, g.weights.combo, g.features.ptr, g.features.att, g.features.val
    size, A, places = g.weights.slot, g.weights.slot.size, H ** (arity - 1) * W
    some = first.size > 0 and not is_growing(g.weights)
    begin, end = 0, 0
    for i in range(arity - 1, steps):
        if all_agree(paths, i, arity):
            continue
        _fill_token(H, W, states_per_label, arity, paths, i, place, combo, label)
        if ptr.size > 0 and A > 0:
            begin, end = ptr[lo + i], ptr[lo + i + 1]
        opening = g.learns and (arity > 1 or i == 0)
        closing = g.learns and arity == 1 and i == n - 1
        for z in range(begin, end + 2):
            attribute, value = A + z - end, 1.0
            if z < end:
                attribute = int(att[z])
                value = 1.0 if val.size == 0 else float(val[z])
            elif not (opening if z == end else closing):
                continue
            for j in range(K):
                if j > 0 and place[j] == place[0]:
                    continue
                if some and z < end and find_combination(first, size, combos, attribute, combo[j]) < 0:
                    continue
                at = entry_of(keys, used, count, _key(attribute, places, place[j], arity, 0))
                _count(values, at, place, j, value)
                if has_ties and (j == 0 or combo[j] != combo[0]):
                    at = entry_of(keys, used, count, _key(attribute, places, label[j], arity, 1))
                    _count(values, at, combo, j, value)


@part
def add_differences(m: Chain, x: Data, lo: int, n: int, steps: int, paths: np.ndarray, t: DifferenceTable) -> None:
    """Add the differences of the first `steps` of n tokens, gold (path 0) minus each candidate, to an empty table."""
    q, K = layout_of(m), paths.shape[0]
    token = Token(np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64))
    for arity in range(1, m.order + 2):
        _add_arity(ngrams_of(m, x, arity), q, lo, n, steps, paths, token, t)


@part
def products(tied_update: float, K: int, t: DifferenceTable, A: np.ndarray) -> None:
    """A[k, l] = difference k . difference l for K candidates; empties the table."""
    keys, values, used = t.keys, t.values, t.used
    A[:K, :K] = 0.0
    for e in range(t.n_used[0]):
        row = values[used[e]]
        part_of = tied_update if keys[used[e]] & np.uint64(1) else 1.0
        keys[used[e]] = np.uint64(0)
        for k in range(K):
            if row[k] != 0.0:
                for j in range(K):
                    A[k, j] += part_of * row[k] * row[j]
        for k in range(K):
            row[k] = 0.0
    t.n_used[0] = 0


@part
def differences_of(m: Chain, x: Data, s: int, paths: np.ndarray, t: DifferenceTable) -> DifferenceTable:
    """A table of the differences between gold, path 0 of sentence s, and the other paths."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    t = with_capacity(t, entries(m, x, lo, n, paths) + 1)
    add_differences(m, x, lo, n, n, paths, t)
    return t


@part
def gram(m: Chain, x: Data, s: int, paths: np.ndarray, t: DifferenceTable, A: np.ndarray) -> DifferenceTable:
    """A[k, l] = (f(gold) - f(candidate k)) . (f(gold) - f(candidate l)), gold being path 0 of sentence s and candidate
    k path k + 1. Returns the emptied table, for the next sentence."""
    t = differences_of(m, x, s, paths, t)
    products(m.tied_update, paths.shape[0] - 1, t, A)
    return t


# --- adaptive updates ------------------------------------------------------------------------------------------
# Updates that adapt to each weight i by its learner state, from the same table.
#
#     scale_i  = 1 / (1 + state_i)                                        kept as 1 + state_i: `divisor`
#     A[k, l]  = sum over i of scale_i * d_ki * d_li                      the inner products that the rule gets
#     w_i     += scale_i * u_i,    u_i = sum over k of alpha_k * d_ki
#     state_i += spread * (u_i / sum of alphas)^2
#
# d_ki is the whole difference of candidate k in weight i over the sentence, so that weights of attributes that occur
# at several tokens take one step. Such rules do not support tied updates, whose features of labels have no learner
# state.

CONTEXT = 0  # the arity of keys of label contexts: (row * W + label + 1) * 8


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
def _divide_arity(r: FeatureWeights, v: TransitionWeights, q: StateLayout, arity: int, t: DifferenceTable) -> None:
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
def _divide_contexts(p: LabelContextWeights, t: DifferenceTable) -> None:
    """Set the divisors of the features of label contexts."""
    state, W, keys, used, divisor = p.state, p.w.shape[1], t.keys, t.used, t.divisor
    for e in range(t.n_used[0]):
        key = keys[used[e]]
        if _arity_of(key) == CONTEXT:
            row, column = _split(key - np.uint64(8), W)
            divisor[e] = 1.0 + state[row, column]


@part
def _move_arity(
    r: FeatureWeights, v: TransitionWeights, q: StateLayout, arity: int, t: DifferenceTable,
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
    p: LabelContextWeights, t: DifferenceTable, coefficient: np.ndarray, spread: float, clock: float
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
def scaled_products(m: Chain, p: LabelContextWeights, K: int, t: DifferenceTable, A: np.ndarray) -> None:
    """A[k, l] = sum over weights of scale * difference k * difference l for K candidates; the table stays filled, and
    keeps the scales for `apply_differences`."""
    q = layout_of(m)
    for arity in range(1, m.order + 2):
        _divide_arity(m.weights[arity - 1], m.transitions[arity - 1], q, arity, t)
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
    m: Chain, p: LabelContextWeights, t: DifferenceTable, coefficient: np.ndarray, spread: float, clock: float
) -> None:
    """Update the weights by the coefficients, gold first, after `scaled_products`. Empties the table."""
    q = layout_of(m)
    for arity in range(1, m.order + 2):
        _move_arity(m.weights[arity - 1], m.transitions[arity - 1], q, arity, t, coefficient, spread, clock)
    if p.w.shape[0] > 0:
        _move_contexts(p, t, coefficient, spread, clock)
    clear(t)


@part
def clear(t: DifferenceTable) -> None:
    """Empty the table."""
    keys, values, used = t.keys, t.values, t.used
    for e in range(t.n_used[0]):
        keys[used[e]] = np.uint64(0)
        for k in range(values.shape[1]):
            values[used[e], k] = 0.0
    t.n_used[0] = 0
