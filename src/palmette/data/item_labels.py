"""Labels beside the sentences of Python data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np

from palmette.data.corpus import Column
from palmette.data.item_columns import Places, check_sentences, column_of, tokens_of
from palmette.data.item_plain import type_of
from palmette.errors import DataError, counted

_STRINGS = frozenset((str,))


class Labels:
    """The labels y beside the sentences X."""

    def __init__(self, y: Iterable[Any]) -> None:
        check_sentences(y, "y")
        self.rest = iter(y)
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
        if not _STRINGS.issuperset(map(type, tags)):
            tags = [tag if isinstance(tag, str) else self._set(tag, f"y[{s}][{i}]") for i, tag in enumerate(tags)]
        self.ids.extend(map(self.numbers.__getitem__, tags))

    def _set(self, tag: Any, place: str) -> Any:
        """A partial label as a frozen set; the empty set allows all labels. Others are an error."""
        if tag is None:
            return frozenset()
        if isinstance(tag, set | frozenset) and tag and all(isinstance(label, str) and label for label in tag):
            return frozenset(tag)
        raise DataError(
            f"{place} is {type_of(tag)}: a label is a string, a set of strings (any of them), or None (any label)"
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

    def column(self, where: Places) -> Column:
        def place(token: int) -> str:
            return where(token, "y")

        column = column_of(self.ids, self._named(), place, "a label")
        if "" in column.types:
            raise DataError(f"{place(int(np.argmax(column.ids == column.types.index(''))))} is an empty label")
        return column
