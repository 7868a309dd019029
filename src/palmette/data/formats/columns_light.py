"""A reader of columns without compiled code, for files that have gold and guess in their last two columns.

`palmette eval --guess` and scripts around it run often and on small files: loading Numba would take longer than
reading them. The rules are those of `columns`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.formats.spec import ANYTHING, FormatSpec
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.errors import DataError, UsageError, counted
from palmette.options.spelling import named, spelt

# Rows of a column file with a cell too many or too few, made as wide as the others: `--ragged pad`.
#
# The label must not move. If it is in the last column, or counted from the end, the cells from the label on stay the
# last ones of the row, and cells are added or dropped right before them. If there is no label, or it is counted from
# the start and not the last column, cells are added or dropped at the end of the row. Added cells are `_`. Empty
# cells at the end of a row that has too many are dropped first: they come from a separator at the end of a line. A
# row that is too short to have a label and something else is an error: which of the two is missing is unknown.
#
# All rows are as wide as most rows of the first block that is read (1 MB, or the whole file in training); of two widths
# that are as frequent the first one counts.

logger = logging.getLogger(__name__)

FILLER = "_"
_Cell = TypeVar("_Cell", str, bytes)


class RaggedRow(NamedTuple):
    """A line with another number of cells than the others."""

    line: int
    found: int
    width: int


def usual_width(sizes: Iterable[int]) -> int:
    """The most frequent number of cells."""
    return Counter(sizes).most_common(1)[0][0]


class RaggedRows:
    """Makes rows as wide as the others, and remembers which were not. `strict` False: a row without room for a label
    gets its cells at the end instead of raising an error."""

    def __init__(self, source: str, strict: bool = True) -> None:
        self.source = source
        self.strict = strict
        self.rows: list[RaggedRow] = []

    def even(self, cells: list[_Cell], filler: _Cell, width: int, label: int | None, line: int) -> list[_Cell]:
        """The cells of a row, `width` of them; `label` is the label's column as the user counts it, None: no label."""
        found = len(cells)
        if found == width:
            return cells
        while len(cells) > width and not cells[-1]:
            cells = cells[:-1]
        self.rows.append(RaggedRow(line, found, width))
        column = None if label is None or not -width <= label < width else label % width
        from_end = label is not None and (label < 0 or column == width - 1)
        tail = width - column if column and from_end else 0
        if column is not None and len(cells) < min(width, tail + 1 if tail else column + 1):
            if self.strict:
                raise self._no_label(found, width, line)
            tail = 0
        head, rest = (cells[:-tail], cells[-tail:]) if tail else (cells, [])
        return head[: width - tail] + [filler] * (width - tail - len(head)) + rest

    def _no_label(self, found: int, width: int, line: int) -> DataError:
        return DataError(
            f"{counted(found, 'column')} where {width} are expected: it is not known whether the label is one of them",
            file=self.source, line=line,
            hint=f"correct or delete the line; {spelt(FormatSpec, 'ragged', 'pad')} needs a label on each line",
        )  # fmt: skip

    def report(self) -> None:
        """Log how many rows were padded or cut, and where the first one is."""
        if not self.rows:
            return
        first = self.rows[0]
        short = sum(row.found < row.width for row in self.rows)
        parts = [(short, "padded with `_`"), (len(self.rows) - short, "cut")]
        told = " and ".join(f"{n:,} {what}" for n, what in parts if n)
        logger.warning(
            "%s:%d: %s where %d are expected; %s: %s (%s: stop there)",
            self.source, first.line, counted(first.found, "column"), first.width,
            counted(len(self.rows), "such line"), told, spelt(FormatSpec, "ragged", "error"),
        )  # fmt: skip
        self.rows = []


MARK = "-DOCSTART-"


class Guesses(NamedTuple):
    """Gold and guess as numbers of one list of labels, and the first column."""

    gold: np.ndarray  # i32[N]
    guess: np.ndarray  # i32[N]
    offset: np.ndarray  # i64[S+1]
    labels: list[str]
    words: Sequence[str]
    known: np.ndarray | None = None  # bool[N]: gold is a single label; None: everywhere


