"""The state of a parser's training, for a checkpoint and back.

A checkpoint has the table of features as training left it, so that a resumed training finds every feature at its place,
and their lists of (action, weight, accumulator, learner state) one after the other in the order of the places. Spare
places of lists and free lists are not stored: a list gets the place that its length calls for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.tree.forms import Weights, not_small
from palmette.kernels.tree.weights import CLASSES, FIRST_SIZE, LENGTH_BIT, SIZE_BIT, lists_of

Arrays = dict[str, np.ndarray]

PLACES = 1 << 16
# Arrays of zeros take memory when they are first written to. The first ones are so large that the system gives them
# memory of their own, which it gets back as a whole when they are replaced.
CAPACITY = 1 << 22


class TrainingStart(NamedTuple):
    """Where training begins."""

    weights: Weights
    clock: float = 1.0


def new_weights(adaptive: bool = False) -> Weights:
    """Empty weights of the initial capacity; adaptive: with learner state per weight."""
    return _weights(np.zeros(2 * PLACES, np.uint64), CAPACITY, (0, 0), adaptive)


def _weights(table: np.ndarray, capacity: int, used: tuple[int, int], adaptive: bool) -> Weights:
    entry, state = np.zeros(2 * capacity, np.int32), np.zeros(capacity if adaptive else 0, np.float32)
    free, rows, long = np.full(CLASSES, -1, np.int64), np.zeros(0, np.float32), np.zeros(0, np.uint64)
    return Weights(
        table, entry, entry.view(np.float32), np.zeros(capacity), state, free, np.array(used, np.int64), rows, long, 0,
        not_small(),
    )  # fmt: skip


def saved_state(w: Weights, clock: float) -> Arrays:
    """The arrays of a checkpoint, declared in structures/tree/serialise.py."""
    start, length = lists_of(w.table)
    at = _entries(start, length)
    table = w.table.copy()
    table[1::2] = _packed(_first(length), length, np.zeros_like(length))
    table[1::2][table[::2] == 0] = 0
    state = {"state": w.state[at]} if w.state.size else {}
    return {
        "table": table, "action": w.entry[2 * at], "weight": w.value[2 * at + 1], "sums": w.sums[at],
        "clock": np.array([clock]), **state,
    }  # fmt: skip


def restored_start(state: Arrays, adaptive: bool) -> TrainingStart:
    """The start of a training that continues where a checkpoint was saved."""
    lists: Arrays = {name: state[name] for name in ("sums", "state") if name in state}
    weights = _restored(state["table"], state["action"], state["weight"], lists, adaptive)
    return TrainingStart(weights, float(state["clock"][0]))


def start_from_weights(w: Weights, adaptive: bool) -> TrainingStart:
    """The start of a training from the weights of a model."""
    return TrainingStart(_restored(w.table, w.entry[::2], w.value[1::2], {}, adaptive))


def _restored(table: np.ndarray, action: np.ndarray, weight: np.ndarray, lists: Arrays, adaptive: bool) -> Weights:
    start, length = lists_of(table)
    owned = table[::2] != 0
    size = np.where(owned, np.maximum(FIRST_SIZE, np.ceil(np.log2(np.maximum(length, 1))).astype(np.int64)), 0)
    room = np.where(owned, 1 << size, 0)
    place, total = _first(room), int(room.sum())
    made = table.copy()
    made[1::2] = np.where(owned, _packed(place, length, size), 0)
    weights = _weights(made, max(CAPACITY, 2 * total), (int(owned.sum()), total), adaptive)
    source, target = _entries(start, length), _entries(place, length)
    weights.entry[2 * target] = action[source]
    weights.value[2 * target + 1] = weight[source]
    for name, array in lists.items():
        getattr(weights, name)[target] = array[source]
    return weights


def _first(sizes: np.ndarray) -> np.ndarray:
    """Where each of the pieces of these sizes begins, one after the other."""
    return np.cumsum(sizes) - sizes


def _entries(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The numbers of the entries of all lists, list by list."""
    return np.repeat(start - _first(length), length) + np.arange(int(length.sum()))


def _packed(start: np.ndarray, length: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Places of lists, as in kernels/tree/weights.py."""
    return (start | length << LENGTH_BIT | size << SIZE_BIT).astype(np.uint64)
