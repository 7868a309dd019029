"""Labels beside the sentences of Python data: strings, or whole numbers (labels/numbers.py); sets and None where they
are only partly known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.item_columns import Places, check_sentences, column_of, tokens_of
from palmette.data.item_plain import type_of
from palmette.data.labels.numbers import IGNORED, LabelNumbers
from palmette.errors import DataError, counted

_STRINGS, _NUMBERS = frozenset((str,)), frozenset((int,))
ANY = frozenset[Any]()  # of the labels


class Labels:
    """The labels y beside the sentences X. `numbers`: what numbers stand for, if labels may be numbers."""

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

    def give(self, corpus: Corpus, where: Places) -> None:
        """Give the corpus its labels."""
        corpus.labels = self.column(where)
        corpus.label_sets = self.sets or None
        corpus.label_numbers = self.may_be if self.kind is int else None

    def column(self, where: Places) -> Column:
        def place(token: int) -> str:
            return where(token, "y")

        column = column_of(self.ids, self._named(place), place, "a label")
        if "" in column.types:
            raise DataError(f"{place(int(np.argmax(column.ids == column.types.index(''))))} is an empty label")
        return column
