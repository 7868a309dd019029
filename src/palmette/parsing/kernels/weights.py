"""Weights of a parser: an open-addressing table of features, each with a short list of (action, weight).

A list has a capacity of 2, 4, 8 ... entries; when it is full it is moved to a place of twice the size, and the old
place is kept in a free list for the next feature that needs this size. A row for all actions would take thirty times
the memory.

    packed place of a list = start | length << 40 | size class << 52

Long lists become rows of all actions when the weights of a parser are loaded or frozen. One feature in two hundred has
a list of 16 entries or more, and these are half of what a search looks up: adding a row as vectors takes a third of
the time. A table leads from the place of a list to its row.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32, I32, I64, U64
from palmette.parsing.kernels.forms import Weights

CLASSES = 16
_START = np.uint64((1 << 40) - 1)
_LENGTH = np.uint64(0xFFF)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
LENGTH_BIT, SIZE_BIT = 40, 52  # where length and size class begin in a packed place
_40 = np.uint64(LENGTH_BIT)
_52 = np.uint64(SIZE_BIT)
MOST_ACTIONS = 4095
FIRST_SIZE = 1  # the size class of a new list


@inline
def _packed(start: int, length: int, size: int) -> np.uint64:
    return np.uint64(start) | (np.uint64(length) << _40) | (np.uint64(size) << _52)


@inline
def find_key(table: np.ndarray, key: np.uint64) -> np.int64:
    """The place of the key in the table, or the empty place for it."""
    mask = np.uint64(table.size - 1)
    k = (key + key) & mask
    while table[k] != key and table[k] != np.uint64(0):
        k = (k + _TWO) & mask
    return np.int64(k)


@inline
def is_full(table: np.ndarray, keys: int) -> bool:
    """Whether so many keys take more than three quarters of the places."""
    return keys * 8 > table.size * 3


@inline
def list_start(packed: np.uint64) -> np.int64:
    return np.int64(packed & _START)


@inline
def list_length(packed: np.uint64) -> np.int64:
    return np.int64((packed >> _40) & _LENGTH)


@inline
def add_list(entry: np.ndarray, value: np.ndarray, packed: np.uint64, out: np.ndarray) -> None:
    """out[action] += weight for each action of a list."""
    e = np.uint64(list_start(packed) * 2)
    end = e + np.uint64(list_length(packed) * 2)
    while e < end:
        out[np.uint32(entry[e])] += value[e + _ONE]
        e += _TWO


@part
def _place_for(w: Weights, size: int) -> int:
    """The start of a free place for 1 << size entries; -1 if there is none."""
    start = w.free[size]
    if start >= 0:
        w.free[size] = w.entry[2 * start]  # the link to the next free place is stored in the place itself
        return start
    start = w.used[1]
    if (start + (1 << size)) * 2 > w.entry.size:
        return -1
    w.used[1] = start + (1 << size)
    return start


@part
def add_key(w: Weights, k: int, key: np.uint64) -> bool:
    """Put a feature with an empty list into the empty place k of the table; False if there is no free place."""
    if is_full(w.table, w.used[0] + 1):
        return False
    start = _place_for(w, FIRST_SIZE)
    if start < 0:
        return False
    w.table[k] = key
    w.table[k + 1] = _packed(start, 0, FIRST_SIZE)
    w.used[0] += 1
    return True


@inline
def has_weights(w: Weights, key: np.uint64) -> bool:
    """Whether training may give weights to a feature."""
    return not w.closed or w.table[find_key(w.table, key)] == key


@part
def entry_for(w: Weights, key: np.uint64, action: int) -> int:
    """The number of the entry of (feature, action), created with weight 0 if it is missing; -1 if the feature has no
    weights (see Weights.closed), or if there is no free place, which callers prevent (see `lacking` in update.py)."""
    k = find_key(w.table, key)
    if w.table[k] == np.uint64(0) and (w.closed or not add_key(w, k, key)):
        return -1
    packed = w.table[k + 1]
    start = list_start(packed)
    length = list_length(packed)
    size = np.int64(packed >> _52)
    for e in range(start, start + length):
        if w.entry[2 * e] == action:
            return e
    if length == 1 << size:
        moved = _place_for(w, size + 1)
        if moved < 0:
            return -1
        for j in range(length):
            w.entry[2 * (moved + j)] = w.entry[2 * (start + j)]
            w.entry[2 * (moved + j) + 1] = w.entry[2 * (start + j) + 1]
            w.sums[moved + j] = w.sums[start + j]
            if w.state.size > 0:
                w.state[moved + j] = w.state[start + j]
        w.entry[2 * start] = w.free[size]
        w.free[size] = start
        start, size = moved, size + 1
    w.table[k + 1] = _packed(start, length + 1, size)
    e = start + length
    w.entry[2 * e] = action
    w.value[2 * e + 1] = np.float32(0.0)
    w.sums[e] = 0.0
    if w.state.size > 0:
        w.state[e] = np.float32(0.0)
    return e


@inline
def change(w: Weights, e: int, amount: float, clock: float) -> None:
    """Add to the weight of entry e, unless there is none."""
    if e < 0:
        return
    w.value[2 * e + 1] += np.float32(amount)
    w.sums[e] += clock * amount


@kernel
def larger_table(table: U64, times: int) -> U64:
    """A copy of the table with 2, 4, 8 ... times the places."""
    out = np.zeros(times * table.size, np.uint64)
    for k in range(0, table.size, 2):
        if table[k] != np.uint64(0):
            place = find_key(out, table[k])
            out[place] = table[k]
            out[place + 1] = table[k + 1]
    return out


@kernel
def frozen(w: Weights, clock: float) -> tuple[U64, I32]:
    """(table, entry) of the final weights: averaged by the clock (0: the last ones), without zeros and gaps."""
    features, entries = 0, 0
    for k in range(0, w.table.size, 2):
        kept = _n_kept(w, k, clock)
        features += 1 if kept else 0
        entries += kept
    places = 16
    while 3 * places < 4 * features:
        places *= 2
    table = np.zeros(2 * places, np.uint64)
    entry = np.zeros(2 * max(entries, 1), np.int32)
    value = entry.view(np.float32)
    at = 0
    for k in range(0, w.table.size, 2):
        if _n_kept(w, k, clock) == 0:
            continue
        begun = at
        packed = w.table[k + 1]
        start = list_start(packed)
        for e in range(start, start + list_length(packed)):
            weight = _outcome(w, e, clock)
            if weight != np.float32(0.0):
                entry[2 * at] = w.entry[2 * e]
                value[2 * at + 1] = weight
                at += 1
        place = find_key(table, w.table[k])
        table[place] = w.table[k]
        table[place + 1] = _packed(begun, at - begun, 0)
    return table, entry


@inline
def _outcome(w: Weights, e: int, clock: float) -> np.float32:
    if clock > 0.0:
        return np.float32(w.value[2 * e + 1] - w.sums[e] / clock)
    return w.value[2 * e + 1]


@part
def _n_kept(w: Weights, k: int, clock: float) -> int:
    """The number of nonzero weights of the feature at place k."""
    if w.table[k] == np.uint64(0):
        return 0
    packed = w.table[k + 1]
    start = list_start(packed)
    kept = 0
    for e in range(start, start + list_length(packed)):
        if _outcome(w, e, clock) != np.float32(0.0):
            kept += 1
    return kept


@kernel
def restart_from_average(w: Weights, clock: float) -> None:
    """mavg: set the weights to their mean so far, and the sums to 0."""
    for k in range(0, w.table.size, 2):
        if w.table[k] != np.uint64(0):
            packed = w.table[k + 1]
            start = list_start(packed)
            for e in range(start, start + list_length(packed)):
                w.value[2 * e + 1] -= np.float32(w.sums[e] / clock)
                w.sums[e] = 0.0


@kernel
def lists_of(table: U64) -> tuple[I64, I64]:
    """For each place of a table: start i64[places] and length i64[places] of its list; 0 for an empty place."""
    start = np.zeros(table.size // 2, np.int64)
    length = np.zeros(table.size // 2, np.int64)
    for k in range(start.size):
        if table[2 * k] != np.uint64(0):
            start[k], length[k] = list_start(table[2 * k + 1]), list_length(table[2 * k + 1])
    return start, length


# --- long lists as rows --------------------------------------------------------------------------------------


_MIX = np.uint64(0x9E3779B97F4A7C15)
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
