"""Units, the smallest pieces of a text that a splitter decides about, and their columns for a chain model."""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_names
from palmette.kernels.io.columns import intern_cells
from palmette.pipeline.split_text import SplitText

# Classes of characters: what decides whether two neighbours may belong to different tokens.
#
# Letters have the class of their script, digits are one class, marks and joiners belong to what is before them; every
# other character is a class of its own. White space has the class WHITE.

WHITE, JOINER, DIGIT = " ", "\u200d", "9"
_JOINERS = "\u200c\u200d"
_AFTER_JOINER = "\u200d"  # what follows it belongs to it as well
_MODIFIERS = range(0x1F3FB, 0x1F400)  # skin tones
_REGIONS = range(0x1F1E6, 0x1F200)  # letters of flags
_ALL = 0x110000


def class_of(character: str) -> str:
    """The class of a character."""
    if character.isspace():
        return WHITE
    category = unicodedata.category(character)
    if category[0] == "M" or character in _JOINERS or ord(character) in _MODIFIERS:
        return JOINER
    if category[0] == "L":
        return unicodedata.name(character, "LETTER").partition(" ")[0]
    if category == "Nd":
        return DIGIT
    return "REGION" if ord(character) in _REGIONS else character


class Classes:
    """The classes of the characters that were met, by number. 0 is WHITE, 1 is JOINER."""

    def __init__(self) -> None:
        self._numbers = {WHITE: 0, JOINER: 1}
        self._table = np.full(_ALL, -1, np.int32)
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The classes in the order of their numbers."""
        with self._lock:
            return list(self._numbers)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """The number i32[n] of the class of each character u32[n]."""
        found = self._table[codes]
        if found.size and found.min() < 0:
            with self._lock:
                for code in np.unique(codes[found < 0]).tolist():
                    self._table[code] = self._numbers.setdefault(class_of(chr(code)), len(self._numbers))
            found = self._table[codes]
        return found


def bases(classes: np.ndarray) -> np.ndarray:
    """The classes with that of the character before them in place of JOINER; JOINER where there is none."""
    at = np.maximum.accumulate(np.where(classes == 1, -1, np.arange(classes.size)))
    found = np.where(at < 0, 1, classes[np.maximum(at, 0)])
    return np.where((classes == 1) & (found == 0), 1, found)


def holds(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Whether a character and the next one are never apart, whatever their classes: bool[n-1]."""
    return ((classes[1:] == 1) | (codes[:-1] == ord(_AFTER_JOINER))) & (classes[:-1] > 0) & (classes[1:] > 0)


# Units: the smallest pieces of a text that a splitter decides about.
#
# A unit ends at white space, and between two characters unless their classes (`class_of`) stand together in the
# treebank: letters of most scripts, digits, and runs of one punctuation mark do, so that a unit is a word, a number or
# a mark; Chinese characters do not, and are units by themselves. Words that the treebank cuts nevertheless are
# remembered with the places of their cuts.

MOST_CUT = 0.05  # of the pairs of two classes that stand together, this share may be cut
ENOUGH = 30  # pairs, to know whether two classes stand together
USUALLY_CUT = 0.3  # the share of a remembered word's occurrences that are cut
LONGEST = 200  # characters of a unit


class Units(NamedTuple):
    """M units of a text."""

    start: np.ndarray  # i64[M]  characters
    end: np.ndarray  # i64[M]
    cells: Column  # their strings


class TextBytes(NamedTuple):
    """A text as bytes, where pieces of it are interned."""

    data: np.ndarray  # u8[]
    at: np.ndarray  # i64[n+1]  the first byte of each character

    def column(self, start: np.ndarray, end: np.ndarray) -> Column:
        """The pieces between characters as cells."""
        ids, first, last, hash, power = intern_cells(self.data, self.at[start], self.at[end])
        return Column(ids, self.data, first, last, hash, power)


def cells_of(text: str, codes: np.ndarray) -> TextBytes:
    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    at = np.zeros(codes.size + 1, np.int64)
    np.cumsum(1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF), out=at[1:])
    return TextBytes(data, at)


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

    def units(self, codes: np.ndarray, cells: TextBytes) -> Units:
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


# Capitalised words of a treebank: whether they also occur in lower case, and whether they are names.
#
# After a full stop `The` begins a sentence, since the treebank has `the`; `Smith`, which has a capital within sentences
# too and is never small, may be a name after an abbreviation.

_OFTEN = 2  # capitals within sentences that make a name
KINDS = ("other", "unknown", "word", "name", "both")
_OTHER, _UNKNOWN, _WORD, _NAME, _BOTH = range(5)


class Capitals:
    """Words that are written small, and capitalised words that occur within sentences."""

    def __init__(self, small: Iterable[str], names: Iterable[str]) -> None:
        self.small, self.names = frozenset(small), frozenset(names)

    def _kind(self, word: str) -> int:
        if not word[0].isupper():
            return _OTHER
        small, name = word.lower() in self.small, word in self.names
        return _BOTH if small and name else _WORD if small else _NAME if name else _UNKNOWN

    def column(self, words: Column) -> Column:
        """The kind of each word."""
        kinds = np.array([self._kind(word) for word in words.types], np.int32)
        return column_of_names(KINDS).with_ids(kinds[words.ids])


def learn_capitals(split: SplitText, units: Units) -> Capitals:
    """The capitals of a treebank. Within a sentence is what follows a word, a number or a comma in it."""
    types = units.cells.types
    first = np.isin(units.start, split.start[split.sentence[:-1]])
    plain = np.array([word[-1].isalnum() or word == "," for word in types], np.bool_)[units.cells.ids]
    within = ~first & np.append(False, plain[:-1])
    count = np.bincount(units.cells.ids[within], minlength=len(types)).tolist()
    # Only words that have the other case are evidence.
    small = {word for word in types if word[0].islower() and word[0] != word[0].upper()}
    names = {word for word, n in zip(types, count, strict=True) if n >= _OFTEN and word[0].isupper()}
    return Capitals(small & {word.lower() for word in types if word[0].isupper()} | _usual(types, units, small), names)


