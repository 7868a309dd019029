"""Labels that are whole numbers in Python data, as Hugging Face and scikit-learn have them, and their names, if any.

Inside, a label is a string: its name, or without names the number in digits. IGNORED, Hugging Face's mark of tokens
that do not count, stands for a label that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from palmette.errors import DataError, UsageError

IGNORED = -100
MOST = 10**9  # labels without names are smaller numbers than this


class LabelNumbers(msgspec.Struct, frozen=True):
    """Label k is called names[k]."""

    names: tuple[str, ...] | None  # None: numbers in digits

    def name_of(self, number: int) -> str | None:
        """The label of a number; None if it has none."""
        if self.names is None:
            return str(number) if 0 <= number < MOST else None
        return self.names[number] if 0 <= number < len(self.names) else None

    def have(self, labels: Sequence[str]) -> bool:
        """Whether all labels have numbers."""
        try:
            self.numbers_of(labels)
        except ValueError:
            return False
        return True

    def numbers_of(self, labels: Sequence[str]) -> list[int]:
        """The numbers of labels; ValueError if one has none."""
        if self.names is not None:
            places = {name: k for k, name in enumerate(self.names)}
            if len(places) < len(self.names):
                raise ValueError("a name is that of two numbers")
            if not set(labels) <= places.keys():
                raise ValueError("a label is not among the names")
            return [places[label] for label in labels]
        numbers = [int(label) for label in labels]
        if any(self.name_of(number) != label for number, label in zip(numbers, labels, strict=True)):
            raise ValueError("a label is not a number in digits")
        return numbers

    def named(self, wanted: Any, place: str) -> Any:
        """Return the label of a token with names in place of numbers."""
        if isinstance(wanted, set | frozenset | list | tuple):
            return [self.named(label, place) for label in wanted]
        if not isinstance(wanted, int | np.integer) or isinstance(wanted, bool):
            return wanted
        name = self.name_of(int(wanted))
        if name is None and wanted != IGNORED:
            raise DataError(f"{place} is {wanted}: {self.range}")
        return name

    @property
    def range(self) -> str:
        """Which numbers have names, for messages."""
        if self.names is None:
            return f"labels are the numbers from 0 to {MOST - 1:,}"
        return f"labels are the numbers from 0 to {len(self.names) - 1}, which have names"


def label_numbers(labels: Any) -> LabelNumbers:
    """The names that a user gives: a list of strings, a dict from numbers to names (`id2label`), or a feature of
    Hugging Face (ClassLabel, List(ClassLabel)); None: no names."""
    if labels is None:
        return LabelNumbers(None)
    given = getattr(labels, "feature", labels)  # of a list of labels
    given = getattr(given, "names", given)
    if isinstance(given, Mapping):
        given = _in_order(given)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"labels is of type {type(labels).__name__}: a list of names is expected")
    names = tuple(str(name) if isinstance(name, str) else name for name in given)
    _check(names)
    return LabelNumbers(names)


def _in_order(given: Mapping[Any, Any]) -> list[Any]:
    """The names of a dict from numbers to names; the numbers may be in digits, as JSON has them."""
    found = {str(number): name for number, name in given.items()}
    expected = [str(k) for k in range(len(found))]
    if set(found) != set(expected):
        raise UsageError(f"labels: the keys of a dict of names are the numbers 0 to {len(found) - 1}")
    return [found[number] for number in expected]


def _check(names: Sequence[Any]) -> None:
    if not names:
        raise UsageError("labels: there are no names; leave it out if labels have none")
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise UsageError(f"labels: name {k} is {name!r}, and a name is a string that is not empty")
        if name in names[:k]:
            raise UsageError(f"labels: {name!r} is the name of both {names.index(name)} and {k}")
