"""A model whose order is a number between two whole ones.

    P_x(w | h) = d P_n(w | h) + (1 - d) P_{n-1}(w | h)        x = n - 1 + d, 0 < d <= 1

P_n and P_{n-1} are models of these orders of the same text, each estimated by itself: the highest order of both counts
occurrences, so that each whole number is exactly the model of that order. Their n-grams up to order n - 1 are the same;
the lower model has its own probabilities for them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palmette.kernels.lm.sample import Source
from palmette.kernels.lm.score import Grams, score_words
from palmette.lab.lm.sample import direct_masses


class Mixture(NamedTuple):
    """The models of one order, or of the two whole orders around it."""

    grams: Grams
    lower: Grams | None = None  # one order below; None: the order is a whole number
    share: float = 1.0  # d: of `grams`

    def word_probabilities(self, ids: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """The probabilities of all words and ends of sentences; see `score_words`."""
        p = score_words(self.grams, ids, offset)
        if self.lower is None:
            return np.asarray(p)
        return np.asarray(self.share * p + (1.0 - self.share) * score_words(self.lower, ids, offset))

    def source(self, n_words: int) -> Source:
        """What sentences are sampled from; DataError if that is impossible."""
        mass = direct_masses(self.grams, n_words)
        if self.lower is None:
            return Source(self.grams, mass, self.grams, mass, 1.0)
        return Source(self.grams, mass, self.lower, direct_masses(self.lower, n_words), self.share)


def split_order(order: float) -> tuple[int, float]:
    """The highest order n of a mixture, and the share d of its model."""
    n = math.ceil(order)
    return n, order - (n - 1)


def lower_grams(grams: Grams, sizes: list[int], p: np.ndarray, backoff: np.ndarray) -> Grams:
    """The model one order below: the same n-grams without those of the highest order, with its own numbers."""
    M = sum(sizes[:-1])
    first = grams.first[: M + 1].copy()
    first[M - sizes[-2] :] = M
    return Grams(grams.word[:M], first, grams.suffix[:M], p, backoff)
