"""Sums over all label sequences of one sequence of items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from palmette.crfsuite.item_sequence import ItemSequence
from palmette.data.items import corpus_from_items
from palmette.errors import DataError
from palmette.kernels.chain.forms import Data
from palmette.kernels.chain.posteriors import Marks, Places, Posteriors
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.scoring import Scoring

_NONE = np.zeros(0, np.int64)


class Posterior:
    """The marginals of a sequence, and the probability of its labellings."""

    def __init__(self, model: ChainModel, items: Sequence[Any]) -> None:
        index = model.feature_indexes[1]
        try:
            corpus = corpus_from_items([items], mode="attributes", index=index).corpus
        except DataError:  # items that only python-crfsuite's definition covers, or that it finds wrong, too
            corpus = corpus_from_items([ItemSequence(items).tokens()], mode="attributes", index=index).corpus
        check_memory(corpus.offset, model.shape, None)
        self.scoring, self.data, self.labels = model.scoring(), model.encode(corpus), model.labels

    @cached_property
    def marginals(self) -> np.ndarray:
        """f64[items, labels]"""
        return marginals_of(self.scoring, self.data, len(self.labels))

    @cached_property
    def log_z(self) -> float:
        return float(self.scoring.log_partitions(self.data, False)[0])

    def probability(self, labels: np.ndarray) -> float:
        """Of labels i32[items]."""
        own = float(self.scoring.log_partitions(self.data._replace(known=labels), True)[0])
        return float(np.exp(min(own - self.log_z, 0.0)))


def marginals_of(scoring: Scoring, data: Data, n_labels: int) -> np.ndarray:
    """The probability of each label of each item of all sequences, f64[items, labels]."""
    n, Y = data.known.size, n_labels
    out = Posteriors(np.zeros(n), np.zeros((n, Y)), np.zeros(0), np.zeros(data.offset.size - 1))
    none = np.zeros((Y, Y), np.bool_)
    marks = Marks(none, none, none, np.full(Y, -1, np.int64))
    scoring.posteriors(data, np.zeros(n, np.int32), Places(*[_NONE] * 4), marks, out, False)
    return out.labels
