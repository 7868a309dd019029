"""Sums over paths, posteriors and n-best lists of chains with float64 weights (double.py): the code of the float32
kernels on a float64 trellis."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from palmette.kernels.chain.astar import Candidates, list_paths, make_candidates
from palmette.kernels.chain.double import DoubleTrellis, DoubleWeights, make_double_trellis, score_double
from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward import Sums, exp_edges, log_partition, make_sums
from palmette.kernels.chain.marginals import marginals, most_probable_label
from palmette.kernels.chain.max_recursion import best_scores
from palmette.kernels.chain.posteriors import (
    Marks,
    Places,
    Posteriors,
    SpanWorkspace,
    fill_sentence,
    make_span_workspace,
)
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64, F64_2D, I32, I32_2D, I64, struct


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
class DoubleLists(NamedTuple):
    """Arrays for the best paths of one sentence."""

    sums: DoubleSums
    candidates: Candidates


def make_double_sums(m: Chain, x: Data, both: bool = False) -> DoubleSums:
    """For any sentence of the corpus; `both`: for marginals, not for log Z alone."""
    T = make_double_trellis(m, x)
    return DoubleSums(T, make_sums(cast(Trellis, T), m, both))


def make_double_posteriors(m: Chain, x: Data) -> DoublePosteriors:
    """For any sentence of the corpus."""
    sums = make_double_sums(m, x, both=True)
    return DoublePosteriors(sums, np.empty(sums.trellis.U.shape), make_span_workspace(m, x))


def make_double_lists(m: Chain, x: Data, K: int) -> DoubleLists:
    """For any sentence of the corpus and K paths."""
    return DoubleLists(make_double_sums(m, x), make_candidates(K, m.bias.size))


# --- sums and lists -----------------------------------------------------------------------------------------


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
    """As `log_partitions` (forward.py)."""
    for s in range(x.offset.size - 1):
        n = _scored(workspace, m, w, x, s, restricted, s == 0)
        log_z[s] = log_partition(workspace.trellis, m, n, workspace.sums)


@kernel
def decode_marginal_double(
    m: Chain, w: DoubleWeights, x: Data, workspace: DoubleSums, out: I32, confidence: F64, log_z: F64, restricted: bool
) -> None:
    """As `decode_marginal` (marginals.py)."""
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
    workspace: DoubleLists, m: Chain, n: int, out: np.ndarray, scores: np.ndarray, probability: np.ndarray
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
    m: Chain, w: DoubleWeights, x: Data, workspace: DoubleLists, sentences: I64, out: I32_2D, scores: F64_2D,
    probability: F64_2D, found: I64, restricted: bool,
) -> None:  # fmt: skip
    """As `decode_nbest` (nbest.py), for the sentences from sentences[0] to sentences[1]."""
    first = sentences[0]
    for s in range(first, sentences[1]):
        n = _scored(workspace.sums, m, w, x, s, restricted, s == first)
        lo, k = x.offset[s] - x.offset[first], s - first
        own = probability[k] if probability.shape[0] > 0 else probability.reshape(-1)
        found[k] = _list_sentence(workspace, m, n, out[:, lo : lo + n], scores[k], own)
