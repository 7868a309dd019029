"""Marginals of many sequences by a few compiled calls. (Labels are found as quickly by a `Tagger`, one by one.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from palmette.crfsuite.item_sequence import ItemSequence
from palmette.crfsuite.posterior import marginals_of
from palmette.crfsuite.sequences import plain_items
from palmette.data.corpus import Corpus
from palmette.data.items import Items, corpus_from_items
from palmette.errors import DataError
from palmette.structures.chain.model import ChainModel, check_memory

BLOCK = 2_000  # sequences that are read at once


def marginals_all(model: ChainModel, X: Iterable[Any]) -> list[list[dict[str, float]]]:
    """For each item of each sequence the probability of each label."""
    found: list[list[dict[str, float]]] = []
    names = model.labels
    for items in _blocks(model, X):
        sums = _marginals(model, items.corpus)
        rows = [dict(zip(names, row, strict=True)) for row in sums.tolist()]
        found += items.with_empty([rows[a:b] for a, b in pairwise(items.corpus.offset.tolist())], list)
    return found


def _marginals(model: ChainModel, corpus: Corpus) -> np.ndarray:
    if not corpus.n_tokens:
        return np.zeros((0, len(model.labels)))
    check_memory(corpus.offset, model.shape, None)
    return marginals_of(model.scoring(), model.encode(corpus), len(model.labels))


def _blocks(model: ChainModel, X: Iterable[Any]) -> Iterator[Items]:
    """The sequences with the numbers of their attributes, some at a time."""
    rest, index = iter(X), model.feature_indexes[1]
    while block := [plain_items(xseq) for xseq in islice(rest, BLOCK)]:
        try:
            yield corpus_from_items(block, mode="attributes", index=index)
        except DataError:  # items that only python-crfsuite's definition covers, or that it finds wrong, too
            tokens = [ItemSequence(items).tokens() for items in block]
            yield corpus_from_items(tokens, mode="attributes", index=index)
