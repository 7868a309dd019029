"""The scores of a parser as tables for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.errors import counted
from palmette.evaluation.attachment import Arcs, AttachmentScores
from palmette.reports.console import OutputConsole
from palmette.reports.tables import percent, plain_table, titled

BY_RELATION = "by relation: labelled arcs, and the share of heads found (UAS)"
RELATIONS = 40  # rows of the table of relations


def print_attachment(found: AttachmentScores, console: Console | None = None) -> None:
    """Totals, then relations and lengths of arcs."""
    console = console or OutputConsole(100)
    console.print(
        f"{counted(found.words, 'word')}, {counted(found.sentences, 'sentence')}; "
        f"trees without an error: {percent(found.trees)}%"
    )
    console.print(totals_of(found))
    titled(console, BY_RELATION, arcs_table(found.by_relation, True))
    titled(console, "by length of the arc in words", arcs_table(found.by_length, False))


def totals_of(found: AttachmentScores) -> Table:
    """UAS, LAS and CLAS, with punctuation and without."""
    totals = plain_table(["", "UAS", "LAS", "CLAS", "words"])
    totals.add_row(
        "all words", *(f"[bold]{percent(f)}[/bold]" for f in (found.uas, found.las, found.clas)), f"{found.words:,}"
    )
    rest = found.no_punctuation
    totals.add_row("without punctuation", percent(rest.uas), percent(rest.las), "", f"{rest.words:,}")
    return totals


def arcs_table(rows: Mapping[str, Arcs], by_number: bool) -> Table:
    """Figures by relation, the most frequent first, or by length."""
    table = plain_table(["", "precision", "recall", "F1", "UAS", "gold", "found", "right"])
    ordered = sorted(rows.items(), key=lambda item: -item[1].labelled.gold) if by_number else list(rows.items())
    for name, arcs in ordered[:RELATIONS]:
        f = arcs.labelled
        figures = map(percent, (f.precision, f.recall, f.f1, arcs.uas))
        table.add_row(escape(name), *figures, *(f"{n:,}" for n in (f.gold, f.guessed, f.correct)))
    if len(ordered) > RELATIONS:
        table.caption = f"and {len(ordered) - RELATIONS} rarer ones"
    return table
