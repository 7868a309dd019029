"""What a chain model holds, as plain data and as tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.data.labels.schemes import scheme_shown
from palmette.errors import UsageError, counted
from palmette.features.templates import LABEL_CONTEXT, to_text
from palmette.kernels.chain.forms import FeatureWeights
from palmette.options.chain import TAGGER_LEARNERS
from palmette.reports.console import OutputConsole
from palmette.reports.tables import described, not_zero
from palmette.structures.chain.array_specs import PARTS
from palmette.structures.chain.attribute_names import attribute_name, attribute_words
from palmette.structures.chain.label_context import top_contexts
from palmette.structures.chain.lists import is_list, owners
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.posteriors import named
from palmette.structures.chain.separation import Separation
from palmette.structures.chain.weights import n_weights
from palmette.structures.training_log import unit_of

SHOWN_LABELS = 12
TOOLS = {"crfsuite": "CRFsuite", "wapiti": "Wapiti", "crfpp": "CRF++"}


def inspection(
    model: ChainModel, top: int, labels: Sequence[str] | None = None, separation: Separation | None = None
) -> dict[str, Any]:
    """Everything that `palmette inspect` tells, as plain JSON types; `separation`: of the data that was asked about."""
    for label in labels or ():
        if label not in model.labels:
            raise UsageError(f"the model has no label {label!r}; it has {', '.join(model.labels[:20])}")
    return {
        "labels": model.labels,
        "scheme": model.scheme,
        "order": model.shape.order,
        "states": _state_counts(model),
        "attributes": {PARTS[order]: feature_index.size for order, feature_index in model.feature_indexes.items()},
        "moved": _moved_parts(model),
        "nonzero_weights": n_weights(model.chain)
        + (0 if model.label_contexts is None else int(np.count_nonzero(model.label_contexts.w))),
        "search": f"beam of {model.beam}" if model.beam else "exact",
        "forbidden_transitions": int(np.count_nonzero(~model.allowed.pair)),
        "training_words": int(model.vocabulary.size),
        "bias": model.bias,
        "confidence_is": named(model),
        "calibration": model.meta.get("calibration"),
        "templates": None if model.encoder is None else to_text(model.encoder.templates).splitlines(),
        "lexicons": [] if model.encoder is None else sorted(model.encoder.resources.lexicons),
        "clusters": [] if model.encoder is None else sorted(model.encoder.resources.clusters),
        "settings": model.settings.to_dict(),
        "reading": model.meta.get("reading"),
        "imported": model.meta.get("imported"),
        "history": [{k: v for k, v in row.items() if k != "seconds"} for row in model.meta.get("history", [])],
        "best_pass": model.meta.get("best_pass"),
        "ended": model.meta.get("ended"),
        "checkpoint": bool(model.checkpoint),
        "updates": sum(row["updates"] for row in model.meta.get("history", [])),
        "separation": None if separation is None else separation._asdict(),
        "top": {label: top_attributes(model, label, top) for label in labels or model.labels},
        "state_differences": {
            label: state_differences(model, label, top)
            for label in labels or model.labels
            if model.shape.states_per_label > 1
        },
        "transitions": top_transitions(model, top),
        "earlier_labels": top_earlier(model, top),
        "start": _of_states(model, model.chain.transitions[0].w[0]),
        "end": _of_states(model, model.chain.transitions[0].w[1]),
    }


def _moved_parts(model: ChainModel) -> dict[str, int]:
    """Of each kind the attributes with a weight that is not zero."""
    moved = {PARTS[o]: _moved(r) for o, r in enumerate(model.chain.weights, 1) if r.slot.size}
    if model.label_contexts is not None and LABEL_CONTEXT in model.feature_indexes:
        moved[PARTS[LABEL_CONTEXT]] = int(
            np.unique(model.label_contexts.owner[model.label_contexts.w.any(axis=1)]).size
        )
    return moved


def _moved(rows: FeatureWeights) -> int:
    """Attributes with a weight that is not zero."""
    if not rows.first.size:
        full = np.flatnonzero(rows.w.any(axis=1))
        return int(np.isin(rows.slot, full).sum())
    return int(np.unique(owners(rows)[rows.w.any(axis=1)]).size)


def _state_counts(model: ChainModel) -> dict[str, int]:
    """Latent states of each label; nothing for a plain model."""
    there = (~model.shape.missing()).reshape(-1, model.shape.states_per_label).sum(axis=1)
    return dict(zip(model.labels, there.tolist(), strict=True)) if model.shape.states_per_label > 1 else {}


def _columns(model: ChainModel, label: str) -> np.ndarray:
    """The weights of the states of a label, a column each: for each row, or if they are lists for each attribute."""
    first, states_per_label = model.labels.index(label) * model.shape.states_per_label, model.shape.states_per_label
    if not model.chain.weights[0].slot.size:  # no attribute at all
        return np.zeros((1, states_per_label), np.float32)
    there = ~model.shape.missing()[first : first + states_per_label]
    rows = model.chain.weights[0]
    if is_list(rows):
        own = np.flatnonzero(rows.combo == first // states_per_label)
        columns = np.zeros((rows.slot.size, states_per_label), np.float32)
        columns[np.searchsorted(rows.first, own, side="right") - 1] = rows.w[own]
        return columns[:, there]
    return rows.w[:, first : first + states_per_label][:, there]


def top_attributes(model: ChainModel, label: str, top: int) -> list[dict[str, Any]]:
    """The strongest label weights, for and against; of a latent label the mean over its states."""
    return _strongest(model, _columns(model, label).mean(axis=1), top)


def state_differences(model: ChainModel, label: str, top: int) -> dict[str, list[dict[str, Any]]]:
    """What tells the states of a label apart: where each one's weight is furthest above the mean of all of them."""
    columns = _columns(model, label)
    if columns.shape[1] < 2:
        return {}
    apart = columns - columns.mean(axis=1, keepdims=True)
    first = model.labels.index(label) * model.shape.states_per_label
    names = model.shape.state_names(model.labels)
    return {names[first + k]: _strongest(model, np.maximum(apart[:, k], 0), top) for k in range(columns.shape[1])}


