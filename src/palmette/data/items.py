"""Python data to a corpus: sentences of words, of tuples of columns, of ready-made attributes, or of vectors.

X is an iterable of sentences, a sentence an iterable of tokens; generators are fine. A token is
- a string: one column, the word
- a tuple of strings: columns (also a list, with mode="columns"; or a row of an array of strings)
- a dict, list or set: attributes, as python-crfsuite takes them. In a dict a number is a value, True is 1; zeros and
  False are left out; the string in {"k": "v"} makes the attribute `k:v`, a dict, list or set makes attributes that
  start with `k:`; a vector makes the attributes `k[0]`, `k[1]` and so on
- a vector: an array of numbers of one dimension, or a row of SciPy's sparse ones. A sentence may be a matrix of these
Errors name the place as X[sentence][token], counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number, Real
from typing import Any, TypeVar

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.item_arrays import ArrayBlocks, Vectors, is_matrix
from palmette.data.item_blocks import AttributeBlocks
from palmette.data.item_columns import Columns, Places, check_sentences, string_row, tokens_of
from palmette.data.item_labels import Labels
from palmette.data.item_names import KnownNames, NewNames
from palmette.data.item_plain import GROUPS, NUMBERS, bad_token, is_sparse, is_vector, type_of
from palmette.data.labels.numbers import LabelNumbers
from palmette.errors import DataError, UsageError, counted
from palmette.kernels.core.index import FeatureIndex

MODES = ("auto", "columns", "attributes")
NO_TEMPLATES = "templates read columns of strings: leave features and template out to learn from vectors"
NO_WEIGHT = "the sample weights of all sentences are 0: there is nothing to learn from"
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

    def weights(self, given: Sequence[float]) -> np.ndarray:
        """Weights of the sentences of the data as those of the corpus, f32[S]."""
        return sample_weights(given, self.size, "sentence")[self.places]


@dataclass(frozen=True)
class Reading:
    """How data is read: for a model, or to learn from."""

    mode: str = "auto"  # what a list as a token is; one of MODES
    index: FeatureIndex | None = None  # of a model: ready-made attributes become its numbers, and names are not kept
    widths: Mapping[str, int] | None = None  # of vectors, that the model was trained on
    numbers: LabelNumbers | None = None  # what whole numbers stand for, if labels may be that
    columns: int | None = None  # that the model was trained on: tokens may not have more


def sample_weights(given: Sequence[float], size: int, unit: str) -> np.ndarray:
    """Weights f32[size], one per unit, which must be numbers."""
    values = np.asarray(given)
    if values.dtype.kind not in NUMBERS:
        bad = next((k for k, value in enumerate(values.flat) if not isinstance(value, Real)), None)
        if bad is not None:
            raise DataError(f"sample_weight[{bad}] is {type_of(values.flat[bad])}: a weight is a number")
    weight = values.astype(np.float32)
    if weight.shape != (size,):
        raise DataError(f"{counted(weight.size, 'sample weight')} for {counted(size, unit)}")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise DataError("sample weights must be finite and not negative")
    return weight


def corpus_from_items(
    X: Iterable[Any],
    y: Iterable[Any] | None = None,
    *,
    mode: str = "auto",
    index: FeatureIndex | None = None,
    widths: Mapping[str, int] | None = None,
    numbers: LabelNumbers | None = None,
    columns: int | None = None,
    first: int = 0,
) -> Items:
    """Sentences X, and their labels y, as a corpus; the module describes X, `Reading` the options. `first`: the number
    of the first sentence, in messages, if X is a part of the data."""
    reading = Reading(mode, index, widths, numbers, columns)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose {', '.join(MODES)}")
    check_sentences(X, "X")
    builder: Columns | AttributeBlocks | ArrayBlocks | None = None
    labels = None if y is None else Labels(y, numbers)
    places, sizes, size = [], [], 0
    for s, sentence in enumerate(X, first):
        tokens = sentence if type(sentence) is list else _sentence(sentence, f"X[{s}]")
        n = len(tokens) if type(tokens) is list else _size(tokens)
        if labels is not None:
            labels.add(s, n)
        size += 1
        if n:
            builder = builder or _builder(tokens, f"X[{s}][0]", reading)
            if type(tokens) is not list and is_matrix(tokens) and not isinstance(builder, ArrayBlocks):
                raise DataError(f"X[{s}] is a matrix, and the sentences before it are not")
            places.append(s)
            sizes.append(n)
            builder.add(tokens, s)
    if labels is not None:
        labels.finish(first + size)
    where = Places(places, sizes)
    corpus = Corpus(where.offset, source="the data")
    if size > len(places) or first:
        corpus.numbers = np.array(places, np.int64)
    if builder is not None:
        builder.finish(corpus, where)
    if labels is not None and places:
        labels.give(corpus, where)
    return Items(corpus, np.array(places, np.int64) - first, size)


def _sentence(sentence: Any, name: str) -> Any:
    """The tokens of a sentence: a list or tuple, or a matrix."""
    if is_sparse(sentence):
        if sentence.ndim != 2:
            raise DataError(f"{name} is a sparse array of {counted(sentence.ndim, 'dimension')}: it has two")
        return sentence
    if not isinstance(sentence, np.ma.MaskedArray) and hasattr(sentence, "__array__"):
        array = np.asarray(sentence)
        if array.ndim == 2 and array.dtype.kind in NUMBERS:
            return array
        if array.ndim == 2 and array.size and isinstance(array.flat[0], Number):
            raise DataError(f"{name} is {type_of(array)}", hint="give the array a type of numbers: array.astype(float)")
    return tokens_of(sentence, name)


def _size(tokens: Any) -> int:
    return int(tokens.shape[0]) if is_matrix(tokens) else len(tokens)


def _builder(tokens: Any, name: str, reading: Reading) -> Columns | AttributeBlocks | ArrayBlocks:
    """What reads tokens that are like the first ones."""
    mode, matrix = reading.mode, is_matrix(tokens)
    token = None if matrix else tokens[0]
    if mode == "columns":
        if matrix:
            raise DataError(
                f"{name} is a row of a matrix: a token is a string or a tuple of strings", hint=NO_TEMPLATES
            )
        return Columns(reading.columns)
    if mode == "auto" and (isinstance(token, str | tuple) or string_row(token)):
        return Columns()
    names = NewNames() if reading.index is None else KnownNames(reading.index)
    vectors = Vectors(names, reading.widths)
    if matrix or is_vector(token):
        return ArrayBlocks(vectors)
    if mode == "auto" and not isinstance(token, dict | GROUPS):
        raise bad_token(token, name)
    return AttributeBlocks(vectors)
