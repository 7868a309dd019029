"""What a parser keeps between calls, so that a short text does not pay for it again: the grammar, the relations, and a
workspace per thread. What a workspace held before never matters for a tree."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import column_of_types
from palmette.kernels.tree.forms import Grammar, SearchOptions, Workspace, make_workspace

SHORT = 64  # words of a text whose workspace is kept
WIDEST = 64  # beam of such a workspace


class Kept:
    """What follows from some parts of a parser, as long as it has them. relations: their names, `root` is one."""

    def __init__(self, parts: Sequence[Any], grammar: Grammar, relations: Sequence[str], root: str) -> None:
        self.parts, self.grammar = parts, grammar
        self.relations = column_of_types(np.zeros(0, np.int32), relations)
        self.root = np.int32(relations.index(root))
        self._local = threading.local()

    def fits(self, parts: Sequence[Any]) -> bool:
        """Whether the parser still has the same parts."""
        return all(own is other for own, other in zip(self.parts, parts, strict=True))

    def workspace(self, how: SearchOptions, longest: int, words: int) -> Workspace:
        """A workspace for so many words in sentences of at most `longest`: this thread's own if they are few."""
        if words > SHORT or how.width > WIDEST:
            return make_workspace(self.grammar, longest, how, words=words)
        kept: tuple[SearchOptions, Workspace] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0] != how:
            kept = self._local.kept = how, make_workspace(self.grammar, SHORT, how, words=SHORT)
        return kept[1]
