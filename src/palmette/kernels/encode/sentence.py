"""Templates on one sentence whose cells have been met before: from numbers of cells to attribute numbers, with no array
made anew. The attributes are those of encode.py, in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.hashing import (
    BASE,
    FeatureIndex,
    fetch_early,
    find,
    find_sorted,
    hash_bytes,
    mixed,
    power_of,
)
from palmette.kernels.core.types import I32, I32_2D, I64, U64_2D, Bytes, struct
from palmette.kernels.encode.encode import FIRST, HERE, Program

NONE = np.uint64(0)  # of a template that does not fire; `mixed` is never 0


@struct
class SentenceCells(NamedTuple):
    """The cells of a sentence of n tokens, and the hashes of all cells met so far: a row per cell of a column, in it an
    entry per view of that column."""

    size: I64  # [1]       n
    ids: I32_2D  # [C, most]  rows
    column: I32  # [V]     the column of a view
    hash: U64_2D  # [rows, V]
    power: U64_2D  # [rows, V]  0 where the atom is absent


@struct
class NewCells(NamedTuple):
    """Cells of one column that were not met before, each as its texts in the views of the column."""

    rows: I64  # [2]     the first row that they get, and how many they are
    data: Bytes  # the texts one after the other, UTF-8
    end: I64  # where each text ends, cell by cell; -1 if the atom is absent
    views: I32  # the views of the column


@kernel
def hash_cells(new: NewCells, hash: U64_2D, power: U64_2D) -> None:
    """Write the hashes and powers of new cells to their rows."""
    data, end, views, r0 = new.data, new.end, new.views, max(0, new.rows[0])
    n = max(0, min(new.rows[1], hash.shape[0] - r0, end.size // max(1, views.size)))
    first, k = 0, 0
    for r in range(r0, r0 + n):
        for v in views:
            if end[k] < 0:
                hash[r, v], power[r, v] = hash_bytes(data, 0, 0), np.uint64(0)
            else:
                last = min(end[k], data.size)
                hash[r, v], power[r, v] = hash_bytes(data, first, last), power_of(BASE, last - first)
                first = last
            k += 1


@part
def _compose(p: Program, c: SentenceCells, n: int, t: int, x: FeatureIndex, key: np.ndarray) -> None:
    """Write the keys of template t to key[.., t], and prefetch their places in the index."""
    row, anchor, sight, before_hash, before_power = p.row, p.anchor, p.sight, p.before_hash, p.before_power
    edge_hash, edge_power, ids, column, hash, power = p.edge_hash, p.edge_power, c.ids, c.column, c.hash, c.power
    m0, m1, tail_hash, tail_power, skip = p.macro[t], p.macro[t + 1], p.tail_hash[t], p.tail_power[t], p.skip
    R, keys, first, bits = edge_hash.shape[1] // 2, x.keys, x.first, x.bits
    for i in range(n):
        h, fires = np.uint64(0), i >= skip
        for m in range(m0, m1):
            j = row[m] + (i if anchor[m] == HERE else 0 if anchor[m] == FIRST else n - 1)
            v = sight[m]
            if 0 <= j < n:
                r = ids[column[v], j]
                by, piece = power[r, v], hash[r, v]
            else:
                e = R + (j if j < 0 else j - n + 1)
                by, piece = edge_power[v, e], edge_hash[v, e]
            fires = fires and by != np.uint64(0)
            h = (h * before_power[m] + before_hash[m]) * by + piece
        if fires:
            h = mixed(h * tail_power + tail_hash)
            fetch_early(keys, first, bits, h)
            key[i, t] = h
        else:
            key[i, t] = NONE


@kernel
def encode_sentence(p: Program, c: SentenceCells, index: FeatureIndex, key: U64_2D, ptr: I64, att: I32) -> None:
    """ptr i64[n+1] and att i32[z] of a sentence; key u64[most, T] is scratch space, att has room for most * T."""
    T, n = p.macro.size - 1, min(c.size[0], c.ids.shape[1], key.shape[0], ptr.size - 1)
    keys, numbers, first, low, bits = index.keys, index.numbers, index.first, index.low, index.bits
    for t in range(T):
        _compose(p, c, n, t, index, key)
    z = 0
    ptr[0] = 0
    for i in range(n):
        for t in range(T):
            if key[i, t] != NONE:
                a = find_sorted(first, low, bits, key[i, t]) if first.size > 0 else find(keys, numbers, key[i, t])
                if a >= 0:
                    att[z] = a
                    z += 1
        ptr[i + 1] = z
