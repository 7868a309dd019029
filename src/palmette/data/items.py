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

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from numbers import Number, Real
from typing import Any, TypeVar

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.item_blocks import ArrayBlocks, AttributeBlocks, Vectors, is_matrix
from palmette.data.item_plain import (
    GROUPS,
    NUMBERS,
    KnownNames,
    NewNames,
    bad_token,
    is_sparse,
    is_unicode,
    is_vector,
    not_unicode,
    string_hint,
    type_of,
)
from palmette.data.labels.numbers import IGNORED, LabelNumbers
from palmette.errors import DataError, UsageError, counted
from palmette.kernels.core.hashing import FeatureIndex

# Tokens as words or tuples of columns: cells are numbered by first occurrence.


def check_sentences(X: Any, name: str) -> None:
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise DataError(f"{name} is {type_of(X)}: a list of sentences is expected")


def tokens_of(sentence: Any, name: str) -> Sequence[Any]:
    """The tokens of a sentence, or its labels, as a list or tuple."""
    if isinstance(sentence, list | tuple):
        return sentence
    if isinstance(sentence, np.ndarray):
        return _listed(sentence, name)
    if isinstance(sentence, str | bytes | Mapping) or not isinstance(sentence, Iterable):
        hint = "split it first: text.split(), or list(text) for characters" if isinstance(sentence, str) else None
        raise DataError(f"{name} is {type_of(sentence)}: a list of tokens is expected", hint=hint)
    return _listed(np.asarray(sentence), name) if hasattr(sentence, "__array__") else list(sentence)


def _listed(array: np.ndarray, name: str) -> list[Any]:
    """An array as a list of what its first dimension has; those of two dimensions as tuples."""
    if array.ndim not in (1, 2) or isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "biufUSO":
        raise DataError(f"{name} is {type_of(array)}: a list of tokens is expected")
    return array.tolist() if array.ndim == 1 else [tuple(row) for row in array.tolist()]


def string_row(token: Any) -> bool:
    """Whether a token is an array of strings: a row of columns."""
    return isinstance(token, np.ndarray) and token.ndim == 1 and token.dtype.kind in "UO"


class TokenPlaces:
    """The places of the tokens of a corpus in the data."""

    def __init__(self, places: list[int], sizes: list[int]) -> None:
        self.places = places
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def __call__(self, token: int, name: str = "X") -> str:
        s = int(np.searchsorted(self.offset, token, side="right")) - 1
        return f"{name}[{self.places[s]}][{token - int(self.offset[s])}]"


def column_of(ids: list[int], types: Mapping[Any, int], place: Callable[[int], str], what: str) -> Column:
    """A column of distinct values that should be strings; `place` names the place of a cell."""
    strings = [str(value) if isinstance(value, str) else value for value in types]
    found = np.array(ids, np.int32)
    for k, value in enumerate(strings):
        if not isinstance(value, str) or not is_unicode(value):
            name = place(int(np.argmax(found == k)))
            if isinstance(value, str):
                raise not_unicode(name, value)
            raise DataError(f"{name} is {type_of(value)}: {what} is a string", hint=string_hint(value))
    return column_of_types(found, strings)


