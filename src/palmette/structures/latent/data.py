"""Sentences and templates of a classifier, encoded for the kernels."""

from __future__ import annotations

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import UsageError
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.index import FeatureIndex
from palmette.kernels.latent.forms import Sentences
from palmette.kernels.latent.update import link_repeats
from palmette.structures.chain.data import encode_corpus


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
