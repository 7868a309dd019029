"""The units of a text as a corpus for a chain model: their strings, what follows them, and the words around them.

A sequence is a paragraph: blank lines end paragraphs, and sentences. A single line break may end a sentence, or the
text may be wrapped: it is a soft one if the next word would not have fitted into the line, as long as the longest line
of the paragraph, and a hard one otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_names
from palmette.pipeline.capitals import Capitals
from palmette.pipeline.units import Cells, UnitRule, Units, cells_of, codes_of

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
    cells: Cells
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
