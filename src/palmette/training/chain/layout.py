"""The weights that exist, as one vector without gaps: what a batch optimiser works on.

Rows of a chain are padded, and with seen state features most of their numbers are no weights. The vector has the
transition weights that are learnt and allowed (start and end, pairs, triples), and then, for each arity, the weights of
one attribute after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

import numpy as np

from palmette.kernels.chain.forms import Chain, FeatureWeights
from palmette.kernels.chain.gather import Columns, fill_rows
from palmette.structures.chain.weights import Seen
from palmette.training.workers import Workers

PIECES = 16  # of work for threads, at most
ROWS = 10_000  # that are worth a piece
NONE = np.zeros(0, np.int64)
NO_COLUMNS = np.zeros(0, np.int32)


class Layout:
    """Places of the weights of a chain whose dense rows are in the order of their attributes (`give_all`)."""

    def __init__(self, chain: Chain, places: list[np.ndarray | None]) -> None:
        """`places`: of each block of weights (three of transitions, three of attributes) the numbers that are in the
        vector, counted through its array; None for attributes: all of them."""
        self.chain, self.places = chain, places
        self.arrays = [*(t.w for t in chain.transitions), *(r.w for r in chain.weights)]
        sizes = [self._all_of(k) if where is None else where.size for k, where in enumerate(places)]
        self.parts = [slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0))]
        self.size = sum(sizes)
        self.columns = [self._columns(arity) for arity in (1, 2, 3)]

    def _all_of(self, k: int) -> int:
        """Weights of attributes, if no number but the padding is left out."""
        rows, H = self.chain.weights[k - 3], self.chain.label_of.size
        return rows.w.size if rows.first.size else rows.slot.size * H ** (k - 2)

    def _columns(self, arity: int) -> Columns:
        where, start = self.places[2 + arity], self.parts[2 + arity].start
        rows, H = self.chain.weights[arity - 1], self.chain.label_of.size
        if where is None:
            return Columns(start, H, NONE, NO_COLUMNS)
        begins = _begins(rows)
        ptr = np.searchsorted(where, begins)
        column = where - np.repeat(begins[:-1], np.diff(ptr))
        return Columns(start, H, ptr.astype(np.int64), column.astype(np.int32))

    def take(self) -> np.ndarray:
        """The weights of the chain as a vector f32[size]."""
        return np.concatenate([self._take(k) for k in range(len(self.arrays))])

    def _take(self, k: int) -> np.ndarray:
        where, array = self.places[k], self.arrays[k]
        if where is not None:
            return array.reshape(-1)[where]
        rows, H, W = self.chain.weights[k - 3], self.chain.label_of.size, self.chain.bias.size
        if rows.first.size:
            return array.reshape(-1)
        return array[1:].reshape(-1, W)[: rows.slot.size * H ** (k - 3), :H].reshape(-1)

    def put(self, vector: np.ndarray, workers: Workers) -> None:
        """Make a vector f32[size] the weights of the chain."""
        for k, (where, array, part) in enumerate(zip(self.places, self.arrays, self.parts, strict=True)):
            if where is not None:
                array.reshape(-1)[where] = vector[part]
            elif self.chain.weights[k - 3].first.size:
                array.reshape(-1)[:] = vector[part]
            else:
                self._fill(k - 2, vector, workers)

    def _fill(self, arity: int, vector: np.ndarray, workers: Workers) -> None:
        rows, W, columns = self.chain.weights[arity - 1], self.chain.bias.size, self.columns[arity - 1]
        pieces = min(PIECES, -(-rows.slot.size // ROWS))
        cuts = [rows.slot.size * k // max(1, pieces) for k in range(pieces + 1)]
        workers.each(lambda k: fill_rows(vector, columns, rows.w, W, cuts[k], cuts[k + 1]), pieces)

    def chosen(self, there: np.ndarray) -> Layout:
        """The layout of the weights in bool[size] alone."""
        return Layout(self.chain, [self._numbers(k)[there[part]] for k, part in enumerate(self.parts)])

    def _numbers(self, k: int) -> np.ndarray:
        where, array = self.places[k], self.arrays[k]
        if where is not None:
            return where
        rows, H, W = self.chain.weights[k - 3], self.chain.label_of.size, self.chain.bias.size
        if rows.first.size:
            return np.arange(array.size)
        contexts = rows.slot.size * H ** (k - 3)
        return (array.shape[1] + np.arange(contexts)[:, None] * W + np.arange(H)).reshape(-1)


def _begins(rows: FeatureWeights) -> np.ndarray:
    """Where the numbers of each attribute begin in the array of weights, and the end: i64[A+1]."""
    if rows.first.size:
        return rows.first * rows.w.shape[1]
    return (np.arange(rows.slot.size + 1) + 1) * rows.w.shape[1]


def layout_of(chain: Chain, seen: Seen | None = None, learnt: np.ndarray | None = None) -> Layout:
    """The layout of all weights that exist. `seen`: the labels of each attribute that has weights for labels; `learnt`:
    the pairs bool[H, W] that have weights of their own. None: all of them."""
    places: list[np.ndarray | None] = list(_transitions(chain, learnt))
    places += [None if seen is None else _seen_places(chain, seen), None, None]
    return Layout(chain, places)


def _transitions(chain: Chain, pairs_learnt: np.ndarray | None) -> list[np.ndarray]:
    """Transition weights that are learnt and allowed."""
    H, W = chain.label_of.size, chain.bias.size
    real = np.arange(W) < H
    ends, pairs, triples = chain.learns
    allowed: list[Callable[[], np.ndarray]] = [
        lambda: np.isfinite(np.stack((chain.first, chain.last))) & real,
        lambda: np.isfinite(chain.forbid) & (real if pairs_learnt is None else pairs_learnt & real),
        lambda: np.broadcast_to(real, chain.transitions[2].w.shape),
    ]
    learnt = (ends, pairs and chain.order > 0, triples)
    return [np.flatnonzero(there()) if own else NONE for there, own in zip(allowed, learnt, strict=True)]


def _seen_places(chain: Chain, seen: Seen) -> np.ndarray:
    """Numbers of the seen labels in dense rows of states."""
    per, width = chain.states_per_label, chain.weights[0].w.shape[1]
    row = np.repeat(np.arange(1, seen.first.size), np.diff(seen.first))
    first = row * width + seen.combo.astype(np.int64) * per
    return (first[:, None] + np.arange(per)).reshape(-1)
