"""The sequence limit of a hidden Markov model: how often its most probable label sequence is the right one.

The probability of a label sequence y sums over the paths of hidden states behind it. No tagger gets more whole
sequences right, in expectation, than the one that outputs the y with the largest P(y | x); the best path of states need
not have its labels. We search from left to right over prefixes of labels. A prefix has the forward vector a[h] of its
paths, and no label sequence that begins with it is more probable than

    sum over h of a[h] b[i, h],   b[i, h] = max over labels y of  sum over states g of y:  t[h, g] e[g, x_i+1] b[i+1, g]

where each state may go on with the labels that suit it best. A beam finds some label sequence; then all prefixes are
followed whose bound is not below its probability, and the best one at the end is the most probable of all. A sequence
with too many of them is not proven: the best one that was found counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palmette.lab.synth.synthetic import Model, Sample, blocks_of

MOST_TOKENS = 60_000  # that the limit is estimated on
BEAM = 16  # prefixes per sequence in the first search
MOST_PREFIXES = 256  # per sequence in the second one
_CHUNK = 64  # sequences that are searched together
_ROUNDING = 1e-9


class SequenceLimit(NamedTuple):
    """Share of sequences whose most probable label sequence is right."""

    share: float
    error: float  # its standard error
    sequences: int  # that it was measured on
    unproven: int  # of these, whose best label sequence may not be the most probable one


class _Front(NamedTuple):
    """Prefixes of labels of several sequences; a prefix is a label and a row of the front before it."""

    owner: np.ndarray  # i64[R]: the sequence
    forward: np.ndarray  # f64[R, H]
    bound: np.ndarray  # f64[R]
    label: np.ndarray  # i64[R]
    back: np.ndarray  # i64[R]


def sequence_limit(model: Model, drawn: Sample) -> SequenceLimit:
    """The limit, measured on the first sequences."""
    n = max(1, int(np.searchsorted(drawn.offset, MOST_TOKENS, side="right")) - 1)
    labels, proven = most_probable_labels(model, drawn.symbols, drawn.offset[: n + 1])
    tokens = int(drawn.offset[n])
    wrong = labels != model.label_of[drawn.states[:tokens]]
    errors = np.add.reduceat(wrong, drawn.offset[:n])
    share = float(np.mean(errors == 0))
    return SequenceLimit(share, math.sqrt(share * (1 - share) / n), n, int(n - proven.sum()))


def most_probable_labels(model: Model, symbols: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """i64[N]: the most probable label sequence of each sequence, and bool[S]: whether that is proven."""
    found = np.empty(int(offset[-1]), np.int64)
    proven = np.ones(len(offset) - 1, np.bool_)
    for tokens in blocks_of(offset, len(model.start)):
        for at in range(0, len(tokens), _CHUNK):
            own = tokens[at : at + _CHUNK]
            labels, sure = _search(model, symbols[own])
            found[own] = labels
            proven[np.searchsorted(offset, own[:, 0], side="right") - 1] = sure
    return found, proven


def _search(model: Model, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels i64[n, T] and proofs bool[n] for symbols i[n, T]."""
    emission = _scaled_emission(model, x)
    ahead = _best_ahead(model, emission)
    fronts, _ = _follow(model, emission, ahead, np.zeros(len(x)), BEAM)
    least = np.zeros(len(x))
    np.maximum.at(least, fronts[-1].owner, fronts[-1].bound)
    fronts, proven = _follow(model, emission, ahead, least * (1 - _ROUNDING), MOST_PREFIXES)
    best = np.lexsort((-fronts[-1].bound, fronts[-1].owner))
    row = best[np.unique(fronts[-1].owner[best], return_index=True)[1]]
    labels = np.empty(x.shape, np.int64)
    for i in range(x.shape[1] - 1, -1, -1):
        labels[:, i] = fronts[i].label[row]
        row = fronts[i].back[row]
    return labels, proven


def _scaled_emission(model: Model, x: np.ndarray) -> np.ndarray:
    """f64[T, n, H]: e[h, x_i], over the probability of x_i given the symbols before it, so that nothing underflows."""
    e = model.emission.T[x.T]
    a = model.start * e[0]
    for i in range(len(e)):
        if i:
            a = (a @ model.transition) * e[i]
        total = a.sum(1, keepdims=True)
        e[i] /= total
        a /= total
    return e


def _best_ahead(model: Model, emission: np.ndarray) -> np.ndarray:
    """b f64[T, n, H]"""
    T, n, H = emission.shape
    ahead = np.ones((T, n, H))
    groups = [np.flatnonzero(model.label_of == y) for y in range(len(model.names.labels))]
    for i in range(T - 2, -1, -1):
        weighed = emission[i + 1] * ahead[i + 1]
        ahead[i] = np.max([weighed[:, own] @ model.transition[:, own].T for own in groups if own.size], axis=0)
    return ahead


def _follow(
    model: Model, emission: np.ndarray, ahead: np.ndarray, least: np.ndarray, most: int
) -> tuple[list[_Front], np.ndarray]:
    """The prefixes after each token whose bounds are not below `least` f64[n], at most so many per sequence; and
    bool[n]: whether there were no more."""
    T, n, _ = emission.shape
    complete = np.ones(n, np.bool_)
    owner, into = np.arange(n), np.tile(model.start, (n, 1))
    fronts: list[_Front] = []
    for i in range(T):
        parts = [_with_label(model, y, owner, into * emission[i][owner], ahead[i]) for y in np.unique(model.label_of)]
        grown = _Front(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        kept = (grown.bound >= least[grown.owner]) & (grown.bound > 0)
        if np.bincount(grown.owner[kept], minlength=n).max() > most:
            kept = _best_of_each(grown.owner, grown.bound, kept, most, complete)
        front = _Front(*(column[kept] for column in grown))
        owner, into = front.owner, front.forward @ model.transition
        fronts.append(front._replace(forward=np.zeros((0, 0))))  # not needed any more
    return fronts, complete


def _with_label(model: Model, y: int, owner: np.ndarray, into: np.ndarray, ahead: np.ndarray) -> _Front:
    """All prefixes with one more label."""
    forward = np.where(model.label_of == y, into, 0.0)
    bound = np.einsum("rh,rh->r", forward, ahead[owner])
    return _Front(owner, forward, bound, np.full(len(into), y), np.arange(len(into)))


def _best_of_each(
    owner: np.ndarray, bound: np.ndarray, kept: np.ndarray, most: int, complete: np.ndarray
) -> np.ndarray:
    """Which prefixes to keep: the best ones of each sequence. Sequences that lose some are marked as not complete."""
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((-bound[rows], owner[rows]))]
    count = np.bincount(owner[rows], minlength=len(complete))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    complete[count > most] = False
    out = np.zeros(len(kept), np.bool_)
    out[rows[rank < most]] = True
    return out