def _strongest(model: ChainModel, column: np.ndarray, top: int) -> list[dict[str, Any]]:
    """The attributes with the largest numbers of either sign; `column` has a number for each row."""
    rows = model.chain.weights[0]
    if not rows.slot.size or top < 1:
        return []
    n = min(top + 1, column.size)  # one of them may be the row of zeros
    rank = -_strength(model, column)
    strongest = np.argpartition(rank, n - 1)[:n]
    strongest = strongest[np.argsort(rank[strongest], kind="stable")]
    owner = np.arange(column.size)
    if not is_list(rows):
        moved = np.flatnonzero(rows.slot)
        owner[rows.slot[moved]] = moved
    found = [r for r in strongest if column[r] != 0][:top]
    names, in_words = [attribute_name(model, 1, int(owner[r])) for r in found], attribute_words(model)
    return [
        {"attribute": name, "name": in_words(name), "weight": float(column[r])}
        for name, r in zip(names, found, strict=True)
    ]


def _strength(model: ChainModel, weights: np.ndarray) -> np.ndarray:
    """Weights speak for or against a label; those of an hmm are logarithms of probabilities, large ones tell most."""
    counted = model.settings.chosen_learner.kind == "hmm"
    return weights if counted else np.abs(weights)


def transition_table(model: ChainModel) -> tuple[list[str], list[list[float | None]]]:
    """The states, and the weight of each transition from one to another; None if it is forbidden."""
    H = model.shape.n_states if model.shape.order else 0
    weight, forbidden = model.chain.transitions[1].w[:H, :H], np.isneginf(model.chain.forbid[:H, :H])
    table = [
        [None if never else float(value) for value, never in zip(row, banned, strict=True)]
        for row, banned in zip(weight, forbidden, strict=True)
    ]
    return model.state_names[:H], table


def top_transitions(model: ChainModel, top: int) -> list[dict[str, Any]]:
    """The strongest plain label pairs (of a latent model: state pairs), for and against."""
    if model.shape.order == 0:
        return []
    H, names = model.shape.n_states, model.state_names
    weight = model.chain.transitions[1].w[:, :H]
    strongest = np.argsort(-_strength(model, weight), axis=None, kind="stable")
    strongest = strongest[np.ravel(weight)[strongest] != 0][: 2 * top]
    pairs = [divmod(k, H) for k in strongest.tolist()]
    return [{"from": names[a], "to": names[b], "weight": float(weight[a, b])} for a, b in pairs]


