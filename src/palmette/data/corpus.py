"""The corpus that every reader makes: columns of interned cells, sentence offsets, and the text to write back.

A cell is a number; the distinct cells (types) of a column are slices of one byte buffer with their hashes,
and become Python strings only on demand. N tokens, S sentences, T types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from palmette.data.labels.numbers import LabelNumbers
from palmette.data.text import NFC, TextSpec, nfc
from palmette.errors import DataError
from palmette.kernels.core.hashing import FeatureIndex, hash_pieces
from palmette.kernels.io import columns as kernels
from palmette.options.spelling import spelt

if TYPE_CHECKING:
    from palmette.data.analysed import Document
    from palmette.data.notes import Notes


FIRST_BYTE = 0xCC  # the first byte of U+0300 in UTF-8; what begins with a lower one, and ASCII, is in NFC


def perhaps_not_nfc(data: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Numbers of the strings of UTF-8, bytes start..end of data, that may not be in NFC."""
    if not data.size or data.max() < FIRST_BYTE:
        return np.zeros(0, np.int64)
    high = np.append(np.flatnonzero(data >= FIRST_BYTE), data.size)
    return np.flatnonzero(high[np.searchsorted(high, start)] < end)


class Column(msgspec.Struct, eq=False, dict=True):
    """The cells of one column of N tokens."""

    ids: np.ndarray  # i32[N]  the type of each cell, numbered by first occurrence
    data: np.ndarray  # u8[]
    start: np.ndarray  # i64[T]
    end: np.ndarray  # i64[T]
    hash: np.ndarray  # u64[T]
    power: np.ndarray  # u64[T]

    @cached_property
    def types(self) -> list[str]:
        text, offset = kernels.join_types(self.data, self.start, self.end)
        raw = text.tobytes()
        marks = offset.tolist()
        return [raw[a:b].decode() for a, b in pairwise(marks)]

    @property
    def nfc(self) -> Column:
        """The column with its cells in NFC; those that become equal are one type."""
        return self if self._other_nfc is None else self._other_nfc

    @cached_property
    def _other_nfc(self) -> Column | None:
        """The column in NFC; None if it is that itself: a reference to itself would keep its arrays in memory."""
        changed: dict[int, str] = {}
        for t in perhaps_not_nfc(self.data, self.start, self.end).tolist():
            text = self.data[self.start[t] : self.end[t]].tobytes().decode()
            if (made := nfc(text)) != text:
                changed[t] = made
        if not changed:
            return None
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(changed.get(t, text), len(numbers)) for t, text in enumerate(self.types)]
        return column_of_types(np.array(new, np.int32)[self.ids], list(numbers))

    def in_form(self, form: str) -> Column:
        """The column with its cells in a form, NFC or NONE."""
        return self.nfc if form == NFC else self

    def with_ids(self, ids: np.ndarray) -> Column:
        """Other cells i32[] among the same types, which are kept together with what was computed of them."""
        made = Column(ids, self.data, self.start, self.end, self.hash, self.power)
        made.__dict__["types"] = self.types
        made.__dict__["atoms"] = self.__dict__.setdefault("atoms", {})
        if self.__dict__.get("_other_nfc", self) is None:  # another column in NFC has cells of its own
            made.__dict__["_other_nfc"] = None
        return made

    def cells(self) -> list[str]:
        types = self.types
        return [types[i] for i in self.ids.tolist()]


def column_of_strings(cells: Iterable[str]) -> Column:
    """A column from Python strings."""
    numbers: dict[str, int] = {}
    ids = np.fromiter((numbers.setdefault(cell, len(numbers)) for cell in cells), np.int32)
    return column_of_types(ids, list(numbers))


def column_of_types(ids: np.ndarray, types: Sequence[str]) -> Column:
    data, offset = bytes_of(types)
    hash, power = hash_pieces(data, offset)
    column = Column(ids, data, offset[:-1], offset[1:], hash, power)
    column.__dict__["types"] = list(types)
    return column


@lru_cache(64)
def column_of_names(names: tuple[str, ...]) -> Column:
    """A column without cells, whose types are the names that a program has for something; `with_ids` gives it cells."""
    return column_of_types(np.zeros(0, np.int32), names)


def bytes_of(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """UTF-8 bytes u8[] of the concatenated strings, and their offsets i64[len+1]."""
    try:
        pieces = [string.encode() for string in strings]
    except UnicodeEncodeError as error:
        raise DataError(
            f"a string that is not valid Unicode: {error.object[error.start :][:20]!r}",
            hint="it holds half of a surrogate pair; clean the text first",
        ) from None
    offset = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offset[1:])
    # One byte more than needed: Numba requires a buffer even if it is empty.
    return np.frombuffer(b"".join(pieces) + b"\n", np.uint8), offset


class Attributes(msgspec.Struct, eq=False):
    """Ready-made attributes, from CRFsuite files or Python dictionaries, instead of columns."""

    ptr: np.ndarray  # i64[N+1]
    names: Column  # ids i32[z]
    val: np.ndarray  # f32[z], or of size 0 when all are 1
    rest: np.ndarray = np.zeros(0, np.float32)  # f32[z]: what float32 leaves of the values; of size 0 when nothing


def with_exact_values(index: FeatureIndex) -> FeatureIndex:
    """A copy of an index, of a model that adds in float64: what float32 leaves of the value of an attribute is the
    value of the same attribute once more."""
    made = FeatureIndex(*index)
    made.__dict__["exact_values"] = True
    return made


def wants_exact_values(index: FeatureIndex) -> bool:
    """Whether an index is one of `with_exact_values`."""
    return bool(index.__dict__.get("exact_values", False))


