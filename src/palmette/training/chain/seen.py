"""Which weights exist where these are only the ones that the training data shows: of attributes and label pairs."""

from __future__ import annotations

import math

import numpy as np

from palmette.kernels.chain.forms import stride_of
from palmette.structures.chain.data import seen_combinations
from palmette.structures.chain.weights import Seen
from palmette.training.chain.request import TrainingData


def seen_labels(problem: TrainingData) -> Seen | None:
    """The labels of each attribute that it has weights for; None: all of them."""
    settings, least = problem.settings, problem.request.least_sum
    if least is not None:
        return _by_sums(problem, least, every=settings.state_features == "all")
    return _occurring(problem, settings.min_feature_count) if settings.only_seen(1) else None


def _occurring(problem: TrainingData, least: int) -> Seen:
    return seen_combinations(problem.data, problem.shape, 1, problem.collected.sizes[1], least)


def _by_sums(problem: TrainingData, least: float, *, every: bool) -> Seen | None:
    """By the sum of an attribute's values at the tokens of a label; labels that it does not occur with have the sum 0,
    and count if `every` label does."""
    val = problem.data.features[0].val
    ones, positive = not val.size, not np.any(val < 0.0)
    if every and least <= 0.0 and positive:
        return None
    if not every and (ones or (least <= 0.0 and positive)):
        return _occurring(problem, max(1, math.ceil(least)))
    Y, A = problem.shape.n_labels, problem.collected.sizes[1]
    active, known = problem.data.features[0], problem.data.known
    pair = active.att.astype(np.int64) * Y + np.repeat(known, np.diff(active.ptr))
    there, place = np.unique(pair, return_inverse=True)
    total = np.bincount(place, None if ones else val.astype(np.float64), there.size)
    pairs = there[total >= least]
    if every and least <= 0.0:  # all others count too
        pairs = np.setdiff1d(np.arange(A * Y), there[total < least])
    owner, label = np.divmod(pairs, Y)
    return Seen(np.searchsorted(owner, np.arange(A + 1)).astype(np.int64), label.astype(np.int32))


def learnt_pairs(problem: TrainingData) -> np.ndarray | None:
    """bool[H, W]: the label pairs whose weights are learnt; None: all. Those that a resumed model has stay."""
    settings, least, shape, old = problem.settings, problem.request.least_sum, problem.shape, problem.request.resume
    every = settings.transition_features == "all"
    if every and (least is None or least <= 0.0):
        return None
    counts = pair_counts(problem.data.known, problem.data.offset, shape.n_labels)
    Y = shape.n_labels
    found = np.zeros((Y, stride_of(Y)), np.bool_)
    found[:, :Y] = counts >= max(1.0, least or 0.0)
    if old is not None:
        before = old.shape.n_labels
        found[:before, :before] |= old.chain.transitions[1].w[:, :before] != 0.0
    return found


def pair_counts(known: np.ndarray, offset: np.ndarray, n_labels: int) -> np.ndarray:
    """i64[Y, Y]: how often a label follows another in sentences; tokens whose label is not fully known do not count."""
    inner = np.ones(known.size, np.bool_)
    inner[offset[:-1][np.diff(offset) > 0]] = False
    now = np.flatnonzero(inner)
    now = now[(known[now] < n_labels) & (known[now - 1] < n_labels)]
    pairs = known[now - 1].astype(np.int64) * n_labels + known[now]
    return np.bincount(pairs, minlength=n_labels * n_labels).reshape(n_labels, n_labels)
