"""What a classifier over latent structures learnt, and how good it is, as plain data and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from palmette.classification.model import ClassifierModel, largest, n_weights
from palmette.classification.options import ClassifierOptions
from palmette.errors import counted
from palmette.evaluation.record import Inspection
from palmette.features.templates import to_text
from palmette.options.learners import Lclr
from palmette.options.spelling import named
from palmette.reports.tables import OutputConsole, described, not_zero, print_facts, training_fact

if TYPE_CHECKING:
    from palmette.classification.classifier import Classifier

SHOWN_TAGS = 12


def training_notes(model: ClassifierModel) -> list[str]:
    """What is worth telling when a training ends, about its last pass."""
    history = model.meta["history"]
    if not history:
        return []
    row = history[-1]
    notes = []
    if row["again"]:
        notes.append(f"negatives decoded again in the last pass: {_again(row['again'])}")
    if row["capped"]:
        capped = counted(row["capped"], "negative was", "negatives were")
        what = capped if row["again"] else "the rounds of a pass were"
        see = named(ClassifierOptions, "cap") if row["again"] else named(Lclr, "inner_rounds")
        notes.append(f"warning: {what} cut off in the last pass; see {see}")
    if row["new_structures"]:
        notes.append(f"new structures of negatives by inner round: {', '.join(map(str, row['new_structures']))}")
    if row["bound"] is not None:
        notes.append(
            f"squared loss of the last pass {row['squared_loss']:,.1f}, at most {row['bound']:,.1f} by the bound"
        )
    return notes


def _again(counts: list[int]) -> str:
    named = ["never", "once"] + [f"{times} times" for times in range(2, len(counts))]
    return ", ".join(f"{name} {count:,}" for name, count in zip(named, counts, strict=False))


def inspect_classifier(classifier: Classifier, top: int, labels: int | None = None) -> Inspection:
    """What `palmette inspect` tells of a classifier."""
    model = classifier.model_
    about: dict[str, Any] = {
        "task": "classify",
        "classes": list(model.classes),
        "views": {view.name: list(view.tags) for view in model.views},
        "attributes": model.feature_index.size,
        "nonzero_weights": n_weights(model.weights),
        "largest_weight": largest(model.weights),
        "templates": to_text(model.encoder.templates).splitlines(),
        "settings": model.settings.to_dict(),
        "sentences": model.meta.get("sentences"),
        "start": model.meta.get("start"),
        "tagger": model.meta.get("tagger"),
        "history": [{k: v for k, v in row.items() if k != "seconds"} for row in model.meta["history"]],
        "best_pass": model.meta.get("best_pass"),
        "ended": model.meta.get("ended"),
        "top": strongest_tags(model, top),
    }
    weights = {
        f"strongest weights of {name}": dict(list(tags.items())[: labels or SHOWN_TAGS])
        for name, tags in about["top"].items()
        if any(tags.values())
    }
    return Inspection(_facts(about), about, weights)


def _facts(about: dict[str, Any]) -> dict[str, str]:
    negative, positive = about["classes"]
    views = ", ".join(f"{name} ({counted(len(tags), 'tag')})" for name, tags in about["views"].items())
    settings = about["settings"]
    return {
        "classes": f"{positive} (score of at least 0), {negative}",
        "learner": f"{described(settings['learner'])}, estimator {settings['estimator']}",
        "views": views + (f", combined by {settings['combine']}" if len(about["views"]) > 1 else ""),
        "attributes": f"{about['attributes']:,}; {not_zero(about['nonzero_weights'])}",
        "largest weight": f"{about['largest_weight']:.4g}",
        "start": "zero" if about["start"] is None else f"a chunker's weights up to {about['start']:.4g}",
        "training": training_fact(about),
        "unicode": settings["unicode"],
    }


def strongest_tags(model: ClassifierModel, top: int) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """By view, the attributes with the largest weights of each tag."""
    return {view.name: _top_of_view(model, r, top) for r, view in enumerate(model.views)}


def _top_of_view(model: ClassifierModel, r: int, top: int) -> dict[str, list[tuple[str, float]]]:
    """The attributes with the largest weights of each tag, in either direction; nothing where names were stripped."""
    if model.names is None:
        return {}
    column, weights = int(model.packed.column[r]), model.weights.one
    found = {}
    for h, tag in enumerate(model.views[r].tags):
        own = weights.w[weights.slot, column + h]
        order = np.argsort(-np.abs(own), kind="stable")[:top]
        found[tag] = [(model.names[int(a)], round(float(own[a]), 6)) for a in order if own[a] != 0]
    return found


def print_classifier(found: Inspection, console: Console | None = None) -> None:
    """Facts, training log, and the strongest attributes of each tag."""
    console = console or OutputConsole(100)
    print_facts(found, console)
    if any(row["bound"] is not None for row in found.about["history"]):
        console.print(
            "The bound holds for plain PA steps, with the loss of the weights compared with (the estimate at the "
            "start of the pass) taken at the learner's structures; losses are divided by the length of the features.",
            style="italic", markup=False,
        )  # fmt: skip
    for title, tags in found.weights.items():
        console.print(title, style="italic", markup=False)
        for tag, best in tags.items():
            told = "  ".join(f"{attribute} {weight:+.3g}" for attribute, weight in best)
            console.print(f"{tag:<6} {told}", markup=False, soft_wrap=True)
