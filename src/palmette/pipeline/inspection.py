"""What a pipeline holds, as plain data and as tables."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from palmette.errors import counted
from palmette.pipeline.components import ABOUT, METRICS
from palmette.pipeline.file import TRAINED
from palmette.pipeline.pipeline import Pipeline
from palmette.reports.console import OutputConsole
from palmette.reports.tables import plain_table

NOT_MEASURED = "-"  # in place of a figure whose columns gold does not have


def pipeline_inspection(pipeline: Pipeline) -> dict[str, Any]:
    """Everything that `palmette pipeline inspect` tells, as plain JSON types. Every component is built, so that damage
    is found."""
    model = pipeline.model_
    components = {}
    for name in model.names:
        made = model.component(name)
        finds = ", ".join(made.fields).upper() if name == "tag" else ABOUT[name]
        arrays, _ = model.parts(name)
        stored = model.meta.components[name]
        dev = {metric: stored.dev.get(metric) for metric in METRICS[name]} if stored.dev else {}
        components[name] = {
            "finds": finds, "bytes": sum(array.nbytes for array in arrays.values()), "origin": stored.origin,
            "dev": dev,
        }  # fmt: skip
    return {
        "task": "pipeline",
        "components": components,
        "settings": model.meta.settings,
        "trained_on": msgspec.to_builtins(model.meta.trained_on),
    }


def print_pipeline_inspection(about: dict[str, Any], console: Console | None = None) -> None:
    """A table of components, then data and settings."""
    console = console or OutputConsole(80)
    print_components(about, console)
    trained = about["trained_on"]
    if trained["sentences"]:
        sizes = [counted(trained[f"{part}sentences"], "sentence") + ", " + counted(trained[f"{part}words"], "word")
                 for part in ("", "dev_")]  # fmt: skip
        console.print(f"trained on {sizes[0]}" + (f"; dev: {sizes[1]}" if trained["dev_sentences"] else ""))
    settings = "  ".join(f"{name} {_shown(value)}" for name, value in about["settings"].items())
    if settings:
        console.print(escape(settings))


def print_components(about: dict[str, Any], console: Console | None = None) -> None:
    """The components with their sizes and scores."""
    console = console or OutputConsole(80)
    scored = any(own["dev"] for own in about["components"].values())
    table = plain_table(["", "MB", "finds", "dev" if scored else ""], 0)
    for name, own in about["components"].items():
        dev = [f"{metric} {NOT_MEASURED if share is None else f'{share:.2f}'}" for metric, share in own["dev"].items()]
        origin = [] if own["origin"] == TRAINED else [f"from {own['origin']}"]
        table.add_row(name, f"{own['bytes'] / 1e6:.2f}", own["finds"], escape("  ".join([*dev, *origin])))
    for column in (table.columns[0], *table.columns[2:]):
        column.justify = "left"
    table.columns[-1].no_wrap = False
    console.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
