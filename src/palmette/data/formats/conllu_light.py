"""The rules of CoNLL-U and CoNLL-X, checks that heads make trees, and a reader of trees without compiled code.

`palmette parser eval gold.conllu guess.conllu` runs often and on small files: loading Numba would take longer than
reading them. `conllu` reads large files by compiled code, with the rules and checks of this module.

Heads are i32[N], counted from 1 within the sentence: 0 is the root's head, UNKNOWN an empty cell, BROKEN a cell that is
no number. If a sentence has several faults, the first in the order of PROBLEMS is reported.
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
from palmette.errors import DataError, counted
from palmette.options.spelling import argument

UNKNOWN, BROKEN = -1, -2
_LONGEST = 9  # digits of a head: more is not a word of any sentence, and might not fit

PROBLEMS = (
    "the head is not a number",
    "the head is missing",
    "the head is outside the sentence",
    "no word has head 0, so the sentence has no root",
    "a second word has head 0, but a tree has one root",
    "the heads form a cycle",
    "the relation is missing",
)
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


class Fault(NamedTuple):
    """A sentence that is no tree: its number, the token at fault, and which of PROBLEMS it is."""

    sentence: int
    token: int
    problem: int

    def error(self, n_before: int, file: str, line: int | None, hint: str | None = None) -> DataError:
        """The error to raise; `n_before`: the sentences of the stream before this corpus. `hint`: what to do, if such
        sentences cannot be left out."""
        if hint is None:
            hint = f"correct the tree; training and evaluation leave such sentences out with {argument('skip_bad')}"
        message = f"sentence {n_before + self.sentence + 1}: {PROBLEMS[self.problem]}"
        return DataError(message, file=file, line=line, hint=hint)


def heads_of_cells(types: list[str]) -> np.ndarray:
    """The heads i32[T] of distinct cells."""
    return np.array([_head(cell) for cell in types], np.int32)


def _head(cell: str) -> int:
    if cell in ("_", ""):
        return UNKNOWN
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= _LONGEST else BROKEN


def faults(heads: np.ndarray, offset: np.ndarray, nameless: np.ndarray | None = None) -> list[Fault]:
    """The sentences that are no trees, in their order; `nameless` bool[N]: words whose relation is empty."""
    size = np.diff(offset)
    of = np.repeat(np.arange(size.size), size)  # the sentence of each token
    found: dict[int, Fault] = {}

    def note(tokens: np.ndarray, problem: int) -> None:
        for token in tokens.tolist():
            found.setdefault(int(of[token]), Fault(int(of[token]), token, problem))

    for problem, where in enumerate((heads == BROKEN, heads == UNKNOWN, heads > np.repeat(size, size))):
        note(np.flatnonzero(where), problem)
    roots = np.bincount(of[heads == 0], minlength=size.size)
    note(offset[:-1][(roots == 0) & (size > 0)], 3)
    later = np.flatnonzero(heads == 0)
    note(later[1:][of[later[1:]] == of[later[:-1]]], 4)
    whole = np.ones(size.size, bool)
    whole[list(found)] = False
    note(np.flatnonzero(_unrooted(np.where(whole[of], heads, 0), offset)), 5)
    if nameless is not None:
        note(np.flatnonzero(nameless), 6)
    return [found[s] for s in sorted(found)]


def parents(heads: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The token number i64[N+1] of each token's head; N is the head of the root, and of itself."""
    start = np.repeat(offset[:-1], np.diff(offset))
    above = np.full(heads.size + 1, heads.size, np.int64)
    above[:-1] = np.where(heads > 0, start + heads - 1, heads.size)
    return above


def _unrooted(heads: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Tokens that the root does not dominate: each step doubles how far up it looks."""
    above = parents(heads, offset)
    for _ in range(int(np.diff(offset).max(initial=1)).bit_length()):
        above = above[above]
    return above[:-1] != heads.size


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
    entities: Sequence[tuple[int, int, str]] = ()  # first word and the one after the last, from 0, and the type


def tree_of(bank: Any, s: int, tags: str = "upos") -> DrawnTree:
    """Sentence s of a Treebank or of Trees (which have only `upos`)."""
    lo, hi = int(bank.offset[s]), int(bank.offset[s + 1])
    tag_cells = bank.upos if isinstance(bank, LightTrees) else bank.column(tags)
    rows = [[column.types[k] for k in column.ids[lo:hi].tolist()] for column in (bank.forms, tag_cells, bank.relations)]
    return DrawnTree(rows[0], rows[1], bank.heads[lo:hi].tolist(), rows[2], _entities(bank, lo, hi))


def _entities(bank: Any, lo: int, hi: int) -> tuple[tuple[int, int, str], ...]:
    """The entities of the words from lo to hi, of a treebank that has any."""
    found = getattr(bank, "entities", None)
    if found is None:
        return ()
    from palmette.data.labels.schemes import spans

    labels = [found.types[k] for k in found.ids[lo:hi].tolist()]
    return tuple((span.start, span.end, span.type) for span in spans(labels))


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
