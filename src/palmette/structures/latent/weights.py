"""The weights of a classifier's views: allocation, averages, distances; and the store of fixed structures."""

from __future__ import annotations

import math

import numpy as np

from palmette.kernels.chain.forms import FeatureWeights, no_state
from palmette.kernels.core.aligned import aligned_zeros
from palmette.kernels.latent.forms import VECTORS, Rival, Store, Views, Weights


def new_weights(views: Views, n_attributes: int, averaged: bool, adaptive: bool = False) -> Weights:
    """Zeros, with accumulators and learner state if they are needed. Rows are virtual memory until they are first
    changed."""
    width = views.kind.size
    shape = (n_attributes + 1, width)
    sums = np.zeros(shape if averaged else (0, width), np.float64)
    rows = FeatureWeights(
        np.zeros(n_attributes, np.int32), np.ones(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32),
        aligned_zeros(shape, np.float32), sums, no_state(),
    )  # fmt: skip
    return Weights(
        np.zeros((2, width), np.float32), np.zeros(views.forbid.size, np.float32),
        np.zeros((2, width) if averaged else (0, width)), np.zeros(views.forbid.size if averaged else 0), rows,
        np.zeros((n_attributes + 3) * width + views.forbid.size if adaptive else 0, np.float32),
    )  # fmt: skip


def used(weights: Weights) -> int:
    return int(weights.one.used[0])


def snapshot(weights: Weights, clock: float | None) -> Weights:
    """A copy of the weights without accumulators: the last ones, or with a clock the mean of all."""
    n = used(weights)

    def mean(w: np.ndarray, a: np.ndarray) -> np.ndarray:
        if clock is None:
            return w.copy()
        out = w.copy()
        step = max(1, (1 << 20) // max(1, math.prod(w.shape[1:])))
        for k in range(0, w.shape[0], step):
            out[k : k + step] -= a[k : k + step] / clock
        return out

    width = weights.end.shape[1]
    rows = weights.one._replace(
        slot=weights.one.slot.copy(), used=weights.one.used.copy(), w=mean(weights.one.w[:n], weights.one.a[:n]),
        a=np.zeros((0, width)),
    )  # fmt: skip
    return fixed_weights(mean(weights.end, weights.end_a), mean(weights.pair, weights.pair_a), rows)


def fixed_weights(end: np.ndarray, pair: np.ndarray, rows: FeatureWeights) -> Weights:
    """Weights that do not change any more."""
    return Weights(end, pair, np.zeros((0, end.shape[1])), np.zeros(0), rows, np.zeros(0, np.float32))


def restart_mean(weights: Weights, clock: np.ndarray) -> None:
    """Restart the mean of the weights."""
    for sums in (weights.end_a, weights.pair_a, weights.one.a[: used(weights)]):
        sums[...] = 0.0
    clock[VECTORS] = 1.0


def no_rival(weights: Weights) -> Rival:
    return Rival(weights.end, weights.pair, np.zeros((0, weights.end.shape[1]), np.float32))


def rival(weights: Weights) -> Rival:
    """Weights to measure the bound with."""
    return Rival(weights.end, weights.pair, weights.one.w)


def distance(u: Rival, weights: Weights) -> float:
    """The Euclidean distance; a row that only one of the two has counts in full."""
    n = u.w.shape[0]
    rest = weights.one.w[n : used(weights)]
    parts = [weights.end - u.end, weights.pair - u.pair, weights.one.w[:n] - u.w, rest]
    return math.sqrt(sum(float(np.square(part, dtype=np.float64).sum()) for part in parts))


def largest(weights: Weights) -> float:
    """The largest absolute weight."""
    blocks = (weights.end, weights.pair, weights.one.w[: used(weights)])
    return max(float(np.abs(block).max(initial=0.0)) for block in blocks)


def n_weights(weights: Weights) -> int:
    """The number of weights that are not zero."""
    return int(sum(np.count_nonzero(b) for b in (weights.end, weights.pair, weights.one.w[: used(weights)])))


def new_store(n_sentences: int) -> Store:
    none = np.zeros(0, np.int64)
    return Store(np.full(n_sentences, -1, np.int64), none, none, none, np.zeros(0, np.int16), np.zeros(2, np.int64))


def with_capacity(store: Store, entries: int, states: int) -> Store:
    """The store with room for more; arrays grow by at least a half, so that growing stays cheap."""

    def grown(array: np.ndarray, needed: int) -> np.ndarray:
        if array.size >= needed:
            return array
        more = np.zeros(max(needed, array.size * 3 // 2), array.dtype)
        more[: array.size] = array
        return more

    size, used = (int(k) for k in store.size)
    parts = {name: grown(getattr(store, name), size + entries) for name in ("link", "owner", "start")}
    return store._replace(states=grown(store.states, used + states), **parts)
