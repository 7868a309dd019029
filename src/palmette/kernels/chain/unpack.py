"""Rows of weights for the attributes that sentences have, from stored rows: so that scoring reads padded rows.

An attribute gets a row when it is met first, as in training. A table that is full is begun again: it holds the rows of
the sentences of a call at least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import WHOLE_ROWS, Active, StoredRows
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32_2D, I32, I64, struct


@struct
class RowTable(NamedTuple):
    """Rows of some of A attributes."""

    slot: I32  # [A]  the row of an attribute; 0: it has none
    used: I64  # [1]  rows in use, row 0 included, which stays zero
    owner: I32  # [rows]  the attribute of a row
    w: F32_2D  # [rows, width]


@inline
def _state_at(state: np.ndarray, item: int, p: int) -> np.int64:
    if item == 1:
        return np.int64(state[p])
    if item == 2:
        return np.int64(state[2 * p]) | np.int64(state[2 * p + 1]) << 8
    low = np.int64(state[4 * p]) | np.int64(state[4 * p + 1]) << 8
    return low | np.int64(state[4 * p + 2]) << 16 | np.int64(state[4 * p + 3]) << 24


@part
def _give_rows(x: Active, begin: int, end: int, t: RowTable) -> int:
    """Give a row to each attribute that has none. Returns the first of them, or -1 if there are too few rows."""
    slot, owner, att, row = t.slot, t.owner, x.att, t.used[0]
    before = row
    for k in range(begin, end):
        a = np.int64(att[k])
        if slot[a] == 0:
            if row == owner.size:
                for other in range(1, row):
                    slot[owner[other]] = 0
                t.used[0] = 1
                return -1
            slot[a], owner[row] = row, a
            row += 1
    t.used[0] = row
    return before


@part
def _copy_whole(r: StoredRows, H: int, W: int, t: RowTable, row: int) -> None:
    """Write a row that is stored whole."""
    value, number, own, attribute, times = r.value, r.number, t.w[row], np.int64(t.owner[row]), np.float32(r.times)
    begin, small = attribute * r.cells, number.size > 0
    by = r.scale[attribute] if small else np.float32(1.0)
    for q in range(own.size // W):
        target = own[q * W : q * W + H]
        if small:
            numbers = number[begin + q * H : begin + q * H + H]
            for h in range(H):
                target[h] = by * np.float32(numbers[h]) * times
        else:
            values = value[begin + q * H : begin + q * H + H]
            for h in range(H):
                target[h] = values[h] * times


@kernel
def unpack_rows(r: StoredRows, x: Active, offset: I64, H: int, W: int, t: RowTable, full: I64) -> None:
    """Give a row to each attribute of the tokens from the first offset to the last one. full[0]: whether the table has
    too few rows for them. A row has W numbers for each H states."""
    owner, w, first, state, value, number, item = t.owner, t.w, r.first, r.state, r.value, r.number, r.item
    begin, end = x.ptr[offset[0]], x.ptr[offset[offset.size - 1]]
    times, small, width, scale = np.float32(r.times), number.size > 0, w.shape[1], r.scale
    padding = W - H if width > W else 0
    fresh = _give_rows(x, begin, end, t)
    if fresh < 0:
        fresh = _give_rows(x, begin, end, t)
    full[0] = fresh < 0
    if fresh < 0:
        return
    for row in range(fresh, t.used[0]):
        if r.kind == WHOLE_ROWS:
            _copy_whole(r, H, W, t, row)
            continue
        own, a = w[row], np.int64(owner[row])
        by = scale[a] if small else np.float32(1.0)
        for h in range(width):
            own[h] = np.float32(0.0)
        for p in range(np.int64(first[a]), np.int64(first[a + 1])):
            place = _state_at(state, item, p)
            if padding > 0:
                place += place // H * padding
            own[place] = by * (np.float32(number[p]) if small else value[p]) * times
