"""Training data for a parser with tags, features and lemmas as a pipeline predicts them.

A parser in use gets predicted annotation; one that learns from gold relies on it too much, and so does one that learns
from what models predict that have seen the same sentences. So each part of the treebank is annotated by models that
were trained on the other parts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from palmette.data.corpus import Column, column_of_types
from palmette.data.subset import dealt, picked
from palmette.data.treebank import NOTHING, Treebank, tokens_of
from palmette.errors import counted
from palmette.pipeline.chains import accuracy
from palmette.pipeline.lemmas import Lemmas
from palmette.pipeline.tags import Tags

logger = logging.getLogger(__name__)
FOLDS = 5
MADE = ("upos", "xpos", "feats", "lemma")
_NAMES = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS", "lemma": "lemmas"}

Annotator = Callable[[Treebank], Callable[[Treebank], Treebank]]
"""From a treebank to learn from to a function that annotates another one."""


def jackknifed(
    treebank: Treebank, folds: int = FOLDS, threads: int = 1, *, passes: int | None = None, seed: int = 1,
    lemmas: bool = True,
) -> Treebank:  # fmt: skip
    """The treebank with predicted UPOS, XPOS, FEATS and lemmas, as far as it has them; each fold by components trained
    on the other folds, several at a time on `threads`."""

    def learnt(rest: Treebank) -> Callable[[Treebank], Treebank]:
        tags = Tags(passes=passes, seed=seed).fit(rest)
        if not lemmas or not has(rest, "lemma"):
            return tags.apply
        words = Lemmas(passes=passes, seed=seed).fit(rest)
        return lambda part: words.apply(tags.apply(part))

    return annotated_by_others(treebank, learnt, folds, threads, seed)


def annotated_by_others(treebank: Treebank, learnt: Annotator, folds: int, threads: int, seed: int) -> Treebank:
    """The treebank with the columns that an annotator makes of each fold after it has learnt from the others."""
    fold = dealt(treebank.n_sentences, folds, seed)
    wanted = [field for field in MADE if has(treebank, field)]

    def one(k: int) -> tuple[np.ndarray, list[Column]]:
        mine = np.flatnonzero(fold == k)
        part = treebank.take(mine)
        made = learnt(treebank.take(np.flatnonzero(fold != k)))(part)
        columns = [made.column(field) for field in wanted]
        figures = [
            f"{_NAMES[field]} {100 * accuracy(column, part.column(field)):.2f}"
            for field, column in zip(wanted, columns, strict=True)
        ]
        logger.info("jackknife: part %d of %d: %s", k + 1, folds, ", ".join(figures))
        return tokens_of(treebank.offset, mine), columns

    with ThreadPoolExecutor(max(1, min(threads, folds))) as pool:
        parts = list(pool.map(one, range(folds)))
    for k, field in enumerate(wanted):
        made = _united(treebank.n_tokens, [(tokens, columns[k]) for tokens, columns in parts])
        logger.info(
            "jackknife: %s: %.2f as in the treebank, %s",
            _NAMES[field], 100 * accuracy(made, treebank.column(field)), counted(folds, "part"),
        )  # fmt: skip
        treebank = treebank.with_column(field, made)
    return treebank


def has(treebank: Treebank, field: str) -> bool:
    """Whether a column says anything."""
    return any(cell != NOTHING for cell in treebank.column(field).types)


def _united(n_tokens: int, parts: list[tuple[np.ndarray, Column]]) -> Column:
    """One column of those of several parts, whose tokens are given."""
    numbers: dict[str, int] = {}
    ids = np.zeros(n_tokens, np.int32)
    for tokens, column in parts:
        new = [numbers.setdefault(cell, len(numbers)) for cell in column.types]
        ids[tokens] = np.array(new, np.int32)[column.ids]
    return picked(column_of_types(ids, list(numbers)), np.arange(n_tokens))
