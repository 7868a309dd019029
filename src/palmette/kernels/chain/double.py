"""Chains whose weights are float64 lists, as the models of other tools have them: scores, search and sums in float64.

    U[i, h]    = sum over the attributes of token i, in their order, of value * w[attribute, h]
    E[i, g, h] = pair[g, h] + sum of value * w[attribute, g, h]                              i >= 1
    D[i, h]    = max over g of (D[i-1, g] + E[i, g, h]) + U[i, h]

The order of additions is CRFsuite's, and so are ties: the first best previous label, the first best last label. Bias,
forbidden transitions and label masks are those of the Chain, whose own weights are not read; zeros are added after all
weights and change nothing. Sums and lists: double_sums.py.

`single`: sums over attributes are rounded to float32 at each step, as CRF++ computes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, longest_of
from palmette.kernels.chain.score import restrict
from palmette.kernels.core.aligned import aligned_zeros
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, F64_2D, F64_3D, F64_4D, I32, I64, struct


@struct
class DoubleWeights(NamedTuple):
    """Weights of attributes as lists: attribute a owns the places first[a] to first[a + 1]."""

    first: I64  # [A + 1]   of attributes on labels
    label: I32  # [places]  ascending within an attribute
    w: F64  # [places]
    pair_first: I64  # [B + 1]  of attributes on label pairs
    pair: I32  # [pair places]  previous * Y + current, ascending within an attribute
    pair_w: F64  # [pair places]
    transitions: F64_2D  # [Y, Y]  (previous, current)
    single: bool


@struct
class DoubleTrellis(NamedTuple):
    """As Trellis, in float64."""

    U: F64_2D  # [n, W]
    E: F64_3D  # [1 or n, H, W]
    S: F64_4D  # of size 0
    D: F64_3D  # [n, 1, W]


def make_double_trellis(m: Chain, x: Data, longest: int | None = None) -> DoubleTrellis:
    """Arrays for any sentence of the corpus, or for sentences of up to so many tokens."""
    H, W = m.label_of.size, m.bias.size
    n = longest_of(x) if longest is None else longest
    edges = n if x.features[1].ptr.size > 0 else 1
    return DoubleTrellis(
        aligned_zeros((n, W), np.float64), aligned_zeros((edges, H, W), np.float64),
        np.zeros((1, 0, H, W)), aligned_zeros((n, 1, W), np.float64),
    )  # fmt: skip


# --- scores -------------------------------------------------------------------------------------------------


@inline
def _rounded(x: float, single: bool) -> float:
    return np.float64(np.float32(x)) if single else x


@part
def _add_listed(
    row: np.ndarray, first: np.ndarray, place: np.ndarray, w: np.ndarray, single: bool, x: Active, token: int, H: int
) -> None:
    """row f64[] += the weights of a token's attributes; H: the size of a row of `place`, whose stride in `row` is that
    of the row's table."""
    ptr, att, val = x.ptr, x.att, x.val
    stride = np.int64(row.size if H == 0 else row.size // H)
    for k in range(ptr[token], ptr[token + 1]):
        v = 1.0 if val.size == 0 else np.float64(val[k])
        for p in range(first[att[k]], first[att[k] + 1]):
            at = np.int64(place[p]) if H == 0 else np.int64(place[p]) // H * stride + np.int64(place[p]) % H
            row[at] = _rounded(row[at] + w[p] * v, single)


@part
def _score_states(T: DoubleTrellis, m: Chain, w: DoubleWeights, x: Active, lo: int, n: int) -> None:
    U, H, bias, begin, end = T.U, m.label_of.size, m.bias, m.first, m.last
    for i in range(n):
        u = U[i]
        for h in range(u.size):
            u[h] = 0.0
        _add_listed(u, w.first, w.label, w.w, w.single, x, lo + i, 0)
        for h in range(H):
            u[h] += bias[h]
    for h in range(H):
        U[0, h] += begin[h]
        U[n - 1, h] += end[h]


@part
def _score_pairs(T: DoubleTrellis, m: Chain, w: DoubleWeights, x: Active, lo: int, n: int) -> None:
    E, H, forbid, pair = T.E, m.label_of.size, m.forbid, w.transitions
    several = E.shape[0] > 1
    for i in range(1 if several else 0, n if several else 1):
        e = E[i]
        for g in range(H):
            for h in range(H):
                e[g, h] = pair[g, h]
        if several and x.ptr.size > 0:
            _add_listed(e.reshape(-1), w.pair_first, w.pair, w.pair_w, w.single, x, lo + i, H)
        for g in range(H):
            for h in range(H):
                e[g, h] += forbid[g, h]


@part
def score_double(T: DoubleTrellis, m: Chain, w: DoubleWeights, x: Data, s: int, restricted: bool, changed: bool) -> int:
    """Fill T for sentence s, with `restricted` under its label mask. Returns its length. `changed`: edges that all
    tokens share are not filled yet."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _score_states(T, m, w, x.features[0], lo, n)
    if changed or T.E.shape[0] > 1:
        _score_pairs(T, m, w, x.features[1], lo, n)
    if restricted:
        restrict(T, m, x, lo, n)
    return n


# --- the best path ------------------------------------------------------------------------------------------


@inline
def _step(before: np.ndarray, edge: np.ndarray, u: np.ndarray, out: np.ndarray) -> None:
    """D of a token from that of the token before it."""
    H, a, e = edge.shape[0], before[0], edge[0]
    for h in range(out.size):
        out[h] = a + e[h]
    g = 1
    while g + 2 <= H:  # two at a time: out is loaded and stored half as often
        a, b, e, f = before[g], before[g + 1], edge[g], edge[g + 1]
        for h in range(out.size):
            p, q = a + e[h], b + f[h]
            p = q if q > p else p
            out[h] = p if p > out[h] else out[h]
        g += 2
    while g < H:
        a, e = before[g], edge[g]
        for h in range(out.size):
            p = a + e[h]
            out[h] = p if p > out[h] else out[h]
        g += 1
    for h in range(out.size):
        out[h] += u[h]


@inline
def _first_best(row: np.ndarray, H: int) -> int:
    best = 0
    for h in range(1, H):
        if row[h] > row[best]:
            best = h
    return best


@part
def double_path(T: DoubleTrellis, m: Chain, n: int, path: np.ndarray) -> float:
    """Write the best path of a scored trellis to path[:n]. Returns its score (-inf: no path is allowed)."""
    U, E, D, H = T.U, T.E, T.D, m.label_of.size
    several = E.shape[0] > 1
    u, d = U[0], D[0, 0]
    for h in range(d.size):
        d[h] = u[h]
    for i in range(1, n):
        _step(D[i - 1, 0], E[i if several else 0], U[i], D[i, 0])
    h = _first_best(D[n - 1, 0], H)
    total = D[n - 1, 0, h]
    path[n - 1] = h
    for i in range(n - 1, 0, -1):
        before, e = D[i - 1, 0], E[i if several else 0]
        best, top = 0, before[0] + e[0, h]
        for g in range(1, H):
            value = before[g] + e[g, h]
            if value > top:
                best, top = g, value
        h = best
        path[i - 1] = h
    return total


@kernel
def decode_double(
    m: Chain, w: DoubleWeights, x: Data, T: DoubleTrellis, out: I32, scores: F64, restricted: bool
) -> None:
    """As `decode` (train.py)."""
    for s in range(x.offset.size - 1):
        n = score_double(T, m, w, x, s, restricted, s == 0)
        lo = x.offset[s]
        scores[s] = double_path(T, m, n, out[lo : lo + n])
