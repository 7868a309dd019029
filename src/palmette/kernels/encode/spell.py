"""The strings of attributes, from the first occurrence of each; needed only if a model is saved with names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import I64, U8, Bytes, struct
from palmette.kernels.encode.forms import FIRST, LAST, Cells, Program


class Texts(NamedTuple):
    """Byte strings one after the other, with their offsets."""

    data: Bytes  # []
    offset: I64  # [n+1]


@struct
class Pieces(NamedTuple):
    """The parts of attribute strings, in the order of Program and Cells."""

    cells: Texts
    before: Texts  # literals before the macros
    tail: Texts  # literals after the last macro of each template
    edge: Texts  # cells outside of the sentence


@inline
def _put(text: Texts, k: int, out: np.ndarray, at: int) -> int:
    """Write string k at out[at], or only measure it if `out` is of size 0; the position after it."""
    size = text.offset[k + 1] - text.offset[k]
    if out.size > 0:
        start = text.offset[k]
        for i in range(size):
            out[at + i] = text.data[start + i]
    return at + size


@inline
def _spell_one(p: Program, c: Cells, pieces: Pieces, t: int, i: int, lo: int, hi: int, out: np.ndarray, at: int) -> int:
    """Write (or only measure) the string of template t at token i of the sentence lo..hi; the position after it."""
    R = p.edge_hash.shape[1] // 2
    for m in range(p.macro[t], p.macro[t + 1]):
        at = _put(pieces.before, m, out, at)
        j = i + p.row[m]
        if p.anchor[m] == FIRST:
            j = lo + p.row[m]
        elif p.anchor[m] == LAST:
            j = hi - 1 + p.row[m]
        v = p.sight[m]
        if lo <= j < hi:
            at = _put(pieces.cells, c.start[v] + c.ids[c.column[v], j], out, at)
        else:
            e = R + (j - lo if j < lo else j - hi + 1)
            at = _put(pieces.edge, v * (2 * R + 1) + e, out, at)
    return _put(pieces.tail, t, out, at)


@kernel
def spell(p: Program, c: Cells, sentences: I64, first: I64, pieces: Pieces) -> tuple[U8, I64]:
    """Bytes u8[] and offsets i64[A+1] of the strings of attributes that first occur at `first` i64[A] (token * T +
    template), in a corpus with sentence offsets `sentences` i64[S+1]."""
    T = p.macro.size - 1
    offset = np.zeros(first.size + 1, np.int64)
    out = np.empty(0, np.uint8)
    for write in (False, True):
        if write:
            out = np.empty(offset[-1], np.uint8)
        s = 0
        for a in range(first.size):
            i, t = first[a] // T, first[a] % T
            while (
                sentences[s + 1] <= i
            ):  # attributes are numbered roughly by first occurrence, so that few steps are needed
                s += 1
            while sentences[s] > i:
                s -= 1
            offset[a + 1] = _spell_one(p, c, pieces, t, i, sentences[s], sentences[s + 1], out, offset[a])
    return out, offset