def top_earlier(model: ChainModel, top: int) -> list[dict[str, Any]]:
    """The strongest weights of templates that read earlier labels, for and against."""
    if model.label_contexts is None or LABEL_CONTEXT not in model.feature_indexes or LABEL_CONTEXT not in model.names:
        return []
    found = []
    for attribute, labels, label, weight in top_contexts(model.label_contexts, model.shape.n_states, 2 * top):
        text = attribute_name(model, LABEL_CONTEXT, attribute)
        for before in labels:
            text = re.sub(
                r"%y\[-[0-9]+\]", "<s>" if before < 0 else model.labels[before].replace("\\", r"\\"), text, count=1
            )
        found.append({"attribute": text, "label": model.state_names[label], "weight": weight})
    return found


def _of_states(model: ChainModel, row: np.ndarray) -> dict[str, float]:
    return {name: float(row[k]) for k, name in enumerate(model.state_names) if row[k]}


def print_inspection(about: dict[str, Any], all_labels: bool, console: Console | None = None) -> None:
    """Print what `palmette inspect --json` reports, as tables."""
    console = console or OutputConsole(110)
    settings = about["settings"]
    console.print(
        f"[bold]{settings['learner']['kind']}[/bold], {_weights_said(settings)}"
        f"order {about['order']}, {counted(len(about['labels']), 'label')}"
        + (f" ({scheme_shown(about['labels'], about['scheme'])})" if about["scheme"] else "")
    )
    for part, size in about["attributes"].items():
        console.print(f"  {size:,} {part} attributes, {about['moved'].get(part, 0):,} with weights")
    console.print(f"  {not_zero(about['nonzero_weights'])}")
    if about["states"]:
        console.print("  states: " + ", ".join(f"{label} {n}" for label, n in about["states"].items()), markup=False)
    if about["forbidden_transitions"]:
        console.print(f"  {counted(about['forbidden_transitions'], 'forbidden label pair')}")
    for label, value in about["bias"].items():
        console.print(f"  bias {escape(label)}={value:.4g}")
    if about["search"] != "exact":
        console.print(f"  searched with a {about['search']}")
    console.print(f"  {_calibration_said(about)}", markup=False)
    unused = TAGGER_LEARNERS[settings["learner"]["kind"]].unused
    values = {name: described(value) if isinstance(value, dict) else value for name, value in settings.items()}
    chosen = ", ".join(f"{name} {value}" for name, value in values.items() if value is not None and name not in unused)
    if about["imported"] is None:
        console.print(f"  settings: {chosen}", markup=False)
    else:
        origin = about["imported"]
        console.print(f"  read from {origin['file']}, a model of {TOOLS[origin['tool']]}", markup=False)
    if about["templates"] is not None:
        known = [f"lexicon {name}" for name in about["lexicons"]] + [f"clusters {name}" for name in about["clusters"]]
        console.print("  " + ", ".join([counted(len(about["templates"]), "template"), *known]), markup=False)
    if about["imported"] is None:
        kept = f"{_unit(about['history'])} {about['best_pass']}"
        console.print(f"  training: {about['ended']}; kept {kept}", markup=False)
    _print_history(about["history"], console)
    if about["separation"] is not None:
        _print_separation(about, console)
    shown = about["top"] if all_labels else dict(list(about["top"].items())[:SHOWN_LABELS])
    for label, rows in shown.items():
        cells = "  ".join(f"{escape(row['name'])} [dim]{row['weight']:+.2f}[/dim]" for row in rows)
        console.print(f"\n[bold]{escape(label)}[/bold]  {cells}")
        _print_states(about["state_differences"].get(label, {}), console)
    if len(shown) < len(about["top"]):
        more = counted(len(about["top"]) - len(shown), "more label")
        console.print(f"\n... and {more}: --label NAME, or --json")
    if about["transitions"]:
        cells = "  ".join(
            f"{escape(t['from'])} > {escape(t['to'])} [dim]{t['weight']:+.2f}[/dim]" for t in about["transitions"]
        )
        console.print(f"\n[bold]transitions[/bold]  {cells}")
    if about["earlier_labels"]:
        cells = "  ".join(
            f"{escape(e['attribute'])} > {escape(e['label'])} [dim]{e['weight']:+.2f}[/dim]"
            for e in about["earlier_labels"]
        )
        console.print(f"\n[bold]earlier labels[/bold]  {cells}")


