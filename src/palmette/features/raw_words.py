"""Raw text as counts: its frequent words, and how often one follows another, in bounded memory.

Lines are cut at white space and numbered by a kernel, in blocks; the tokeniser for raw text sees each distinct string
once. The numbers are kept on disk until all text is read and the frequent words are known. Then pairs of neighbours
are counted, block by block, in sorted arrays.

A line begins and ends with the word BOUNDARY, and all words that are too rare are the word RARE, so that every
occurrence of a word has a neighbour on both sides. If there are more different pairs than the memory allows, the rarest
words become RARE too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.formats.raw import token_spans
from palmette.data.scratch import Scratch, ScratchFile
from palmette.data.stream import LINES, cut_blocks
from palmette.data.text import CONVERT, PLAIN, TextSpec, check_utf8, in_form
from palmette.errors import DataError
from palmette.kernels.io.words import LINE_END, number_words
from palmette.kernels.learning.clusters import CONTEXTS, Pairs

logger = logging.getLogger(__name__)
BOUNDARY, RARE = 0, 1  # words that do not move
MOST_STRINGS = 1 << 22  # distinct strings between white space; later ones are rare
MOST_PAIRS = 24_000_000  # different pairs of words, of some 40 bytes each
BLOCK = 1 << 22  # bytes of text, and numbers of words, that are processed together
FEWER = 0.9  # of the words stay when there are too many pairs
Progress = Callable[[str, float], None]  # what is done, and the share that is done, or the millions of words


class RawCounts(NamedTuple):
    """The frequent words of raw text, the most frequent first, and their pairs. Word w has the number w + CONTEXTS in
    `pairs`."""

    words: list[str]
    counts: np.ndarray  # i64[words]
    pairs: Pairs
    tokens: int  # of all text


def count_words(
    files: Sequence[FilePath], *, min_count: int, most_words: int, unicode: str, spec: TextSpec = PLAIN,
    scratch: str | None = None, most_pairs: int = MOST_PAIRS, progress: Progress | None = None,
) -> RawCounts:  # fmt: skip
    """Read text, one sentence or paragraph per line, and count words that occur `min_count` times, at most
    `most_words`."""
    with Scratch(scratch) as folder:
        kept = folder.file()
        strings, tokens = _number(files, kept, spec, progress)
        pieces = _Pieces(strings, kept, unicode)
        words, counts, new = pieces.frequent(min_count, most_words)
        if len(words) < 2:
            names = ", ".join(shown(file) for file in files)
            raise DataError(
                f"{len(words)} of its words occur {min_count} times or more, and classes need at least two",
                file=names, hint="give more text, or count rarer words too",
            )  # fmt: skip
        keys, number = _pairs(pieces, kept, new, len(words) + CONTEXTS, progress)
    before = width = len(words) + CONTEXTS
    while keys.size > most_pairs and width > CONTEXTS + 2:
        width = max(CONTEXTS + 2, int(width * FEWER))
        keys, number = _without_rare(keys, number, before, width)
    kept_words = width - CONTEXTS
    if width < before:
        logger.warning(
            f"more than {most_pairs:,} different pairs of words: the {kept_words:,} most frequent words are clustered, "
            f"and {before - width:,} are left out"
        )
    pairs = _both_ways(keys, number, before, width)
    return RawCounts(words[:kept_words], counts[:kept_words], pairs, tokens)


def _number(
    files: Sequence[FilePath], kept: ScratchFile, spec: TextSpec, progress: Progress | None
) -> tuple[list[str], int]:
    """Write the numbers of all words; the distinct strings, and how many occurrences there are."""
    keys, numbers = np.zeros(1 << 16, np.uint64), np.full(1 << 16, -1, np.int32)
    strings: list[str] = []
    tokens = 0
    for file in files:
        for line, block in cut_blocks(file, LINES, BLOCK, spec):
            check_utf8(block, shown(file), line, hint=CONVERT)
            data = np.frombuffer(block, np.uint8)
            ids, keys, numbers, start, end = number_words(data, keys, numbers, len(strings), MOST_STRINGS)
            strings += [block[a:b].decode() for a, b in zip(start.tolist(), end.tolist(), strict=True)]
            kept.append(np.append(ids, LINE_END).astype(np.int32))
            tokens += int(np.count_nonzero(ids != LINE_END))
            if progress is not None:
                progress("reading, millions of words", tokens / 1e6)
    if len(strings) >= MOST_STRINGS:
        logger.warning(f"more than {MOST_STRINGS:,} different strings: those that came later are left out")
    return strings, tokens


class _Pieces:
    """The words of each distinct string, as rows of a sparse matrix."""

    def __init__(self, strings: list[str], kept: ScratchFile, unicode: str) -> None:
        number: dict[str, int] = {}
        ids: list[int] = []
        sizes = [0]
        for string in in_form(strings, unicode):
            spans = token_spans(string)
            ids += [number.setdefault(string[a:b], len(number)) for a, b in spans]
            sizes.append(len(spans))
        self.words = list(number)
        self.ids = np.array(ids or [0], np.int32)
        self.ptr = np.cumsum(sizes)
        self.often = np.zeros(len(strings), np.int64)  # how often a string occurs
        for block in _blocks(kept):
            self.often += np.bincount(block[block >= 0], minlength=len(strings))

    def frequent(self, min_count: int, most: int) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The frequent words and their counts, most frequent first, and the new number of each word."""
        often = np.repeat(self.often, np.diff(self.ptr))
        counts = np.bincount(self.ids, weights=often, minlength=len(self.words)).astype(np.int64)
        found = np.flatnonzero(counts >= min_count).tolist()
        found.sort(key=lambda w: (-counts[w], self.words[w]))
        found = found[:most]
        new = np.full(len(self.words), RARE, np.int64)
        new[found] = np.arange(CONTEXTS, CONTEXTS + len(found))
        return [self.words[w] for w in found], counts[found], new

    def expanded(self, block: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The new numbers of the words of a block of strings."""
        some = np.maximum(block, 0)
        size = np.where(block >= 0, self.ptr[some + 1] - self.ptr[some], 1)
        first = np.cumsum(size) - size
        place = np.arange(int(size.sum())) - np.repeat(first, size)
        inside = np.repeat(self.ptr[some], size) + place
        out = new[self.ids[np.minimum(inside, self.ids.size - 1)]]
        marks = np.repeat(block, size)
        out[marks < 0] = RARE
        out[marks == LINE_END] = BOUNDARY
        return out


def _blocks(kept: ScratchFile) -> Iterator[np.ndarray]:
    """The numbers of a scratch file, in blocks."""
    step = 4 * BLOCK
    for place in range(0, kept.size, step):
        yield kept.read(place, min(step, kept.size - place) // 4, np.int32)


Sums = tuple[np.ndarray, np.ndarray]  # sorted keys u64[n], each once, and the sum of the counts of each, i64[n]


def _summed(keys: np.ndarray, counts: np.ndarray) -> Sums:
    order = np.argsort(keys, kind="stable")  # fast for keys that are a few sorted runs
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[first], np.add.reduceat(counts, first)


def _pairs(pieces: _Pieces, kept: ScratchFile, new: np.ndarray, width: int, progress: Progress | None) -> Sums:
    """Pairs of neighbours as numbers: the first word times `width`, and the second one."""
    keys, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    last, done = np.array([BOUNDARY]), 0
    for block in _blocks(kept):
        words = np.concatenate((last, pieces.expanded(block, new)))
        last, done = words[-1:], done + 4 * block.size
        own = np.sort((words[:-1] * width + words[1:]).astype(np.uint64))
        own, times = np.unique(own, return_counts=True)
        keys, counts = _summed(np.concatenate((keys, own)), np.concatenate((counts, times)))
        if progress is not None:
            progress("counting pairs", done / kept.size)
    words_meet = keys > 0  # the pair 0 is two ends of lines
    return keys[words_meet], counts[words_meet]


def _without_rare(keys: np.ndarray, counts: np.ndarray, before: int, width: int) -> Sums:
    """The pairs if words from `width` on are RARE."""
    one, other = np.divmod(keys.astype(np.int64), before)
    one, other = (np.where(word < width, word, RARE) for word in (one, other))
    return _summed((one * before + other).astype(np.uint64), counts)


def _both_ways(keys: np.ndarray, counts: np.ndarray, before: int, width: int) -> Pairs:
    """The pairs by their first and by their second word."""
    one, other = np.divmod(keys.astype(np.int64), before)
    count = np.bincount(one, weights=counts, minlength=width).astype(np.int64)
    turned = np.argsort(other, kind="stable")
    return Pairs(count, *_rows(one, other, counts, width), *_rows(other[turned], one[turned], counts[turned], width))


def _rows(row: np.ndarray, column: np.ndarray, counts: np.ndarray, width: int) -> tuple[np.ndarray, ...]:
    ptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=width)))).astype(np.int64)
    return ptr, column.astype(np.int32), counts.astype(np.int32)
