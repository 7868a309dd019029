"""What a parser keeps between calls, so that a short text does not pay for it again: the grammar, the relations, and a
workspace per thread. What a workspace held before never matters for a tree."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from palmette.data.corpus import column_of_types
from palmette.kernels.tree.forms import SearchOptions, Workspace, make_workspace

if TYPE_CHECKING:
    from palmette.structures.tree.model import ParserModel

SHORT = 64  # words of a text whose workspace is kept
WIDEST = 64  # beam of such a workspace


class Kept:
    """What follows from the templates and actions of a parser as it is now."""

    def __init__(self, model: ParserModel) -> None:
        from palmette.structures.tree.model import make_grammar

        self._of = model.templates, model.actions, model.root, model.settings
        names = model.relations
        self.relations = column_of_types(np.zeros(0, np.int32), names)
        self.root = np.int32(names.index(model.root))
        self.grammar = make_grammar(model.templates, model.actions, names, model.settings)
        self._local = threading.local()

    def fits(self, model: ParserModel) -> bool:
        """Whether the parser is still as it was."""
        now = model.templates, model.actions, model.root, model.settings
        return all(own is other for own, other in zip(self._of, now, strict=True))

    def workspace(self, how: SearchOptions, longest: int, words: int) -> Workspace:
        """A workspace for so many words in sentences of at most `longest`: this thread's own if they are few."""
        if words > SHORT or how.width > WIDEST:
            return make_workspace(self.grammar, longest, how, words=words)
        kept: tuple[SearchOptions, Workspace] | None = getattr(self._local, "kept", None)
        if kept is None or kept[0] != how:
            kept = self._local.kept = how, make_workspace(self.grammar, SHORT, how, words=SHORT)
        return kept[1]
