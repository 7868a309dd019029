"""Jackknifing: parts of a treebank, each annotated by components that have not seen it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import column_of_strings
from palmette.data.subset import dealt
from palmette.data.treebank import FIELDS, NOTHING, Treebank, tokens_of
from palmette.pipeline.chains import accuracy
from palmette.pipeline.model import words_only
from palmette.training.result import Progress

logger = logging.getLogger(__name__)


class Fold(NamedTuple):
    """Some sentences of a treebank with predicted columns."""

    sentences: np.ndarray  # i64[], their numbers
    words: Treebank


def folds_of(treebank: Treebank, most: int, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; all are in one if there are too few to divide."""
    n = min(most, treebank.n_sentences)
    return dealt(treebank.n_sentences, n, seed) if n > 1 else np.zeros(treebank.n_sentences, np.int64)


def annotated_fold(
    treebank: Treebank, fold: np.ndarray, k: int, components: Sequence[Callable[[], Any]], progress: Progress | None
) -> Fold:
    """Fold k annotated by components that are trained on the other folds, one after the other."""
    own, rest = np.flatnonzero(fold == k), treebank.take(np.flatnonzero(fold != k))
    words = words_only(treebank.take(own))
    for new in components:
        words = new().fit(rest, progress=progress).apply(words)
    return Fold(own, words)


def joined_folds(treebank: Treebank, folds: Iterable[Fold]) -> Treebank:
    """The treebank with the predicted columns of all its folds; trees as they were."""
    cells = [np.empty(treebank.n_tokens, object) for _ in FIELDS]
    for sentences, words in folds:
        tokens = tokens_of(treebank.offset, sentences)
        for column, found in zip(cells, words.corpus.columns, strict=True):
            column[tokens] = found.cells()
    for field, column in zip(FIELDS[1:], cells[1:], strict=True):
        made = column_of_strings(column.tolist())
        if made.types != [NOTHING]:
            right = 100 * accuracy(made, treebank.column(field))
            logger.info("jackknife: %s: %.2f%% as in the treebank", field.upper(), right)
        treebank = treebank.with_column(field, made)
    return treebank
