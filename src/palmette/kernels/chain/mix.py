"""Iterative parameter mixing: find the weights that a shard has changed, and mix those of all shards.

Shards begin a pass with the same weights w at clock c and with accumulators of zero. Shard k ends it with weights w_k,
accumulators a_k and its own clock c_k = c + its examples. With shares m_k that sum to 1 and d_k = w_k - w,

    w'  =  w + sum over k of m_k * d_k
    a'  =  a + sum over k of (a_k - c_k * d_k)  +  c' * (w' - w)          c' = c + all examples

after which w' - a' / c' is the mean of all weight vectors so far: the first one, and the one that each shard had after
each of its examples. For one shard this is w_1 and a + a_1, as without shards. Learner state is mixed as weights are.

A cell is one weight: number * width + column. The number of a row is the same in all copies of a table: dense rows,
which are given out at their first change, have the number of their attribute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F32, F32_2D, F64, F64_2D, I32, I64, Bool_2D, struct


@struct
class Table(NamedTuple):
    """A block of weights with its accumulators and learner state."""

    w: F32_2D  # [rows, width]
    a: F64_2D  # [rows, width]
    state: F32_2D  # [rows, width], or of size 0
    slot: I32  # [numbers]  the row of a number, 0: none so far; of size 0: numbers are rows
    used: I64  # [1]  rows in use


@struct
class ShardSums(NamedTuple):
    """Scratch space to mix a table: zeros between two passes."""

    moved: F64_2D  # [rows, width]
    state: F64_2D  # [rows, width], or of size 0
    touched: Bool_2D  # [rows, width]


@inline
def _row_of(slot: np.ndarray, used: np.ndarray, number: int) -> np.int64:
    """The row of a number; a dense row is given out if it has none."""
    if slot.size == 0:
        return np.int64(number)
    row = np.int64(slot[number])
    if row == 0:
        row = used[0]
        slot[number] = row
        used[0] = row + 1
    return row


@inline
def _row_changed(w: np.ndarray, a: np.ndarray, base: np.ndarray) -> bool:
    same = True
    for j in range(w.size):
        same = same and w[j] == base[j] and a[j] == 0.0
    return not same


@inline
def _differs(one: np.ndarray, other: np.ndarray) -> bool:
    same = True
    for j in range(one.size):
        same = same and one[j] == other[j]
    return not same


@kernel
def changed_rows(t: Table, base: F32_2D, base_state: F32_2D) -> I64:
    """The rows in use with weights or state that differ from those of the base, or with accumulators that are not
    zero."""
    w, a, state, used = t.w, t.a, t.state, t.used[0]
    keeps_state = state.shape[0] > 0
    rows = np.empty(used, np.int64)
    n = 0
    for r in range(used):
        if _row_changed(w[r], a[r], base[r]) or (keeps_state and _differs(state[r], base_state[r])):
            rows[n] = r
            n += 1
    return rows[:n].copy()


@kernel
def take_cells(t: Table, rows: I64, numbers: I64, base: F32_2D, base_state: F32_2D) -> tuple[I64, F32, F64, F32]:
    """(cells, weights, accumulators, state) of what has changed in some rows, whose numbers these are. Sets the
    accumulators to zero."""
    w, a, state, width = t.w, t.a, t.state, t.w.shape[1]
    keeps_state = state.shape[0] > 0
    most = rows.size * width
    cells, own, sums = np.empty(most, np.int64), np.empty(most, np.float32), np.empty(most)
    states = np.empty(most if keeps_state else 0, np.float32)
    m = 0
    for k in range(rows.size):
        r = rows[k]
        for j in range(width):
            differs = w[r, j] != base[r, j] or a[r, j] != 0.0
            if keeps_state:
                differs = differs or state[r, j] != base_state[r, j]
            if differs:
                cells[m], own[m], sums[m] = numbers[k] * width + j, w[r, j], a[r, j]
                if keeps_state:
                    states[m] = state[r, j]
                a[r, j] = 0.0
                m += 1
    return cells[:m].copy(), own[:m].copy(), sums[:m].copy(), states[: m if keeps_state else 0].copy()


@kernel
def put_cells(t: Table, base: F32_2D, base_state: F32_2D, cells: I64, own: F32, states: F32) -> None:
    """Write weights and state from elsewhere into a table and its base."""
    w, state, slot, used, width = t.w, t.state, t.slot, t.used, t.w.shape[1]
    for k in range(cells.size):
        r, j = _row_of(slot, used, cells[k] // width), cells[k] % width
        w[r, j] = own[k]
        base[r, j] = own[k]
        if states.size > 0:
            state[r, j] = states[k]
            base_state[r, j] = states[k]


@kernel
def add_cells(
    t: Table, s: ShardSums, cells: I64, own: F32, sums: F64, states: F32, share: float, clock: float
) -> I64:  # fmt: skip
    """Add what one shard has changed to the sums, and to the accumulators of the table, unless sums has size 0.
    Returns the cells that no shard before it has changed."""
    w, a, state, slot, used, width = t.w, t.a, t.state, t.slot, t.used, t.w.shape[1]
    moved, moved_state, touched = s.moved, s.state, s.touched
    fresh = np.empty(cells.size, np.int64)
    n = 0
    for k in range(cells.size):
        r, j = _row_of(slot, used, cells[k] // width), cells[k] % width
        d = np.float64(own[k]) - np.float64(w[r, j])
        moved[r, j] += share * d
        if sums.size > 0:
            a[r, j] += sums[k] - clock * d
        if states.size > 0:
            moved_state[r, j] += share * (np.float64(states[k]) - np.float64(state[r, j]))
        if not touched[r, j]:
            touched[r, j] = True
            fresh[n] = cells[k]
            n += 1
    return fresh[:n].copy()


@kernel
def mix_cells(t: Table, s: ShardSums, cells: I64, clock: float, averages: bool) -> tuple[F32, F32]:
    """Move the cells that shards have changed, and set the sums back to zero; their new weights and state. clock: after
    the pass; averages: whether accumulators are kept."""
    w, a, state, slot, used, width = t.w, t.a, t.state, t.slot, t.used, t.w.shape[1]
    moved, moved_state, touched = s.moved, s.state, s.touched
    keeps_state = state.shape[0] > 0
    own = np.empty(cells.size, np.float32)
    states = np.empty(cells.size if keeps_state else 0, np.float32)
    for k in range(cells.size):
        r, j = _row_of(slot, used, cells[k] // width), cells[k] % width
        new = np.float32(np.float64(w[r, j]) + moved[r, j])
        if averages:
            a[r, j] += clock * (np.float64(new) - np.float64(w[r, j]))
        w[r, j] = new
        own[k] = new
        moved[r, j] = 0.0
        touched[r, j] = False
        if keeps_state:
            state[r, j] = np.float32(np.float64(state[r, j]) + moved_state[r, j])
            states[k] = state[r, j]
            moved_state[r, j] = 0.0
    return own, states