class FoundAttributes(msgspec.Struct, eq=False):
    """Ready-made attributes as numbers of a feature index; those that it lacks are left out."""

    ptr: np.ndarray  # i64[N+1]
    att: np.ndarray  # i32[z]
    val: np.ndarray  # f32[z], or of size 0 when all are 1
    index: FeatureIndex


class Lines(msgspec.Struct, eq=False):
    """The text that a corpus was read from, to be written back with labels."""

    data: np.ndarray  # u8[]
    start: np.ndarray  # i64[L]
    end: np.ndarray  # i64[L]
    kind: np.ndarray  # u8[L]
    tokens: np.ndarray  # i64[N]   line of each token
    cut: np.ndarray  # i64[N]      the label replaces the bytes cut..resume
    resume: np.ndarray  # i64[N]
    separator: int  # byte to put before the label, 0 for none
    first_line: int = 1
    n_columns: int = 0  # cells of a line, and the byte between them (see kernels.split_cells): the blocks that
    between: int = kernels.TAB  # follow in a stream must look the same


class Surface(msgspec.Struct, eq=False):
    """The raw text that a tokeniser cut into tokens."""

    sentences: list[str]
    span: np.ndarray  # i64[N, 2]  characters of each token in its sentence
    start: np.ndarray  # i64[S]    where each sentence starts in the text, or in its document
    text: str = ""  # all of it; empty if it is in documents
    by_line: bool = False  # whether each line is a text of its own
    documents: list[Document] | None = None  # annotated texts
    document: np.ndarray | None = None  # i64[S]  the document of each sentence


class Corpus(msgspec.Struct, eq=False):
    """Sentences as columns (or as ready-made attributes), with labels if they are known."""

    offset: np.ndarray  # i64[S+1]
    columns: list[Column] = []
    labels: Column | None = None
    # The set of labels that a cell of the labels stands for, if some are only partly known; the empty set allows
    # all labels. None: every cell is a label
    label_sets: dict[str, frozenset[str]] | None = None
    attributes: Attributes | None = None
    weight: np.ndarray | None = None  # f32[S]
    lines: Lines | None = None
    surface: Surface | None = None
    source: str = "the input"
    found: FoundAttributes | None = None  # instead of attributes, for the model whose index has looked them up
    token_lines: np.ndarray | None = None  # i64[N]  lines in the file, of a part of a corpus, which has no text
    numbers: np.ndarray | None = None  # i64[S]  sentences in the data, if it is a part or has empty sentences
    vectors: dict[str, int] | None = None  # widths of the vectors that attributes were given as, by name
    label_numbers: LabelNumbers | None = None  # if labels were given as whole numbers
    notes: Notes | None = None  # what the reader could not keep as it was

    @property
    def n_tokens(self) -> int:
        return int(self.offset[-1])

    @property
    def n_sentences(self) -> int:
        return self.offset.size - 1

    def line_of(self, token: int) -> int | None:
        """The line of a token in its file, for error messages."""
        if self.lines is not None:
            return self.lines.first_line + int(self.lines.tokens[token])
        return None if self.token_lines is None else int(self.token_lines[token])

    def place(self, token: int) -> str:
        """Where a token is: `file:line`, or its sentence and its place there, counted from 1."""
        line = self.line_of(token)
        if line is not None:
            return f"{self.source}:{line}"
        s = int(np.searchsorted(self.offset, token, side="right")) - 1
        number = s if self.numbers is None else int(self.numbers[s])
        return f"sentence {number + 1}, token {token - int(self.offset[s]) + 1}"

    def places(self, tokens: np.ndarray, most: int = 3) -> str:
        """The places of the first tokens, and how many more there are."""
        more = f" and {tokens.size - most:,} more" if tokens.size > most else ""
        return "; ".join(self.place(int(token)) for token in tokens[:most]) + more

    def sentence(self, s: int) -> list[list[str]]:
        """The cells of sentence s, one list per token."""
        lo, hi = int(self.offset[s]), int(self.offset[s + 1])
        rows = [[column.types[i] for i in column.ids[lo:hi].tolist()] for column in self.columns]
        return [list(cells) for cells in zip(*rows, strict=True)]


def check_cells(corpus: Corpus, most: int) -> None:
    """DataError if a cell, a label or the name of an attribute has more than `most` bytes."""
    given = corpus.attributes
    tokens = None if given is None else np.repeat(np.arange(corpus.n_tokens), np.diff(given.ptr))
    columns: list[tuple[Column | None, str]] = [(column, "cell") for column in corpus.columns]
    columns += [(corpus.labels, "label"), (None if given is None else given.names, "attribute")]
    for column, what in columns:
        if column is None or not column.start.size:
            continue
        size = column.end - column.start
        if size.max() > most:
            t = int(np.argmax(size > most))
            at = int(np.argmax(column.ids == t))
            begin = column.data[column.start[t] : column.end[t]][:40].tobytes().decode(errors="replace")
            raise DataError(
                f"a {what} of {size[t]:,} bytes, and at most {most:,} are read: {begin!r} ...", file=corpus.source,
                line=corpus.line_of(at if tokens is None or what != "attribute" else int(tokens[at])),
                hint=f"is this the right format? If cells are that long: {spelt(TextSpec, 'max_cell')}",
            )  # fmt: skip


def offsets_from_lines(kind: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Sentence offsets i64[S+1]: any line that is blank or a mark ends a sentence; comments do not."""
    ends = np.flatnonzero((kind == kernels.BLANK_LINE) | (kind == kernels.MARK_LINE))
    marks = np.concatenate(([0], np.searchsorted(tokens, ends), [tokens.size])).astype(np.int64)
    return marks[np.concatenate(([True], marks[1:] > marks[:-1]))]
