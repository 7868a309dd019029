"""Tokens as words or tuples of columns: cells are numbered by first occurrence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.item_plain import bad_token, is_unicode, not_unicode, string_hint, type_of
from palmette.errors import DataError, counted


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


class Places:
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


class Columns:
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

    def finish(self, corpus: Corpus, where: Places) -> None:
        for c, (ids, numbers) in enumerate(zip(self.ids, self.numbers, strict=True)):
            place = where if self.width == 0 else _of_column(where, c)
            corpus.columns.append(column_of(ids, numbers, place, "a cell"))


def _of_column(where: Places, c: int) -> Callable[[int], str]:
    return lambda token: f"{where(token)}[{c}]"
