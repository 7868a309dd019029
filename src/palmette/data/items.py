"""Python data to a corpus: sentences of words, of tuples of columns, or of ready-made attributes.

X is an iterable of sentences, a sentence an iterable of tokens; generators are fine. A token is
- a string: one column, the word
- a tuple of strings: columns (also a list, with mode="columns")
- a dict, list or set: attributes, as python-crfsuite takes them. In a dict a number is a value, True is 1 and
  False is 0, the string in {"k": "v"} makes the attribute `k:v`, a dict, list or set makes attributes that
  start with `k:`
Errors name the place as X[sentence][token], counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number, Real
from typing import Any, TypeVar

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, column_of_types
from palmette.errors import DataError, UsageError

MODES = ("auto", "columns", "attributes")
_GROUPS = list | set | tuple | frozenset
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


def corpus_from_items(X: Iterable[Any], y: Iterable[Any] | None = None, *, mode: str = "auto") -> Items:
    """Sentences X, and their labels y, as a corpus; the module describes X."""
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}: choose {', '.join(MODES)}")
    _check_sentences(X, "X")
    builder: _Columns | _Attributes | None = None
    labels = None if y is None else _Labels(y)
    places, sizes, size = [], [], 0
    for s, sentence in enumerate(X):
        tokens = _tokens(sentence, f"X[{s}]")
        if labels is not None:
            labels.add(s, len(tokens))
        size += 1
        if tokens:
            builder = builder or _builder(tokens[0], mode, f"X[{s}][0]")
            places.append(s)
            sizes.append(len(tokens))
            builder.add(tokens, s)
    if labels is not None:
        labels.finish(size)
    where = _Places(places, sizes)
    corpus = Corpus(where.offset, source="the data")
    if builder is not None:
        builder.finish(corpus, where)
    if labels is not None and places:
        corpus.labels = labels.column(where)
        corpus.label_sets = labels.sets or None
    return Items(corpus, np.array(places, np.int64), size)


def _check_sentences(X: Any, name: str) -> None:
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise DataError(f"{name} is {_a(X)}: a list of sentences is expected")


def _tokens(sentence: Any, name: str) -> Sequence[Any]:
    if isinstance(sentence, list | tuple):
        return sentence
    if isinstance(sentence, str | bytes | Mapping) or not isinstance(sentence, Iterable):
        hint = "split it first: text.split(), or list(text) for characters" if isinstance(sentence, str) else None
        raise DataError(f"{name} is {_a(sentence)}: a list of tokens is expected", hint=hint)
    return list(sentence)


def _a(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _builder(token: Any, mode: str, name: str) -> _Columns | _Attributes:
    if mode == "auto":
        mode = "columns" if isinstance(token, str | tuple) else "attributes"
        if not isinstance(token, str | dict | _GROUPS):
            raise _bad_token(token, name)
    return _Columns() if mode == "columns" else _Attributes()


def _bad_token(token: Any, name: str, expected: str = "") -> DataError:
    hint = "decode it first: token.decode()" if isinstance(token, bytes) else None
    kinds = expected or "a string, a tuple of strings (columns), or a dict, list or set (attributes)"
    return DataError(f"{name} is {_a(token)}: a token is {kinds}", hint=hint)


class _Places:
    """The places of the tokens of a corpus in the data."""

    def __init__(self, places: list[int], sizes: list[int]) -> None:
        self.places = places
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def __call__(self, token: int, name: str = "X") -> str:
        s = int(np.searchsorted(self.offset, token, side="right")) - 1
        return f"{name}[{self.places[s]}][{token - int(self.offset[s])}]"


def _column(ids: list[int], types: Mapping[Any, int], place: Callable[[int], str], what: str) -> Column:
    """A column of distinct values that should be strings; `place` names the place of a cell."""
    strings = [str(value) if isinstance(value, str) else value for value in types]
    found = np.array(ids, np.int32)
    for k, value in enumerate(strings):
        if not isinstance(value, str) or not _is_unicode(value):
            name = place(int(np.argmax(found == k)))
            if isinstance(value, str):
                raise DataError(
                    f"{name} is not valid Unicode: {value[:20]!r}", hint="it holds half of a surrogate pair"
                )
            raise DataError(f"{name} is {_a(value)}: {what} is a string", hint=_string_hint(value))
    return column_of_types(found, strings)


def _string_hint(value: Any) -> str | None:
    if isinstance(value, bytes):
        return "decode it first: value.decode()"
    return "make strings of numbers first: str(value)" if isinstance(value, Number) else None


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode()) or True
    except UnicodeEncodeError:
        return False


class _Columns:
    """Tokens as words or tuples. Cells are checked at the end, once per type."""

    def __init__(self) -> None:
        self.width = 0  # 0: words; -1: nothing seen yet
        self.started = False
        self.numbers: list[dict[Any, int]] = []
        self.ids: list[list[int]] = []

    def add(self, tokens: Sequence[Any], s: int) -> None:
        if not self.started:
            self.started = True
            self.width = 0 if isinstance(tokens[0], str) else len(self._cells(tokens[0], f"X[{s}][0]"))
            self.numbers = [{} for _ in range(self.width or 1)]
            self.ids = [[] for _ in range(self.width or 1)]
        for i, token in enumerate(tokens):
            if self.width == 0:
                if not isinstance(token, str):
                    raise _bad_token(token, f"X[{s}][{i}]", "a string, as the tokens before it")
            elif len(self._cells(token, f"X[{s}][{i}]")) != self.width:
                raise DataError(f"X[{s}][{i}] has {len(token)} columns, but the tokens before it have {self.width}")
        for numbers, ids, column in zip(self.numbers, self.ids, self._turned(tokens), strict=True):
            try:
                ids += [numbers.setdefault(cell, len(numbers)) for cell in column]
            except TypeError:
                self._complain(tokens, s)

    def _turned(self, tokens: Sequence[Any]) -> Iterable[Sequence[Any]]:
        return (tokens,) if self.width == 0 else zip(*tokens, strict=True)

    def _cells(self, token: Any, name: str) -> Sequence[Any]:
        if not isinstance(token, tuple | list):
            raise _bad_token(token, name, "a tuple of strings here" if self.width else "a string or a tuple of strings")
        if not token:
            raise DataError(f"{name} is empty: a token needs at least one column")
        return token

    def _complain(self, tokens: Sequence[Any], s: int) -> None:
        for i, token in enumerate(tokens):
            for cell in token:
                if not isinstance(cell, str):
                    raise DataError(f"X[{s}][{i}] holds a cell {_a(cell)}: a cell is a string")

    def finish(self, corpus: Corpus, where: _Places) -> None:
        for c, (ids, numbers) in enumerate(zip(self.ids, self.numbers, strict=True)):
            place = where if self.width == 0 else _of_column(where, c)
            corpus.columns.append(_column(ids, numbers, place, "a cell"))


def _of_column(where: _Places, c: int) -> Callable[[int], str]:
    return lambda token: f"{where(token)}[{c}]"


class _Attributes:
    """Tokens as ready-made attributes. Only values that are not 1 are kept, with their places."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        # key -> value -> number: of `key:value` for strings, of `key` for values that equal 1. Most attributes
        # of a corpus are found here, and their string is not built again.
        self.known: dict[Any, dict[Any, int]] = {}
        self.ids: list[int] = []
        self.ptr = [0]
        self.odd: dict[int, float] = {}

    def add(self, tokens: Sequence[Any], s: int) -> None:
        for i, token in enumerate(tokens):
            try:
                if isinstance(token, dict):
                    self._add_dict(token)
                elif isinstance(token, _GROUPS):
                    self._add_group(token, "")
                else:
                    raise _bad_token(token, f"X[{s}][{i}]", "a dict, list or set of attributes here")
            except _Wrong as wrong:
                raise DataError(f"X[{s}][{i}]{wrong.args[0]}", hint=wrong.args[1]) from None
            self.ptr.append(len(self.ids))

    def _add_dict(self, token: Mapping[Any, Any]) -> None:
        known, append = self.known, self.ids.append
        for key, value in token.items():
            try:
                append(known[key][value])
            except (KeyError, TypeError):  # new; or a value that is neither a string nor 1
                self._add_value(_checked(key, ""), value)
                if isinstance(value, str) or (isinstance(value, Real) and value == 1):
                    known.setdefault(key, {})[value] = self.ids[-1]

    def _add_value(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            self.ids.append(self._number(f"{name}:{value}"))
        elif isinstance(value, Real | np.bool_):
            if value != 1:
                self.odd[len(self.ids)] = _finite(value, name)
            self.ids.append(self._number(name))
        elif isinstance(value, dict):
            for key, inner in value.items():
                self._add_value(f"{name}:{_checked(key, name)}", inner)
        elif isinstance(value, _GROUPS):
            self._add_group(value, f"{name}:")
        else:
            raise _Wrong(f"[{name!r}] is {_a(value)}: a value is a number, a string, or a dict, list or set",
                         _string_hint(value))  # fmt: skip

    def _add_group(self, group: Iterable[Any], prefix: str) -> None:
        if isinstance(group, set | frozenset):
            # The order of a set changes from run to run; numbers by first occurrence would change with it.
            group = sorted(group, key=lambda name: (type(name).__name__, name))
        for name in group:
            self.ids.append(self._number(prefix + _checked(name, prefix)))

    def _number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def finish(self, corpus: Corpus, where: _Places) -> None:
        ptr = np.array(self.ptr, np.int64)

        def place(k: int) -> str:
            return where(int(np.searchsorted(ptr, k, side="right")) - 1) + ", an attribute,"

        val = np.zeros(0, np.float32)
        if self.odd:
            val = np.ones(len(self.ids), np.float32)
            val[list(self.odd)] = list(self.odd.values())
        names = _column(self.ids, self.numbers, place, "a name")
        corpus.attributes = Attributes(ptr, names, val)


class _Wrong(Exception):
    """An error inside a token; the caller adds the place."""


def _checked(key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise _Wrong(
            f" has an attribute {_a(key)}{f' in {name!r}' if name else ''}: a name is a string",
            _string_hint(key),
        )
    return key


def _finite(value: Any, name: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not abs(number) <= float(np.finfo(np.float32).max):
        raise _Wrong(f"[{name!r}] is {number}: a value is a finite number of 32 bits", None)
    return number


class _Labels:
    """The labels y beside the sentences X."""

    def __init__(self, y: Iterable[Any]) -> None:
        _check_sentences(y, "y")
        self.rest = iter(y)
        self.numbers: dict[Any, int] = {}
        self.ids: list[int] = []
        self.sets: dict[str, frozenset[str]] = {}  # of partial labels, by their name

    def add(self, s: int, size: int) -> None:
        nothing = object()
        given = next(self.rest, nothing)
        if given is nothing:
            raise DataError(f"y has {s} sentences, but X has more")
        tags = _tokens(given, f"y[{s}]")
        if len(tags) != size:
            raise DataError(f"y[{s}] has {len(tags)} labels, but X[{s}] has {size} tokens")
        if not all(isinstance(tag, str) for tag in tags):
            tags = [tag if isinstance(tag, str) else self._set(tag, f"y[{s}][{i}]") for i, tag in enumerate(tags)]
        self.ids += [self.numbers.setdefault(tag, len(self.numbers)) for tag in tags]

    def _set(self, tag: Any, place: str) -> Any:
        """A partial label as a frozen set; the empty set allows all labels. Others are an error."""
        if tag is None:
            return frozenset()
        if isinstance(tag, set | frozenset) and tag and all(isinstance(label, str) and label for label in tag):
            return frozenset(tag)
        raise DataError(
            f"{place} is {_a(tag)}: a label is a string, a set of strings (any of them), or None (any label)"
        )

    def _named(self) -> dict[Any, int]:
        """The labels, each set under a name that no label has."""
        for tag in [tag for tag in self.numbers if isinstance(tag, frozenset)]:
            name = "{" + "|".join(sorted(tag)) + "}"
            while name in self.numbers:
                name = "{" + name + "}"
            self.sets[name] = tag
        names = {tag: name for name, tag in self.sets.items()}
        return {names.get(tag, tag): number for tag, number in self.numbers.items()}

    def finish(self, size: int) -> None:
        if any(True for _ in self.rest):
            raise DataError(f"y has more sentences than X, which has {size}")

    def column(self, where: _Places) -> Column:
        def place(token: int) -> str:
            return where(token, "y")

        column = _column(self.ids, self._named(), place, "a label")
        if "" in column.types:
            raise DataError(f"{place(int(np.argmax(column.ids == column.types.index(''))))} is an empty label")
        return column
