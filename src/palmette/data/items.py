"""Python data to a corpus: sentences of words, of tuples of columns, or of ready-made attributes.

X is an iterable of sentences, a sentence an iterable of tokens; generators are fine. A token is
- a string: one column, the word
- a tuple of strings: columns (also a list, with mode="columns")
- a dict, list or set: attributes, as python-crfsuite takes them. In a dict a number is a value, True is 1; zeros and
  False are left out; the string in {"k": "v"} makes the attribute `k:v`, a dict, list or set makes attributes that
  start with `k:`
Errors name the place as X[sentence][token], counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.item_blocks import AttributeBlocks, KnownNames, NewNames
from palmette.data.item_columns import Columns, Places, check_sentences, tokens_of
from palmette.data.item_labels import Labels
from palmette.data.item_plain import GROUPS, bad_token
from palmette.errors import UsageError
from palmette.kernels.core.index import FeatureIndex

MODES = ("auto", "columns", "attributes")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Items:
    """A corpus, and the places of its sentences in the data, which may have sentences without tokens."""

    corpus: Corpus
    places: np.ndarray  # i64[S]  the place in the data of each sentence of the corpus
    size: int  # sentences of the data

    def with_empty(self, values: Sequence[_T], make: Callable[[], _T]) -> list[_T]:
        """Values for the sentences of the corpus, with make() for empty sentences of the data."""
        if len(values) == self.size:
            return list(values)
        made = [make() for _ in range(self.size)]
        for place, value in zip(self.places.tolist(), values, strict=True):
            made[place] = value
        return made

    def without_empty(self, values: Sequence[_T]) -> list[_T]:
        """Values for the sentences of the data, without those of empty ones."""
        return [values[place] for place in self.places.tolist()]


def corpus_from_items(
    X: Iterable[Any], y: Iterable[Any] | None = None, *, mode: str = "auto", index: FeatureIndex | None = None
) -> Items:
    """Sentences X, and their labels y, as a corpus; the module describes X. With a feature index, ready-made attributes
    become its numbers, and names are not kept."""
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose {', '.join(MODES)}")
    check_sentences(X, "X")
    builder: Columns | AttributeBlocks | None = None
    labels = None if y is None else Labels(y)
    places, sizes, size = [], [], 0
    for s, sentence in enumerate(X):
        tokens = sentence if type(sentence) is list else tokens_of(sentence, f"X[{s}]")
        if labels is not None:
            labels.add(s, len(tokens))
        size += 1
        if tokens:
            builder = builder or _builder(tokens[0], mode, f"X[{s}][0]", index)
            places.append(s)
            sizes.append(len(tokens))
            builder.add(tokens, s)
    if labels is not None:
        labels.finish(size)
    where = Places(places, sizes)
    corpus = Corpus(where.offset, source="the data")
    if size > len(places):
        corpus.numbers = np.array(places, np.int64)
    if builder is not None:
        builder.finish(corpus, where)
    if labels is not None and places:
        corpus.labels = labels.column(where)
        corpus.label_sets = labels.sets or None
    return Items(corpus, np.array(places, np.int64), size)


def _builder(token: Any, mode: str, name: str, index: FeatureIndex | None) -> Columns | AttributeBlocks:
    if mode == "auto":
        mode = "columns" if isinstance(token, str | tuple) else "attributes"
        if not isinstance(token, str | dict | GROUPS):
            raise bad_token(token, name)
    if mode == "columns":
        return Columns()
    return AttributeBlocks(NewNames() if index is None else KnownNames(index))
