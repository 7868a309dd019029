"""An explanation as tables."""

from __future__ import annotations

import math

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.reports.console import OutputConsole
from palmette.structures.chain.explain import Explanation

SHOWN = 15  # contributions


def print_explanation(found: Explanation, top: int = SHOWN, console: Console | None = None) -> None:
    """Print an explanation: the two sequences side by side, then the largest contributions."""
    console = console or OutputConsole(100)
    first, second = found.first_states or found.first.output, found.second_states or found.second.output
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("", "best", "runner-up"):
        table.add_column(head, no_wrap=True)
    for word, one, two in zip(found.words, first, second, strict=True):
        same = one == two
        table.add_row(escape(word), escape(one), "[dim]=[/dim]" if same else f"[bold]{escape(two)}[/bold]")
    table.add_row("[dim]score[/dim]", _amount(found.first.score), _amount(found.second.score))
    if found.first.probability is not None and found.second.probability is not None:
        table.add_row("[dim]probability[/dim]", f"{found.first.probability:.4f}", f"{found.second.probability:.4f}")
    console.print(table)
    console.print(f"\nThe best sequence is ahead by {_amount(found.difference)}:\n")
    console.print(_weighed(found, top))


def _weighed(found: Explanation, top: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    for head in ("attribute", "at", "best", "runner-up"):
        table.add_column(head)
    shown, rest = found.contributions[:top], found.contributions[top:]
    for c in shown:
        number, word = str(c.token + 1), found.words[c.token]
        where = number if word == number else f"{number} {word}"  # ready-made attributes have no words
        table.add_row(f"{c.amount:+.4f}", escape(c.name), escape(where), escape(c.first), escape(c.second))
    if rest:
        table.add_row(f"{math.fsum(c.amount for c in rest):+.4f}", f"[dim]{len(rest)} others[/dim]")
    table.add_row(f"[bold]{found.difference:+.4f}[/bold]", "[bold]total[/bold]")
    return table


def _amount(value: float) -> str:
    return f"{value:.4f}"
