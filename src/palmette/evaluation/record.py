"""The records of two verbs for every kind of model: scores on labelled data, and what an inspection finds in a model.

    found = tagger.evaluate(X, y)                # LabelScores; a parser gives AttachmentScores, and so on
    found.main(), found.to_dict(), found.parts()

Reports and notebooks draw the parts (`reports/tables.py`), whatever the kind of model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from palmette.display import drawn_by, printed_by
from palmette.evaluation.tokens import Figures


class Main(NamedTuple):
    """The figure that a model is judged by."""

    name: str
    value: float


class Strong(NamedTuple):
    """A cell that stands out."""

    cell: Cell


Cell = str | int | float | Strong | None  # a float is a fraction, shown as a percentage; None: not available


class Part(NamedTuple):
    """A table of scores, as data."""

    title: str
    heads: Sequence[str]  # none: names and values in turn
    rows: Sequence[Sequence[Cell]]
    rarer: int = 0  # rows that are left out
    folded: bool = False  # behind its title in a notebook
    notebook: bool = False  # shown in notebooks only
    left: int = 1  # columns of text, before those of figures


class Scores(msgspec.Struct, frozen=True):
    """Base of the scores of all kinds of models. Figures are fractions of 1."""

    told: ClassVar[tuple[str, ...]] = ()  # fields of the repr

    def main(self) -> Main:
        raise NotImplementedError

    def headline(self) -> str:
        """Sizes in a line above the tables."""
        return ""

    def parts(self) -> Iterator[Part]:
        """The tables, the totals first."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def __repr__(self) -> str:
        values = [(name, getattr(self, name)) for name in self.told]
        told = [f"{k}={v:.4f}" if isinstance(v, float) else f"{k}={v}" for k, v in values if v is not None]
        return f"{type(self).__name__}({', '.join(told)})"

    __str__ = printed_by("reports.tables:print_scores")
    _repr_html_ = drawn_by("reports.notebook:scores")


FIGURES = ("precision", "recall", "F1", "gold", "found", "right")


def figure_cells(found: Figures) -> tuple[Cell, ...]:
    """The cells below FIGURES."""
    return found.precision, found.recall, found.f1, found.gold, found.guessed, found.correct


class Inspection(NamedTuple):
    """What a model holds, for people and as data."""

    facts: Mapping[str, str]  # names and values; empty ones are left out
    about: Mapping[str, Any]  # everything, as JSON; `history` and `best_pass` are the training log
    weights: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]] = {}  # title: label: its strongest weights
    tables: Sequence[Part] = ()
    texts: Mapping[str, str] = {}  # title: further text, such as templates

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        return dict(self.about)
