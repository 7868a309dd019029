"""Column files: one token a line, blank line between sentences; CoNLL-U is the case with ten of them.

The bytes go through two kernels (lines, cells) and one more a column that is wanted (interning).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.errors import DataError, UsageError
from palmette.kernels import columns as kernels
from palmette.text.corpus import Column, Corpus, Lines, offsets_from_lines
from palmette.text.files import check_utf8

CONLLU_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
SEPARATORS = {"tab": True, "space": False}


class Layout(NamedTuple):
    """Which cells of a line are what. None means: to be seen from the file.

    `columns`: the file's columns that templates see as 0, 1, ...; default all but the label.
    `label`: the label's column (negative counts from the end; None when there are no labels).
    """

    conllu: bool = False
    separator: str = "auto"
    columns: tuple[int, ...] | None = None
    label: int | None = -1


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
    n_lines = data.count(b"\n") + (not data.endswith(b"\n") and len(data) > 0)
    start, end, kind = kernels.split_lines(raw, n_lines, layout.conllu)
    tokens = np.flatnonzero(kind == kernels.TOKEN_LINE)
    if tokens.size == 0:
        lines = Lines(raw, start, end, kind, tokens, tokens, tokens, 0, first_line)
        return Corpus(np.zeros(1, np.int64), [], None, lines=lines, source=source)
    first = bytes(raw[start[tokens[0]] : end[tokens[0]]])
    by_tab = _by_tab(first, layout)
    n_columns = 10 if layout.conllu else len(first.split(b"\t") if by_tab else first.split())
    cell_start, cell_end, bad, found = kernels.split_cells(raw, start, end, tokens, n_columns, by_tab)
    if bad >= 0:
        _ragged(raw[start[bad] : end[bad]].tobytes(), found, n_columns, by_tab, source, first_line + bad)
    label = _label_column(layout.label, n_columns, source)
    wanted = layout.columns if layout.columns is not None else range(n_columns)
    features = [c for c in wanted if layout.columns is not None or c != label]
    for c in features:
        if not 0 <= c < n_columns:
            raise DataError(
                f"column {c} is needed, and the lines have {n_columns}", file=source,
                line=first_line + int(tokens[0]), hint="columns are counted from 0",
            )  # fmt: skip
    made = {c: Column(*_interned(raw, cell_start[c], cell_end[c])) for c in {*features, label} - {None}}
    lines = _lines(raw, start, end, kind, tokens, cell_start, cell_end, label, layout, by_tab, first_line)
    if layout.conllu:
        _check_ids(raw, cell_start[0], cell_end[0], tokens, offsets_from_lines(kind, tokens), lines, source)
    return Corpus(
        offsets_from_lines(kind, tokens),
        [made[c] for c in features],
        made[label] if label is not None else None,
        lines=lines,
        source=source,
    )


def _interned(raw: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple:
    ids, type_start, type_end, hash, power = kernels.intern_cells(raw, start, end)
    return ids, raw, type_start, type_end, hash, power


def _by_tab(first: bytes, layout: Layout) -> bool:
    if layout.conllu:
        return True
    if layout.separator == "auto":
        return b"\t" in first
    if layout.separator not in SEPARATORS:
        raise UsageError(f"unknown separator {layout.separator!r}: choose auto, {', '.join(SEPARATORS)}")
    return SEPARATORS[layout.separator]


def _ragged(line: bytes, found: int, expected: int, by_tab: bool, source: str, number: int) -> None:
    rule = "TAB" if by_tab else "spaces"
    raise DataError(
        f"{found} columns where {expected} are expected (separated by {rule}): {line[:60].decode(errors='replace')!r}",
        file=source,
        line=number,
        hint="CoNLL-U has ten fields" if expected == 10 and by_tab else "each line needs as many columns as the first",
    )


def _label_column(label: int | None, n_columns: int, source: str) -> int | None:
    if label is None:
        return None
    place = label + n_columns if label < 0 else label
    if not 0 <= place < n_columns:
        raise DataError(f"there is no column {label}: the lines have {n_columns}", file=source)
    return place


def _lines(
    raw: np.ndarray, start: np.ndarray, end: np.ndarray, kind: np.ndarray, tokens: np.ndarray,
    cell_start: np.ndarray, cell_end: np.ndarray, label: int | None, layout: Layout, by_tab: bool, first_line: int,
) -> Lines:  # fmt: skip
    """Where a label goes: in CoNLL-U into its field, else behind the line."""
    if layout.conllu and label is not None:
        return Lines(raw, start, end, kind, tokens, cell_start[label], cell_end[label], 0, first_line)
    separator = kernels.TAB if by_tab else kernels.SPACE
    if cell_start.shape[0] == 1:
        separator = kernels.TAB
    return Lines(raw, start, end, kind, tokens, end[tokens], end[tokens], separator, first_line)


def _check_ids(
    raw: np.ndarray, start: np.ndarray, end: np.ndarray, tokens: np.ndarray, offset: np.ndarray, lines: Lines, source: str
) -> None:  # fmt: skip
    """CoNLL-U words are numbered 1, 2, ...; anything else means a lost or doubled line."""
    ids, type_start, type_end, _, _ = kernels.intern_cells(raw, start, end)
    numbers = np.array(
        [int(t) if t.isdigit() else -1 for t in (raw[a:b].tobytes() for a, b in zip(type_start, type_end, strict=True))]
    )
    expected = np.arange(1, tokens.size + 1) - np.repeat(offset[:-1], np.diff(offset))
    bad = np.flatnonzero(numbers[ids] != expected)
    if bad.size:
        token = int(bad[0])
        found = raw[start[token] : end[token]].tobytes().decode(errors="replace")
        raise DataError(
            f"word number {found!r} where {expected[token]} is expected", file=source,
            line=lines.first_line + int(tokens[token]), hint="CoNLL-U numbers the words of a sentence 1, 2, 3, ...",
        )  # fmt: skip


def paste(corpus: Corpus, labels: np.ndarray, label_text: np.ndarray, label_offset: np.ndarray, mark: int) -> bytes:
    """The corpus' text with a label (numbers i32[N] into the label strings) on each token line."""
    at = corpus.lines
    assert at is not None
    return kernels.paste_labels(
        at.data, at.start, at.end, at.kind, at.cut, at.resume,
        labels, label_text, label_offset, at.separator, mark,
    ).tobytes()  # fmt: skip
