"""Posteriors: of a label at a token, and of a span at a place; and tagging by the labels with the largest ones.

A posterior is the sum of exp(score) over some paths divided by the sum over all of them. That of a label at a token is
the sum over its states of the marginals of forward_backward.py. That of a span is exact too. A path has the span if

    enter[y, z]   holds for the labels of the token before its first one and of its first one: a span begins,
    within[y, z]  for all adjacent labels inside: none begins or ends,
    leave[y, z]   for the labels of its last token and of the one after it: it ends,

with the corresponding conditions at the ends of a sentence. Paths are a Markov chain whose steps follow from the
marginals of edges, so the posterior is a sum over pairs of states (g, h) at tokens i - 1 and i, from the first pair
that touches the span to the last one:

    v[first][g, h] = [allowed] * P(g, h)
    v[i][g, h]     = [allowed] * sum over f of v[i-1][f, g] * P(h | f, g)         P(h | g) at orders 0 and 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward_backward import (
    Sums,
    SumWorkspace,
    make_sum_workspace,
    marginals,
    pair_marginals,
    scored,
    total_of,
    triple_marginals,
)
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, F64_2D, F64_3D, I32, I64, Bool_2D, struct

TIE = 1e-12  # labels whose probabilities differ by rounding are equally good


@inline
def _sum_states(p: np.ndarray, label_of: np.ndarray, of_label: np.ndarray) -> None:
    """of_label[y] = the sum over the states of label y"""
    for y in range(of_label.size):
        of_label[y] = 0.0
    for h in range(label_of.size):
        of_label[label_of[h]] += p[h]


@part
def most_probable_label(p: np.ndarray, label_of: np.ndarray, of_label: np.ndarray) -> int:
    """The label with the largest sum of its states' probabilities, which are summed in of_label."""
    _sum_states(p, label_of, of_label)
    best = 0
    for y in range(1, of_label.size):
        if of_label[y] > of_label[best] * (1.0 + TIE):
            best = y
    return best


@kernel
def decode_marginal(
    m: Chain, x: Data, workspace: SumWorkspace, out: I32, confidence: F64, log_z: F64,
    restricted: bool,
) -> None:  # fmt: skip
    """Write the label with the largest marginal of each token to out i32[N] (on ties the smaller one), its probability
    to confidence f64[N], and log Z of each sentence to log_z f64[S]. If no path is allowed: label 0, confidence 0."""
    T, w = workspace
    P, of_label = np.empty(T.U.shape), np.empty(m.label_of.max() + 1)
    for s in range(x.offset.size - 1):
        n = scored(T, m, x, s, w, restricted)
        lo = x.offset[s]
        log_z[s] = marginals(T, m, n, w, P)
        for i in range(n):
            out[lo + i] = most_probable_label(P[i], m.label_of, of_label)
            confidence[lo + i] = of_label[out[lo + i]]


@struct
class Marks(NamedTuple):
    """Whether a pair of labels (before, current) begins, continues or ends a span."""

    enter: Bool_2D  # [Y, Y]
    within: Bool_2D  # [Y, Y]
    leave: Bool_2D  # [Y, Y]
    kind: I64  # [Y]  the type of a label's span; -1: none


@struct
class Places(NamedTuple):
    """Spans in order of sentences: tokens first..end-1 of a sentence."""

    sentence: I64  # [K]
    first: I64  # [K]
    end: I64  # [K]
    kind: I64  # [K]


@struct
class Posteriors(NamedTuple):
    """Results for a corpus; all are 0 for sentences without an allowed path."""

    tokens: F64  # [N]     of each token's given label
    labels: F64_2D  # [N, Y]  of all labels of each token; without rows: not computed
    spans: F64  # [K]      of each span
    log_z: F64  # [S]      log Z of each sentence


class SpanWorkspace(NamedTuple):
    """Arrays for the recursion over one span."""

    here: F64_2D  # [H, W]      v of this pair of tokens
    before: F64_2D  # [H, W]    v of the pair before
    edges: F64_3D  # [H, H, W]  marginals of triples, or with one table of pairs
    weight: F64  # [H]
    of_label: F64  # [Y]        posteriors of the labels of one token


@struct
class PosteriorWorkspace(NamedTuple):
    """For one sentence."""

    sums: SumWorkspace
    P: F64_2D  # [n, W]  marginals of states
    span: SpanWorkspace


def make_span_workspace(m: Chain, x: Data) -> SpanWorkspace:
    """For any sentence of the corpus."""
    H, W = m.label_of.size, m.bias.size
    edges = np.empty((H if m.order == 2 else 1, H, W))
    return SpanWorkspace(np.empty((H, W)), np.empty((H, W)), edges, np.empty(H), np.empty(x.allow.shape[1]))


def make_posterior_workspace(m: Chain, x: Data) -> PosteriorWorkspace:
    """For any sentence of the corpus."""
    sums = make_sum_workspace(m, x, both=True)
    return PosteriorWorkspace(sums, np.empty(sums.trellis.U.shape), make_span_workspace(m, x))


