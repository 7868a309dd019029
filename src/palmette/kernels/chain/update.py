"""Add `step * (features(gold) - features(guess))` to the weights; what the two paths share cancels.

In a latent chain all states of the labels get a share of the change too, as if every feature of states were also one
of labels. Otherwise to raise a label takes one update, and to lower it one for each of its states: the score of a label
is that of its best state.

Every change of a weight is also added, times the clock c, to an accumulator: w - a/c is then the mean of
all weight vectors so far. The accumulators are float64: after millions of small steps float32 loses them.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights
from palmette.kernels.core.compile import inline, part


@inline
def change_seen(r: FeatureWeights, attribute: int, combo: int, cell: int, change: float, c: float) -> None:
    """Change one weight; a combination that was not seen has none and stays zero."""
    low, high = r.first[attribute], r.first[attribute + 1]
    while low < high:
        middle = (low + high) // 2
        if r.combo[middle] < combo:
            low = middle + 1
        else:
            high = middle
    if low < r.first[attribute + 1] and r.combo[low] == combo:
        r.w[low, cell] += change
        r.a[low, cell] += c * change


@inline
def block_and_cell(place: int, order: int, m: Chain) -> tuple[int, int]:
    """A place in a dense row as the number of its combination of labels and the cell in that block."""
    H, W, per = m.label_of.size, m.bias.size, m.per
    Y = H // per
    rest, state = place // W, place % W
    cell, combo, cells, combos = state % per, state // per, per, Y
    for _ in range(order - 1):
        state = rest % H
        rest //= H
        cell += cells * (state % per)
        combo += combos * (state // per)
        cells *= per
        combos *= Y
    return combo, cell


@inline
def same_labels(place: int, other: int, order: int, m: Chain) -> bool:
    return block_and_cell(place, order, m)[0] == block_and_cell(other, order, m)[0]


@part
def share_dense(w: np.ndarray, a: np.ndarray, m: Chain, order: int, place: int, change: float, c: float) -> None:
    """Change the weights of all states of the labels at `place` of a dense row."""
    H, W, per, sizes = m.label_of.size, m.bias.size, m.per, m.sizes
    h, g, f = (place % W) // per, (place // W) % H // per, (place // W) // H // per
    for before in range(sizes[f] if order == 3 else 1):
        for previous in range(sizes[g] if order >= 2 else 1):
            row = ((f * per + before) * H + g * per + previous) * W + h * per
            for k in range(row, row + sizes[h]):
                w[k] += change
                a[k] += c * change


@part
def share_seen(r: FeatureWeights, m: Chain, order: int, attribute: int, combo: int, change: float, c: float) -> None:
    """The same for a block of a combination that was seen."""
    per, sizes = m.per, m.sizes
    Y = m.label_of.size // per
    h, g, f = combo % Y, combo // Y % Y, combo // Y // Y
    for before in range(sizes[f] if order == 3 else 1):
        for previous in range(sizes[g]):
            for k in range(sizes[h]):
                change_seen(r, attribute, combo, (before * per + previous) * per + k, change, c)


@part
def _move_seen(
    m: Chain, order: int, r: FeatureWeights, x: Active, i: int, plus: int, minus: int, step: float, c: float
) -> None:
    up, up_cell = block_and_cell(plus, order, m)
    down, down_cell = block_and_cell(minus, order, m)
    for k in range(x.ptr[i], x.ptr[i + 1]):
        change = step if x.val.size == 0 else step * x.val[k]
        change_seen(r, x.att[k], up, up_cell, change, c)
        change_seen(r, x.att[k], down, down_cell, -change, c)
        if m.share > 0.0 and up != down:
            share_seen(r, m, order, x.att[k], up, m.share * change, c)
            share_seen(r, m, order, x.att[k], down, -m.share * change, c)


@part
def _move(r: FeatureWeights, x: Active, i: int, plus: int, minus: int, step: float, c: float) -> None:
    """Token i's attributes: `step` more on the combination `plus`, less on `minus`. A dense row is given out on its
    first change."""
    slot, used, w, a, att, val = r.slot, r.used, r.w, r.a, x.att, x.val
    for k in range(x.ptr[i], x.ptr[i + 1]):
        change = step if val.size == 0 else step * val[k]
        s = np.int64(slot[att[k]])
        if s == 0:
            s = used[0]
            slot[att[k]] = s
            used[0] = s + 1
        w[s, plus] += change
        a[s, plus] += c * change
        w[s, minus] -= change
        a[s, minus] -= c * change


@part
def _share_rows(
    m: Chain, order: int, r: FeatureWeights, x: Active, i: int, plus: int, minus: int, step: float, c: float
) -> None:
    """What all states of the labels get of a change of rows, which have been given out by then."""
    if same_labels(plus, minus, order, m):
        return
    for k in range(x.ptr[i], x.ptr[i + 1]):
        change = m.share * (step if x.val.size == 0 else step * x.val[k])
        s = r.slot[x.att[k]]
        share_dense(r.w[s], r.a[s], m, order, plus, change, c)
        share_dense(r.w[s], r.a[s], m, order, minus, -change, c)


@part
def _share_bare(
    m: Chain, order: int, w: np.ndarray, a: np.ndarray, plus: int, minus: int, step: float, c: float
) -> None:
    if not same_labels(plus, minus, order, m):
        share_dense(w, a, m, order, plus, m.share * step, c)
        share_dense(w, a, m, order, minus, -m.share * step, c)


@inline
def _move_bare(w: np.ndarray, a: np.ndarray, plus: int, minus: int, step: float, c: float) -> None:
    if plus != minus:
        w[plus] += step
        a[plus] += c * step
        w[minus] -= step
        a[minus] -= c * step


@part
def _move_states(
    m: Chain, x: Data, lo: int, n: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float
) -> None:
    for i in range(n):
        if gold[i] != guess[i]:
            _move(m.one, x.one, lo + i, gold[i], guess[i], step, c)
            if m.share > 0.0:
                _share_rows(m, 1, m.one, x.one, lo + i, gold[i], guess[i], step, c)
    if m.ends:
        _move_bare(m.bare.end[0], m.bare_a.end[0], gold[0], guess[0], step, c)
        _move_bare(m.bare.end[1], m.bare_a.end[1], gold[n - 1], guess[n - 1], step, c)
        if m.share > 0.0:
            _share_bare(m, 1, m.bare.end[0], m.bare_a.end[0], gold[0], guess[0], step, c)
            _share_bare(m, 1, m.bare.end[1], m.bare_a.end[1], gold[n - 1], guess[n - 1], step, c)


@part
def _move_pairs(m: Chain, x: Data, lo: int, n: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float) -> None:
    W = m.bias.size
    w, a = m.bare.pair.reshape(-1), m.bare_a.pair.reshape(-1)
    for i in range(1, n):
        plus = gold[i - 1] * W + gold[i]
        minus = guess[i - 1] * W + guess[i]
        if plus != minus:
            if m.transitions:
                _move_bare(w, a, plus, minus, step, c)
                if m.share > 0.0:
                    _share_bare(m, 2, w, a, plus, minus, step, c)
            if m.two.first.size > 0:
                _move_seen(m, 2, m.two, x.two, lo + i, plus, minus, step, c)
            elif x.two.ptr.size > 0:
                _move(m.two, x.two, lo + i, plus, minus, step, c)
                if m.share > 0.0:
                    _share_rows(m, 2, m.two, x.two, lo + i, plus, minus, step, c)


@part
def _move_triples(
    m: Chain, x: Data, lo: int, n: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float
) -> None:
    H = m.label_of.size
    W = m.bias.size
    w, a = m.bare.triple.reshape(-1), m.bare_a.triple.reshape(-1)
    for i in range(2, n):
        plus = (gold[i - 2] * H + gold[i - 1]) * W + gold[i]
        minus = (guess[i - 2] * H + guess[i - 1]) * W + guess[i]
        if plus != minus:
            if m.triples:
                _move_bare(w, a, plus, minus, step, c)
                if m.share > 0.0:
                    _share_bare(m, 3, w, a, plus, minus, step, c)
            if m.three.first.size > 0:
                _move_seen(m, 3, m.three, x.three, lo + i, plus, minus, step, c)
            elif x.three.ptr.size > 0:
                _move(m.three, x.three, lo + i, plus, minus, step, c)
                if m.share > 0.0:
                    _share_rows(m, 3, m.three, x.three, lo + i, plus, minus, step, c)


@part
def add_path_difference(m: Chain, x: Data, s: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float) -> None:
    """w += step * (f(gold) - f(guess)) for sentence s at time c."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _move_states(m, x, lo, n, gold, guess, step, c)
    if m.order >= 1:
        _move_pairs(m, x, lo, n, gold, guess, step, c)
    if m.order >= 2:
        _move_triples(m, x, lo, n, gold, guess, step, c)
