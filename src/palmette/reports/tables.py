"""Where and how tables are printed: a console, and what the tables of scores and inspections share."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from rich.console import Console, OverflowMethod
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from palmette.errors import counted, visible
from palmette.evaluation.record import Cell, Inspection, Part, Scores, Strong
from palmette.evaluation.scores import Mistake
from palmette.features.resources import Clusters
from palmette.structures.training_log import unit_of

History = Sequence[Mapping[str, Any]]
# What a pass tells of its weights: heading, factor, form
FIGURES = {
    "error": ("error, %", 100, ".2f"),
    "norm": ("norm", 1, ".1f"),
    "objective": ("objective", 1, ".2f"),
    "gradient": ("gradient", 1, ".3g"),
    "bad": ("bad updates, %", 100, ".1f"),
    "cut": ("cut at, %", 100, ".1f"),
    "merges": ("merges", 1, ".2f"),
    "moved": ("states moved, %", 100, ".1f"),
    "swapped": ("of it swapped roles", 100, ".1f"),
}
# What passes of classifiers have besides: heading, form
MORE = {
    "decoded": ("decoded", ",d"),
    "squared_loss": ("squared loss", ",.1f"),
    "bound": ("bound", ",.1f"),
    "new_structures": ("new structures by round", ""),
    "again": ("again 0, 1, 2, ... times", ""),
}


UNWRAPPED = 100_000
_ENDS = re.compile(r" +$", re.MULTILINE)


class OutputConsole(Console):
    """Standard output, as wide as the terminal; unwrapped elsewhere; `width`: of a text that `file` collects."""

    def __init__(self, width: int, **options: Any) -> None:
        # A label between colons is no emoji.
        super().__init__(highlight=False, emoji=False, **options)
        if not self.is_terminal:  # what a pipe or a file gets is not wrapped: programs read it by lines
            self.width = width if "file" in options else UNWRAPPED

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """Escape control characters of labels, attributes and words, once all columns have their width."""
        shown = (one if one.control else Segment(visible(one.text), one.style) for one in buffer)
        text = super()._render_buffer(shown)
        return text if self.is_terminal else _ENDS.sub("", text)

    def on_broken_pipe(self) -> None:
        """Rich would end the program with exit code 1; to have read enough is no error."""
        raise BrokenPipeError


def printed_text(report: Callable[[Console], None]) -> str:
    """What a report prints, as plain text for `print`: as wide as the terminal, or 100 columns."""
    text = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else 100
    report(OutputConsole(width, file=text))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


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


def print_facts(found: Inspection, console: Console) -> None:
    """Facts, tables, and a line of the training log for each pass."""
    table = facts_table()
    table.add_column(no_wrap=True)
    for name, value in found.facts.items():
        if value:
            table.add_row(name, escape(value))
    if table.row_count:
        console.print(table)
    for part in found.tables:
        console.print(part_table(part))
    log = training_log(found.about.get("history") or (), found.about.get("best_pass"))
    if log is not None:
        titled(console, log.title, part_table(log))


def training_log(history: History, best: int | None) -> Part | None:
    """Updates, accuracies and figures of each pass; None: there is none."""
    if not history:
        return None
    figures = list(dict.fromkeys(name for row in history for name in row["figures"]))
    more = [name for name in MORE if any(row.get(name) not in (None, []) for row in history)]
    dev = any(row["dev"] is not None for row in history)
    work = "evaluations" if "gradient" in figures else "updates"  # of the objective, by lbfgs
    heads = [unit_of(history[-1]["figures"]), work, "train acc.", *(["dev"] if dev else [])]
    heads += [*(FIGURES.get(name, (name, 1, ""))[0] for name in figures), *(MORE[name][0] for name in more), ""]
    rows = []
    for row in history:
        cells = [str(row["number"]), row["updates"], row["train_accuracy"], *([row["dev"]] if dev else [])]
        cells += [figure(name, row["figures"].get(name)) for name in figures]
        cells += [_further(name, row.get(name)) for name in more]
        rows.append([*cells, "kept" if row["number"] == best else ""])
    return Part("training", heads, rows)


def figure(name: str, value: float | None) -> str:
    _, factor, form = FIGURES.get(name, (name, 1, ".4g"))
    return "-" if value is None else format(factor * value, form)


def _further(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "-" if value is None else format(value, MORE[name][1])


def training_fact(about: Mapping[str, Any], metric: str = "score") -> str:
    """How training ended, the pass that was kept, and its scores."""
    history, best = about["history"], about["best_pass"]
    kept = next((row for row in history if row["number"] == best), None)
    ended = about.get("ended") or ""
    if kept is None:
        return ended
    dev = "" if kept["dev"] is None else f"; development {metric} {percent(kept['dev'])}"
    told = f"{unit_of(kept['figures'])} {best} of {len(history)} kept"
    return "; ".join([*([ended] if ended else []), told, f"training accuracy {percent(kept['train_accuracy'])}{dev}"])


SHOWN = 5  # classes, and words of each


def cluster_examples(clusters: Mapping[str, Clusters]) -> dict[str, dict[str, Any]]:
    """The sizes of clusters by name, and the first words of some of their largest classes."""
    found = {}
    for name, own in sorted(clusters.items()):
        members = own.members()
        largest = sorted(members, key=lambda label: -len(members[label]))[:SHOWN]
        shown = {label: members[label][:SHOWN] for label in sorted(largest)}
        found[name] = {"words": len(own.classes), "classes": len(members), "examples": shown}
    return found


def cluster_fact(about: Mapping[str, dict[str, Any]]) -> str:
    """Clusters in a line."""
    return ". ".join(
        f"{name}: {own['words']:,} words in {own['classes']:,} classes, such as "
        + "; ".join(f"{label} {' '.join(words)}" for label, words in own["examples"].items())
        for name, own in about.items()
    )
