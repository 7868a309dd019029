"""Column files: one token per line, a blank line between sentences. Labels are written after each line.

The bytes go through two kernels (lines, cells) and one more per column that is wanted (interning). CoNLL-U uses the
same steps; see `conllu`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, Lines, bytes_of, offsets_from_lines
from palmette.data.formats.columns_light import FILLER, RaggedRows, usual_width
from palmette.data.formats.doubts import MOST, text_hint, warn_of_content
from palmette.data.formats.jsonl import write_objects
from palmette.data.formats.labelling import Labelling, RowTexts, token_records
from palmette.data.formats.registry import Format, Output
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import Cut, after_blank_line
from palmette.data.text import check_utf8, n_line_ends
from palmette.errors import DataError, UsageError, counted
from palmette.kernels.io import columns as kernels
from palmette.kernels.io.columns import splice
from palmette.options.spelling import spelt

MANY_TOKENS = 200_000  # of a file whose columns are worth threads
SEPARATORS = {"tab": kernels.TAB, "space": kernels.RUNS, "comma": 44, "semicolon": 59, "bar": 124}


class ColumnLayout(NamedTuple):
    """What each cell of a line is. None: derive it from the file.

    `columns`: the file's columns that templates see as 0, 1, ... (negative counts from the end); default all
    but the label. `label`: the label's column; None: there is none. `labelled` False: labels are not read. Then the
    last column counts as a feature, since the input may or may not have the label there; a label column elsewhere is
    left out. In CoNLL-U the label's field is where a label will be written.
    `n_columns`: the number that every line must have; default that of the first line.
    """

    separator: str = "auto"
    columns: tuple[int, ...] | None = None
    label: int | None = -1
    labelled: bool = True
    n_columns: int | None = None


class LineCells(NamedTuple):
    """The cells of N token lines."""

    raw: np.ndarray  # u8[]
    start: np.ndarray  # i64[C, N]
    end: np.ndarray  # i64[C, N]

    @property
    def n_columns(self) -> int:
        return self.start.shape[0]

    def column(self, c: int) -> Column:
        ids, start, end, hash, power = kernels.intern_cells(self.raw, self.start[c], self.end[c])
        return Column(ids, self.raw, start, end, hash, power)


# Reading


class ColumnParser:
    """Blocks of columns. What the first one shows holds for those that follow."""

    def __init__(self, spec: FormatSpec, source: str) -> None:
        columns = None if spec.columns is None else tuple(map(column_number, spec.columns))
        label = None if spec.label is None else column_number(spec.label)
        self.layout = ColumnLayout(spec.separator, columns, label, spec.has_label is not False)
        self.source = source
        self.ragged = RaggedRows(source) if spec.ragged == "pad" else None

    def __call__(self, data: bytes, first_line: int) -> Corpus:
        corpus = parse_columns(data, self.layout, self.source, first_line, self.ragged)
        if not self.layout.n_columns and corpus.n_tokens and corpus.lines is not None:
            lines = corpus.lines
            warn_of_content(_first_rows(lines), self.source, lines.first_line + int(lines.tokens[0]))
        if corpus.n_tokens and corpus.lines is not None:
            separator = _name_of(corpus.lines.between)
            self.layout = self.layout._replace(n_columns=corpus.lines.n_columns, separator=separator)
        return corpus

    def report(self) -> None:
        """Log which lines were made as wide as the others."""
        if self.ragged is not None:
            self.ragged.report()


def _hint() -> str:
    pad = spelt(FormatSpec, "ragged", "pad")
    return (
        f"every line needs as many as the first ({pad} adds or drops cells); the separator can be chosen: "
        f"{', '.join(SEPARATORS)}"
    )


def column_number(name: str) -> int:
    """The number of a column that the user gives."""
    try:
        return int(name)
    except ValueError:
        raise UsageError(f"there is no column {name!r}: give a number, 0 for the first") from None


def parse_columns(
    data: bytes, layout: ColumnLayout, source: str, first_line: int = 1, ragged: RaggedRows | None = None
) -> Corpus:
    """A corpus from the bytes of whole lines; `ragged` makes lines with another number of cells as wide as the rest."""
    lines = read_lines(data, source, first_line)
    # A block of a stream may hold only a document mark, which gets a label too.
    shown = lines.tokens if lines.tokens.size else np.flatnonzero(lines.kind == kernels.MARK_LINE)
    if shown.size:
        first = lines.data[lines.start[shown[0]] : lines.end[shown[0]]].tobytes()
        lines.between = _separator(first, layout.separator)
        lines.n_columns = layout.n_columns or len(_cells(first, lines.between))
        lines.separator = lines.between or (kernels.SPACE if lines.n_columns > 1 else kernels.TAB)
    if not lines.tokens.size:
        return Corpus(np.zeros(1, np.int64), lines=lines, source=source)
    label = layout.label
    if label is not None and not layout.labelled:
        # Only a column other than the last one is certain to be the label's; see Layout.
        label = None if label == -1 or not -lines.n_columns <= label < lines.n_columns else label
    try:
        cells = read_cells(lines, lines.tokens, source, _hint() + text_hint(_first_rows(lines)))
    except DataError:
        if ragged is None:
            raise
        even, n_columns = _evened(lines, layout, ragged)
        given = layout._replace(n_columns=n_columns, separator=_name_of(lines.between))
        return parse_columns(even, given, source, first_line)
    return make_corpus(lines, cells, layout._replace(label=label), source)


def _first_rows(lines: Lines) -> list[list[str]]:
    """The cells of the first lines of tokens."""
    found = []
    for k in lines.tokens[:MOST].tolist():
        line = lines.data[lines.start[k] : lines.end[k]].tobytes()
        found.append([cell.decode(errors="replace") for cell in _cells(line, lines.between)])
    return found


def _evened(lines: Lines, layout: ColumnLayout, ragged: RaggedRows) -> tuple[bytes, int]:
    """The text with as many cells on all token lines, and how many these are."""
    data, between = lines.data.tobytes(), bytes([lines.separator])
    starts, ends = lines.start[lines.tokens].tolist(), lines.end[lines.tokens].tolist()
    rows = [_cells(data[start:end], lines.between) for start, end in zip(starts, ends, strict=True)]
    width = layout.n_columns or usual_width(map(len, rows))
    label = layout.label if layout.labelled else None
    made, done = [], 0
    for number, start, end, row in zip(lines.tokens.tolist(), starts, ends, rows, strict=True):
        if len(row) != width:
            even = ragged.even(row, FILLER.encode(), width, label, lines.first_line + number)
            made += [data[done:start], between.join(even)]
            done = end
    return b"".join([*made, data[done:]]), width


def _cells(line: bytes, separator: int) -> list[bytes]:
    if separator == kernels.RUNS:
        return re.findall(rb"[^ \t]+", line)
    return line.split(bytes([separator]))


def read_lines(data: bytes, source: str, first_line: int, *, conllu: bool = False) -> Lines:
    """The lines of a block by their kinds. Labels go to the end of each token line."""
    check_utf8(data, source, first_line)
    raw = np.frombuffer(data, np.uint8)
    n_lines = n_line_ends(data) + (not data.endswith(b"\n") and len(data) > 0)
    start, end, kind = kernels.split_lines(raw, n_lines, conllu)
    tokens = np.flatnonzero(kind == kernels.TOKEN_LINE)
    return Lines(raw, start, end, kind, tokens, end[tokens], end[tokens], 0, first_line)


def read_cells(lines: Lines, which: np.ndarray, source: str, hint: str) -> LineCells:
    """The cells of some lines; DataError at the first line that has another number of them."""
    start, end, bad, found = kernels.split_cells(
        lines.data, lines.start, lines.end, which, lines.n_columns, lines.between
    )
    if bad >= 0:
        line = lines.data[lines.start[bad] : lines.end[bad]][:60].tobytes().decode(errors="replace")
        name = {"tab": "TAB", "space": "spaces"}.get(_name_of(lines.between), _name_of(lines.between))
        message = f"{counted(found, 'column')} where {lines.n_columns} are expected (separated by {name}): {line!r}"
        raise DataError(message, file=source, line=lines.first_line + bad, hint=hint)
    return LineCells(lines.data, start, end)


def make_corpus(lines: Lines, cells: LineCells, layout: ColumnLayout, source: str) -> Corpus:
    """The corpus of the columns that a layout chooses."""
    label, features = chosen_columns(layout, cells.n_columns, source, lines.first_line + int(lines.tokens[0]))
    wanted = label if layout.labelled else None
    made = _columns(cells, list(dict.fromkeys(features if wanted is None else [*features, wanted])))
    return Corpus(
        offsets_from_lines(lines.kind, lines.tokens),
        [made[c] for c in features],
        None if wanted is None else made[wanted],
        lines=lines,
        source=source,
    )


def _columns(cells: LineCells, which: list[int]) -> dict[int, Column]:
    """Some columns by number; those of large files on a thread each."""
    if len(which) < 2 or cells.start.shape[1] < MANY_TOKENS:
        return {c: cells.column(c) for c in which}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(which), os.cpu_count() or 1)) as pool:
        return dict(zip(which, pool.map(cells.column, which), strict=True))


def chosen_columns(layout: ColumnLayout, n_columns: int, source: str, line: int) -> tuple[int | None, list[int]]:
    """The label's column and those of the features, counted from 0."""
    label = layout.label
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


