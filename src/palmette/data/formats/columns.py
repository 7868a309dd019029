"""Column files: one token a line, blank line between sentences; CoNLL-U is the case with ten of them.

The bytes go through two kernels (lines, cells) and one more a column that is wanted (interning).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, Lines, offsets_from_lines
from palmette.data.files import check_utf8
from palmette.errors import DataError, UsageError
from palmette.kernels.io import columns as kernels

CONLLU_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
SEPARATORS = {"tab": kernels.TAB, "space": kernels.RUNS, "comma": 44, "semicolon": 59, "bar": 124}
_LONGEST_ID = 9  # digits of a word number: more is no such number, and might not fit into an i64


class Layout(NamedTuple):
    """Which cells of a line are what. None means: to be seen from the file.

    `columns`: the file's columns that templates see as 0, 1, ... (negative counts from the end); default all
    but the label. `label`: the label's column; None when there is none. `labelled` False: the labels are not
    read. Then the last column counts as a feature, since the input may or may not have the label there; a
    label column elsewhere is left out. In CoNLL-U the label's field is where a label will be written.
    `n_columns`: what every line must have; default what the first one has.
    """

    conllu: bool = False
    separator: str = "auto"
    columns: tuple[int, ...] | None = None
    label: int | None = -1
    labelled: bool = True
    n_columns: int | None = None


class Cells(NamedTuple):
    """The cells of N token lines."""

    raw: np.ndarray  # u8[]
    start: np.ndarray  # i64[C, N]
    end: np.ndarray  # i64[C, N]
    separator: int

    @property
    def n_columns(self) -> int:
        return self.start.shape[0]

    def column(self, c: int) -> Column:
        ids, start, end, hash, power = kernels.intern_cells(self.raw, self.start[c], self.end[c])
        return Column(ids, self.raw, start, end, hash, power)


def field_number(name: str, conllu: bool) -> int:
    """A column given by the user: a number, or in CoNLL-U also a field's name."""
    if conllu and name.lower() in CONLLU_FIELDS:
        return CONLLU_FIELDS.index(name.lower())
    try:
        return int(name)
    except ValueError:
        known = f"a number or one of {', '.join(CONLLU_FIELDS)}" if conllu else "a number, 0 for the first"
        raise UsageError(f"there is no column {name!r}: give {known}") from None


def parse_columns(data: bytes, layout: Layout, source: str, first_line: int = 1) -> Corpus:
    """A corpus from the bytes of whole lines."""
    check_utf8(data, source, first_line)
    raw = np.frombuffer(data, np.uint8)
    lines = _lines(raw, data.count(b"\n") + (not data.endswith(b"\n") and len(data) > 0), layout, first_line)
    tokens = lines.tokens
    if tokens.size == 0:
        return Corpus(np.zeros(1, np.int64), lines=lines, source=source)
    cells = _cells(raw, lines, tokens, layout, source)
    offset = offsets_from_lines(lines.kind, tokens)
    if layout.conllu:
        _check_conllu(cells, lines, offset, source)
    label, features = _chosen(layout, cells.n_columns, source, first_line + int(tokens[0]))
    wanted = [*features, label] if layout.labelled and label is not None else features
    made = {c: cells.column(c) for c in dict.fromkeys(wanted)}
    _place_labels(lines, cells, label, layout)
    return Corpus(
        offset,
        [made[c] for c in features],
        made[label] if layout.labelled and label is not None else None,
        lines=lines,
        source=source,
    )


def settled(layout: Layout, corpus: Corpus) -> Layout:
    """The layout with what was seen in this corpus: what follows in a stream must look the same."""
    if corpus.n_tokens == 0 or corpus.lines is None:
        return layout
    return layout._replace(n_columns=corpus.lines.n_columns, separator=_name_of(corpus.lines.between))


def _lines(raw: np.ndarray, n_lines: int, layout: Layout, first_line: int) -> Lines:
    start, end, kind = kernels.split_lines(raw, n_lines, layout.conllu)
    tokens = np.flatnonzero(kind == kernels.TOKEN_LINE)
    lines = Lines(raw, start, end, kind, tokens, end[tokens], end[tokens], 0, first_line)
    # A block of a stream may hold nothing but a document mark, which gets a label too.
    shown = tokens if tokens.size else np.flatnonzero(kind == kernels.MARK_LINE)
    if shown.size:
        first = raw[start[shown[0]] : end[shown[0]]].tobytes()
        lines.between = _separator(first, layout)
        lines.n_columns = layout.n_columns or (10 if layout.conllu else _count(first, lines.between))
        lines.separator = lines.between or (kernels.SPACE if lines.n_columns > 1 else kernels.TAB)
    return lines


