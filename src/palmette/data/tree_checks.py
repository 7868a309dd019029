"""Checks that heads make trees, in plain NumPy: for the treebank reader and for scoring.

Heads are i32[N], counted from 1 within the sentence: 0 is the root's head, UNKNOWN an empty cell, BROKEN a cell that
is no number. If a sentence has several faults, the first in the order of PROBLEMS is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.errors import DataError
from palmette.options.spelling import argument

UNKNOWN, BROKEN = -1, -2
_LONGEST = 9  # digits of a head: more is no word of any sentence, and might not fit

PROBLEMS = (
    "the head is not a number",
    "the head is missing",
    "the head is outside the sentence",
    "no word has head 0, so the sentence has no root",
    "a second word has head 0, but a tree has one root",
    "the heads form a cycle",
    "the relation is missing",
)


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
