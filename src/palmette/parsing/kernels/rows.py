"""Long lists of weights as rows of all actions, made when the weights of a parser are loaded or frozen.

One feature in two hundred has a list of 16 entries or more, and these are half of what a search looks up: adding a row
as vectors takes a third of the time. A table leads from the place of a list to its row.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32, I32, U64
from palmette.parsing.kernels.weights import list_length, list_start

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_32 = np.uint64(32)
_0 = np.uint64(0)


@inline
def place_in(table: np.ndarray, start: int) -> np.uint64:
    """The place of a list in the table of long ones, or the empty place for it."""
    key, mask = np.uint64(start + 1), np.uint64(table.size - 1)
    k = (key * _MIX >> _32) * np.uint64(2) & mask
    while table[k] != key and table[k] != _0:
        k = (k + np.uint64(2)) & mask
    return k


@inline
def find_row(table: np.ndarray, start: int) -> np.int64:
    """The row of the long list at `start`."""
    return np.int64(table[place_in(table, start) + _ONE])


@part
def table_for(rows: int) -> np.ndarray:
    places = 2
    while places < 2 * rows + 1:
        places *= 2
    return np.zeros(2 * places, np.uint64)


@kernel
def spread_lists(table: U64, entry: I32, width: int, least: int) -> tuple[F32, U64]:
    """(rows f32[R * width], table of long lists) of frozen weights; least: entries of a long list."""
    value = entry.view(np.float32)
    found = 0
    for k in range(1, table.size, 2):
        found += list_length(table[k]) >= least
    rows, long = np.zeros(found * width, np.float32), table_for(found)
    row = 0
    for k in range(1, table.size, 2):
        if list_length(table[k]) >= least:
            start = list_start(table[k])
            for e in range(start, start + list_length(table[k])):
                rows[row * width + entry[2 * e]] += value[2 * e + 1]
            place = place_in(long, start)
            long[place], long[place + _ONE] = np.uint64(start + 1), np.uint64(row)
            row += 1
    return rows, long
