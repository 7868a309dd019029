"""Small parts of tables that several reports share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from rich.console import Console, OverflowMethod
from rich.markup import escape
from rich.table import Table

from palmette.errors import counted


def letters(n: int) -> list[str]:
    """Short names of n systems: A, B, ..., Z, A2, B2, ..."""
    return [f"{ascii_uppercase[k % 26]}{k // 26 + 1 if k >= 26 else ''}" for k in range(n)]


def titled(console: Console, title: str, table: Table) -> None:
    """A table under its title, which rich itself would break at the width of the table."""
    console.print()
    console.print(title, style="italic", markup=False)
    console.print(table)


def plain_table(heads: Sequence[str], left: int = 1) -> Table:
    """Without lines; the first `left` columns are text, the others figures."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for k, head in enumerate(heads):
        # A name too long for its place goes on in the next line; it is never cut.
        overflow: OverflowMethod = "fold" if k < left else "ellipsis"
        table.add_column(escape(head), justify="left" if k < left else "right", no_wrap=k >= left, overflow=overflow)
    return table


def percent(value: float | None) -> str:
    """A fraction of 1 as a percentage."""
    return "-" if value is None else f"{100 * value:.2f}"


def p_text(p: float) -> str:
    """A p-value with two or three digits that count."""
    return "<0.0001" if p < 0.00005 else f"{p:.4f}"


def described(value: Mapping[str, Any]) -> str:
    """A learner, search or state space as stored in a model: its kind and its options."""
    options = [
        f"{name.replace('_', ' ')} {shown}" for name, shown in value.items() if name != "kind" and shown is not None
    ]
    return str(value["kind"]) + (f" ({', '.join(options)})" if options else "")


def not_zero(weights: int) -> str:
    """How many weights matter."""
    return counted(weights, "weight that is not zero", "weights that are not zero")
