"""The scores of the CoNLL 2018 shared task as a table."""

from __future__ import annotations

from rich.console import Console

from palmette.errors import counted
from palmette.pipeline.conll18 import Scores
from palmette.reports.console import OutputConsole
from palmette.reports.tables import percent, plain_table

NOT_MEASURED = "-"  # in place of a figure whose columns gold does not have


def print_conll18(scores: Scores, console: Console | None = None) -> None:
    """A row for each metric; `aligned` is the share of aligned words that are right."""
    console = console or OutputConsole(80)
    sizes = counted(scores["Words"].gold_total, "word"), counted(scores["Sentences"].gold_total, "sentence")
    console.print(f"{', '.join(sizes)} in gold")
    table = plain_table(["", "precision", "recall", "F1", "aligned", "gold", "system", "right"])
    for name in scores:
        score = scores[name]
        shares = _shown(score.precision), _shown(score.recall), f"[bold]{_shown(score.f1)}[/bold]"
        aligned = "" if score.aligned_total is None else _shown(score.aligned_accuracy)
        right = f"{score.correct:,}" if score.measured else NOT_MEASURED
        table.add_row(name, *shares, aligned, f"{score.gold_total:,}", f"{score.system_total:,}", right)
    console.print(table)


def _shown(share: float | None) -> str:
    return NOT_MEASURED if share is None else percent(share)
