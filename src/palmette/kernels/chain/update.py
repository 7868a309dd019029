"""Add `step * (features(gold) - features(guess))` to the weights; features of both paths cancel.

Tied updates: in a latent chain all states of the labels get a fraction of the change too, as if every feature of states
were also one of labels. Otherwise one update raises a label, but lowering it takes one per state, since the score of a
label is that of its best state.

Every change of a weight is also added, times the clock c, to an accumulator: w - a/c is then the mean of
all weight vectors so far. The accumulators are float64: in float32 small steps would be lost after millions of updates.

Several threads apply one update together, each to its share of the attributes (core/team.py); transition weights are
the first one's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Ngrams, StateLayout
from palmette.kernels.chain.weights import (
    OwnRows,
    all_agree,
    block_and_cell,
    layout_of,
    list_own_rows,
    make_own_rows,
    ngrams_of,
    place_of,
    place_to_change,
    same_labels,
)
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.prefetch import fetch_to_write
from palmette.kernels.core.team import Share, is_own, row_to_change
from palmette.kernels.core.types import F64, I32_2D, I64
from palmette.kernels.learning.rule import AROW, MIRA, PA, Rule


@inline
def change_seen(r: FeatureWeights, attribute: int, combo: int, cell: int, change: float, c: float) -> None:
    """Change one weight; a combination that does not exist has none."""
    at = place_to_change(r, attribute, combo)
    if at >= 0:
        r.w[at, cell] += change
        r.a[at, cell] += c * change


@part
def add_tied_dense(
    w: np.ndarray, a: np.ndarray, q: StateLayout, arity: int, place: int, change: float, c: float
) -> None:
    """Change the weights of all states of the labels at `place` of a dense row."""
    H, W, states_per_label, sizes = q.H, q.W, q.states_per_label, q.sizes
    context = place // W
    h, g, f = place % W // states_per_label, context % H // states_per_label, context // H // states_per_label
    for before in range(sizes[f] if arity == 3 else 1):
        for previous in range(sizes[g] if arity >= 2 else 1):
            row = ((f * states_per_label + before) * H + g * states_per_label + previous) * W + h * states_per_label
            for k in range(row, row + sizes[h]):
                w[k] += change
                a[k] += c * change


@part
def add_tied_seen(
    r: FeatureWeights, q: StateLayout, arity: int, attribute: int, combo: int, change: float, c: float
) -> None:
    """Change the weights of all states of a combination of labels that was seen."""
    states_per_label, sizes = q.states_per_label, q.sizes
    Y = q.H // states_per_label
    h, g, f = combo % Y, combo // Y % Y, combo // Y // Y
    for before in range(sizes[f] if arity == 3 else 1):
        for previous in range(sizes[g] if arity >= 2 else 1):
            for k in range(sizes[h]):
                cell = (before * states_per_label + previous) * states_per_label + k
                change_seen(r, attribute, combo, cell, change, c)


@part
def _move_seen(g: Ngrams, q: StateLayout, i: int, plus: int, minus: int, step: float, c: float, share: Share) -> None:
    r, x, arity = g.weights, g.features, g.arity
    up, up_cell = block_and_cell(plus, arity, q)
    down, down_cell = block_and_cell(minus, arity, q)
    for k in range(x.ptr[i], x.ptr[i + 1]):
        if not is_own(x.att[k], share):
            continue
        change = step if x.val.size == 0 else step * x.val[k]
        change_seen(r, x.att[k], up, up_cell, change, c)
        change_seen(r, x.att[k], down, down_cell, -change, c)
        if q.tied_update > 0.0 and up != down:
            add_tied_seen(r, q, arity, x.att[k], up, q.tied_update * change, c)
            add_tied_seen(r, q, arity, x.att[k], down, -q.tied_update * change, c)


@part
def _move_rows(
    r: FeatureWeights, x: Active, i: int, plus: int, minus: int, step: float, c: float, share: Share, own: OwnRows
) -> None:
    """Update the attributes of token i: add `step` at the place `plus` and subtract it at `minus`. A dense row is
    allocated at its first change."""
    w, a, val, rows, places = r.w, r.a, x.val, own.rows, own.places
    n = list_own_rows(r, x, i, share, own)
    for e in range(n):  # rows are scattered over the memory
        fetch_to_write(w, rows[e], plus)
        fetch_to_write(w, rows[e], minus)
        fetch_to_write(a, rows[e], plus)
        fetch_to_write(a, rows[e], minus)
    for e in range(n):
        s, change = rows[e], step if val.size == 0 else step * val[places[e]]
        w[s, plus] += change
        a[s, plus] += c * change
        w[s, minus] -= change
        a[s, minus] -= c * change


@part
def _add_tied_rows(
    g: Ngrams, q: StateLayout, i: int, plus: int, minus: int, step: float, c: float, share: Share
) -> None:
    """Apply the tied update to rows, which are allocated by now."""
    if same_labels(plus, minus, g.arity, q):
        return
    r, x = g.weights, g.features
    for k in range(x.ptr[i], x.ptr[i + 1]):
        s = row_to_change(r.slot, r.used, x.att[k], share)
        if s == 0:
            continue
        change = q.tied_update * (step if x.val.size == 0 else step * x.val[k])
        add_tied_dense(r.w[s], r.a[s], q, g.arity, plus, change, c)
        add_tied_dense(r.w[s], r.a[s], q, g.arity, minus, -change, c)


@part
def _move_transition(
    w: np.ndarray, a: np.ndarray, q: StateLayout, arity: int, plus: int, minus: int, step: float, c: float
) -> None:
    """Update one row of transition weights, or all of them as one row."""
    if plus == minus:
        return
    w[plus] += step
    a[plus] += c * step
    w[minus] -= step
    a[minus] -= c * step
    if q.tied_update > 0.0 and not same_labels(plus, minus, arity, q):
        add_tied_dense(w, a, q, arity, plus, q.tied_update * step, c)
        add_tied_dense(w, a, q, arity, minus, -q.tied_update * step, c)


@part
def _move_ngrams(
    g: Ngrams, q: StateLayout, lo: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float, share: Share,
    own: OwnRows,
) -> None:  # fmt: skip
    """Update the features of one arity where the paths differ, except for start and end."""
    arity, w, a = g.arity, g.transitions.w.reshape(-1), g.transitions.a.reshape(-1)
    moves = g.learns and arity > 1 and share.number == 0
    seen, rows, has_ties = g.weights.first.size > 0, g.features.ptr.size > 0, q.tied_update > 0.0
    for i in range(arity - 1, gold.size):
        plus, minus = place_of(q.H, q.W, gold, i, arity), place_of(q.H, q.W, guess, i, arity)
        if plus != minus:
            if moves:
                _move_transition(w, a, q, arity, plus, minus, step, c)
            if seen:
                _move_seen(g, q, lo + i, plus, minus, step, c, share)
            elif rows:
                _move_rows(g.weights, g.features, lo + i, plus, minus, step, c, share, own)
                if has_ties:
                    _add_tied_rows(g, q, lo + i, plus, minus, step, c, share)


@part
def add_path_difference(
    m: Chain, x: Data, s: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float, share: Share, own: OwnRows
) -> None:
    """w += step * (f(gold) - f(guess)) for sentence s at time c, for the weights of this share."""
    q, lo = layout_of(m), x.offset[s]
    n = x.offset[s + 1] - lo
    gold, guess = gold[:n], guess[:n]
    for arity in range(1, m.order + 2):
        _move_ngrams(ngrams_of(m, x, arity), q, lo, gold, guess, step, c, share, own)
    if m.learns[0] and share.number == 0:
        ends = m.transitions[0]
        _move_transition(ends.w[0], ends.a[0], q, 1, gold[0], guess[0], step, c)
        _move_transition(ends.w[1], ends.a[1], q, 1, gold[n - 1], guess[n - 1], step, c)


# --- weighted paths --------------------------------------------------------------------------------------------
# Add a weighted sum of paths to the weights: w += sum over k of coefficient[k] * features(path k).
#
# The coefficients of a sentence sum to zero (gold up, candidates down), so that tokens at which all paths agree are
# skipped; at the others the coefficients of equal states (pairs, triples) are summed first, and most of them cancel.
# As above every change is also added, times the clock, to the accumulators, tied updates change all states of
# a label, and threads apply one update together.

NOTHING = 1e-9  # coefficients below this are lost in the rounding of float32 weights of ordinary size
SMALL = 1e-5  # margin rules have smaller coefficients if the values of attributes are large
MARGIN_RULES = (PA, MIRA, AROW)


class PlaceSums(NamedTuple):
    """The coefficients of the places of one token."""

    place: I64  # [K]
    factor: F64  # [K]
    tied_place: I64  # [K]     a place per combination of labels whose coefficients do not cancel
    tied: F64  # [K]      their sum, times tied_update
    margins: bool  # whether the rule has margins: then all coefficients may be small
    own: OwnRows


def make_sums(K: int, rule: Rule, x: Data) -> PlaceSums:
    places, tied_places = np.empty(K, np.int64), np.empty(K, np.int64)
    return PlaceSums(places, np.empty(K), tied_places, np.empty(K), rule.kind in MARGIN_RULES, make_own_rows(x))


class WeightedPaths(NamedTuple):
    """What an update adds to the weights: sum of factors[k] * f(the first `length` tokens of paths[k])."""

    paths: I32_2D  # [K, at least length]
    factors: F64  # [K]  they sum to 0
    length: np.int64
    clock: float


@inline
def nothing_of(factors: np.ndarray, margins: bool) -> float:
    """The size up to which a sum of these coefficients, gold first, counts as cancelled."""
    return NOTHING * abs(factors[0]) if margins and abs(factors[0]) <= SMALL else NOTHING


@inline
def _sum_places(
    H: int, W: int, arity: int, paths: np.ndarray, factors: np.ndarray, i: int, nothing: float, sums: PlaceSums
) -> int:
    """Find the distinct places of token i whose coefficients do not cancel. Returns their number."""
    place, factor = sums.place, sums.factor
    n = 0
    for k in range(factors.size):
        p = place_of(H, W, paths[k], i, arity)
        j = 0
        while j < n and place[j] != p:
            j += 1
        if j == n:
            place[n], factor[n] = p, 0.0
            n += 1
        factor[j] += factors[k]
    kept = 0
    for j in range(n):
        if abs(factor[j]) > nothing:
            place[kept], factor[kept] = place[j], factor[j]
            kept += 1
    return kept


@part
def _sum_labels(q: StateLayout, arity: int, n: int, sums: PlaceSums, nothing: float) -> int:
    """Find the combinations of labels of n places whose coefficients do not cancel. Returns their number."""
    place, factor, tied_place, tied = sums.place, sums.factor, sums.tied_place, sums.tied
    found = 0
    for j in range(n):
        at = 0
        while at < found and not same_labels(tied_place[at], place[j], arity, q):
            at += 1
        if at == found:
            tied_place[at], tied[at] = place[j], 0.0
            found += 1
        tied[at] += factor[j]
    kept = 0
    for j in range(found):
        if abs(tied[j]) > nothing:
            tied_place[kept], tied[kept] = tied_place[j], q.tied_update * tied[j]
            kept += 1
    return kept


@inline
def _blend_rows(g: Ngrams, i: int, sums: PlaceSums, n: int, c: float, share: Share) -> None:
    """Update the rows of the attributes of token i. A row is allocated at its first change."""
    w, a, val, place, factor = g.weights.w, g.weights.a, g.features.val, sums.place, sums.factor
    rows, places = sums.own.rows, sums.own.places
    listed = list_own_rows(g.weights, g.features, i, share, sums.own)
    for e in range(listed):  # rows are scattered over the memory
        for j in range(n):
            fetch_to_write(w, rows[e], place[j])
            fetch_to_write(a, rows[e], place[j])
    for e in range(listed):
        value = 1.0 if val.size == 0 else float(val[places[e]])
        own, total = w[rows[e]], a[rows[e]]
        for j in range(n):
            change = value * factor[j]
            own[place[j]] += change
            total[place[j]] += c * change


@part
def _blend_seen(
    g: Ngrams, q: StateLayout, i: int, sums: PlaceSums, n: int, labels: int, c: float, share: Share
) -> None:
    """Update the seen combinations of the attributes of token i."""
    r, arity, ptr, att, val = g.weights, g.arity, g.features.ptr, g.features.att, g.features.val
    place, factor, tied_place, tied = sums.place, sums.factor, sums.tied_place, sums.tied
    w, a = r.w, r.a
    for k in range(ptr[i], ptr[i + 1]):
        if not is_own(att[k], share):
            continue
        value = 1.0 if val.size == 0 else float(val[k])
        for j in range(n):
            combo, cell = block_and_cell(place[j], arity, q)
            at = place_to_change(r, att[k], combo)
            if at >= 0:
                change = value * factor[j]
                w[at, cell] += change
                a[at, cell] += c * change
        for j in range(labels):
            combo, _ = block_and_cell(tied_place[j], arity, q)
            add_tied_seen(r, q, arity, att[k], combo, value * tied[j], c)


@part
def _blend_tied_rows(g: Ngrams, q: StateLayout, i: int, sums: PlaceSums, labels: int, c: float, share: Share) -> None:
    """Apply the tied update to rows, which are allocated by now."""
    r, x = g.weights, g.features
    for k in range(x.ptr[i], x.ptr[i + 1]):
        s = row_to_change(r.slot, r.used, x.att[k], share)
        if s == 0:
            continue
        value = 1.0 if x.val.size == 0 else float(x.val[k])
        for j in range(labels):
            add_tied_dense(r.w[s], r.a[s], q, g.arity, sums.tied_place[j], value * sums.tied[j], c)


@inline
def _blend_transitions(
    w: np.ndarray, a: np.ndarray, q: StateLayout, arity: int, sums: PlaceSums, n: int, labels: int, c: float
) -> None:
    """Update one row of transition weights, or all of them as one row."""
    place, factor = sums.place, sums.factor
    for j in range(n):
        w[place[j]] += factor[j]
        a[place[j]] += c * factor[j]
    for j in range(labels):
        add_tied_dense(w, a, q, arity, sums.tied_place[j], sums.tied[j], c)


@part
def _blend_arity(g: Ngrams, q: StateLayout, lo: int, n: int, by: WeightedPaths, sums: PlaceSums, share: Share) -> None:
    """The features of one arity, of a sentence of n tokens from lo on."""
    paths, factors, length, c = by
    arity, H, W, has_ties = g.arity, q.H, q.W, q.tied_update > 0.0
    ptr, nothing = g.features.ptr, nothing_of(factors, sums.margins)
    bare, bare_sum = g.transitions.w, g.transitions.a
    flat, flat_sum = bare.reshape(-1), bare_sum.reshape(-1)
    seen, moves = g.weights.first.size > 0, g.learns and share.number == 0
    inner, ends = moves and arity > 1, moves and arity == 1
    for i in range(arity - 1, length):
        if all_agree(paths, i, arity):
            continue
        kept = _sum_places(H, W, arity, paths, factors, i, nothing, sums)
        if kept == 0:  # all coefficients cancel: no row is allocated
            continue
        labels = _sum_labels(q, arity, kept, sums, nothing) if has_ties else 0
        if inner:
            _blend_transitions(flat, flat_sum, q, arity, sums, kept, labels, c)
        if ends and i == 0:
            _blend_transitions(bare[0], bare_sum[0], q, 1, sums, kept, labels, c)
        if ends and i == n - 1:
            _blend_transitions(bare[1], bare_sum[1], q, 1, sums, kept, labels, c)
        if seen:
            _blend_seen(g, q, lo + i, sums, kept, labels, c, share)
        elif ptr.size > 0:
            _blend_rows(g, lo + i, sums, kept, c, share)
            if labels > 0:
                _blend_tied_rows(g, q, lo + i, sums, labels, c, share)


@part
def add_weighted_paths(m: Chain, x: Data, s: int, by: WeightedPaths, sums: PlaceSums, share: Share) -> None:
    """Update the weights of this share by paths of sentence s."""
    q, lo = layout_of(m), x.offset[s]
    n = x.offset[s + 1] - lo
    for arity in range(1, m.order + 2):
        _blend_arity(ngrams_of(m, x, arity), q, lo, n, by, sums, share)
