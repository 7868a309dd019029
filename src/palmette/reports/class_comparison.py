"""A comparison of classifiers as tables."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from palmette.errors import counted
from palmette.evaluation.class_comparison import ClassComparison
from palmette.reports.comparison import between, difference_table, mcnemar_table, rounds_legend
from palmette.reports.console import OutputConsole
from palmette.reports.tables import letters, percent, plain_table, titled


def print_class_comparison(found: ClassComparison, data: str, console: Console | None = None) -> None:
    """Accuracies, tests of each classifier against the first, and sentences that only one of two has right."""
    console = console or OutputConsole(100)
    short = dict(zip([system.name for system in found.systems], letters(len(found.systems)), strict=True))
    console.print(f"{data}: {counted(found.sentences, 'sentence')}", markup=False)
    table = plain_table(["", "classifier", "accuracy", "", "right"], 2)
    for system in found.systems:
        span = escape(between(system.accuracy_interval))
        table.add_row(short[system.name], escape(system.name), percent(system.accuracy), span, f"{system.right:,}")
    titled(console, f"scores, with {100 * found.level:.0f}% bootstrap intervals over sentences", table)
    titled(console, "differences", difference_table(found.pairs, short))
    console.print(rounds_legend(found.rounds, found.pairs), style="dim", markup=False)
    titled(console, "sentences that only one of the two has right, McNemar's test", mcnemar_table(found.pairs, short))
    console.print()
    console.print(
        f"sentences that are classified differently: {found.differing_sentences:,} of {found.sentences:,}",
        style="italic", markup=False,
    )  # fmt: skip
