"""What a parser holds, as plain data and as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from palmette.errors import counted
from palmette.estimators.parser import Parser
from palmette.kernels.tree.forms import LEFT, RIGHT
from palmette.reports.console import OutputConsole
from palmette.reports.tables import described, not_zero, plain_table, titled
from palmette.structures.tree.projective import LIFTED

FIGURES = {
    "error": "error %",
    "bad": "bad updates %",
    "cut": "cut at %",
    "merges": "merges",
}  # of a pass, and how they are shown
_SHARES = ("error", "bad", "cut")


def parser_inspection(parser: Parser) -> dict[str, Any]:
    """Everything that `palmette inspect` tells of a parser, as plain JSON types."""
    model = parser.model_
    features, weights = model.counts()
    return {
        "task": "parse",
        "templates": {"name": model.templates.name, "number": len(model.templates.lists)},
        "template_lines": [line for line in model.templates.text.splitlines() if line.strip()],
        "reads": list(model.templates.columns),
        "relations": parser.relations_,
        "root": model.root,
        "roots": model.roots,
        "actions": len(model.actions),
        "left_arcs": [name for move, name in model.actions if move == LEFT],
        "right_arcs": [name for move, name in model.actions if move == RIGHT],
        "lifted_relations": sum(LIFTED in name for name in parser.relations_),
        "features": features,
        "nonzero_weights": weights,
        "compact": model.is_compact,
        "checkpoint": bool(model.checkpoint),
        "settings": model.settings.to_dict(),
        "tags": model.meta.get("tags", {}),
        "ignored": model.meta.get("ignored", []),
        "history": [{k: v for k, v in row.items() if k != "seconds"} for row in parser.training_log_],
        "best_pass": model.meta.get("best_pass"),
    }


def print_parser_inspection(about: dict[str, Any], templates: bool, console: Console | None = None) -> None:
    """Settings and sizes, the history, and on demand the templates."""
    console = console or OutputConsole(100)
    table = plain_table(["", ""], 2)
    table.show_header = False
    settings = about["settings"]
    named = about["templates"]
    lifted = f", {about['lifted_relations']} of them of lifted arcs" if about["lifted_relations"] else ""
    plain = len(about["relations"])
    hidden = f", each arc with {settings['variants']} hidden variants" if settings["variants"] > 1 else ""
    rows = {
        "task": "dependency parsing, arc-standard",
        "search": described(settings["search"]) + (", merging" if settings["merge"] else ""),
        "learner": f"{described(settings['learner'])}, estimator {settings['estimator']}",
        "templates": f"{named['number']} ({named['name']}), which read {' '.join(about['reads'])}",
        "tags": ", ".join(f"{field}: {how}" for field, how in about["tags"].items()) or "those of the file",
        "ignored": ", ".join(about["ignored"]) or "nothing",
        "relations": f"{plain}{lifted}; {counted(about['actions'], 'action')}{hidden}",
        **({"roots": ", ".join(about["roots"])} if len(about["roots"]) > 1 else {}),
        "features": f"{about['features']:,}, with {not_zero(about['nonzero_weights'])}",
        "trees that cross": {"pseudo": "arcs lifted, and put back", "skip": "left out"}.get(
            settings["non_projective"], ""
        ),
        "unicode": settings["unicode"],
        "seed": str(settings["seed"]),
    }
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/bold]", escape(value))
    console.print(table)
    _print_history(console, about)
    if templates:
        console.print()
        for line in about["template_lines"]:
            console.print(line, markup=False)


def _print_history(console: Console, about: dict[str, Any]) -> None:
    history = about["history"]
    if not history:
        return
    shown = [name for name in FIGURES if any(name in row.get("figures", {}) for row in history)]
    dev = any(row.get("dev") is not None for row in history)
    heads = ["pass", "updates", "train acc. %", *(["dev LAS"] if dev else []), *(FIGURES[name] for name in shown), ""]
    table = plain_table(heads, 0)
    for row in history:
        figures = row.get("figures", {})
        cells = [f"{figures.get(n, 0.0) * (100 if n in _SHARES else 1):.2f}" for n in shown]
        score = [f"{100 * row['dev']:.2f}" if row.get("dev") is not None else ""] if dev else []
        kept = "kept" if row["number"] == about["best_pass"] else ""
        accuracy = f"{100 * row['train_accuracy']:.2f}"
        table.add_row(str(row["number"]), f"{row['updates']:,}", accuracy, *score, *cells, kept)
    titled(console, "training", table)