def _usual(types: list[str], units: Units, small: set[str]) -> set[str]:
    """The small words that occur more than once; others hardly come again with a capital."""
    count = np.bincount(units.cells.ids, minlength=len(types)).tolist()
    return {word for word, n in zip(types, count, strict=True) if n >= _OFTEN and word in small}


# The units of a text as a corpus for a chain model: their strings, what follows them, and the words around them.
#
# A sequence is a paragraph: blank lines end paragraphs, and sentences. A single line break may end a sentence, or the
# text may be wrapped: it is a soft one if the next word would not have fitted into the line, as long as the longest
# line of the paragraph, and a hard one otherwise.

N_COLUMNS = 5  # the unit, the gap after it, the word around it, its place there, what is known of its capital
GAPS = ("-", "_", "=", "n", "N")
NONE, BLANK, BLANKS, SOFT, HARD = range(5)
_BREAKS = np.array([ord(c) for c in "\n\r\v\f\x85\u2028\u2029"], np.uint32)
_WIDTHS = 40, 200  # of text that may be wrapped
_LONGEST_WORD = 40  # characters of it that are looked at
_FAR = 3
_PLACES = tuple(f"{left}{right}" for left in range(_FAR + 1) for right in range(_FAR + 1))


class UnitText(NamedTuple):
    """A text as units. M units in P paragraphs."""

    text: str
    cells: TextBytes
    units: Units
    corpus: Corpus  # its sentences are the paragraphs


class UnitReader(NamedTuple):
    """Reads texts as units, by what a treebank shows."""

    rule: UnitRule
    capitals: Capitals

    def read(self, text: str) -> UnitText:
        return read_units(text, self.rule, self.capitals)


def read_units(text: str, rule: UnitRule, capitals: Capitals) -> UnitText:
    """The units of a text with their columns."""
    codes = codes_of(text)
    cells = cells_of(text, codes)
    units = rule.units(codes, cells)
    start, end = units.start, units.end
    if not start.size:
        return UnitText(text, cells, units, Corpus(np.zeros(1, np.int64), source="the text"))
    breaks, gap = _gaps(codes, start, end)
    offset = np.concatenate(([0], np.flatnonzero(breaks > 1) + 1, [start.size])).astype(np.int64)
    offset = np.unique(offset)
    first = np.ones(start.size, np.bool_)
    first[1:] = gap[:-1] > NONE
    word = np.cumsum(first) - 1
    word_start = start[first]
    word_end = end[np.append(np.flatnonzero(first)[1:], start.size) - 1]
    gap = _with_breaks(gap, breaks, offset, (start, end), (word_end - word_start)[word])
    gap[offset[1:] - 1] = HARD  # whatever follows, or nothing: a paragraph is the same by itself and within a text
    words = cells.column(word_start, np.minimum(word_end, word_start + _LONGEST_WORD))
    columns = [
        units.cells,
        column_of_names(GAPS).with_ids(gap),
        Column(words.ids[word], words.data, words.start, words.end, words.hash, words.power),
        column_of_names(_PLACES).with_ids(_places(first, word)),
        capitals.column(units.cells),
    ]
    return UnitText(text, cells, units, Corpus(offset, columns, source="the text"))


def _gaps(codes: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The line breaks after each unit i64[M], and the kind of white space i32[M]; after the last one nothing counts."""
    broken = np.isin(codes, _BREAKS)
    broken[:-1] &= (codes[:-1] != ord("\r")) | (codes[1:] != ord("\n"))
    total = np.concatenate(([0], np.cumsum(broken)))
    after = np.append(start[1:], end[-1])
    size = after - end
    breaks = total[after] - total[end]
    plain = codes[np.minimum(end, codes.size - 1)] == ord(" ")
    return breaks, np.where(size == 0, NONE, np.where((size == 1) & plain, BLANK, BLANKS)).astype(np.int32)


def _with_breaks(
    gap: np.ndarray, breaks: np.ndarray, offset: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], size: np.ndarray
) -> np.ndarray:
    """The kinds with soft and hard line breaks. size: the length of each unit's word."""
    if not breaks.any():
        return gap
    start, end = bounds
    last = breaks > 0
    last[offset[1:] - 1] = True
    line_end = np.flatnonzero(last)
    line_start = np.append(0, line_end[:-1] + 1)
    width = end[line_end] - start[line_start]
    lines = np.searchsorted(line_start, offset[:-1])  # the first line of each paragraph
    widest = np.repeat(np.maximum.reduceat(width, lines), np.diff(np.append(lines, width.size)))
    following = np.append(size[line_end[:-1] + 1], 0)
    wrapped = (width + 1 + following > widest) & (widest >= _WIDTHS[0]) & (widest <= _WIDTHS[1])
    gap[line_end] = np.where(breaks[line_end] == 0, gap[line_end], np.where(wrapped, SOFT, HARD))
    return gap


def _places(first: np.ndarray, word: np.ndarray) -> np.ndarray:
    """Where in its word a unit is: how many are before it and after it, both up to _FAR."""
    at = np.flatnonzero(first)
    number = np.arange(first.size) - at[word]
    size = np.diff(np.append(at, first.size))[word]
    places = np.minimum(number, _FAR) * (_FAR + 1) + np.minimum(size - 1 - number, _FAR)
    return places.astype(np.int32)
