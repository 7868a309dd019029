"""Chains whose weights are float64 lists, as the models of other tools have them: scores, search and sums in float64.

    U[i, h]    = sum over the attributes of token i, in their order, of value * w[attribute, h]
    E[i, g, h] = pair[g, h] + sum of value * w[attribute, g, h]                              i >= 1
    D[i, h]    = max over g of (D[i-1, g] + E[i, g, h]) + U[i, h]

The order of additions is CRFsuite's, and so are ties: the first best previous label, the first best last label. Bias,
forbidden transitions and label masks are those of the Chain, whose own weights are not read; zeros are added after all
weights and change nothing. Sums and lists follow below.

`single`: sums over attributes are rounded to float32 at each step, as CRF++ computes them.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, Trellis, longest_of
from palmette.kernels.chain.forward_backward import Sums, exp_edges, log_partition, make_sums, marginals
from palmette.kernels.chain.kbest import BestSequences, PathCandidates, list_paths, make_candidates
from palmette.kernels.chain.max_recursion import best_scores
from palmette.kernels.chain.posteriors import (
    Marks,
    Places,
    Posteriors,
    SpanWorkspace,
    fill_sentence,
    make_span_workspace,
    most_probable_label,
)
from palmette.kernels.chain.score import restrict
from palmette.kernels.chain.viterbi import first_best
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, F64_2D, F64_3D, F64_4D, I32, I64, aligned_zeros, struct


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
    h = first_best(D[n - 1, 0], H)
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
    """As `decode` (viterbi.py)."""
    for s in range(x.offset.size - 1):
        n = score_double(T, m, w, x, s, restricted, s == 0)
        lo = x.offset[s]
        scores[s] = double_path(T, m, n, out[lo : lo + n])


# --- sums, posteriors and lists --------------------------------------------------------------------------------
# The code of the float32 kernels on a float64 trellis.


@struct
class DoubleSums(NamedTuple):
    """Arrays for the scores and sums of one sentence."""

    trellis: DoubleTrellis
    sums: Sums


@struct
class DoublePosteriors(NamedTuple):
    """As PosteriorWorkspace."""

    sums: DoubleSums
    P: F64_2D
    span: SpanWorkspace


@struct
class DoubleListWorkspace(NamedTuple):
    """Arrays for the best paths of one sentence."""

    sums: DoubleSums
    candidates: PathCandidates


def make_double_sums(m: Chain, x: Data, both: bool = False) -> DoubleSums:
    """For any sentence of the corpus; `both`: for marginals, not for log Z alone."""
    T = make_double_trellis(m, x)
    return DoubleSums(T, make_sums(cast(Trellis, T), m, both))


def make_double_posteriors(m: Chain, x: Data) -> DoublePosteriors:
    """For any sentence of the corpus."""
    sums = make_double_sums(m, x, both=True)
    return DoublePosteriors(sums, np.empty(sums.trellis.U.shape), make_span_workspace(m, x))


def make_double_lists(m: Chain, x: Data, K: int) -> DoubleListWorkspace:
    """For any sentence of the corpus and K paths."""
    return DoubleListWorkspace(make_double_sums(m, x), make_candidates(K, m.bias.size))


@part
def _scored(r: DoubleSums, m: Chain, w: DoubleWeights, x: Data, s: int, restricted: bool, changed: bool) -> int:
    """Score a sentence and prepare the edges of its sums."""
    n = score_double(r.trellis, m, w, x, s, restricted, changed)
    if changed or r.sums.X.shape[0] > 1:
        exp_edges(r.trellis, m, n, r.sums)
    return n


@kernel
def log_partitions_double(
    m: Chain, w: DoubleWeights, x: Data, workspace: DoubleSums, log_z: F64, restricted: bool
) -> None:
    """As `log_partitions` (forward_backward.py)."""
    for s in range(x.offset.size - 1):
        n = _scored(workspace, m, w, x, s, restricted, s == 0)
        log_z[s] = log_partition(workspace.trellis, m, n, workspace.sums)


@kernel
def decode_marginal_double(
    m: Chain, w: DoubleWeights, x: Data, workspace: DoubleSums, out: I32, confidence: F64, log_z: F64, restricted: bool
) -> None:
    """As `decode_marginal` (posteriors.py)."""
    T, sums = workspace
    P, of_label = np.empty(T.U.shape), np.empty(m.label_of.max() + 1)
    for s in range(x.offset.size - 1):
        n = _scored(workspace, m, w, x, s, restricted, s == 0)
        lo = x.offset[s]
        log_z[s] = marginals(T, m, n, sums, P)
        for i in range(n):
            out[lo + i] = most_probable_label(P[i], m.label_of, of_label)
            confidence[lo + i] = of_label[out[lo + i]]


@kernel
def posteriors_double(
    m: Chain, w: DoubleWeights, x: Data, workspace: DoublePosteriors, labels: I32, places: Places, marks: Marks,
    out: Posteriors, restricted: bool,
) -> None:  # fmt: skip
    """As `posteriors` (posteriors.py)."""
    k = 0
    for s in range(x.offset.size - 1):
        _scored(workspace.sums, m, w, x, s, restricted, s == 0)
        k = fill_sentence(workspace, m, x, s, labels, places, marks, out, k)


@part
def _list_sentence(
    workspace: DoubleListWorkspace, m: Chain, n: int, out: np.ndarray, scores: np.ndarray, probability: np.ndarray
) -> int:
    """The best paths of a scored sentence, their scores f64[K], and if there is room their probabilities. Returns their
    number."""
    T, w = workspace.sums
    r = workspace.candidates
    top = best_scores(T, m, n, w.V, T.D)
    if top == -np.inf:
        return 0
    count = list_paths(T, m, T.D, n, r, out)
    log_z = log_partition(T, m, n, w) if probability.size > 0 else 0.0
    for k in range(count):
        scores[k] = top - r.loss[k]
        if probability.size > 0:
            probability[k] = min(1.0, np.exp(scores[k] - log_z))
    return count


@kernel
def decode_nbest_double(
    m: Chain, w: DoubleWeights, x: Data, workspace: DoubleListWorkspace, first: int, last: int, out: BestSequences,
    restricted: bool,
) -> None:  # fmt: skip
    """As `decode_nbest` (nbest.py)."""
    labels, scores, probability, found = out
    for s in range(first, last):
        n = _scored(workspace.sums, m, w, x, s, restricted, s == first)
        lo, k = x.offset[s] - x.offset[first], s - first
        own = probability[k] if probability.shape[0] > 0 else probability.reshape(-1)
        found[k] = _list_sentence(workspace, m, n, labels[:, lo : lo + n], scores[k], own)
