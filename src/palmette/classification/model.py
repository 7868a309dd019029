"""A trained classifier over latent structures: classes, features, views and weights, and how they decide.

See serialise.py for its file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import msgspec
import numpy as np

from palmette.classification.kernels.forms import (
    AFTER,
    BEFORE,
    ENDS,
    STARTS,
    VECTORS,
    Rival,
    Sentences,
    Store,
    Views,
    Weights,
    make_workspace,
)
from palmette.classification.kernels.forms import Views as Packed
from palmette.classification.kernels.train import decide
from palmette.classification.kernels.update import link_repeats
from palmette.classification.options import VIEWS, ClassifierOptions, LatentSettings
from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import Transitions, allowed_transitions, letter_at, scheme_named, split_label
from palmette.data.stream import map_in_order
from palmette.errors import UsageError
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active, FeatureWeights, no_state, stride_of
from palmette.kernels.core.hashing import FeatureIndex
from palmette.kernels.core.types import aligned_zeros
from palmette.options.spelling import spelt
from palmette.structures.chain.data import encode_corpus
from palmette.structures.chain.model import check_columns
from palmette.structures.chain.weights import everything_allowed, forbidding
from palmette.structures.stored import Names


def sentences(offset: np.ndarray, active: Active, n_attributes: int) -> Sentences:
    return Sentences(offset, active, *link_repeats(offset, active.ptr, active.att, max(1, n_attributes)))


def longest(x: Sentences) -> int:
    """The number of tokens of the longest sentence."""
    return int(np.diff(x.offset).max(initial=1))


def most_attributes(x: Sentences) -> int:
    """The number of attributes, repeated ones included, of the sentence that has most."""
    return int(np.diff(x.one.ptr[x.offset]).max(initial=1))


def encode(corpus: Corpus, encoder: Encoder, feature_index: FeatureIndex) -> Sentences:
    """A corpus encoded with a trained model's attributes; unknown ones are left out."""
    none = np.zeros(0, np.int32)
    data = encode_corpus(corpus, encoder, {1: feature_index}, none, np.zeros((1, 1), np.bool_))
    return sentences(corpus.offset, data.features[0], feature_index.size)


def check_templates(encoder: Encoder) -> None:
    """Raise UsageError if a template observes pairs or triples of states: only single states have observations here."""
    if set(encoder.programs) != {1}:
        raise UsageError(
            f"{encoder.templates.name}: templates of a classifier begin with U (or are a bare B); observations "
            "on pairs and triples of states are not supported"
        )


# Views of a sentence's latent structure: chunkings in five representations, general states, or none at all.
#
# Each view has its own tags, including its own O, and its own weights for the same attributes. Its scheme determines
# which tags may follow each other. `packed` lays several views side by side for the kernels.

_OF_PART = (STARTS, ENDS, AFTER, BEFORE)


class View(msgspec.Struct, frozen=True):
    """A view: its name, its tags, and the scheme that they follow ("" for general states)."""

    name: str
    tags: tuple[str, ...]
    scheme: str = ""

    @property
    def allowed(self) -> Transitions:
        return allowed_transitions(self.tags, self.scheme) if self.scheme else everything_allowed(len(self.tags))


def chunk_view(name: str, types: Sequence[str]) -> View:
    """A chunking in one of the five representations, O first: what weighs nothing is outside of chunks."""
    scheme = VIEWS[name]
    letters = [letter for letter in scheme_named(scheme).letters if letter != "O"]
    tags = [f"{letter}-{kind}" if kind else letter for kind, letter in product(types, letters)]
    return View(name, ("O", *tags), scheme)


def make_views(latent: str | int, names: Sequence[str], types: Sequence[str]) -> list[View]:
    """The views of a classifier: chunk views, `latent` general states, or only the words ("none")."""
    if latent == "chunks":
        return [chunk_view(name, types) for name in names]
    if latent == "none":
        return [View("none", ("X",))]
    return [View("states", tuple(f"H{k}" for k in range(1, int(latent) + 1)))]