class ItemColumns:
    """Tokens as words or tuples. Cells are checked at the end, once per type."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most  # columns that a model was trained on; None: any number
        self.width = 0  # 0: words
        self.kinds: frozenset[type] = frozenset()  # types of tokens that need no check of their own
        self.numbers: list[defaultdict[Any, int]] = []
        self.ids: list[list[int]] = []

    def add(self, tokens: Sequence[Any], s: int) -> None:
        if not self.numbers:
            self.width = 0 if isinstance(tokens[0], str) else self._first_width(tokens[0], f"X[{s}][0]")
            self.kinds = frozenset((str,)) if self.width == 0 else frozenset((tuple, list))
            self.numbers = [defaultdict(count().__next__) for _ in range(self.width or 1)]
            self.ids = [[] for _ in range(self.width or 1)]
        if not self.kinds.issuperset(map(type, tokens)):
            tokens = [token.tolist() if string_row(token) else token for token in tokens]
            self._check(tokens, s)
        elif self.width and {*map(len, tokens)} != {self.width}:
            self._check(tokens, s)
        for numbers, ids, column in zip(self.numbers, self.ids, self._turned(tokens), strict=True):
            try:
                ids.extend(map(numbers.__getitem__, column))
            except TypeError:
                self._complain(tokens, s)

    def _first_width(self, token: Any, name: str) -> int:
        """The number of columns of the first token, which is that of all."""
        cells = self._cells(token, name)
        if self.most is not None and len(cells) > self.most:
            known = "column 0" if self.most == 1 else f"columns 0 to {self.most - 1}"
            raise DataError(
                f"{name} has {counted(len(cells), 'column')}, and the model was trained on {self.most} ({known})",
                hint=f"leave out the columns that follow: column {self.most} is {cells[self.most]!r} here",
            )
        return len(cells)

    def _check(self, tokens: Sequence[Any], s: int) -> None:
        for i, token in enumerate(tokens):
            if self.width == 0:
                if not isinstance(token, str):
                    raise bad_token(token, f"X[{s}][{i}]", "a string, as the tokens before it")
            elif len(self._cells(token, f"X[{s}][{i}]")) != self.width:
                raise DataError(
                    f"X[{s}][{i}] has {counted(len(token), 'column')}, but the tokens before it have {self.width}"
                )

    def _turned(self, tokens: Sequence[Any]) -> Iterable[Sequence[Any]]:
        return (tokens,) if self.width == 0 else zip(*tokens, strict=True)

    def _cells(self, token: Any, name: str) -> Sequence[Any]:
        if string_row(token):
            token = token.tolist()
        if not isinstance(token, tuple | list):
            raise bad_token(token, name, "a tuple of strings here" if self.width else "a string or a tuple of strings")
        if not token:
            raise DataError(f"{name} is empty: a token needs at least one column")
        return token

    def _complain(self, tokens: Sequence[Any], s: int) -> None:
        for i, token in enumerate(tokens):
            for cell in token:
                if not isinstance(cell, str):
                    raise DataError(f"X[{s}][{i}] holds a cell {type_of(cell)}: a cell is a string")

    def finish(self, corpus: Corpus, where: TokenPlaces) -> None:
        for c, (ids, numbers) in enumerate(zip(self.ids, self.numbers, strict=True)):
            place = where if self.width == 0 else _of_column(where, c)
            corpus.columns.append(column_of(ids, numbers, place, "a cell"))


def _of_column(where: TokenPlaces, c: int) -> Callable[[int], str]:
    return lambda token: f"{where(token)}[{c}]"


# Labels of the sentences of Python data: strings, or whole numbers (data/labels/numbers.py); sets and None where
# they are only partly known.

_STRINGS, _NUMBERS = frozenset((str,)), frozenset((int,))
ANY = frozenset[Any]()  # of the labels


class ItemLabels:
    """The labels y of the sentences X. `numbers`: the meaning of numbers, if labels may be numbers."""

    def __init__(self, y: Iterable[Any], numbers: LabelNumbers | None = None) -> None:
        check_sentences(y, "y")
        self.rest = iter(y)
        self.may_be = numbers
        self.kind: type | None = None  # of the labels: str or int, once there is one
        self.numbers: defaultdict[Any, int] = defaultdict(count().__next__)
        self.ids: list[int] = []
        self.sets: dict[str, frozenset[str]] = {}  # of partial labels, by their name

    def add(self, s: int, size: int) -> None:
        nothing = object()
        given = next(self.rest, nothing)
        if given is nothing:
            raise DataError(f"y has {counted(s, 'sentence')}, but X has more")
        tags = tokens_of(given, f"y[{s}]")
        if len(tags) != size:
            raise DataError(f"y[{s}] has {counted(len(tags), 'label')}, but X[{s}] has {counted(size, 'token')}")
        plain = (self.kind is str and _STRINGS.issuperset(map(type, tags))) or (
            self.kind is int and _NUMBERS.issuperset(map(type, tags)) and IGNORED not in tags
        )
        if not plain:
            tags = [self._label(tag, f"y[{s}][{i}]") for i, tag in enumerate(tags)]
        self.ids.extend(map(self.numbers.__getitem__, tags))

    def _label(self, tag: Any, place: str) -> Any:
        """A label as a string or a number, a partial label as a frozen set."""
        if isinstance(tag, str):
            self._check_kind(str, tag, place)
            return tag
        if tag is None:
            return ANY
        if isinstance(tag, int | np.integer) and not isinstance(tag, bool) and self.may_be is not None:
            if tag == IGNORED:
                return ANY
            self._check_kind(int, tag, place)
            return int(tag)
        if isinstance(tag, set | frozenset) and tag and "" not in tag:
            found = frozenset(self._label(label, place) for label in tag)
            if all(isinstance(label, str | int) for label in found):
                return found
        raise self._refused(tag, place)

    def _check_kind(self, kind: type, tag: Any, place: str) -> None:
        """All labels are strings, or all are numbers."""
        self.kind = self.kind or kind
        if kind is not self.kind:
            others = "strings" if self.kind is str else "numbers"
            raise DataError(f"{place} is {type_of(tag)}, and the labels before it are {others}")

    def _refused(self, tag: Any, place: str) -> DataError:
        one, of = ("string", "strings") if self.may_be is None else ("string or a whole number", "these")
        hint = None
        if isinstance(tag, bool | np.bool_):
            hint = "make names or numbers of truth values first: str(value), int(value)"
        elif isinstance(tag, float | np.floating) and self.may_be is not None:
            hint = "make whole numbers first: array.astype(int)"
        elif isinstance(tag, int | np.integer):
            hint = "make strings of numbers first: str(value)"
        expected = f"a label is a {one}, a set of {of} (any of them), or None (any label)"
        return DataError(f"{place} is {type_of(tag)}: {expected}", hint=hint)

    def _named(self, place: Any) -> dict[Any, int]:
        """The labels as strings, each set under a name that no label has."""
        if self.may_be is not None:
            self._translate(place)
        for tag in [tag for tag in self.numbers if isinstance(tag, frozenset)]:
            name = "{" + "|".join(sorted(tag)) + "}"
            while name in self.numbers:
                name = "{" + name + "}"
            self.sets[name] = tag
        names = {tag: name for name, tag in self.sets.items()}
        return {names.get(tag, tag): number for tag, number in self.numbers.items()}

    def _translate(self, place: Any) -> None:
        """Put names in place of numbers, and check strings."""
        known = None if self.may_be is None or self.may_be.names is None else frozenset(self.may_be.names)
        translated: defaultdict[Any, int] = defaultdict(count().__next__)
        for tag, number in self.numbers.items():
            parts = tag if isinstance(tag, frozenset) else (tag,)
            names = [self._name(part, known) for part in parts]
            if None in names:
                part = next(part for part, name in zip(parts, names, strict=True) if name is None)
                raise self._unknown(part, place(self.ids.index(number)))
            translated[frozenset(names) if isinstance(tag, frozenset) else names[0]] = number
        self.numbers = translated

    def _name(self, tag: Any, known: frozenset[str] | None) -> str | None:
        """The label of a tag; None if it has none."""
        if isinstance(tag, int):
            assert self.may_be is not None
            return self.may_be.name_of(tag)
        return tag if known is None or tag in known else None

    def _unknown(self, tag: Any, place: str) -> DataError:
        assert self.may_be is not None
        if isinstance(tag, str):
            return DataError(f"{place} is {tag!r}, which is none of the names of labels")
        hint = f"{IGNORED} stands for a label that is not known" if tag < 0 else None
        return DataError(f"{place} is {tag}: {self.may_be.range}", hint=hint)

    def finish(self, size: int) -> None:
        if any(True for _ in self.rest):
            raise DataError(f"y has more sentences than X, which has {size}")

    def give(self, corpus: Corpus, where: TokenPlaces) -> None:
        """Give the corpus its labels."""
        corpus.labels = self.column(where)
        corpus.label_sets = self.sets or None
        corpus.label_numbers = self.may_be if self.kind is int else None

    def column(self, where: TokenPlaces) -> Column:
        def place(token: int) -> str:
            return where(token, "y")

        column = column_of(self.ids, self._named(place), place, "a label")
        if "" in column.types:
            raise DataError(f"{place(int(np.argmax(column.ids == column.types.index(''))))} is an empty label")
        return column


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

    def weights(self, given: Sequence[float]) -> np.ndarray:
        """Weights of the sentences of the data as those of the corpus, f32[S]."""
        return sample_weights(given, self.size, "sentence")[self.places]


@dataclass(frozen=True)
class ItemReading:
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
    """Sentences X, and their labels y, as a corpus; the module describes X, `ItemReading` the options. `first`: the
    number of the first sentence, in messages, if X is a part of the data."""
    reading = ItemReading(mode, index, widths, numbers, columns)
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose {', '.join(MODES)}")
    check_sentences(X, "X")
    builder: ItemColumns | AttributeBlocks | ArrayBlocks | None = None
    labels = None if y is None else ItemLabels(y, numbers)
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
    where = TokenPlaces(places, sizes)
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


def _builder(tokens: Any, name: str, reading: ItemReading) -> ItemColumns | AttributeBlocks | ArrayBlocks:
    """What reads tokens that are like the first ones."""
    mode, matrix = reading.mode, is_matrix(tokens)
    token = None if matrix else tokens[0]
    if mode == "columns":
        if matrix:
            raise DataError(
                f"{name} is a row of a matrix: a token is a string or a tuple of strings", hint=NO_TEMPLATES
            )
        return ItemColumns(reading.columns)
    if mode == "auto" and (isinstance(token, str | tuple) or string_row(token)):
        return ItemColumns()
    names = NewNames() if reading.index is None else KnownNames(reading.index)
    vectors = Vectors(names, reading.widths)
    if matrix or is_vector(token):
        return ArrayBlocks(vectors)
    if mode == "auto" and not isinstance(token, dict | GROUPS):
        raise bad_token(token, name)
    return AttributeBlocks(vectors)
