"""One record for every n-best list: an output, its score and, if the model has probabilities, its probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

Output = TypeVar("Output")


class Candidate(NamedTuple, Generic[Output]):
    """One of the best outputs of a sentence.

    A tagger's output is a list of labels; a parser's is a list of (head, relation) pairs, as `Parser.predict` returns
    them."""

    output: Output
    score: float
    probability: float | None = None  # None: the scores of the model are not probabilities


Labelling = Candidate[list[str]]


class LabelLists(NamedTuple):
    """The best label sequences of S sentences with N tokens, at most K of each, as numbers of labels."""

    offset: np.ndarray  # i64[S+1]  the tokens of a sentence, from 0
    labels: np.ndarray  # i32[K, N]
    scores: np.ndarray  # f64[S, K]
    probability: np.ndarray | None  # f64[S, K]
    found: np.ndarray  # i64[S]  how many a sentence has

    def candidates(self, names: Sequence[Any]) -> Iterator[list[Labelling]]:
        """The list of each sentence."""
        called = np.array([*names, None], object)[:-1]  # never an array of strings
        scores = self.scores.tolist()
        probability = None if self.probability is None else self.probability.tolist()
        for s, (lo, hi) in enumerate(pairwise(self.offset.tolist())):
            own = called[self.labels[:, lo:hi]].tolist()
            sure = [None] * len(own) if probability is None else probability[s]
            yield [Candidate(own[k], scores[s][k], sure[k]) for k in range(int(self.found[s]))]


Parse = Candidate[list[tuple[int, str]]]  # heads count from 1, 0 is the root