def _separator(first: bytes, name: str) -> int:
    """The byte between the cells, given the first line."""
    if name == "auto":
        return kernels.TAB if b"\t" in first else kernels.RUNS
    if name in SEPARATORS:
        return SEPARATORS[name]
    if len(name) == 1 and name.isascii() and name not in " \r\n\0":
        return ord(name)
    raise UsageError(f"unknown separator {name!r}: choose auto, {', '.join(SEPARATORS)}, or give one character")


def _name_of(separator: int) -> str:
    return next((name for name, byte in SEPARATORS.items() if byte == separator), chr(separator))


# Writing


def paste_labels(corpus: Corpus, ids: np.ndarray, texts: Sequence[str], mark: str) -> bytes:
    """The lines of the corpus, each token line with its text (numbers i32[N]), each document mark with `mark`."""
    at = corpus.lines
    assert at is not None
    text, offset = bytes_of([*texts, mark])
    place = kernels.PasteLines(at.data, at.start, at.end, at.kind, at.cut, at.resume)
    return kernels.paste_labels(place, np.ascontiguousarray(ids), text, offset, at.separator, len(texts)).tobytes()


def insert_comments(out: bytes, corpus: Corpus, comments: Sequence[Sequence[str]]) -> bytes:
    """Lines with the comments before each sentence. In CoNLL-U they go after the other comments, and before a range or
    empty node that comes before the first word."""
    lines = corpus.lines
    assert lines is not None
    rows = out.split(b"\n")
    made: list[bytes] = []
    done = 0
    for token, own in zip(corpus.offset[:-1].tolist(), comments, strict=True):
        line = int(lines.tokens[token])
        while line > 0 and lines.kind[line - 1] == kernels.OTHER_LINE and not _is_comment(lines, line - 1):
            line -= 1
        made += rows[done:line]
        made += [text.encode() for text in own]
        done = line
    return b"\n".join(made + rows[done:])


