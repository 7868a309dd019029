"""What a parser holds, as plain data and as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from palmette.errors import counted
from palmette.evaluation.record import Inspection
from palmette.parsing.kernels.forms import LEFT, RIGHT
from palmette.parsing.parser import Parser
from palmette.parsing.projective import LIFTED
from palmette.reports.tables import (
    OutputConsole,
    cluster_examples,
    cluster_fact,
    described,
    not_zero,
    print_facts,
    training_fact,
)


def inspect_parser(parser: Parser, top: int = 0, labels: int | None = None) -> Inspection:
    """What `palmette inspect` tells of a parser."""
    model = parser.model_
    features, weights = model.counts()
    clusters = model.templates.clusters
    about = {
        "task": "parse",
        "templates": {"name": model.templates.name, "number": len(model.templates.lists)},
        "template_lines": [line for line in model.templates.text.splitlines() if line.strip()],
        "reads": list(model.templates.columns),
        "clusters": {} if clusters is None else cluster_examples({clusters.name: clusters}),
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
    return Inspection(_facts(about), about, texts={"templates": "\n".join(about["template_lines"])})


def _facts(about: dict[str, Any]) -> dict[str, str]:
    settings, named, names = about["settings"], about["templates"], about["relations"]
    lifted = f", {about['lifted_relations']} of them of lifted arcs" if about["lifted_relations"] else ""
    hidden = f", each arc with {settings['variants']} hidden variants" if settings["variants"] > 1 else ""
    return {
        "task": "dependency parsing, arc-standard",
        "search": described(settings["search"]) + (", merging" if settings["merge"] else ""),
        "learner": f"{described(settings['learner'])}, estimator {settings['estimator']}",
        "templates": f"{named['number']} ({named['name']}), which read {' '.join(about['reads'])}",
        "clusters": cluster_fact(about["clusters"]),
        "tags": ", ".join(f"{field}: {how}" for field, how in about["tags"].items()) or "those of the file",
        "ignored": ", ".join(about["ignored"]) or "nothing",
        "relations": f"{len(names)}: {', '.join(names)}{lifted}; {counted(about['actions'], 'action')}{hidden}",
        **({"roots": ", ".join(about["roots"])} if len(about["roots"]) > 1 else {}),
        "features": f"{about['features']:,}, with {not_zero(about['nonzero_weights'])}",
        "trees that cross": {"pseudo": "arcs lifted, and put back", "skip": "left out"}.get(
            settings["non_projective"], ""
        ),
        "unicode": settings["unicode"],
        "seed": str(settings["seed"]),
        "training": training_fact(about, "LAS"),
    }


def print_parser_inspection(found: Inspection, templates: bool, console: Console | None = None) -> None:
    """Settings and sizes, the history, and on demand the templates."""
    console = console or OutputConsole(100)
    print_facts(found, console)
    if templates:
        console.print()
        console.print(found.texts["templates"], markup=False)
