"""Pseudo-projective trees: crossing arcs are lifted for a parser that cannot cross arcs, and put back afterwards.

Pseudo-projective parsing (Nivre & Nilsson 2005) with the encoding "head": an arc that crosses others is lifted to the
head of its head until it does not, and its relation records the relation of the head it came from: `obj` below an
`xcomp` becomes `obj↑xcomp`. A parser learns such relations as any others. The inverse looks for an `xcomp` below the
head, level by level from left to right, and attaches the word there as `obj`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import column_of_names, column_of_types
from palmette.data.treebank import Treebank
from palmette.errors import DataError
from palmette.evaluation.tokens import sentence_sums
from palmette.options.spelling import spelt
from palmette.parsing.kernels.projective import crossing_arcs, lift_arcs, lower_arcs
from palmette.parsing.options import TreeOptions

LIFTED = "↑"


class Lifted(NamedTuple):
    """How much of a treebank is not projective, and how many arcs were lifted."""

    sentences: int
    words: int
    crossing_sentences: int  # trees that are not projective
    crossing_arcs: int
    lifted_arcs: int  # one lift may free others, or cross what it did not before

    def __str__(self) -> str:
        are = "is" if self.crossing_sentences == 1 else "are"
        return (
            f"{self.crossing_sentences:,} of {self.sentences:,} trees {are} not projective "
            f"({100 * self.crossing_sentences / max(1, self.sentences):.1f}%); "
            f"{self.lifted_arcs:,} of {self.words:,} arcs were lifted"
        )


def projective_sentences(treebank: Treebank) -> np.ndarray:
    """bool[S]: sentences whose tree has no crossing arc. Every sentence needs a tree."""
    return sentence_sums(crossing_arcs(treebank.heads, treebank.offset), treebank.offset) == 0


def projectivised(treebank: Treebank, least: int = 1) -> tuple[Treebank, Lifted]:
    """The treebank with projective trees, and what was lifted. Every sentence needs a tree.

    A marked relation that occurs fewer than `least` times is left unmarked: every relation is one more choice for the
    parser at each step, and what was seen once or twice is hardly learnt."""
    check_relations(treebank.relations.types, treebank.corpus.source)
    heads, offset, relations = treebank.heads, treebank.offset, treebank.relations
    made = lift_arcs(heads, offset)
    moved = np.flatnonzero(made != heads)
    crossing = crossing_arcs(heads, offset)
    lifted = Lifted(
        treebank.n_sentences, treebank.n_tokens, int((sentence_sums(crossing, offset) > 0).sum()),
        int(crossing.sum()), moved.size,
    )  # fmt: skip
    if not moved.size:
        return treebank, lifted
    start = np.repeat(offset[:-1], np.diff(offset))
    own, above = relations.ids[moved].astype(np.int64), relations.ids[start[moved] + heads[moved] - 1]
    T = len(relations.types)
    pairs, which, times = np.unique(own * T + above, return_inverse=True, return_counts=True)
    frequent = times >= least
    number = np.where(frequent, T + np.cumsum(frequent) - 1, pairs // T)  # of each pair among all relations
    names = [f"{relations.types[pair // T]}{LIFTED}{relations.types[pair % T]}" for pair in pairs[frequent].tolist()]
    ids = relations.ids.copy()
    ids[moved] = number[which]
    return treebank.with_trees(made, column_of_types(ids, [*relations.types, *names])), lifted


def deprojectivised(treebank: Treebank) -> Treebank:
    """The treebank with lifted words attached where their relations point to, and without the marks."""
    ids, types = treebank.relations.ids, treebank.relations.types
    base, wanted, names = unmarked(tuple(types))
    if (wanted < 0).all():
        return treebank
    lifted = (wanted[ids] >= 0).any()
    heads = lower_arcs(treebank.heads, ids, treebank.offset, base, wanted) if lifted else treebank.heads
    return treebank.with_trees(heads, column_of_names(names).with_ids(base[ids]))


@lru_cache(16)
def unmarked(types: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """For relations with and without marks: the relation itself i32[T] and the one of the head to look for i32[T] (-1:
    none), as numbers of the plain relations; and the plain relations."""
    names: dict[str, int] = {}
    parts = [name.partition(LIFTED) for name in types]
    base = np.array([names.setdefault(own, len(names)) for own, _, _ in parts], np.int32)
    wanted = np.array([names.setdefault(above, len(names)) if mark else -1 for _, mark, above in parts], np.int32)
    return base, wanted, tuple(names)


def check_relations(types: Sequence[str], source: str) -> None:
    """Raise DataError if a relation of the data contains the mark."""
    if taken := next((name for name in types if LIFTED in name), None):
        raise DataError(
            f"the relation {taken!r} holds {LIFTED}, which marks the relations of lifted arcs", file=source,
            hint="rename it, or leave trees that are not projective out: "
            + spelt(TreeOptions, "non_projective", "skip"),
        )  # fmt: skip
