"""The scores of the CoNLL 2018 shared task as a table."""

from __future__ import annotations

from rich.console import Console

from palmette.errors import counted
from palmette.evaluation.conll18 import Scores
from palmette.reports.console import OutputConsole
from palmette.reports.tables import percent, plain_table


def print_conll18(scores: Scores, console: Console | None = None) -> None:
    """A row for each metric; `aligned` is the share of aligned words that are right."""
    console = console or OutputConsole(80)
    sizes = counted(scores["Words"].gold_total, "word"), counted(scores["Sentences"].gold_total, "sentence")
    console.print(f"{', '.join(sizes)} in gold")
    table = plain_table(["", "precision", "recall", "F1", "aligned", "gold", "system", "right"])
    for name in scores:
        score = scores[name]
        shares = percent(score.precision), percent(score.recall), f"[bold]{percent(score.f1)}[/bold]"
        aligned = "" if score.aligned_accuracy is None else percent(score.aligned_accuracy)
        counts = (score.gold_total, score.system_total, score.correct)
        table.add_row(name, *shares, aligned, *(f"{n:,}" for n in counts))
    console.print(table)
