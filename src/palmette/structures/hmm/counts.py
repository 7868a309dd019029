"""Probabilities of a hidden Markov model from labelled text.

A step is counted with its context, which is one label at order 1 and two at order 2; the place before a sentence is a
label of its own there, number Y. Without interpolation, a step's probability is its share among those of its context,
and 0 in a context that was never left.

**Deleted interpolation** (Brants 2000, TnT) mixes the shares of the contexts of 0, 1 (and 2) labels:

    P(h | f, g) = l1 * share(h) + l2 * share(h | g) + l3 * share(h | f, g)

Each n-gram of the data votes, as often as it occurs, for the context that predicts it best when one of its occurrences
is taken away; the l's are the shares of the votes, one vote given to each beforehand, so that nothing is impossible.
Where a context was never left, the next shorter one speaks for it, so that each row sums to 1.

**Emissions** get `smoothing` added to the count of each observation that the label may have. The tag dictionary says
which these are: of an observation seen at least `dictionary` times only the labels it was seen with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.structures.hmm.tables import Tables


class Counts(NamedTuple):
    """What was counted; label Y is the place before a sentence."""

    step: np.ndarray  # f64[Y+1, Y] or f64[Y+1, Y+1, Y]: contexts and the label that follows
    label: np.ndarray  # f64[Y]
    end: np.ndarray  # f64[Y]  at the end of a sentence
    emission: np.ndarray  # f64[Y, V]


def count(labels: np.ndarray, observed: np.ndarray, offset: np.ndarray, shape: tuple[int, int], order: int) -> Counts:
    """labels and observed: i64[N]; shape: (Y, V)."""
    Y, V = shape
    position = np.arange(labels.size) - np.repeat(offset[:-1], np.diff(offset))
    back = [np.where(position >= k, np.roll(labels, k), Y) for k in range(order, 0, -1)]
    step = _tally([*back, labels], (*(Y + 1,) * order, Y))
    end = np.bincount(labels[offset[1:] - 1], minlength=Y).astype(np.float64)
    return Counts(step, step.reshape(-1, Y).sum(0), end, _tally([labels, observed], (Y, V)))


def _tally(places: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    flat = np.ravel_multi_index(tuple(places), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def estimate(counts: Counts, *, smoothing: float, interpolate: bool, dictionary: int | None, ends: bool) -> Tables:
    Y = counts.label.size
    step = interpolated(counts.step) if interpolate else shares(counts.step)
    end = _ends(counts, interpolate) if ends else None
    if end is not None:  # what goes on does not end; nothing ends before it has begun
        step = step * (1.0 - np.append(end, 0.0))[:, None]
    if step.ndim == 2:
        start, pair, triple = step[Y], step[:Y], None
    else:
        start, pair, triple = step[Y, Y], step[Y, :Y], step[:Y, :Y]
    return Tables(start, pair, triple, end, _emissions(counts.emission, smoothing, dictionary))


def shares(table: np.ndarray) -> np.ndarray:
    """Along the last axis; 0 where there is nothing to share."""
    total = table.sum(-1, keepdims=True)
    return np.divide(table, total, out=np.zeros_like(table), where=total > 0)


def interpolated(step: np.ndarray) -> np.ndarray:
    """Shares mixed with those of shorter contexts; as step."""
    shorter = [step.sum(axis=tuple(range(k))) for k in range(step.ndim - 1, 0, -1)]
    levels = [*shorter, step]
    weights = _votes(levels)
    before = shares(levels[0])
    mixed = np.broadcast_to(weights[0] * before, step.shape).copy()
    for weight, level in zip(weights[1:], levels[1:], strict=True):
        before = np.where(level.sum(-1, keepdims=True) > 0, shares(level), before)
        mixed += weight * before
    return mixed


def _votes(levels: list[np.ndarray]) -> np.ndarray:
    """How much each length of context counts, f64[levels]; the last level has the whole n-grams."""
    step = levels[-1]
    there = step > 0
    without_one = []
    for level in levels:
        rest = level.sum(-1, keepdims=True) - 1.0
        left_out = np.divide(level - 1.0, rest, out=np.zeros_like(level), where=(rest > 0) & (level > 0))
        without_one.append(np.broadcast_to(left_out, step.shape)[there])
    best = np.argmax(without_one, axis=0)  # ties to the shorter context
    votes = 1.0 + np.bincount(best, weights=step[there], minlength=len(levels))
    return np.asarray(votes / votes.sum())


def _ends(counts: Counts, interpolate: bool) -> np.ndarray:
    """How often each label is the last one; interpolated: as if it had been seen once more, and at the end as often as
    labels are on the whole, but not always: longer sentences than those of one word are possible."""
    more = counts.end.sum() / max(counts.label.sum(), counts.end.sum() + 1.0) if interpolate else 0.0
    return np.asarray((counts.end + more) / (counts.label + (1.0 if interpolate else 0.0)))


def _emissions(table: np.ndarray, smoothing: float, dictionary: int | None) -> np.ndarray:
    allowed = np.ones(table.shape, np.bool_)
    if dictionary is not None:
        allowed = (table > 0) | (table.sum(0) < dictionary)
    return shares(table + smoothing * allowed)
