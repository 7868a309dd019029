"""Gradient descent on the likelihood, sentence by sentence (CRF and latent CRF).

After each sentence the weights of its attributes and of transitions are moved against the gradient of its likelihood
and of its part of the penalty:

    g  = difference of marginals + (2 * l2 / occurrences of the attribute) * w
    w -= rate * g                          plain: the rate decays with the clock
    w -= rate * g / sqrt(0.01 + sum of g^2)  adaptive (AdaGrad): rare attributes keep a large rate

The L2 penalty of an attribute is divided equally among its occurrences, so that no other weights are touched, and the
parts of an epoch sum to the whole penalty. As for all learners every change is added, times the clock, to the
accumulators of the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Ngrams, TransitionWeights, longest_of
from palmette.kernels.chain.gradient import (
    Expected,
    Workspace,
    add_fast_pairs,
    goes_fast,
    make_likelihood_workspace,
    sentence_likelihood,
)
from palmette.kernels.chain.ngrams import pairs_of, singles_of, triples_of
from palmette.kernels.chain.score import gather_for
from palmette.kernels.core.aligned import aligned_zeros
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32, I64, Bool_2D, struct

FLOOR = np.float32(0.01)  # initial sums of squares: features with tiny expectations must not make large steps


@struct
class Descent(NamedTuple):
    """Parameters of the descent, for all sentences. AdaGrad keeps its sums of squares in the state of the weights."""

    rate: float  # at clock c: rate / (1 + fall * c)
    fall: float
    decay: tuple[F32, F32, F32]  # [A] by arity minus 1: 2 * l2 / occurrences of each attribute
    bare_decay: float  # 2 * l2 / sentences, of transition weights
    learnt: Bool_2D  # [H, W]  label pairs whose weights are learnt; of size 0: all


@struct
class DescentWorkspace(NamedTuple):
    """Arrays for the likelihood of one sentence and its differences, which are 0 between sentences."""

    likelihood: Workspace
    out: Expected


def make_descent_workspace(m: Chain, x: Data) -> DescentWorkspace:
    """For any sentence of the corpus."""
    H, W, n = m.label_of.size, m.bias.size, longest_of(x)
    pairs, triples = x.features[1].ptr.size > 0 and m.order >= 1, x.features[2].ptr.size > 0 and m.order >= 2
    tables = (
        aligned_zeros((n, W), np.float32),
        aligned_zeros((n if pairs else 0, H * W), np.float32),
        aligned_zeros((n if triples else 0, H * H * W), np.float32),
    )
    transitions = (np.zeros((2, W)), np.zeros((H, W)), np.zeros((H * H if m.order >= 2 else 0, W)))
    return DescentWorkspace(make_likelihood_workspace(m, x, n), Expected(tables, transitions))


@inline
def _descend(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, g: np.ndarray, value: float, decay: float, rate: float, c: float
) -> None:
    """Move one row of weights against the gradient value * g + decay * w."""
    if squares.size > 0:
        for h in range(g.size):
            slope = value * g[h] + decay * w[h]
            squares[h] += slope * slope
            change = -rate * slope / np.sqrt(squares[h] + FLOOR)
            w[h] += change
            a[h] += c * change
    else:
        for h in range(g.size):
            change = -rate * (value * g[h] + decay * w[h])
            w[h] += change
            a[h] += c * change


@part
def _descend_rows(
    r: FeatureWeights, x: Active, i: int, g: np.ndarray, decay: np.ndarray, rate: float, c: float
) -> None:
    """Update the dense rows of the attributes of token i; a row is allocated at its first change."""
    slot, used, w, a, squares, att, val = r.slot, r.used, r.w, r.a, r.state, x.att, x.val
    for k in range(x.ptr[i], x.ptr[i + 1]):
        s = np.int64(slot[att[k]])
        if s == 0:
            s = used[0]
            slot[att[k]] = s
            used[0] = s + 1
        value = np.float32(1.0) if val.size == 0 else val[k]
        own = squares[s] if squares.shape[0] > 0 else squares.reshape(-1)
        _descend(w[s], a[s], own, g, value, decay[att[k]], rate, c)


@part
def _descend_seen(
    r: FeatureWeights, m: Chain, place: np.ndarray, x: Active, i: int, g: np.ndarray, decay: np.ndarray, rate: float,
    c: float,
) -> None:  # fmt: skip
    """Update blocks of seen combinations; in g a block is runs of `states_per_label` numbers from place[combination]
    on."""
    squares = r.state
    H, W, states_per_label, block = m.label_of.size, m.bias.size, m.states_per_label, r.w.shape[1]
    for k in range(x.ptr[i], x.ptr[i + 1]):
        attribute = x.att[k]
        value = np.float32(1.0) if x.val.size == 0 else x.val[k]
        if block == 1 and squares.shape[0] == 0:  # one number each
            for p in range(r.first[attribute], r.first[attribute + 1]):
                change = -rate * (value * g[place[r.combo[p]]] + decay[attribute] * r.w[p, 0])
                r.w[p, 0] += change
                r.a[p, 0] += c * change
            continue
        for p in range(r.first[attribute], r.first[attribute + 1]):
            w, a = r.w[p], r.a[p]
            own = squares[p] if squares.shape[0] > 0 else squares.reshape(-1)
            for run in range(block // states_per_label):
                before, previous = run // states_per_label, run % states_per_label
                at = place[r.combo[p]] + (before * H + previous) * W
                cells = slice(run * states_per_label, run * states_per_label + states_per_label)
                part_of = own[cells] if own.size > 0 else own
                _descend(w[cells], a[cells], part_of, g[at : at + states_per_label], value, decay[attribute], rate, c)


@part
def _descend_transitions(t: TransitionWeights, gradient: np.ndarray, decay: float, rate: float, c: float) -> None:
    """Update transition weights, and reset their gradient for the next sentence. Where the gradient is zero, as for
    forbidden pairs, weights stay zero."""
    w, a, squares, g = t.w.reshape(-1), t.a.reshape(-1), t.state.reshape(-1), gradient.reshape(-1)
    for k in range(g.size):
        slope = np.float32(g[k]) + decay * w[k]
        g[k] = 0.0
        if squares.size > 0:
            squares[k] += slope * slope
            change = -rate * slope / np.sqrt(squares[k] + FLOOR)
        else:
            change = -rate * slope
        w[k] += change
        a[k] += c * change


@part
def _forget_others(gradient: np.ndarray, learnt: np.ndarray) -> None:
    """Zero the gradient of pairs whose weights are not learnt: these stay zero."""
    for f in range(learnt.shape[0]):
        for h in range(learnt.shape[1]):
            if not learnt[f, h]:
                gradient[f, h] = 0.0


@part
def _descend_ngrams(
    g: Ngrams, m: Chain, lo: int, n: int, M: np.ndarray, decay: np.ndarray, place: np.ndarray, rate: float, c: float
) -> None:
    """Update the attributes of one arity, token by token, and reset the table M for the next sentence."""
    r, x = g.weights, g.features
    for i in range(g.arity - 1, n if M.shape[0] > 0 else 0):
        row = M[i]
        if r.first.size > 0:
            _descend_seen(r, m, place, x, lo + i, row, decay, rate, c)
        elif r.slot.size > 0:
            _descend_rows(r, x, lo + i, row, decay, rate, c)
        for h in range(row.size):
            row[h] = 0.0


@part
def _descend_sentence(
    m: Chain, x: Data, s: int, out: Expected, by: Descent, places: tuple[np.ndarray, np.ndarray, np.ndarray], c: float
) -> None:
    """Update all weights of a sentence; places: the starts of the blocks of seen combinations, by arity minus 1."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    rate, bare = np.float32(by.rate / (1.0 + by.fall * c)), np.float32(by.bare_decay)
    M, decay, t = out.tables, by.decay, m.transitions
    _descend_ngrams(singles_of(m, x), m, lo, n, M[0], decay[0], places[0], rate, c)
    _descend_ngrams(pairs_of(m, x), m, lo, n, M[1], decay[1], places[1], rate, c)
    _descend_ngrams(triples_of(m, x), m, lo, n, M[2], decay[2], places[2], rate, c)
    if m.learns[0]:
        _descend_transitions(t[0], out.transitions[0], bare, rate, c)
    if m.learns[1] and m.order >= 1:
        _forget_others(out.transitions[1], by.learnt)
        _descend_transitions(t[1], out.transitions[1], bare, rate, c)
    if m.learns[2] and m.order >= 2:
        _descend_transitions(t[2], out.transitions[2], bare, rate, c)


@kernel
def descend(
    m: Chain, x: Data, workspace: DescentWorkspace, permutation: I64, first: int, last: int, clock: float,
    by: Descent,
) -> tuple[float, float, int, int]:  # fmt: skip
    """One slice of an epoch: (clock, sum of weight * (log Z - log Z under the mask), wrong tokens, sentences without
    an allowed path)."""
    own, out = workspace
    T, fast = own.T, goes_fast(own)
    one, two, three = m.weights
    places = gather_for(m, one, 1).place, gather_for(m, two, 2).place, gather_for(m, three, 3).place
    objective, wrong, infeasible = 0.0, 0, 0
    for k in range(first, last):
        value, missed = sentence_likelihood(T, m, x, permutation[k], 0, True, fast, own, out)
        if missed < 0:
            infeasible += 1
        else:
            objective += value
            wrong += missed
            if fast and m.order >= 1:
                add_fast_pairs(m, own.r, out)
            _descend_sentence(m, x, permutation[k], out, by, places, clock)
        clock += 1.0
    return clock, objective, wrong, infeasible
