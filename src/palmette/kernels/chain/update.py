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

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Ngrams, StateLayout
from palmette.kernels.chain.lists import place_to_change
from palmette.kernels.chain.ngrams import (
    block_and_cell,
    layout_of,
    pairs_of,
    place_of,
    same_labels,
    singles_of,
    triples_of,
)
from palmette.kernels.chain.own_rows import OwnRows, list_own_rows
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.team import Share, is_own, row_to_change
from palmette.kernels.core.vector_descent import fetch_to_write


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
    _move_ngrams(singles_of(m, x), q, lo, gold, guess, step, c, share, own)
    if m.learns[0] and share.number == 0:
        ends = m.transitions[0]
        _move_transition(ends.w[0], ends.a[0], q, 1, gold[0], guess[0], step, c)
        _move_transition(ends.w[1], ends.a[1], q, 1, gold[n - 1], guess[n - 1], step, c)
    if m.order >= 1:
        _move_ngrams(pairs_of(m, x), q, lo, gold, guess, step, c, share, own)
    if m.order >= 2:
        _move_ngrams(triples_of(m, x), q, lo, gold, guess, step, c, share, own)
