"""What a pipeline holds, as plain data and as tables."""

from __future__ import annotations

from typing import Any

import msgspec

from palmette.errors import counted
from palmette.evaluation.record import Inspection, Part
from palmette.pipeline.components import ABOUT, METRICS
from palmette.pipeline.file import TRAINED
from palmette.pipeline.pipeline import Pipeline

NOT_MEASURED = "-"  # in place of a figure whose columns gold does not have


def inspect_pipeline(pipeline: Pipeline, top: int = 0, labels: int | None = None) -> Inspection:
    """What `palmette inspect` tells of a pipeline. Every component is built, so that damage is found."""
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
