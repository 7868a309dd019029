"""What every inspection of a model shows in the same way: its facts, its tables and its training log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from palmette.evaluation.record import Inspection, Part
from palmette.reports.scores import facts_table, part_table
from palmette.reports.tables import percent, titled
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
