"""Replacement of byte ranges: writes new heads and relations into the lines of a treebank."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import I64, U8, Bytes


@kernel
def splice(data: Bytes, start: I64, end: I64, piece: I64, text: Bytes, offset: I64) -> U8:
    """data u8[] with the ranges start[k]..end[k] (i64[K], sorted, disjoint) replaced by the strings
    text[offset[p]:offset[p + 1]] of p = piece[k]."""
    size = data.size
    for k in range(start.size):
        size += start[k] - end[k] + offset[piece[k] + 1] - offset[piece[k]]
    out = np.empty(size, np.uint8)
    at = 0
    done = 0
    for k in range(start.size):
        for i in range(done, start[k]):
            out[at] = data[i]
            at += 1
        for i in range(offset[piece[k]], offset[piece[k] + 1]):
            out[at] = text[i]
            at += 1
        done = end[k]
    for i in range(done, data.size):
        out[at] = data[i]
        at += 1
    return out