def read_guesses(path: FilePath, separator: str = "auto", spec: TextSpec = PLAIN, ragged: str = "error") -> Guesses:
    """The last two columns of a column file. `ragged`: `pad` makes all lines as wide as most."""
    data, file = read_text(path, spec), shown(path)
    check_utf8(data, file)
    found = _rows(data.decode(), separator)
    numbers: dict[str, int] = {}
    rows: list[tuple[int, int]] = []
    words: list[str] = []
    marks = [0]
    width = 0
    for number, cells in _evened(list(found), file) if ragged == "pad" else found:
        if not cells:
            marks.append(len(rows))
            continue
        width = width or len(cells)
        if len(cells) != width or width < 2:
            _ragged(cells, width, file, number)
        words.append(cells[0])
        rows.append(tuple(numbers.setdefault(cell, len(numbers)) for cell in cells[-2:]))  # type: ignore[arg-type]
    if not rows:
        raise DataError("no sentence to score", file=file)
    table = np.array(rows, np.int32)
    offset = np.array(sorted({*marks, len(rows)}), np.int64)  # np.unique would import numpy.ma
    return Guesses(table[:, 0].copy(), table[:, 1].copy(), offset, list(numbers), words)


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line with its number; none where a sentence ends."""
    cut = _cutter(separator)
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip(" \t"):
            yield number, []
            continue
        cut = cut or ((lambda text: text.split("\t")) if "\t" in line else _runs)
        cells = cut(line)
        yield number, [] if cells[0] == MARK else cells


def _evened(rows: list[tuple[int, list[str]]], file: str) -> list[tuple[int, list[str]]]:
    """Rows of one width, if there is more than gold and guess in them."""
    width = usual_width([len(cells) for _, cells in rows if cells] or [0])
    if width <= 2:
        return rows
    ragged = RaggedRows(file)
    made = [(n, ragged.even(cells, FILLER, width, -2, n) if cells else cells) for n, cells in rows]
    ragged.report()
    return made


def _runs(text: str) -> list[str]:
    # Only spaces and TABs separate, as in `columns`; str.split() would also cut at a no-break space.
    return [cell for cell in text.replace("\t", " ").split(" ") if cell]


def _cutter(separator: str):  # type: ignore[no-untyped-def]
    if separator == "auto":
        return None
    if separator not in ("tab", "space"):
        raise UsageError(f"unknown separator {separator!r}: choose auto, tab or space")
    return (lambda text: text.split("\t")) if separator == "tab" else _runs


def _ragged(cells: list[str], width: int, file: str, number: int) -> None:
    if width < 2:
        raise DataError(
            "one column, but gold and guess are two",
            file=file,
            line=number,
            hint=f"see {named(FormatSpec, 'separator')}",
        )
    raise DataError(
        f"{counted(len(cells), 'column')} where {width} are expected", file=file, line=number,
        hint=f"each line needs as many columns as the first ({spelt(FormatSpec, 'ragged', 'pad')} adds or drops cells)",
    )  # fmt: skip


def certain_only(tagged: Guesses) -> Guesses:
    """These labels with `?`, `_` and `A|B` in gold taken as partial labels, which scores ignore."""
    unsure = np.array([label in ANYTHING or "|" in label for label in tagged.labels], np.bool_)
    known = ~unsure[tagged.gold]
    used = np.flatnonzero(np.bincount(np.concatenate((tagged.gold[known], tagged.guess))))
    new = np.zeros(len(tagged.labels), np.int32)
    new[used] = np.arange(used.size, dtype=np.int32)
    labels = [tagged.labels[k] for k in used.tolist()]
    gold = np.where(known, new[tagged.gold], 0).astype(np.int32)
    return tagged._replace(gold=gold, guess=new[tagged.guess], labels=labels, known=known)
