"""One record for every n-best list: an output, its score and, if the model has probabilities, its probability."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

Output = TypeVar("Output")


class Candidate(NamedTuple, Generic[Output]):
    """One of the best outputs of a sentence.

    A tagger's output is a list of labels; a parser's is a list of (head, relation) pairs, as `Parser.predict` returns
    them."""

    output: Output
    score: float
    probability: float | None = None  # None: the scores of the model are not probabilities


Labelling = Candidate[list[str]]
Parse = Candidate[list[tuple[int, str]]]  # heads count from 1, 0 is the root
