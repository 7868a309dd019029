"""A hidden Markov model of words and labels: its labels, vocabulary and tables, counted from a labelled corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.normal_form import NFC
from palmette.errors import DataError
from palmette.structures.hmm.counts import count, estimate
from palmette.structures.hmm.tables import Tables
from palmette.structures.hmm.words import Vocabulary, learn_vocabulary


class HiddenMarkovModel(NamedTuple):
    """The probabilities, and the names of their rows and columns."""

    labels: list[str]  # sorted
    vocabulary: Vocabulary
    tables: Tables


def count_model(
    corpus: Corpus, *, order: int = 1, smoothing: float = 0.001, interpolate: bool = True, rare: int = 1,
    dictionary: int | None = None, ends: bool = True, unicode: str = NFC,
) -> HiddenMarkovModel:  # fmt: skip
    """The model of a labelled corpus, whose column 0 has the words; the options are those of `HMM`."""
    if corpus.label_sets:
        raise DataError("partial labels cannot be counted: an HMM needs one label per token", file=corpus.source)
    if corpus.weight is not None:
        raise DataError("an HMM counts each sentence once: leave the weights out", file=corpus.source)
    assert corpus.labels is not None
    words, names = word_column(corpus, unicode), corpus.labels.types
    occurrences = np.bincount(words.ids, minlength=len(words.types)).tolist()
    vocabulary = learn_vocabulary(dict(zip(words.types, occurrences, strict=True)), rare)
    labels = sorted(names)
    number = np.array([labels.index(name) for name in names])
    shape = len(labels), len(vocabulary)
    counts = count(number[corpus.labels.ids], observations(corpus, vocabulary, unicode), corpus.offset, shape, order)
    tables = estimate(counts, smoothing=smoothing, interpolate=interpolate, dictionary=dictionary, ends=ends)
    return HiddenMarkovModel(labels, vocabulary, tables)


def word_column(corpus: Corpus, unicode: str) -> Column:
    """Column 0, which has the words, in a form of Unicode."""
    if not corpus.columns:
        raise DataError("ready-made attributes are no words", file=corpus.source, hint="give words, or columns")
    return corpus.columns[0].in_form(unicode)


def observations(corpus: Corpus, vocabulary: Vocabulary, unicode: str) -> np.ndarray:
    """The number i64[N] of each token's word, or of the class of an unknown word."""
    column = word_column(corpus, unicode)
    numbers = [vocabulary.find(word) for word in column.types]
    if None in numbers:
        unknown = numbers.index(None)
        token = int(np.argmax(column.ids == unknown))
        raise DataError(
            f"the model knows no word {column.types[unknown]!r}", file=corpus.source, line=corpus.line_of(token),
            hint="it was made without classes for unknown words: fit with rare=1, or more",
        )  # fmt: skip
    return np.array(numbers, np.int64)[column.ids]
