"""A small parser from a full one: weights of 8 or 16 bits and keys of 16, without the weights that development data
does not miss. See parsing/kernels/small.py for how they are stored.

Weights are dropped by what they would cost: a weight is kept if its square is at least `price` per byte of its entry,
a feature if the squares of its weights are as large as its own bytes and theirs ask for. Prices rise, in units of the
median square, and the last one before the loss on development data exceeds half of what is allowed is taken: on other
data it will be larger or smaller by about as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.errors import ModelError, UsageError
from palmette.options.spelling import argument
from palmette.parsing.kernels.forms import Small, Weights, action_bytes
from palmette.parsing.kernels.small import BUCKET, MOST, small_lists
from palmette.parsing.kernels.weights import lists_of
from palmette.parsing.model import ParserModel, small_weights

PRICES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0)
FEATURE_BYTES = 3.3  # of a feature without entries: key, head, and its share of a bucket
NARROW = 0.995  # the share of weights that fit into a byte
MOST_BYTES = (1 << 31) - 1
Figure = Callable[[ParserModel], float]  # on development data, a fraction of 1


class ParserCompaction(msgspec.Struct, frozen=True):
    """What became of a parser."""

    before: float | None  # the figure on development data
    after: float | None
    price: float  # of a byte, in units of the median square of all weights
    features: tuple[int, int]  # before and after
    weights: tuple[int, int]

    @property
    def loss(self) -> float | None:
        """In points, of 100."""
        return None if self.before is None or self.after is None else 100 * (self.before - self.after)


class CompactFeatures(NamedTuple):
    """Features with their weights, in the order of their keys."""

    keys: np.ndarray  # u64[F]
    ptr: np.ndarray  # i64[F+1]
    action: np.ndarray  # i32[E]
    weight: np.ndarray  # f32[E]

    @property
    def feature(self) -> np.ndarray:
        """i64[E]: the feature of each entry."""
        return np.repeat(np.arange(self.keys.size), np.diff(self.ptr))


def compact_parser(
    model: ParserModel, figure: Figure | None = None, most_loss: float = 0.05
) -> tuple[ParserModel, ParserCompaction]:
    """The compact form of a parser; without `figure` no weight is dropped. UsageError if rounding alone loses too
    much, or if the parser is compact already."""
    if model.is_compact:
        raise UsageError("the parser is compact already: use the full one")
    lists = lists_in_order(model.weights)
    actions = model.n_actions
    model = replace(model, checkpoint={})
    small, price = replace(model, weights=compact_weights(lists, actions)), 0.0
    before = after = None
    if figure is not None:
        before, after = figure(model), figure(small)
        if _loses(before, after, most_loss):
            raise UsageError(
                f"rounded weights lose {100 * (before - after):.2f} points on the development data, and at most "
                f"{most_loss:g} may be lost: allow more with {argument('most_loss')}, or give more development data"
            )
        for trial in PRICES:
            tried = replace(model, weights=compact_weights(worth(lists, trial), actions))
            found = figure(tried)
            if _loses(before, found, most_loss / 2):
                break
            small, after, price = tried, found, trial
    old, new = model.counts(), small.counts()
    return small, ParserCompaction(before, after, price, (old[0], new[0]), (old[1], new[1]))


def _loses(before: float, after: float, most: float) -> bool:
    return 100 * (before - after) > most + 1e-9


def lists_in_order(weights: Weights) -> CompactFeatures:
    """The lists of a full parser."""
    start, length = lists_of(weights.table)
    places = np.flatnonzero(length)
    places = places[np.argsort(weights.table[::2][places], kind="stable")]
    length = length[places]
    ptr = np.concatenate(([0], np.cumsum(length)))
    entry = np.arange(ptr[-1]) + np.repeat(start[places] - ptr[:-1], length)
    return CompactFeatures(weights.table[::2][places], ptr, weights.entry[::2][entry], weights.value[1::2][entry])


def worth(lists: CompactFeatures, price: float) -> CompactFeatures:
    """The lists without what is not worth its bytes."""
    square = lists.weight.astype(np.float64) ** 2
    unit = price * float(np.median(square)) if square.size else 0.0
    feature, features = lists.feature, lists.keys.size
    kept = square >= 2 * unit
    entries = np.bincount(feature[kept], minlength=features)
    total = np.bincount(feature[kept], square[kept], minlength=features)
    return _chosen(lists, kept & (total >= unit * (FEATURE_BYTES + 2 * entries))[feature])


def _chosen(lists: CompactFeatures, kept: np.ndarray) -> CompactFeatures:
    """Some of the entries, and the features that have any."""
    length = np.bincount(lists.feature[kept], minlength=lists.keys.size)
    some = length > 0
    ptr = np.concatenate(([0], np.cumsum(length[some])))
    return CompactFeatures(lists.keys[some], ptr, lists.action[kept], lists.weight[kept])


def compact_weights(lists: CompactFeatures, actions: int) -> Weights:
    """Weights for parsing, in compact form."""
    size = np.abs(lists.weight)
    narrow = max(float(np.quantile(size, NARROW)) if size.size else 0.0, 1e-30) / 127
    largest = max(float(size.max(initial=0.0)), 1e-30)
    step = np.array([narrow, largest / 32767], np.float32)
    lists = _chosen(lists, size >= narrow / 2)
    buckets = _n_buckets(lists.keys)
    lists = _distinct(lists, buckets)
    wide = np.zeros(lists.keys.size, np.int64)
    np.maximum.at(wide, lists.feature, np.abs(lists.weight) > 127.49 * step[0])
    own = np.where(wide[lists.feature] > 0, step[1], step[0])
    most = np.where(wide[lists.feature] > 0, 32767, 127)
    number = np.clip(np.rint(lists.weight / own), -most, most).astype(np.int32)
    size_of_action = action_bytes(actions)
    if buckets + 5 * lists.keys.size + (size_of_action + 2) * number.size > MOST_BYTES:
        raise UsageError("the parser is too large for the compact form, which holds 2 GB")
    start, data = small_lists(lists.keys, lists.ptr, lists.action, number, wide, buckets, size_of_action)
    return small_weights(Small(start, data, step, size_of_action), actions)


def _buckets_of(keys: np.ndarray, buckets: int) -> np.ndarray:
    """The bucket of each key, as in the kernel."""
    return ((keys >> np.uint64(32)) * np.uint64(buckets)) >> np.uint64(32)


def _n_buckets(keys: np.ndarray) -> int:
    """The number of buckets: with BUCKET features on average, and none with too many."""
    buckets = max(1, -(-keys.size // BUCKET))
    while keys.size and np.unique(_buckets_of(keys, buckets), return_counts=True)[1].max() > MOST:
        if buckets > keys.size:
            raise ModelError("damaged model: its features are not spread as hashes are")
        buckets *= 2
    return buckets


def _distinct(lists: CompactFeatures, buckets: int) -> CompactFeatures:
    """Without features that another one of the same bucket would be taken for: of two, the one with the larger weights
    is kept. That happens to one in ten thousand."""
    weight = np.bincount(lists.feature, lists.weight.astype(np.float64) ** 2, minlength=lists.keys.size)
    order = np.argsort(-weight, kind="stable")
    known = _buckets_of(lists.keys, buckets) << np.uint64(16) | (lists.keys & np.uint64(0xFFFF))
    _, first = np.unique(known[order], return_index=True)
    kept = np.zeros(lists.keys.size, np.bool_)
    kept[order[first]] = True
    return lists if kept.all() else _chosen(lists, kept[lists.feature])
