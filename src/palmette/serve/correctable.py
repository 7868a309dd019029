"""What a kind of model needs so that it can be corrected: checks, a file of the corrections, sentences to pick from.

The kinds are in correct_taggers.py, correct_parsers.py and correct_classifiers.py; kinds.py has the table of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from palmette.data.corpus import Corpus
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import Correction, PickedSentence, PickRequest

MOST = 5_000_000  # tokens of a pool


class Sentences(Protocol):
    """Sentences as a model reads them, to pick from."""

    @property
    def corpus(self) -> Corpus:
        """Their words, which tell whether two sentences are alike."""

    def uncertainties(self, by: str) -> np.ndarray:
        """How uncertain the model is about each, f64[S] from 0 to 1."""

    def shown(self, s: int, about: dict[str, Any]) -> PickedSentence:
        """Sentence s with what the model guesses; `about` has the other fields."""


class Correctable(Protocol):
    """A kind of model that can be corrected."""

    measures: tuple[str, ...]  # of uncertainty; the first unless a request says otherwise

    def check(self, served: Served, one: Correction, where: str) -> None:
        """DataError if a correction does not fit the model."""

    def file(self, served: Served, corrections: Sequence[Correction]) -> tuple[str, bytes]:
        """The name and the bytes of corrections in the format of the training data."""

    def pool(self, served: Served, path: str) -> Iterator[Sentences]:
        """The sentences of a file, in parts."""

    def given(self, served: Served, request: PickRequest, limits: Limits) -> Sentences:
        """The sentences of a request."""

    def annotated(self, served: Served, path: str) -> Iterator[Corpus]:
        """The sentences of the training data, in parts."""

    def corrected(self, served: Served, corrections: Sequence[Correction]) -> Corpus:
        """The sentences of corrections."""


def margin(distance: np.ndarray) -> np.ndarray:
    """How uncertain a choice is if the next best scores so much less: from 1 (nothing) to 0."""
    return np.asarray(1.0 / (1.0 + np.abs(distance)))