def _calibration_said(about: dict[str, Any]) -> str:
    """What its confidences mean."""
    fitted = about["calibration"]
    if "past" in about["attributes"]:
        return "it has no confidences: its templates read earlier labels, and a beam does not sum over all sequences"
    said = "its confidences are probabilities"
    if about["confidence_is"] != "probability":
        said = "its confidences are not calibrated (see `palmette calibrate`)"
    if fitted is None:
        return said
    place = f"{fitted['data']}, {counted(fitted['sentences'], 'sentence')}"
    return f"{said}: temperature {fitted['temperature']:.4g}, fitted on {place}"


def _weights_said(settings: dict[str, Any]) -> str:
    """Which weights came out, if there was a choice."""
    learner = TAGGER_LEARNERS[settings["learner"]["kind"]].from_dict(settings["learner"])
    one = learner.kind == "hmm" or learner.full_batch
    return "" if one else f"{settings['estimator']} weights, "


def _unit(history: list[dict[str, Any]]) -> str:
    return unit_of(history[-1]["figures"]) if history else "pass"


def _print_history(history: list[dict[str, Any]], console: Console) -> None:
    if not history:
        return
    table = Table(box=None, padding=(0, 2, 0, 2))
    figures = list(dict.fromkeys(name for row in history for name in row["figures"]))
    work = "evaluations" if "gradient" in figures else "updates"  # of the objective, by lbfgs
    for head in (_unit(history), work, "train acc.", "dev", *(FIGURES.get(name, (name, 1, ""))[0] for name in figures)):
        table.add_column(escape(head), justify="right")
    for row in history:
        dev = "-" if row["dev"] is None else f"{100 * row['dev']:.2f}"
        accuracy = f"{100 * row['train_accuracy']:.2f}"
        found = [_figure(name, row["figures"].get(name)) for name in figures]
        table.add_row(str(row["number"]), f"{row['updates']:,}", accuracy, dev, *found)
    console.print(table)


# What a pass tells of its weights: heading, factor, form
FIGURES = {
    "error": ("error, %", 100, ".2f"),
    "norm": ("norm", 1, ".1f"),
    "objective": ("objective", 1, ".2f"),
    "gradient": ("gradient", 1, ".3g"),
    "bad": ("bad updates, %", 100, ".1f"),
    "cut": ("cut at, %", 100, ".1f"),
    "moved": ("states moved, %", 100, ".1f"),
    "swapped": ("of it swapped roles", 100, ".1f"),
}


def _figure(name: str, value: float | None) -> str:
    _, factor, form = FIGURES.get(name, (name, 1, ".4g"))
    return "-" if value is None else format(factor * value, form)


def _print_states(states: dict[str, list[dict[str, Any]]], console: Console) -> None:
    """The states of a label side by side, each with the attributes that set it apart."""
    if not states:
        return
    table = Table(box=None, padding=(0, 3, 0, 2))
    for name in states:
        table.add_column(escape(name), overflow="fold")
    depth = max(len(rows) for rows in states.values())
    for k in range(depth):
        cells = [rows[k] if k < len(rows) else None for rows in states.values()]
        table.add_row(*("" if c is None else f"{escape(c['name'])} [dim]{c['weight']:+.2f}[/dim]" for c in cells))
    console.print(table)


def _print_separation(about: dict[str, Any], console: Console) -> None:
    found = about["separation"]
    console.print(
        f"\n[bold]separation[/bold]  {100 * found['separated']:.1f}% of "
        f"{counted(found['sentences'], 'sentence')} "
        f"separated; margin: smallest {_figure('', found['margin'])}, median {_figure('', found['median_margin'])} "
        f"(weights of length {found['norm']:.4g}, features of at most {found['longest']:.4g})"
    )
    if found["strict_margin"] != found["margin"]:
        console.print(
            f"  smallest margin of the worst gold path, which bounds mistakes: {_figure('', found['strict_margin'])}"
        )
    if found["bound"] is None:
        console.print(f"  bound on mistakes: {found['bound_of']}")
    else:
        console.print(
            f"  mistakes of {found['bound_of']} of a perceptron that starts at zero: at most {found['bound']:.4g}; "
            f"updates of this training: {_made(about):,}"
        )
    if found["usage"]:
        used = "  ".join(f"{escape(name)} [dim]{100 * share:.0f}%[/dim]" for name, share in found["usage"].items())
        console.print(f"  states in use  {used}")


def _made(about: dict[str, Any]) -> int:
    """Updates in the passes that the bound is about."""
    if about["separation"]["bound_of"] == "the first pass":
        return int(about["history"][0]["updates"]) if about["history"] else 0
    return int(about["updates"])
