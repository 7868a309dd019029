"""Scores and comparisons in notebooks: the tables that the command line prints, as HTML."""

from __future__ import annotations

from palmette.evaluation.comparison import Comparison
from palmette.evaluation.findings import CheckResult
from palmette.evaluation.record import Scores
from palmette.reports.checking import print_check
from palmette.reports.comparison import print_comparison
from palmette.reports.html import element, folded, page, printed, rich_table
from palmette.reports.scores import part_table

TITLE = "font-style:italic;margin-top:0.4em"
GOLD = "gold"  # how comparisons call the data that they are on


def scores(found: Scores) -> str:
    """Totals and tables of the scores of any model; details are folded."""
    parts = [element("div", found.headline())] if found.headline() else []
    for part in found.parts():
        table = rich_table(part_table(part))
        if part.folded:
            parts.append(folded(part.title, table))
        else:
            parts += [element("div", part.title, style=TITLE), table] if part.title else [table]
    return page(*parts)


def comparison(found: Comparison) -> str:
    return printed(lambda console: print_comparison(found, GOLD, console))


def check(found: CheckResult) -> str:
    return printed(lambda console: print_check(found, console))
