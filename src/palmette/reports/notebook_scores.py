"""Scores in notebooks: the tables that the command line prints, as HTML, with details folded."""

from __future__ import annotations

from palmette.evaluation.record import Scores
from palmette.reports.html import element, folded, page, rich_table
from palmette.reports.scores import part_table

TITLE = "font-style:italic;margin-top:0.4em"


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
