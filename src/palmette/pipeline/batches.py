"""Many texts annotated together: a call for each short one would cost more than its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_strings, column_of_types
from palmette.data.split_text import SplitText
from palmette.data.treebank import FIELDS, NOTHING, Treebank, without_trees
from palmette.errors import DataError
from palmette.pipeline.document import Document

BATCH = 256  # texts
CHARACTERS = 1 << 16  # of a batch, about


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts, several at a time."""
    if isinstance(texts, str):
        raise DataError("a list of texts is expected, and this is a string", hint="call the pipeline: nlp(text)")
    rest = iter(texts)
    while batch := list(islice(rest, 1)):
        size = len(batch[0])
        while len(batch) < BATCH and size < CHARACTERS and (more := list(islice(rest, 1))):
            batch += more
            size += len(more[0])
        yield batch


def documents(splits: list[SplitText], annotate: Callable[[Treebank], Treebank]) -> list[Document]:
    """Texts annotated together, as documents of their own."""
    if len(splits) == 1:
        return [Document(splits[0], annotate(splits[0].treebank()))]
    words = np.concatenate(([0], np.cumsum([split.n_words for split in splits]))).tolist()
    parts = [split.offset[1:] + first for split, first in zip(splits, words, strict=False)]
    offset = np.concatenate(([0], *parts)).astype(np.int64)
    forms = column_of_strings(cell for split in splits for cell in split.forms.cells())
    nothing = column_of_types(np.zeros(words[-1], np.int32), [NOTHING])
    corpus = Corpus(offset, [forms, *(nothing for _ in FIELDS[1:])], source="the texts")
    found = annotate(without_trees(corpus))
    return [
        Document(split, _words(found, split.offset, lo, hi))
        for split, (lo, hi) in zip(splits, pairwise(words), strict=True)
    ]


def _words(treebank: Treebank, offset: np.ndarray, lo: int, hi: int) -> Treebank:
    """Some of the words, which share their types with all."""
    columns = [_cells(column, lo, hi) for column in treebank.corpus.columns]
    corpus = Corpus(offset, columns, source=treebank.corpus.source)
    return Treebank(corpus, treebank.heads[lo:hi], _cells(treebank.relations, lo, hi))


def _cells(column: Column, lo: int, hi: int) -> Column:
    made = Column(column.ids[lo:hi], column.data, column.start, column.end, column.hash, column.power)
    made.__dict__["types"] = column.types
    return made