def packed(views: Sequence[View], types: Sequence[str], pairs: bool) -> Packed:
    """The tables of the views for the kernels."""
    sizes = [len(view.tags) for view in views]
    strides = [stride_of(size) for size in sizes]
    column = np.cumsum([0, *strides]).astype(np.int64)
    kind = np.full(column[-1], -1, np.int32)
    opens, closes = np.zeros(column[-1], np.bool_), np.zeros(column[-1], np.bool_)
    written = np.zeros((len(views), len(types) + 1, 16), np.int32)
    flat: dict[str, list[np.ndarray]] = {"forbid": [], "first": [], "last": []}
    for r, view in enumerate(views):
        at, allowed = int(column[r]), view.allowed
        for name, block in zip(("forbid", "first", "last"), (allowed.pair, allowed.start, allowed.end), strict=True):
            flat[name].append(forbidding(block, strides[r]).reshape(-1))
        for h, tag in enumerate(view.tags if view.scheme else ()):
            letter, of = split_label(tag)
            kind[at + h] = types.index(of) if letter != "O" else -1
            opens[at + h], closes[at + h] = letter in "BS", letter in "ES"
        if view.scheme:
            written[r] = _written(view, types)
    edge = np.cumsum([0, *(size * stride for size, stride in zip(sizes, strides, strict=True))]).astype(np.int64)
    forbid, first, last = (np.concatenate(flat[name]) for name in ("forbid", "first", "last"))
    return Packed(
        np.array(sizes, np.int64), np.array(strides, np.int64), column, edge, kind, opens, closes, written,
        forbid, first, last, pairs,
    )  # fmt: skip


def _written(view: View, types: Sequence[str]) -> np.ndarray:
    """i32[types + 1, 16]: the state of a token by its type and its part in the chunk; the last row is outside."""
    table = np.zeros((len(types) + 1, 16), np.int32)
    for (k, of), role in product(enumerate(types), range(16)):
        letter = letter_at(view.scheme, *(bool(role & part) for part in _OF_PART))
        table[k, role] = view.tags.index(f"{letter}-{of}" if of else letter)
    return table


# The weights of a classifier's views: allocation, averages, distances; and the store of fixed structures.


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


PARTS = 4  # of the sentences for each thread, so that threads end together


def no_pos() -> str:
    """What to do about sentences of bare words."""
    tagger = spelt(ClassifierOptions, "tagger", "pos.palm")
    return f"add the parts of speech, or give a tagger that makes them: {tagger}"


@dataclass
class ClassifierModel:
    """Classes (the negative one first), features, views and weights."""

    classes: tuple[str, str]
    settings: LatentSettings
    encoder: Encoder
    feature_index: FeatureIndex
    weights: Weights
    names: Names | None = None  # of the attributes, for inspection
    meta: dict[str, Any] = field(default_factory=dict)  # training log, how training ended, the tagger's name
    checkpoint: dict[str, np.ndarray] = field(default_factory=dict)  # state of training, for an exact resumption

    @cached_property
    def views(self) -> list[View]:
        return make_views(self.settings.latent, self.settings.view_names, self.settings.chunk_types)

    @cached_property
    def packed(self) -> Views:
        return packed(self.views, self.settings.chunk_types, self.settings.pairs)

    def encode(self, corpus: Corpus) -> Sentences:
        check_columns(corpus, self.encoder, no_pos())
        return encode(corpus, self.encoder, self.feature_index)

    def decide(self, corpus: Corpus, structures: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The score of each sentence f64[S] and, if `structures`, the state of each token in each view i16[R, N]."""
        states = np.zeros((len(self.views), corpus.n_tokens if structures else 0), np.int16)
        if not corpus.n_sentences:
            return np.zeros(0), states
        return scores_of(self.packed, self.weights, self.encode(corpus), self.settings, states), states

    def save(self, path: str) -> None:
        """Write a model file; see serialise.py."""
        from palmette.classification.serialise import save_classifier

        save_classifier(self, path)


def scores_of(
    views: Views,
    weights: Weights,
    x: Sentences,
    settings: LatentSettings,
    states: np.ndarray,
    threads: int = 1,
) -> np.ndarray:
    """The scores of all sentences; their structures are written into `states` unless it is empty."""
    n = x.offset.size - 1
    scores = np.zeros(n)
    if n:
        how, most = settings.decoding(), longest(x)

        def work(examples: np.ndarray) -> None:
            decide(views, weights, x, examples, how, make_workspace(views, most, how.combine), scores, states)

        parts = np.array_split(np.arange(n), 1 if threads == 1 else min(n, PARTS * threads))
        for _ in map_in_order(work, parts, threads):
            pass
    return scores
