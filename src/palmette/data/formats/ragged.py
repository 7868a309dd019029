"""Rows of a column file with a cell too many or too few, made as wide as the others: `--ragged pad`.

The label must not move. If it is in the last column, or counted from the end, the cells from the label on stay the last
ones of the row, and cells are added or dropped right before them. If there is no label, or it is counted from the start
and not the last column, cells are added or dropped at the end of the row. Added cells are `_`. Empty cells at the end
of a row that has too many are dropped first: they come from a separator at the end of a line. A row that is too short
to have a label and something else is an error: nobody knows which of the two is missing.

All rows are as wide as most rows of the first block that is read (1 MB, or the whole file in training); of two widths
that are as frequent the first one counts.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, counted
from palmette.options.spelling import spelt

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
