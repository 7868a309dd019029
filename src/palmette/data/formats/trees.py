"""Trees of a CoNLL-U file read without compiled code, to score one file against another; single trees, to be drawn.

`palmette eval --task parse gold.conllu guess.conllu` runs often and on small files: waiting for Numba would take
longer than the reading. The rules are those of `treebank`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.data.files import FilePath, check_utf8, read_all, shown
from palmette.data.tree_checks import faults, heads_of_cells
from palmette.errors import DataError


@dataclass
class Cells:
    """What stands in one column: the type of each token, and the types."""

    ids: np.ndarray  # i32[N]
    types: list[str]

    def cells(self) -> list[str]:
        return [self.types[k] for k in self.ids.tolist()]


@dataclass
class Trees:
    """The trees of a file, under the names that a Treebank has."""

    source: str
    offset: np.ndarray  # i64[S+1]
    heads: np.ndarray  # i32[N]
    relations: Cells
    forms: Cells
    upos: Cells
    line: np.ndarray  # i64[N]  where each word stands in its file

    @cached_property
    def n_tokens(self) -> int:
        return int(self.offset[-1])

    @cached_property
    def n_sentences(self) -> int:
        return self.offset.size - 1


class Tree(NamedTuple):
    """One sentence, for people."""

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]  # counted from 1; 0: the root
    relations: Sequence[str]


def tree_of(bank: Any, s: int, tags: str = "upos") -> Tree:
    """Sentence s of a Treebank or of Trees (which have `upos` alone)."""
    lo, hi = int(bank.offset[s]), int(bank.offset[s + 1])
    tag_cells = bank.upos if isinstance(bank, Trees) else bank.column(tags)
    rows = [[column.types[k] for k in column.ids[lo:hi].tolist()] for column in (bank.forms, tag_cells, bank.relations)]
    return Tree(rows[0], rows[1], bank.heads[lo:hi].tolist(), rows[2])


def read_trees(path: FilePath) -> Trees:
    """The trees of a whole file; an error where a sentence has none."""
    file = shown(path)
    data = read_all(path)
    check_utf8(data, file)
    rows, lines, ends = _words(data.decode(), file)
    if not rows:
        raise DataError("no sentence to score", file=file)
    columns = list(zip(*rows, strict=True))
    offset = np.unique(np.array([0, *ends], np.int64))
    heads = _interned(columns[6])
    made = Trees(
        file, offset, heads_of_cells(heads.types)[heads.ids],
        _interned(columns[7]), _interned(columns[1]), _interned(columns[3]), np.array(lines, np.int64),
    )  # fmt: skip
    for fault in faults(made.heads, offset):
        raise fault.error(0, file, int(made.line[fault.token]), hint="scores compare trees; mend this one first")
    return made


def _words(text: str, file: str) -> tuple[list[list[str]], list[int], list[int]]:
    """The cells of each word, its line, and where sentences end. Comments, ranges and empty nodes are passed over."""
    rows: list[list[str]] = []
    lines: list[int] = []
    ends = []
    expected = 1
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip(" \t"):
            ends.append(len(rows))
            expected = 1
            continue
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 10:
            raise DataError(
                f"{len(cells)} columns where 10 are expected (separated by TAB): {line[:60]!r}", file=file, line=number,
                hint="gold and guess of a parser are CoNLL-U or CoNLL-X files",
            )  # fmt: skip
        if _is_between(cells[0]):
            continue
        if cells[0] != str(expected):
            raise DataError(
                f"word number {cells[0][:20]!r} where {expected} is expected", file=file, line=number,
                hint="CoNLL-U numbers the words of a sentence 1, 2, ... and puts a blank line behind it",
            )  # fmt: skip
        expected += 1
        rows.append(cells)
        lines.append(number)
    return rows, lines, [*ends, len(rows)]


def _is_between(number: str) -> bool:
    """A multi-word token 3-4 or an empty node 8.1."""
    first, mark, second = number.partition("-" if "-" in number else ".")
    return bool(mark) and all(part.isascii() and part.isdigit() for part in (first, second))


def _interned(cells: tuple[str, ...]) -> Cells:
    numbers: dict[str, int] = {}
    ids = np.fromiter((numbers.setdefault(cell, len(numbers)) for cell in cells), np.int32, len(cells))
    return Cells(ids, list(numbers))
