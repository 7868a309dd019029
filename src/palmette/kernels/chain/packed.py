"""Tagging with packed weights: 8-bit numbers with a scale per attribute, as compact models have them.

The score of a state is the sum over attributes of scale[a] * number[a, h]; transitions are those of the Chain, whose
weights of attributes on states are not read. Anything but tagging by the best path works on unpacked weights
(structures/chain/packed.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, Trellis
from palmette.kernels.chain.score import add_ends, fill_bias, restrict, score_edges
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import F32, F64, I8_2D, I32, struct
from palmette.kernels.core.vector import add_scaled_rows


@struct
class PackedRows(NamedTuple):
    """Weights of attributes on states."""

    number: I8_2D  # [A, W]  zero beyond the states
    scale: F32  # [A]


@part
def _add_valued(U: np.ndarray, i: int, r: PackedRows, x: Active, z: int, end: int) -> None:
    number, scale, att, val = r.number, r.scale, x.att, x.val
    for k in range(z, end):
        factor = val[k] * scale[att[k]]
        for h in range(U.shape[1]):
            U[i, h] += factor * np.float32(number[att[k], h])


@part
def _add_packed(U: np.ndarray, r: PackedRows, x: Active, lo: int, n: int) -> None:
    """U f32[n, W] += what the attributes of the tokens from lo on weigh."""
    number, scale, ptr, att, val = r.number, r.scale, x.ptr, x.att, x.val
    cells, W = number.reshape(number.size), number.shape[1]
    for i in range(n):
        z, end = ptr[lo + i], ptr[lo + i + 1]
        if val.size > 0:
            _add_valued(U, i, r, x, z, end)
        else:
            if i + 1 < n:  # rows are scattered over the memory: prefetch those of the next token
                for k in range(end, ptr[lo + i + 2]):
                    fetch_item(cells, np.int64(att[k]) * W)
            add_scaled_rows(U, i, number, scale, att, z, end)


@kernel
def decode_packed(m: Chain, r: PackedRows, x: Data, T: Trellis, out: I32, scores: F64, restricted: bool) -> None:
    """As `decode` (train.py), with packed weights of attributes on states."""
    for s in range(x.offset.size - 1):
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        fill_bias(T, m, n)
        _add_packed(T.U, r, x.features[0], lo, n)
        add_ends(T, m, n)
        score_edges(T, m, x, lo, n, s == 0)
        if restricted:
            restrict(T, m, x, lo, n)
        scores[s] = viterbi(T, m, n, out[lo : lo + n])
