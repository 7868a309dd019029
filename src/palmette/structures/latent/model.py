"""A trained classifier over latent structures: classes, features, views and weights, and how they decide.

See serialise.py for its file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.stream import map_in_order
from palmette.features.encode import Encoder
from palmette.kernels.core.index import FeatureIndex
from palmette.kernels.latent.forms import Sentences, Views, Weights, make_workspace
from palmette.kernels.latent.train import decide
from palmette.options.latent import ClassifierOptions, LatentSettings
from palmette.options.spelling import spelt
from palmette.structures.chain.model import check_columns
from palmette.structures.latent.data import encode, longest
from palmette.structures.latent.views import View, make_views, packed
from palmette.structures.stored_features import Names

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
        from palmette.structures.latent.serialise import save_classifier

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
