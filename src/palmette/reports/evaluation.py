"""The scores of a tagged corpus as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.evaluation.scores import Confusion, Mistake, Scores
from palmette.evaluation.tokens import Figures
from palmette.reports.console import OutputConsole

CONFUSIONS = 12


def print_scores(
    found: Scores,
    mistakes: Sequence[Mistake],
    words: Sequence[str],
    offset: np.ndarray,
    console: Console | None = None,
) -> None:
    """Totals, figures by type (or by label), the most frequent errors with a sentence each.

    `words` are those of the sentences that start at `offset`; none for ready-made attributes."""
    console = console or OutputConsole(100)
    console.print(totals_table(found))
    if found.by_type:
        _print(console, f"spans by type ({rules_said(found.chunk_rules)})", figures_table(found.by_type, 30))
    else:
        _print(console, "labels", figures_table(found.by_label, 30))
    if found.confusions:
        _print(console, "confusions (gold in rows, guess in columns)", confusion_table(found.confusions[:CONFUSIONS]))
    if mistakes:
        _print(console, "most frequent errors", _mistakes(mistakes, words, offset))


def rules_said(rules: str | None) -> str:
    """Whose rules spans are counted by, or which these are."""
    return f"{rules}" if rules is None or " of " in rules else f"{rules}'s rules"


def _print(console: Console, title: str, table: Table) -> None:
    """A table under its title, which rich itself would break at the width of the table."""
    console.print(title, style="italic", markup=False)
    console.print(table)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def totals_table(found: Scores) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    table.add_row("tokens", f"{found.tokens:,}", "accuracy", _percent(found.accuracy))
    if found.left_out:
        table.add_row("left out", f"{found.left_out:,}", "their gold label is not fully known", "")
    table.add_row("sentences", f"{found.sentences:,}", "all right", _percent(found.sentence_accuracy))
    if found.unseen_tokens is not None:
        table.add_row("unseen words", f"{found.unseen_tokens:,}", "accuracy on them", _percent(found.unseen_accuracy))
    if found.f1 is not None:
        table.add_row("precision", _percent(found.precision), "recall", _percent(found.recall))
        table.add_row("macro F1", _percent(found.macro_f1), "[bold]F1[/bold]", f"[bold]{_percent(found.f1)}[/bold]")
    return table


def figures_table(rows: dict[str, Figures], most: int) -> Table:
    """Precision, recall and F of the most frequent types or labels."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for head in ("precision", "recall", "F1", "gold", "found", "right"):
        table.add_column(head, justify="right")
    ordered = sorted(rows.items(), key=lambda item: -item[1].gold)
    for name, f in ordered[:most]:
        cells = (
            _percent(f.precision),
            _percent(f.recall),
            _percent(f.f1),
            f"{f.gold:,}",
            f"{f.guessed:,}",
            f"{f.correct:,}",
        )
        table.add_row(escape(name) or "(no type)", *cells)
    if len(ordered) > most:
        table.caption = f"and {len(ordered) - most} rarer ones"
    return table


def confusion_table(pairs: Sequence[Confusion]) -> Table:
    """The labels of the most frequent confusions as a matrix: gold in rows, guess in columns."""
    count = {(c.gold, c.guess): c.count for c in pairs}
    rows = list(dict.fromkeys(c.gold for c in pairs))
    columns = list(dict.fromkeys(c.guess for c in pairs))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for name in columns:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(escape(row), *(str(count.get((row, column), "")) for column in columns))
    return table


def _mistakes(mistakes: Sequence[Mistake], words: Sequence[str], offset: np.ndarray) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head, justify in (
        ("count", "right"),
        ("gold", "left"),
        ("guess", "left"),
        ("word", "left"),
        ("for example", "left"),
    ):
        table.add_column(head, justify=justify, no_wrap=head != "for example")  # type: ignore[arg-type]
    for m in mistakes:
        table.add_row(str(m.count), escape(m.gold), escape(m.guess), escape(m.word or ""), _around(words, offset, m))
    return table


def _around(words: Sequence[str], offset: np.ndarray, mistake: Mistake, reach: int = 4) -> str:
    """The words around an error, the word itself in bold."""
    if not words:
        return f"sentence {mistake.sentence + 1}"
    lo, hi = int(offset[mistake.sentence]), int(offset[mistake.sentence + 1])
    at = lo + mistake.token
    before = [escape(word) for word in words[max(lo, at - reach) : at]]
    after = [escape(word) for word in words[at + 1 : min(hi, at + reach + 1)]]
    return " ".join([*before, f"[bold]{escape(words[at])}[/bold]", *after])
