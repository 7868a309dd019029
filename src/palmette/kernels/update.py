"""Add `step * (features(gold) - features(guess))` to the weights; what the two paths share cancels.

Every change of a weight is also added, times the clock c, to an accumulator: w - a/c is then the mean of
all weight vectors so far. The accumulators are float64: after millions of small steps float32 loses them.
"""

from __future__ import annotations

import numpy as np

from .compile import inline, part
from .forms import Active, Chain, Data, Rows


@inline
def _change_seen(r: Rows, attribute: int, combo: int, cell: int, change: float, c: float) -> None:
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
def _block_and_cell(place: int, order: int, m: Chain) -> tuple[int, int]:
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


@part
def _move_seen(m: Chain, order: int, r: Rows, x: Active, i: int, plus: int, minus: int, step: float, c: float) -> None:
    up, up_cell = _block_and_cell(plus, order, m)
    down, down_cell = _block_and_cell(minus, order, m)
    for k in range(x.ptr[i], x.ptr[i + 1]):
        change = step if x.val.size == 0 else step * x.val[k]
        _change_seen(r, x.att[k], up, up_cell, change, c)
        _change_seen(r, x.att[k], down, down_cell, -change, c)


@part
def _move(r: Rows, x: Active, i: int, plus: int, minus: int, step: float, c: float) -> None:
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


@inline
def _move_bare(w: np.ndarray, a: np.ndarray, plus: int, minus: int, step: float, c: float) -> None:
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
    if m.ends:
        _move_bare(m.bare.end[0], m.bare_a.end[0], gold[0], guess[0], step, c)
        _move_bare(m.bare.end[1], m.bare_a.end[1], gold[n - 1], guess[n - 1], step, c)


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
            if m.two.first.size > 0:
                _move_seen(m, 2, m.two, x.two, lo + i, plus, minus, step, c)
            elif x.two.ptr.size > 0:
                _move(m.two, x.two, lo + i, plus, minus, step, c)


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
            if m.three.first.size > 0:
                _move_seen(m, 3, m.three, x.three, lo + i, plus, minus, step, c)
            elif x.three.ptr.size > 0:
                _move(m.three, x.three, lo + i, plus, minus, step, c)


@part
def move(m: Chain, x: Data, s: int, gold: np.ndarray, guess: np.ndarray, step: float, c: float) -> None:
    """w += step * (f(gold) - f(guess)) for sentence s at time c."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _move_states(m, x, lo, n, gold, guess, step, c)
    if m.order >= 1:
        _move_pairs(m, x, lo, n, gold, guess, step, c)
    if m.order >= 2:
        _move_triples(m, x, lo, n, gold, guess, step, c)
