"""Sentences and their classes as the kernels want them."""

from __future__ import annotations

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import UsageError
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active
from palmette.kernels.encode.encode import FeatureIndex
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


def encode(corpus: Corpus, encoder: Encoder, alphabet: FeatureIndex) -> Sentences:
    """A corpus as a trained model sees it: attributes that it does not know are left out."""
    none = np.zeros(0, np.int32)
    data = encode_corpus(corpus, encoder, {1: alphabet}, none, np.zeros((1, 1), np.bool_))
    return sentences(corpus.offset, data.one, alphabet.size)


def check_templates(encoder: Encoder) -> None:
    """Attributes here go with one state; pairs of states have weights without observations."""
    if set(encoder.programs) != {1}:
        raise UsageError(
            f"{encoder.templates.name}: a classifier's templates begin with U (and a bare B): observations on pairs "
            "and triples of states are not for it"
        )
