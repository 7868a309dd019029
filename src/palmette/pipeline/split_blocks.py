"""Tokens and sentences of a text of any length, block by block.

A block ends after a blank line, which nothing looks across. Where a whole block has none, it is decided up to the last
sentence that ends well before its end, and the next block begins there, with the sentence before it as context, so
that the same sentences come out wherever blocks happen to end. A sentence of more than MOST_TOKENS tokens, or a token
of more than MOST_CHARACTERS, is no such thing, and is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from palmette.pipeline.unit_columns import UnitText

INSIDE, TOKEN, SENTENCE = range(3)  # what ends at the end of a unit
MOST_TOKENS = 1000
MOST_CHARACTERS = 1000
BLOCK = 1 << 19  # characters
MARGIN = 1 << 10
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[^\S\r\n]*(?:\r\n|\n|\r)\s*")


class Tokens(NamedTuple):
    """Tokens of a text."""

    start: np.ndarray  # i64[T]
    end: np.ndarray  # i64[T]
    last: np.ndarray  # bool[T]  whether a sentence ends
    first: np.ndarray  # bool[T]  whether a paragraph begins

    def kept(self, which: np.ndarray) -> Tokens:
        return Tokens(*(array[which] for array in self))


class BlockReader(NamedTuple):
    """How a block becomes units, and units get one of INSIDE, TOKEN, SENTENCE, i64[M]."""

    units: Callable[[str], UnitText]
    marks: Callable[[UnitText], np.ndarray]
    block: int = BLOCK

    @property
    def margin(self) -> int:
        """Characters before the end of a block in which nothing is decided, and most of the context."""
        return min(MARGIN, self.block // 4)


def tokens_of(text: str, reader: BlockReader) -> Iterator[Tokens]:
    """The tokens of a text in parts; all white space and nothing else is between them."""
    at = context = 0
    while at < len(text):
        stop = _block_end(text, at, reader.block)
        found = _tokens_from(text, reader, (context, at, stop))
        certain = stop == len(text) or _ends_paragraph(text[at:stop])
        if not certain and found.start.size:
            found = found.kept(np.arange(found.start.size) < _decided(found, stop - reader.margin))
            found.last[-1] = True
            stop = int(found.end[-1])
        yield found
        at = stop
        context = at if certain or not found.start.size else _context(found, reader.margin)


def _tokens_from(text: str, reader: BlockReader, places: tuple[int, int, int]) -> Tokens:
    """The tokens of a block between the second place and the third, read with what is before it from the first on."""
    context, at, stop = places
    found = _tokens(reader, text[context:stop], at - context)
    if found is None:  # a word goes on that an earlier block has cut
        found = _tokens(reader, text[at:stop], 0)
        assert found is not None
        found.first[:1] = False
        context = at
    moved = Tokens(found.start + context, found.end + context, found.last, found.first)
    return moved.kept(moved.start >= at)


def _block_end(text: str, at: int, block: int) -> int:
    """Where the block that begins at a place ends: the text's end, after the last blank line, or anywhere."""
    stop = at + block
    if stop >= len(text):
        return len(text)
    ends = [match.end() for match in _BLANK_LINE.finditer(text, at, stop)]
    return next((end for end in reversed(ends) if end < stop), stop)


def _ends_paragraph(block: str) -> bool:
    """Whether a block ends with a blank line."""
    solid = len(block.rstrip())
    return 0 < solid < len(block) and _BLANK_LINE.search(block, solid) is not None


def _decided(found: Tokens, limit: int) -> int:
    """How many tokens of a block that ends anywhere are certain: those of sentences that end up to a place, or at
    least one token."""
    early = int(np.searchsorted(found.end, limit, side="right"))
    ends = np.flatnonzero(found.last[:early])
    return int(ends[-1]) + 1 if ends.size else max(1, early)


def _context(found: Tokens, margin: int) -> int:
    """Where the last sentence begins, or a token of it that is near enough."""
    ends = np.flatnonzero(found.last[:-1])
    first = int(ends[-1]) + 1 if ends.size else 0
    near = int(np.searchsorted(found.start, int(found.end[-1]) - margin))
    return int(found.start[min(max(first, near), found.start.size - 1)])


def _tokens(reader: BlockReader, text: str, known: int) -> Tokens | None:
    """The tokens of a block. After `known` characters a sentence is known to end; None if no unit does."""
    read = reader.units(text)
    start, end, offset = read.units.start, read.units.end, read.corpus.offset
    if known and known not in end:
        return None
    if not start.size:
        none, no = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return Tokens(none, none, no, no)
    marks = reader.marks(read)
    marks[offset[1:] - 1] = SENTENCE
    if known:
        marks[np.searchsorted(end, known)] = SENTENCE
    _cut_long_tokens(marks, start, end)
    ends = np.flatnonzero(marks)
    begins = np.append(0, ends[:-1] + 1)
    last = marks[ends] == SENTENCE
    _cut_long_sentences(last)
    first = np.zeros(start.size, np.bool_)
    first[offset[:-1]] = True
    return Tokens(start[begins], end[ends], last, first[begins])


def _cut_long_tokens(marks: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
    ends = np.flatnonzero(marks)
    begins = np.append(0, ends[:-1] + 1)
    for token in np.flatnonzero(end[ends] - start[begins] > MOST_CHARACTERS).tolist():
        first, last = int(begins[token]), int(ends[token])
        firsts, lasts = start[first : last + 1].tolist(), end[first : last + 1].tolist()
        low = firsts[0]
        for unit in range(last - first):
            if lasts[unit + 1] - low > MOST_CHARACTERS:
                marks[first + unit], low = TOKEN, firsts[unit + 1]


def _cut_long_sentences(last: np.ndarray) -> None:
    ends = np.flatnonzero(last) + 1
    begins = np.append(0, ends[:-1])
    for sentence in np.flatnonzero(ends - begins > MOST_TOKENS).tolist():
        last[int(begins[sentence]) + MOST_TOKENS - 1 : int(ends[sentence]) : MOST_TOKENS] = True
