"""Two corpora as one: training data with what was annotated later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, column_of_types
from palmette.data.treebank import Treebank
from palmette.errors import DataError, counted


def merged(first: Corpus, second: Corpus) -> Corpus:
    """The sentences of both, with their labels; the text that they were read from is left out."""
    if not second.n_tokens:
        return first
    if not first.n_tokens:
        return second
    a, b = first.attributes, second.attributes
    if len(first.columns) != len(second.columns) or (a is None) != (b is None):
        raise DataError(f"{_kind(second)} in {second.source}, and {_kind(first)} in {first.source}")
    if first.labels is None or second.labels is None:
        raise DataError("one of the two has no labels", file=(second if second.labels is None else first).source)
    sets = None
    if first.label_sets is not None or second.label_sets is not None:
        sets = {**(first.label_sets or {}), **(second.label_sets or {})}
    return Corpus(
        np.concatenate([first.offset, first.offset[-1] + second.offset[1:]]),
        [_joined([x, y]) for x, y in zip(first.columns, second.columns, strict=True)],
        _joined([first.labels, second.labels]),
        sets,
        None if a is None or b is None else _attributes(a, b),
        source=first.source,
        vectors=first.vectors,
        label_numbers=first.label_numbers,
    )


def merged_treebanks(first: Treebank, second: Treebank) -> Treebank:
    """The sentences of both, with their trees; the text that they were read from is left out."""
    pairs = zip(first.corpus.columns, second.corpus.columns, strict=True)
    offset = np.concatenate([first.offset, first.offset[-1] + second.offset[1:]])
    corpus = Corpus(offset, [_joined(pair) for pair in pairs], source=first.corpus.source)
    relations = _joined([first.relations, second.relations])
    return Treebank(corpus, np.concatenate([first.heads, second.heads]), relations)


def _joined(columns: Sequence[Column]) -> Column:
    """Columns below each other: equal cells are one type."""
    numbers: dict[str, int] = {}
    ids = []
    for column in columns:
        new = [numbers.setdefault(cell, len(numbers)) for cell in column.types]
        ids.append(np.array(new, np.int32)[column.ids])
    return column_of_types(np.concatenate(ids).astype(np.int32), list(numbers))


def _attributes(a: Attributes, b: Attributes) -> Attributes:
    ptr = np.concatenate([a.ptr, a.ptr[-1] + b.ptr[1:]])
    return Attributes(ptr, _joined([a.names, b.names]), _values(a, b, "val", 1.0), _values(a, b, "rest", 0.0))


def _values(a: Attributes, b: Attributes, name: str, usual: float) -> np.ndarray:
    """Values of both, which are left out if all are the usual one."""
    x, y = getattr(a, name), getattr(b, name)
    if not x.size and not y.size:
        found: np.ndarray = x
        return found
    parts = [
        own if own.size else np.full(int(each.ptr[-1]), usual, np.float32) for own, each in ((x, a), (y, b))
    ]  # fmt: skip
    return np.concatenate(parts)


def _kind(corpus: Corpus) -> str:
    return "attributes" if corpus.attributes is not None else counted(len(corpus.columns), "column")
