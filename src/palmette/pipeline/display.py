"""What a pipeline holds, as plain data and as tables, and the progress of its training."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

import msgspec

from palmette.errors import counted
from palmette.evaluation.record import Inspection, Part
from palmette.pipeline.model import ABOUT, METRICS, TRAINED
from palmette.pipeline.pipeline import Pipeline
from palmette.structures.training_log import Epoch

# What a pipeline holds, as plain data and as tables.

NOT_MEASURED = "-"  # in place of a figure whose columns gold does not have


def inspect_pipeline(pipeline: Pipeline, top: int = 0, labels: int | None = None) -> Inspection:
    """What `palmette inspect` shows of a pipeline. Every component is built, so that damage is found."""
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
    about = {
        "task": "pipeline",
        "components": components,
        "settings": model.meta.settings,
        "trained_on": msgspec.to_builtins(model.meta.trained_on),
    }
    return Inspection(_facts(about), about, tables=[_components(components)])


def _facts(about: dict[str, Any]) -> dict[str, str]:
    trained = about["trained_on"]
    sizes = [
        f"{counted(trained[f'{part}sentences'], 'sentence')}, {counted(trained[f'{part}words'], 'word')}"
        for part in ("", "dev_")
    ]
    dev = f"; dev: {sizes[1]}" if trained["dev_sentences"] else ""
    return {
        "trained on": sizes[0] + dev if trained["sentences"] else "",
        "settings": "  ".join(f"{name} {_shown(value)}" for name, value in about["settings"].items()),
    }


def _components(components: dict[str, Any]) -> Part:
    """The components with their sizes and scores."""
    scored = any(own["dev"] for own in components.values())
    rows = []
    for name, own in components.items():
        dev = [f"{metric} {NOT_MEASURED if share is None else f'{share:.2f}'}" for metric, share in own["dev"].items()]
        origin = [] if own["origin"] == TRAINED else [f"from {own['origin']}"]
        rows.append((name, own["finds"], "  ".join([*dev, *origin]), f"{own['bytes'] / 1e6:.2f}"))
    return Part("", ("", "finds", "dev" if scored else "", "MB"), rows, left=3)


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
