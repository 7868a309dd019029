"""The rules of CoNLL-U and CoNLL-X, and a reader of trees without compiled code, to score and to draw them.

`palmette parser eval gold.conllu guess.conllu` runs often and on small files: loading Numba would take longer than
reading them. `conllu` reads large files by compiled code, with the rules and messages of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.data.tree_checks import faults, heads_of_cells
from palmette.errors import DataError, counted

CONLLU_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, UPOS, HEAD, DEPREL = map(CONLLU_FIELDS.index, ("form", "upos", "head", "deprel"))
MISC = CONLLU_FIELDS.index("misc")

# Entities are an entry of MISC, `Entity=B-PER`. Values of other forms, such as those of coreference, are not labels.

_ENTITY = "Entity="
_LABEL = re.compile(r"[BI]-[^|\s]+")


def entity_of(misc: str) -> str | None:
    """Return the IOB2 label in a cell of MISC, or None if it has none."""
    for entry in misc.split("|"):
        if entry.startswith(_ENTITY) and _LABEL.fullmatch(entry, len(_ENTITY)):
            return entry.removeprefix(_ENTITY)
    return None


def with_entity(misc: str, label: str) -> str:
    """Return a cell of MISC with an IOB2 label instead of the one that it has; `O` is not written."""
    rest = [] if misc == "_" else [entry for entry in misc.split("|") if not entry.startswith(_ENTITY)]
    return "|".join(rest if label == "O" else [f"{_ENTITY}{label}", *rest]) or "_"


@dataclass
class LightColumn:
    """The cells of one column: the type of each token, and the types."""

    ids: np.ndarray  # i32[N]
    types: list[str]

    def cells(self) -> list[str]:
        return [self.types[k] for k in self.ids.tolist()]


@dataclass
class LightTrees:
    """The trees of a file, under the names that a Treebank has."""

    source: str
    offset: np.ndarray  # i64[S+1]
    heads: np.ndarray  # i32[N]
    relations: LightColumn
    forms: LightColumn
    upos: LightColumn
    line: np.ndarray  # i64[N]  the line of each word in its file

    @cached_property
    def n_tokens(self) -> int:
        return int(self.offset[-1])

    @cached_property
    def n_sentences(self) -> int:
        return self.offset.size - 1


class DrawnTree(NamedTuple):
    """The tree of one sentence, to be drawn."""

    forms: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]  # counted from 1; 0: the root
    relations: Sequence[str]


def tree_of(bank: Any, s: int, tags: str = "upos") -> DrawnTree:
    """Sentence s of a Treebank or of Trees (which have only `upos`)."""
    lo, hi = int(bank.offset[s]), int(bank.offset[s + 1])
    tag_cells = bank.upos if isinstance(bank, LightTrees) else bank.column(tags)
    rows = [[column.types[k] for k in column.ids[lo:hi].tolist()] for column in (bank.forms, tag_cells, bank.relations)]
    return DrawnTree(rows[0], rows[1], bank.heads[lo:hi].tolist(), rows[2])


def read_trees(path: FilePath, spec: TextSpec = PLAIN) -> LightTrees:
    """The trees of a whole file; DataError if a sentence has none."""
    file = shown(path)
    data = read_text(path, spec)
    check_utf8(data, file)
    rows, lines, ends = _words(data.decode(), file)
    if not rows:
        raise DataError("no sentence to score", file=file)
    columns = list(zip(*rows, strict=True))
    offset = np.array(sorted({0, *ends}), np.int64)
    heads = interned(columns[HEAD])
    made = LightTrees(
        file, offset, heads_of_cells(heads.types)[heads.ids],
        interned(columns[DEPREL]), interned(columns[FORM]), interned(columns[UPOS]), np.array(lines, np.int64),
    )  # fmt: skip
    for fault in faults(made.heads, offset):
        raise fault.error(0, file, int(made.line[fault.token]), hint="scores compare trees; correct this one first")
    return made


def wrong_number(found: str, expected: int, file: str, line: int) -> DataError:
    """The error for a word whose number is not the next one: a line was lost or doubled."""
    return DataError(
        f"word number {found[:20]!r} where {expected} is expected", file=file, line=line,
        hint="CoNLL-U numbers the words of a sentence 1, 2, ... and ends it with a blank line",
    )  # fmt: skip


def _words(text: str, file: str) -> tuple[list[list[str]], list[int], list[int]]:
    """The cells of each word, its line, and where sentences end. Comments, ranges and empty nodes are skipped."""
    rows: list[list[str]] = []
    lines: list[int] = []
    ends = []
    expected = 1
    for number, cells in rows_of_lines(text, file):
        if not cells:
            ends.append(len(rows))
            expected = 1
            continue
        if is_range_or_empty(cells[0]):
            continue
        if cells[0] != str(expected):
            raise wrong_number(cells[0], expected, file, number)
        expected += 1
        rows.append(cells)
        lines.append(number)
    return rows, lines, [*ends, len(rows)]


def rows_of_lines(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line that is no comment, and its ten cells; no cells for a blank line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            continue
        line = line.removesuffix("\r")
        cells = line.split("\t") if line.strip(" \t") else []
        if cells and len(cells) != len(CONLLU_FIELDS):
            raise DataError(
                f"{counted(len(cells), 'column')} where 10 are expected (separated by TAB): {line[:60]!r}",
                file=file, line=number,
                hint="gold and guess of a parser are CoNLL-U or CoNLL-X files",
            )  # fmt: skip
        yield number, cells


def is_range_or_empty(number: str) -> bool:
    """Whether this is the number of a multi-word token, 3-4, or of an empty node, 8.1."""
    first, mark, second = number.partition("-" if "-" in number else ".")
    return bool(mark) and all(part.isascii() and part.isdigit() for part in (first, second))


def interned(cells: Iterable[str]) -> LightColumn:
    """Cells as numbers of the distinct ones."""
    numbers: dict[str, int] = {}
    ids = np.fromiter((numbers.setdefault(cell, len(numbers)) for cell in cells), np.int32)
    return LightColumn(ids, list(numbers))