@part
def _pairs(T: Trellis, m: Chain, w: Sums, P: np.ndarray, i: int, out: np.ndarray) -> None:
    """Joint posteriors of the states of tokens i - 1 and i."""
    if m.order > 0:
        pair_marginals(T, m, w, i, out)
        return
    for g in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[g, h] = P[i - 1, g] * P[i, h]


@part
def _step(T: Trellis, m: Chain, w: Sums, P: np.ndarray, i: int, r: SpanWorkspace) -> None:
    """r.here from r.before: v one token further. Rows whose sum is 0 have no paths to continue."""
    before, here, H = r.before, r.here, m.label_of.size
    for g in range(H):
        for h in range(here.shape[1]):
            here[g, h] = 0.0
    if m.order == 2:
        triple_marginals(T, m, w, i, r.edges)
        for f in range(H):
            for g in range(H):
                row, o = r.edges[f, g], here[g]
                total = total_of(row)
                if before[f, g] > 0.0 and total > 0.0:
                    by = before[f, g] / total
                    for h in range(o.size):
                        o[h] += by * row[h]
        return
    _pairs(T, m, w, P, i, r.edges[0])
    for g in range(H):
        r.weight[g] = 0.0
    for f in range(H):
        for g in range(H):
            r.weight[g] += before[f, g]
    for g in range(H):
        row, o = r.edges[0, g], here[g]
        total = total_of(row)
        if r.weight[g] > 0.0 and total > 0.0:
            by = r.weight[g] / total
            for h in range(o.size):
                o[h] = by * row[h]


@inline
def _keep(v: np.ndarray, m: Chain, allowed: np.ndarray, kind_of: np.ndarray, inner: int, kind: int) -> None:
    """Keep only allowed pairs of states; the state inside of the span (0: the first, 1: the second) is of its kind."""
    label_of = m.label_of
    for g in range(label_of.size):
        for h in range(label_of.size):
            y, z = label_of[g], label_of[h]
            if not allowed[y, z] or kind_of[z if inner == 1 else y] != kind:
                v[g, h] = 0.0


@part
def _span_posterior(
    T: Trellis, m: Chain, w: Sums, P: np.ndarray, n: int, span: tuple[int, int, int], marks: Marks, r: SpanWorkspace
) -> float:
    """The posterior of a span (first token, token after its last one, kind) in a sentence of n tokens."""
    H, kind_of = m.label_of.size, marks.kind
    first, end, kind = span
    total = 0.0
    if n == 1:
        for h in range(H):
            if kind_of[m.label_of[h]] == kind:
                total += P[0, h]
        return total
    start = max(first, 1)
    for i in range(start, min(end, n - 1) + 1):
        if i == start:
            _pairs(T, m, w, P, i, r.here)
        else:
            for g in range(H):
                for h in range(H):
                    r.before[g, h] = r.here[g, h]
            _step(T, m, w, P, i, r)
        if i == first:
            _keep(r.here, m, marks.enter, kind_of, 1, kind)
        elif i == end:
            _keep(r.here, m, marks.leave, kind_of, 0, kind)
        else:
            _keep(r.here, m, marks.within, kind_of, 1, kind)
    for g in range(H):
        for h in range(H):
            total += r.here[g, h]
    return total


@part
def fill_sentence(
    workspace: PosteriorWorkspace, m: Chain, x: Data, s: int, labels: np.ndarray, places: Places, marks: Marks,
    out: Posteriors, k: int,
) -> int:  # fmt: skip
    """Fill `out` for sentence s, which is scored, and whose first span is k. Returns the number of the next span."""
    own, table, of_spans, log_z = out.tokens, out.labels, out.spans, out.log_z
    T, w = workspace.sums
    P, r = workspace.P, workspace.span
    of_label, lo = r.of_label, x.offset[s]
    n = x.offset[s + 1] - lo
    log_z[s] = marginals(T, m, n, w, P)
    for i in range(n):
        _sum_states(P[i], m.label_of, of_label)
        own[lo + i] = min(1.0, of_label[labels[lo + i]])
        if table.shape[0] > 0:
            for y in range(of_label.size):
                table[lo + i, y] = min(1.0, of_label[y])
    while k < places.sentence.size and places.sentence[k] == s:
        of_spans[k] = 0.0
        if log_z[s] > -np.inf:
            span = (places.first[k], places.end[k], places.kind[k])
            of_spans[k] = min(1.0, _span_posterior(T, m, w, P, n, span, marks, r))
        k += 1
    return k


@kernel
def posteriors(
    m: Chain, x: Data, workspace: PosteriorWorkspace, labels: I32, places: Places, marks: Marks,
    out: Posteriors, restricted: bool,
) -> None:  # fmt: skip
    """Fill `out` for the labels i32[N] and spans of a corpus; with `restricted` among the paths that the known labels
    allow."""
    T, w = workspace.sums
    k = 0
    for s in range(x.offset.size - 1):
        scored(T, m, x, s, w, restricted)
        k = fill_sentence(workspace, m, x, s, labels, places, marks, out, k)
