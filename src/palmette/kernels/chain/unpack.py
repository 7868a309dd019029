"""Rows of weights for the attributes that sentences have, from stored rows: so that scoring reads padded rows.

An attribute gets a row when it is met first, as in training. A table that is full is begun again: it holds the rows of
the sentences of a call at least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import WHOLE_ROWS, Active, StoredRows
from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F32_2D, I32, I64, struct


@struct
class RowTable(NamedTuple):
    """Rows of some of A attributes."""

    slot: I32  # [A]  the row of an attribute; 0: it has none
    used: I64  # [1]  rows in use, row 0 included, which stays zero
    owner: I32  # [rows]  the attribute of a row
    w: F32_2D  # [rows, width]


@inline
def _state_at(state: np.ndarray, item: int, p: int) -> int:
    if item == 1:
        return np.int64(state[p])
    if item == 2:
        return np.int64(state[2 * p]) | np.int64(state[2 * p + 1]) << 8
    low = np.int64(state[4 * p]) | np.int64(state[4 * p + 1]) << 8
    return low | np.int64(state[4 * p + 2]) << 16 | np.int64(state[4 * p + 3]) << 24


@kernel
def unpack_rows(r: StoredRows, x: Active, offset: I64, H: int, W: int, t: RowTable, full: I64) -> None:
    """Give a row to each attribute of the tokens from the first offset to the last one. full[0]: whether the table has
    too few rows for them. A row has W numbers for each H states."""
    slot, used, owner, w, ptr, att = t.slot, t.used, t.owner, t.w, x.ptr, x.att
    first, state, value, number, scale, item = r.first, r.state, r.value, r.number, r.scale, r.item
    times, small, whole, width = np.float32(r.times), number.size > 0, r.kind == WHOLE_ROWS, w.shape[1]
    begin, end = ptr[offset[0]], ptr[offset[offset.size - 1]]
    full[0] = 0
    if used[0] + end - begin > w.shape[0] and slot.size >= w.shape[0]:  # there is no row for each attribute
        for row in range(1, used[0]):
            slot[owner[row]] = 0
        used[0] = 1
        if 1 + end - begin > w.shape[0]:
            full[0] = 1
            return
    padding = W - H if width > W else 0
    for k in range(begin, end):
        a = np.int64(att[k])
        if slot[a] != 0:
            continue
        row = used[0]
        used[0] += 1
        slot[a], owner[row] = row, a
        own = w[row]
        by = scale[a] if small else np.float32(1.0)
        if whole:
            for q in range(width // W):
                source, target = a * r.cells + q * H, q * W
                for h in range(H):
                    own[target + h] = by * (np.float32(number[source + h]) if small else value[source + h]) * times
            continue
        for h in range(width):
            own[h] = np.float32(0.0)
        for p in range(np.int64(first[a]), np.int64(first[a + 1])):
            place = _state_at(state, item, p)
            if padding > 0:
                place += place // H * padding
            own[place] = by * (np.float32(number[p]) if small else value[p]) * times
