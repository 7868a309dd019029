"""Attributes in words: `U12:PRP` of a template `U12:%x[0,1]` is shown as `tag[0]=PRP`.

A cell is shown as what it is, where it is, and its value: `word[-1]=the`, `suffix3[0]=ing`; an attribute of several
cells has several of these, separated by commas. Clusters have examples: `cluster:raw[0]=0110 (as Monday Friday)`.
Templates of a file also keep their name: `tag[0]=PRP (U12)`.
What no template explains, such as a ready-made attribute, is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from palmette.features.resources import Clusters
from palmette.features.templates import Macro, Template, TemplateSet

WORD, TAG, CHARACTER = "word", "tag", "char"
OBSERVED = "observed:"
FEW = 3  # words of a cluster
NO_CELL = "bias"  # a template that holds everywhere


class AttributeWords:
    """The attributes of a template set in words. `columns`: what the columns are called; `own_names`: show the names
    that the templates of a file have; `clusters`: by name, for examples of their words."""

    def __init__(
        self, templates: TemplateSet, columns: Sequence[str] = (), *, own_names: bool = True,
        clusters: Mapping[str, Clusters] | None = None,
    ) -> None:  # fmt: skip
        self.clusters = dict(clusters or {})
        self._examples: dict[tuple[str, str], str] = {}
        first = CHARACTER if templates.name == "char" else WORD
        self.columns = tuple(columns) or (first, TAG)
        self.own_names = own_names
        self._forms: dict[str, list[tuple[Template, re.Pattern[str]]]] = {}
        for template in templates.templates:
            if not template.earlier_labels:
                self._forms.setdefault(template.literals[0], []).append((template, _pattern(template)))
        self._longest = max(map(len, self._forms), default=0)

    def __call__(self, attribute: str) -> str:
        """An attribute's string in words."""
        found = [
            (template, match.groups())
            for end in range(min(len(attribute), self._longest) + 1)
            for template, pattern in self._forms.get(attribute[:end], ())
            if (match := pattern.fullmatch(attribute))
        ]
        if len(found) != 1:  # a ready-made attribute, or one that several templates could have made
            return attribute
        template, cells = found[0]
        return self._shown(template, cells) + (f" ({_own_name(template)})" if self.own_names else "")

    def _shown(self, template: Template, cells: Sequence[str]) -> str:
        if not template.macros:
            return NO_CELL
        places = [self._place(macro) for macro in template.macros]
        between = template.literals[1:-1]
        if any(text == "" or any(text in cell for cell in cells) for text in between):
            return "/".join(places) + "=" + "".join(_joined(cells, between))  # where a cell ends is not known
        rows = zip(places, template.macros, cells, strict=True)
        return ", ".join(f"{place}={cell}{self._as(macro, cell)}" for place, macro, cell in rows)

    def _as(self, macro: Macro, cell: str) -> str:
        """Some words of a cluster; nothing for other cells."""
        family, _, argument = macro.atom.rpartition(".")[2].partition(":")
        name = argument.partition(":")[0]
        if family != "cluster" or name not in self.clusters:
            return ""
        if (name, cell) not in self._examples:
            self._examples[name, cell] = " ".join(self.clusters[name].examples(cell, FEW))
        words = self._examples[name, cell]
        return f" (as {words})" if words else ""

    def _place(self, macro: Macro) -> str:
        column = self.columns[macro.column] if macro.column < len(self.columns) else f"column{macro.column}"
        row = {"here": str(macro.row), "first": f"first{macro.row:+d}", "last": f"last{macro.row:+d}"}[macro.anchor]
        return f"{_seen(column, macro.atom)}[{row}]"


def _pattern(template: Template) -> re.Pattern[str]:
    first, *others = map(re.escape, template.literals)
    return re.compile(first + "".join(f"(.*?){literal}" for literal in others), re.DOTALL)


def _own_name(template: Template) -> str:
    """`U12` of `U12:%x[0,1]`."""
    return template.literals[0].rstrip(":=") or template.text[:1]


def _joined(cells: Sequence[str], between: Sequence[str]) -> list[str]:
    return [cells[0], *(part for text, cell in zip(between, cells[1:], strict=True) for part in (text, cell))]


def _seen(column: str, atom: str) -> str:
    """A column through an atom. Of a word the last function is the name: `lower.suffix3` is a `suffix3`."""
    if not atom or atom.startswith(OBSERVED):  # what a hidden Markov model observes is the word, or its class
        return column
    return atom.removeprefix("lower.") if column in (WORD, CHARACTER) else f"{column}.{atom}"