def _separator(first: bytes, layout: Layout) -> int:
    if layout.conllu:
        return kernels.TAB
    if layout.separator == "auto":
        return kernels.TAB if b"\t" in first else kernels.RUNS
    if layout.separator in SEPARATORS:
        return SEPARATORS[layout.separator]
    if len(layout.separator) == 1 and layout.separator.isascii() and layout.separator not in " \r\n\0":
        return ord(layout.separator)
    raise UsageError(
        f"unknown separator {layout.separator!r}: choose auto, {', '.join(SEPARATORS)}, or give one character"
    )


def _name_of(separator: int) -> str:
    return next((name for name, byte in SEPARATORS.items() if byte == separator), chr(separator))


def _count(line: bytes, separator: int) -> int:
    if separator == kernels.RUNS:
        return len(re.findall(rb"[^ \t]+", line))
    return line.count(separator) + 1


def _cells(raw: np.ndarray, lines: Lines, which: np.ndarray, layout: Layout, source: str) -> Cells:
    """The cells of some lines; an error at the first line that has another number of them."""
    start, end, bad, found = kernels.split_cells(raw, lines.start, lines.end, which, lines.n_columns, lines.between)
    if bad >= 0:
        line = raw[lines.start[bad] : lines.end[bad]][:60].tobytes().decode(errors="replace")
        name = {"tab": "TAB", "space": "spaces"}.get(_name_of(lines.between), _name_of(lines.between))
        hint = f"every line needs as many as the first; the separator can be chosen: {', '.join(SEPARATORS)}"
        if layout.conllu:
            hint = "CoNLL-U has ten fields with TABs between them; a tagger reads other input with --format"
        message = f"{found} columns where {lines.n_columns} are expected (separated by {name}): {line!r}"
        raise DataError(message, file=source, line=lines.first_line + bad, hint=hint)
    return Cells(raw, start, end, lines.between)


def _chosen(layout: Layout, n_columns: int, source: str, line: int) -> tuple[int | None, list[int]]:
    """The label's column and the features' columns, counted from 0."""
    label = layout.label
    if label is not None and not layout.labelled and not layout.conllu:
        # Only a column that is not the last one is surely the label's; see Layout.
        label = None if label == -1 or not -n_columns <= label < n_columns else label
    for c in (*(layout.columns or ()), *(() if label is None else (label,))):
        if not -n_columns <= c < n_columns:
            what = "the label is in" if c == label else "there is no"
            raise DataError(
                f"{what} column {c}, and the lines have {n_columns}", file=source, line=line,
                hint="columns are counted from 0, or from the end: -1 is the last",
            )  # fmt: skip
    label = None if label is None else label % n_columns
    if layout.columns is not None:
        return label, [c % n_columns for c in layout.columns]
    return label, [c for c in range(n_columns) if c != label]


def _place_labels(lines: Lines, cells: Cells, label: int | None, layout: Layout) -> None:
    """Where a label goes: in CoNLL-U into its field (nowhere if there is none), else behind the line."""
    if not layout.conllu:
        return
    lines.separator = 0
    if label is None:
        lines.cut = lines.resume = np.zeros(0, np.int64)
    else:
        lines.cut, lines.resume = cells.start[label], cells.end[label]


def _check_conllu(cells: Cells, lines: Lines, offset: np.ndarray, source: str) -> None:
    """Ranges and empty nodes have ten fields too, and words are numbered 1, 2, ...: anything else means that
    a line was lost or doubled."""
    others = np.flatnonzero(lines.kind == kernels.OTHER_LINE)
    others = others[cells.raw[lines.start[others]] != kernels.HASH]
    if others.size:
        _cells(cells.raw, lines, others, Layout(conllu=True), source)
    ids = cells.column(0)
    numbers = np.array([int(t) if _is_number(t) else -1 for t in ids.types])
    expected = np.arange(1, ids.ids.size + 1) - np.repeat(offset[:-1], np.diff(offset))
    bad = np.flatnonzero(numbers[ids.ids] != expected)
    if bad.size:
        token = int(bad[0])
        raise DataError(
            f"word number {ids.types[ids.ids[token]][:20]!r} where {expected[token]} is expected",
            file=source, line=lines.first_line + int(lines.tokens[token]),
            hint="CoNLL-U numbers the words of a sentence 1, 2, ... and puts a blank line behind it",
        )  # fmt: skip


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID


def paste(corpus: Corpus, labels: np.ndarray, label_text: np.ndarray, label_offset: np.ndarray, mark: int) -> bytes:
    """The corpus' text with a label (numbers i32[N] into the label strings) on each token line."""
    at = corpus.lines
    assert at is not None
    return kernels.paste_labels(
        at.data, at.start, at.end, at.kind, at.cut, at.resume,
        labels, label_text, label_offset, at.separator, mark,
    ).tobytes()  # fmt: skip
