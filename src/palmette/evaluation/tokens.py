"""Scores that count tokens: accuracy, precision and recall of each label, confusions.

Gold and guess are label ids of the same label list, flat over all sentences: i32[N], with the sentences
in `offset`: i64[S+1]. `known` (bool[N]) excludes tokens: where it is False there is no gold label, whatever the id.
A ratio with denominator 0 is 0, as in conlleval.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from palmette.errors import UsageError


class Figures(msgspec.Struct, frozen=True):
    """Precision, recall and F1 as fractions of 1, and the counts they come from."""

    precision: float
    recall: float
    f1: float
    gold: int
    guessed: int
    correct: int


class LabelCounts(NamedTuple):
    """How often each label is in gold, was guessed, and both: i64[Y] each."""

    correct: np.ndarray
    guessed: np.ndarray
    gold: np.ndarray


class Share(NamedTuple):
    """`correct` of `total`."""

    correct: int
    total: int

    @property
    def fraction(self) -> float:
        return self.correct / self.total if self.total else 0.0


def figures(correct: int, guessed: int, gold: int) -> Figures:
    """Precision, recall and F1 of three counts."""
    precision = correct / guessed if guessed else 0.0
    recall = correct / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    return Figures(precision, recall, f1, int(gold), int(guessed), int(correct))


def token_accuracy(gold: np.ndarray, guess: np.ndarray, known: np.ndarray | None = None) -> Share:
    """The share of tokens whose label is right."""
    gold, guess = counted(gold, guess, known)
    return Share(int((gold == guess).sum()), len(gold))


def unseen_accuracy(gold: np.ndarray, guess: np.ndarray, unseen: np.ndarray, known: np.ndarray | None = None) -> Share:
    """Accuracy on the tokens where `unseen` (bool[N]) holds: words that are not in the training data."""
    return token_accuracy(gold, guess, unseen if known is None else unseen & known)


def sentence_accuracy(
    gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, known: np.ndarray | None = None
) -> Share:
    """The share of sentences without an error, among those with a token that counts."""
    counted(gold, guess, known)
    here = np.ones(len(gold), dtype=bool) if known is None else known
    scored = sentence_sums(here, offset) > 0
    wrong = sentence_sums((gold != guess) & here, offset) > 0
    return Share(int((scored & ~wrong).sum()), int(scored.sum()))


def label_counts(gold: np.ndarray, guess: np.ndarray, Y: int, known: np.ndarray | None = None) -> LabelCounts:
    """Counts of each of the Y labels, for `figures`."""
    gold, guess = counted(gold, guess, known, Y)
    tally = [np.bincount(ids, minlength=Y) for ids in (gold[gold == guess], guess, gold)]
    return LabelCounts(*tally)


def top_confusions(
    gold: np.ndarray, guess: np.ndarray, Y: int, known: np.ndarray | None = None, most: int = 20
) -> list[tuple[int, int, int]]:
    """The most frequent wrong pairs (gold, guess, count); ties by label id.

    It does not build the Y x Y matrix: tag sets may have thousands of labels.
    """
    gold, guess = counted(gold, guess, known, Y)
    wrong = gold != guess
    codes, counts = np.unique(gold[wrong].astype(np.int64) * Y + guess[wrong], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [(int(codes[k]) // Y, int(codes[k]) % Y, int(counts[k])) for k in order]


def sentence_sums(values: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The sum of `values` (bool or number, [N]) in each sentence: [S]; empty sentences have 0."""
    if len(offset) == 0 or offset[0] != 0 or offset[-1] != len(values):
        raise UsageError(f"sentence offsets must go from 0 to the number of tokens, {len(values)}")
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return total[offset[1:]] - total[offset[:-1]]


def counted(
    gold: np.ndarray, guess: np.ndarray, known: np.ndarray | None = None, Y: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Gold and guess of the tokens that count, after checking lengths and, if Y is given, ids."""
    masks = [] if known is None else [known]
    if any(len(other) != len(gold) for other in [guess, *masks]):
        sizes = ", ".join(str(len(other)) for other in [gold, guess, *masks])
        raise UsageError(f"gold, guess and masks must have one entry per token each; their lengths are {sizes}")
    if known is not None:
        gold, guess = gold[known], guess[known]
    for ids in (gold, guess):
        if Y is not None and len(ids) and not (ids.min() >= 0 and ids.max() < Y):
            raise UsageError(f"label ids must be between 0 and {Y - 1}; found {ids.min()} to {ids.max()}")
    return gold, guess
