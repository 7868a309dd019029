"""Scores of every kind of model as tables for people, from the parts of their record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.evaluation.record import Cell, Part, Scores, Strong
from palmette.evaluation.scores import Mistake
from palmette.reports.console import OutputConsole
from palmette.reports.tables import percent, plain_table, titled


def print_scores(found: Scores, console: Console | None = None) -> None:
    """Sizes, totals, and the tables below them."""
    console = console or OutputConsole(100)
    if found.headline():
        console.print(found.headline(), markup=False)
    for part in found.parts():
        if part.title and not part.notebook:
            titled(console, part.title, part_table(part))
        elif not part.notebook:
            console.print(part_table(part))


def part_table(part: Part) -> Table:
    """One of the tables."""
    table = (
        plain_table(part.heads, part.left) if part.heads else Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    )
    for row in part.rows:
        table.add_row(*map(_shown, row))
    if part.rarer:
        table.caption = f"and {part.rarer} rarer ones"
    return table


def facts_table() -> Table:
    """Names and values in turn."""
    return Table(box=None, padding=(0, 3, 0, 0), show_header=False)


def _shown(cell: Cell) -> str:
    if isinstance(cell, Strong):
        return f"[bold]{_shown(cell.cell)}[/bold]"
    if isinstance(cell, str):
        return escape(cell)
    return f"{cell:,}" if isinstance(cell, int) else percent(cell)


def print_mistakes(
    mistakes: Sequence[Mistake], words: Sequence[str], offset: np.ndarray, console: Console | None = None
) -> None:
    """The most frequent errors of a tagger with a sentence each. `words` are those of the sentences that start at
    `offset`; none for ready-made attributes."""
    if mistakes:
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("count", justify="right", no_wrap=True)
        for head in ("gold", "guess", "word", "for example"):
            table.add_column(head, no_wrap=head != "for example")
        for m in mistakes:
            shown = (str(m.count), escape(m.gold), escape(m.guess), escape(m.word or ""), _around(words, offset, m))
            table.add_row(*shown)
        titled(console or OutputConsole(100), "most frequent errors", table)


def _around(words: Sequence[str], offset: np.ndarray, mistake: Mistake, reach: int = 4) -> str:
    """The words around an error, the word itself in bold."""
    if not words:
        return f"sentence {mistake.sentence + 1}"
    lo, hi = int(offset[mistake.sentence]), int(offset[mistake.sentence + 1])
    at = lo + mistake.token
    before = [escape(word) for word in words[max(lo, at - reach) : at]]
    after = [escape(word) for word in words[at + 1 : min(hi, at + reach + 1)]]
    return " ".join([*before, f"[bold]{escape(words[at])}[/bold]", *after])
