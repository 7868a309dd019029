"""Units: the smallest pieces of a text that a splitter decides about.

A unit ends at white space, and between two characters unless their classes (`characters.py`) stand together in the
treebank: letters of most scripts, digits, and runs of one punctuation mark do, so that a unit is a word, a number or
a mark; Chinese characters do not, and are units by themselves. Words that the treebank cuts nevertheless are
remembered with the places of their cuts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column
from palmette.kernels.io.columns import intern_cells
from palmette.pipeline.characters import DIGIT, Classes, bases, holds
from palmette.pipeline.split_text import SplitText

MOST_CUT = 0.05  # of the pairs of two classes that stand together, this share may be cut
ENOUGH = 30  # pairs, to know whether two classes stand together
USUALLY_CUT = 0.3  # the share of a remembered word's occurrences that are cut
LONGEST = 200  # characters of a unit


class Units(NamedTuple):
    """M units of a text."""

    start: np.ndarray  # i64[M]  characters
    end: np.ndarray  # i64[M]
    cells: Column  # their strings


class Cells(NamedTuple):
    """A text as bytes, where pieces of it are interned."""

    data: np.ndarray  # u8[]
    at: np.ndarray  # i64[n+1]  the first byte of each character

    def column(self, start: np.ndarray, end: np.ndarray) -> Column:
        """The pieces between characters as cells."""
        ids, first, last, hash, power = intern_cells(self.data, self.at[start], self.at[end])
        return Column(ids, self.data, first, last, hash, power)


def cells_of(text: str, codes: np.ndarray) -> Cells:
    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    at = np.zeros(codes.size + 1, np.int64)
    np.cumsum(1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF), out=at[1:])
    return Cells(data, at)


def codes_of(text: str) -> np.ndarray:
    """The code points u32[n] of a text."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


class UnitRule:
    """How texts are cut into units. Equal classes stand together except those of `apart`, different ones stand apart
    except the pairs of `together`; `cuts` has words with the places where they are cut."""

    def __init__(
        self, together: Collection[tuple[str, str]], apart: Collection[str], cuts: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.together, self.apart, self.cuts = set(together), set(apart), dict(cuts)
        self.classes = Classes()
        # Classes that the rule names have rows of small tables; row 0 is of all others, however many a text has.
        self._rows = {name: k for k, name in enumerate(sorted({*self.apart, *chain(*self.together)}), 1)}
        self._equal = np.ones(len(self._rows) + 1, np.bool_)  # whether neighbours of one class stand together
        self._equal[[self._rows[name] for name in self.apart]] = False
        self._pairs = np.zeros((len(self._rows) + 1, len(self._rows) + 1), np.bool_)
        for left, right in self.together:
            self._pairs[self._rows[left], self._rows[right]] = True
        self._row_of = np.zeros(0, np.int64)  # of each class that was met

    def _joined(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Whether neighbours of these classes stand together; white space stands with nothing."""
        names, row_of = self.classes.names, self._row_of
        if len(names) != row_of.size:
            row_of = self._row_of = np.array([self._rows.get(name, 0) for name in names], np.int64)
        here, there = row_of[left], row_of[right]
        found = self._pairs[here, there] | ((left == right) & self._equal[here])
        joined: np.ndarray = found & (left > 0) & (right > 0)
        return joined

    def units(self, codes: np.ndarray, cells: Cells) -> Units:
        """The units of a text."""
        start, end = self._bounds(codes)
        column = cells.column(start, end)
        if self.cuts and (cut := self._cut(column, start)).size:
            start, end = np.sort(np.append(start, cut)), np.sort(np.append(end, cut))
            column = cells.column(start, end)
        return Units(start, end, column)

    def _bounds(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where units start and end by the classes of their characters, and their length."""
        classes = self.classes(codes)
        joined = self._joined(bases(classes)[:-1], classes[1:]) | holds(codes, classes)
        solid = classes > 0
        start = np.flatnonzero(solid & np.append(True, ~joined)[: codes.size])
        end = np.flatnonzero(solid & np.append(~joined, True)[-codes.size :]) + 1 if codes.size else start
        size = end - start
        if size.size and size.max() > LONGEST:
            pieces = -(-size // LONGEST)
            number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            start = np.repeat(start, pieces) + LONGEST * number
            end = np.minimum(start + LONGEST, np.repeat(end, pieces))
        return start, end

    def _cut(self, column: Column, start: np.ndarray) -> np.ndarray:
        """The places inside of units that are cut because of their words."""
        types = [self.cuts.get(word, ()) for word in column.types]
        at = np.zeros(0, np.int64)
        for t, places in enumerate(types):
            if places:
                where = start[column.ids == t]
                at = np.concatenate((at, *(where + place for place in places)))
        return at


# Learning


def learn_units(split: SplitText) -> UnitRule:
    """The rule that a treebank shows."""
    codes = codes_of(split.text)
    classes = Classes()
    numbers = classes(codes).astype(np.int64)
    names = classes.names
    C = len(names)
    ends = np.zeros(codes.size + 1, np.bool_)
    ends[split.end] = True
    pair = bases(numbers)[:-1] * C + numbers[1:]
    seen = np.bincount(pair, minlength=C * C)
    cut = np.bincount(pair[ends[1:-1]], minlength=C * C)
    together, apart = [], []
    for k in np.flatnonzero(seen >= ENOUGH).tolist():
        a, b = names[k // C], names[k % C]
        usual = cut[k] <= MOST_CUT * seen[k]
        if a == b and not usual:
            apart.append(a)
        elif a != b and usual and is_word_class(a) and is_word_class(b):
            together.append((a, b))
    rule = UnitRule(together, apart, {})
    return UnitRule(together, apart, _words_that_are_cut(split, rule, codes, ends))


def is_word_class(name: str) -> bool:
    """Letters and digits."""
    return len(name) > 1 or name == DIGIT


def _words_that_are_cut(
    split: SplitText, rule: UnitRule, codes: np.ndarray, ends: np.ndarray
) -> dict[str, tuple[int, ...]]:
    units = rule.units(codes, cells_of(split.text, codes))
    inside = np.cumsum(ends)[units.end - 1] - np.cumsum(ends)[units.start]
    words, cuts = units.cells.types, Counter[tuple[int, int]]()
    total = np.bincount(units.cells.ids)
    for k in np.flatnonzero(inside).tolist():
        first, last = int(units.start[k]), int(units.end[k])
        for place in np.flatnonzero(ends[first + 1 : last]).tolist():
            cuts[int(units.cells.ids[k]), place + 1] += 1
    made: dict[str, tuple[int, ...]] = {}
    for (t, place), n in sorted(cuts.items()):
        if n >= max(2, USUALLY_CUT * total[t]):
            made[words[t]] = (*made.get(words[t], ()), place)
    return made
