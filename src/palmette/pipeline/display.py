"""What a pipeline holds, as plain data and as tables, and the progress of its training."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from palmette.errors import counted
from palmette.pipeline.model import ABOUT, METRICS, TRAINED
from palmette.pipeline.pipeline import Pipeline
from palmette.reports.console import OutputConsole
from palmette.reports.tables import plain_table
from palmette.structures.training_log import Epoch

# What a pipeline holds, as plain data and as tables.


NOT_MEASURED = "-"  # in place of a figure whose columns gold does not have


def pipeline_inspection(pipeline: Pipeline) -> dict[str, Any]:
    """Everything that `palmette pipeline inspect` shows, as plain JSON types. Every component is built, so that damage
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


# Progress of a pipeline's training on stderr: a bar per component on a terminal, lines elsewhere.


class PipelineDisplay:
    """Show the steps of a training as they run; a context manager, called from several threads."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._lock = threading.Lock()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> PipelineDisplay:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description:12}"), BarColumn(bar_width=30), TextColumn("{task.fields[about]}"),
                TimeElapsedColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begins(self, stage: str) -> None:
        with self._lock:
            if self._bars is not None:
                self._tasks[stage] = self._bars.add_task(stage, total=None, about="")

    def progress(self, stage: str, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self._bars is None:
            return
        with self._lock:
            dev = "" if finished is None or finished.dev is None else f", dev {100 * finished.dev:.2f}"
            self._bars.update(self._tasks[stage], total=max(1, total), completed=done, about=f"pass {number}{dev}")

    def ends(self, stage: str, seconds: float, note: str) -> None:
        if self.quiet:
            return
        line = f"{stage:<14}{seconds:>8.1f} s   {note}".rstrip()
        with self._lock:
            if self._bars is not None:
                self._bars.remove_task(self._tasks.pop(stage))
                self._bars.console.print(line, highlight=False, markup=False)
            else:
                print(line, file=sys.stderr, flush=True)