def _is_comment(lines: Lines, line: int) -> bool:
    return bool(lines.data[lines.start[line]] == kernels.HASH)


def _write(given: Labelling) -> bytes:
    """The lines of the input, each with its label."""
    lines = given.corpus.lines
    assert lines is not None
    _check_spaces(lines, given.labels, given.corpus.source)
    out = paste_labels(given.corpus, *given.texts(chr(lines.separator or kernels.TAB)))
    comments = given.comments()
    return out if comments is None else insert_comments(out, given.corpus, comments)


def _check_spaces(lines: Lines, labels: Sequence[str], source: str) -> None:
    spaced = next((label for label in labels if " " in label), None)
    if lines.separator == kernels.SPACE and spaced is not None:
        raise DataError(
            f"the label {spaced!r} holds a space, which separates the columns here", file=source,
            hint="separate the input by TAB, or write jsonl",
        )  # fmt: skip


def _rows(corpus: Corpus, labels: Sequence[str]) -> RowTexts:
    """The lines of the tokens as they are."""
    lines = corpus.lines
    assert lines is not None
    _check_spaces(lines, labels, corpus.source)
    start, end = lines.start[lines.tokens], lines.end[lines.tokens]
    return RowTexts(lines.data, start, end, bytes([lines.separator]))


def replace_cells(lines: Lines, start: np.ndarray, end: np.ndarray, ids: np.ndarray, texts: Sequence[str]) -> bytes:
    """The text with the stretches start..end (i64[N], in order) replaced by the texts with these numbers i32[N]."""
    text, offset = bytes_of(texts)
    return splice(lines.data, start, end, ids.astype(np.int64), text, offset).tobytes()


def _relabel(corpus: Corpus, spec: FormatSpec, ids: np.ndarray, labels: Sequence[str]) -> bytes:
    lines = corpus.lines
    assert lines is not None
    if not ids.size:
        return lines.data.tobytes()
    assert spec.label is not None
    cells = read_cells(lines, lines.tokens, corpus.source, _hint())
    c = column_number(spec.label) % cells.n_columns
    return replace_cells(lines, cells.start[c], cells.end[c], ids, labels)


# A document mark gets a label too, and only a token shows how the columns are separated.
_FIRST_TOKEN = re.compile(rb"^(?!-DOCSTART-\s)[ \t]*[^ \t\r\n]", re.MULTILINE)

FORMAT = Format(
    ColumnParser,
    Cut(after_blank_line, ready=_FIRST_TOKEN.search),
    {"columns": Output(_write), "jsonl": Output(write_objects)},
    rows=_rows,
    records=token_records,
    relabel=_relabel,
)


def separator_hint(corpus: Corpus) -> str | None:
    """What to do about lines of one cell that another character seems to separate; None if none does."""
    cells = [] if corpus.labels is None else corpus.labels.types
    for name, character in (("comma", ","), ("semicolon", ";"), ("bar", "|")):
        if cells and all(character in cell.strip(character) for cell in cells):
            return f"the cells seem to be separated by {character!r}: {spelt(FormatSpec, 'separator', name)}"
    return None
