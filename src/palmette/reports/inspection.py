"""What a chain model holds, as plain data, as tables, and as a model card in Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette import __version__
from palmette.data.labels.schemes import scheme_shown
from palmette.errors import UsageError, counted
from palmette.evaluation.record import Inspection
from palmette.features.templates import LABEL_CONTEXT, to_text
from palmette.kernels.chain.forms import FeatureWeights
from palmette.options.chain import TAGGER_LEARNERS
from palmette.reports.tables import (
    OutputConsole,
    cluster_examples,
    cluster_fact,
    described,
    figure,
    not_zero,
    print_facts,
    training_fact,
)
from palmette.structures.chain.array_specs import PARTS
from palmette.structures.chain.explain import attribute_name, attribute_words
from palmette.structures.chain.label_context import top_contexts
from palmette.structures.chain.lists import is_list, owners
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.posteriors import named
from palmette.structures.chain.separation import Separation
from palmette.structures.chain.weights import n_weights
from palmette.structures.training_log import unit_of

SHOWN_LABELS = 12
NAMED = 24  # labels that are named
SAID = ("learner", "estimator")  # settings that are named elsewhere
TOOLS = {"crfsuite": "CRFsuite", "wapiti": "Wapiti", "crfpp": "CRF++"}
FILL_IN = "*To be filled in by the author.*"
SHOWN = 5


def inspect_chain(
    model: ChainModel, top: int, labels: Sequence[str] | None = None, separation: Separation | None = None
) -> Inspection:
    """What `palmette inspect` tells of a tagger; `separation`: of the data that was asked about."""
    for label in labels or ():
        if label not in model.labels:
            raise UsageError(f"the model has no label {label!r}; it has {', '.join(model.labels[:20])}")
    about = {
        "labels": model.labels,
        "scheme": model.scheme,
        "order": model.shape.order,
        "states": _state_counts(model),
        "attributes": {PARTS[order]: feature_index.size for order, feature_index in model.feature_indexes.items()},
        "moved": _moved_parts(model),
        "nonzero_weights": n_weights(model.searched)
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
        "cluster_examples": {} if model.encoder is None else cluster_examples(model.encoder.resources.clusters),
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
    weights = {
        "strongest weights": {k: [(row["name"], row["weight"]) for row in rows] for k, rows in about["top"].items()},
        "strongest transitions": {
            "transitions": [(f"{one['from']} > {one['to']}", one["weight"]) for one in about["transitions"]]
        },
        "strongest earlier labels": {
            "earlier labels": [
                (f"{one['attribute']} > {one['label']}", one["weight"]) for one in about["earlier_labels"]
            ]
        },
    }
    return Inspection(_facts(about), about, {title: rows for title, rows in weights.items() if any(rows.values())})


def inspect_tagger(tagger: Any, top: int, labels: int | None = None) -> Inspection:
    """Of an estimator over a chain: a tagger, a hidden Markov model, a linear classifier."""
    model: ChainModel = getattr(tagger, "tagger_", tagger).model_
    return inspect_chain(model, top, model.labels[:labels])


def _facts(about: dict[str, Any]) -> dict[str, str]:
    settings, origin, names = about["settings"], about["imported"], about["labels"]
    unused = (*TAGGER_LEARNERS[settings["learner"]["kind"]].unused, *SAID)
    values = {name: described(value) if isinstance(value, dict) else value for name, value in settings.items()}
    chosen = ", ".join(
        f"{name} {value}" for name, value in values.items() if value is not None and name not in (*unused, *SAID)
    )
    known = [f"lexicon {name}" for name in about["lexicons"]] + [f"clusters {name}" for name in about["clusters"]]
    sizes = [
        f"{size:,} on the {part}, {about['moved'].get(part, 0):,} with weights"
        for part, size in about["attributes"].items()
    ]
    forbidden, templates = about["forbidden_transitions"], about["templates"]
    scheme = f" ({scheme_shown(names, about['scheme'])})" if about["scheme"] else ""
    return {
        "learner": described(settings["learner"]) + _weights_said(settings) if origin is None else "",
        "read from": "" if origin is None else f"{origin['file']}, a model of {TOOLS[origin['tool']]}",
        "labels": f"{counted(len(names), 'label')}{scheme}: {', '.join(names[:NAMED])}"
        + (f", and {len(names) - NAMED} more" if len(names) > NAMED else ""),
        "states": ", ".join(f"{label} {n}" for label, n in about["states"].items()),
        "order, search": f"{about['order']}, {about['search']}",
        "attributes": "; ".join(sizes),
        "weights": not_zero(about["nonzero_weights"]),
        "constraints": counted(forbidden, "forbidden label pair") if forbidden else "",
        "bias": ", ".join(f"{label}={value:.4g}" for label, value in about["bias"].items()),
        "confidences": _calibration_said(about),
        "settings": chosen if origin is None else "",
        "templates": "" if templates is None else ", ".join([counted(len(templates), "template"), *known]),
        "clusters": cluster_fact(about["cluster_examples"]),
        "training": training_fact(about) if origin is None else "",
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


def print_inspection(found: Inspection, all_labels: bool, console: Console | None = None) -> None:
    """Print what `palmette inspect --json` reports, as tables."""
    console, about = console or OutputConsole(110), found.about
    print_facts(found, console)
    if about["separation"] is not None:
        _print_separation(about, console)
    for title, by_label in found.weights.items():
        shown = list(by_label.items()) if all_labels else list(by_label.items())[:SHOWN_LABELS]
        for label, rows in shown:
            cells = "  ".join(f"{escape(name)} [dim]{weight:+.2f}[/dim]" for name, weight in rows)
            console.print(f"\n[bold]{escape(label)}[/bold]  {cells}")
            if title == "strongest weights":
                _print_states(about["state_differences"].get(label, {}), console)
        if len(shown) < len(by_label):
            more = counted(len(by_label) - len(shown), "more label")
            console.print(f"\n... and {more}: --label NAME, or --json")


def _calibration_said(about: dict[str, Any]) -> str:
    """What its confidences mean."""
    fitted = about["calibration"]
    if "past" in about["attributes"]:
        return "none: its templates read earlier labels, and a beam does not sum over all sequences"
    said = "probabilities"
    if about["confidence_is"] != "probability":
        said = "not calibrated (see `palmette calibrate`)"
    if fitted is None:
        return said
    place = f"{fitted['data']}, {counted(fitted['sentences'], 'sentence')}"
    return f"{said}: temperature {fitted['temperature']:.4g}, fitted on {place}"


def _weights_said(settings: dict[str, Any]) -> str:
    """Which weights came out, if there was a choice."""
    learner = TAGGER_LEARNERS[settings["learner"]["kind"]].from_dict(settings["learner"])
    one = learner.kind == "hmm" or learner.full_batch
    return "" if one else f", {settings['estimator']} weights"


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


def _print_separation(about: Mapping[str, Any], console: Console) -> None:
    found = about["separation"]
    console.print(
        f"\n[bold]separation[/bold]  {100 * found['separated']:.1f}% of "
        f"{counted(found['sentences'], 'sentence')} "
        f"separated; margin: smallest {figure('', found['margin'])}, median {figure('', found['median_margin'])} "
        f"(weights of length {found['norm']:.4g}, features of at most {found['longest']:.4g})"
    )
    if found["strict_margin"] != found["margin"]:
        console.print(
            f"  smallest margin of the worst gold path, which bounds mistakes: {figure('', found['strict_margin'])}"
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


def _made(about: Mapping[str, Any]) -> int:
    """Updates in the passes that the bound is about."""
    if about["separation"]["bound_of"] == "the first pass":
        return int(about["history"][0]["updates"]) if about["history"] else 0
    return int(about["updates"])


def model_card(about: dict[str, Any], path: str) -> str:
    """The card of the model in a file, from its inspection."""
    return "\n".join(_lines(about, path)) + "\n"


def _lines(about: dict[str, Any], path: str) -> Iterator[str]:
    name = os.path.basename(path)
    yield f"# {os.path.splitext(name)[0]}"
    yield ""
    yield f"A sequence tagger in the file `{name}` ({os.path.getsize(path) / 1e6:.2f} MB), for Palmette {__version__}."
    yield ""
    yield "## Use"
    yield ""
    yield "```"
    yield f"palmette tag {name} input.txt -o tagged.txt"
    yield "```"
    yield ""
    yield f"Intended use and limits: {FILL_IN}"
    yield ""
    yield from _output(about)
    yield from _model(about)
    yield from _training(about, name)
    yield "## What it learnt"
    yield ""
    yield "| label | strongest attributes |"
    yield "|---|---|"
    for label, rows in about["top"].items():
        cells = [f"{_code(row['name'])} {row['weight']:+.2f}" for row in rows[:SHOWN]]
        yield f"| {_code(label)} | {', '.join(cells)} |"


def _output(about: dict[str, Any]) -> Iterator[str]:
    yield "## Output"
    yield ""
    labels = about["labels"]
    scheme = f" in the tag scheme {about['scheme']}" if about["scheme"] else ""
    yield f"{len(labels)} labels{scheme}: {', '.join(_code(label) for label in labels)}."
    yield f"Confidences: {about['confidence_is']}."
    if about["calibration"] is not None:
        yield f"Calibrated on {about['calibration']['data']}."
    yield ""


def _model(about: dict[str, Any]) -> Iterator[str]:
    yield "## Model"
    yield ""
    yield from _table(
        {
            "learner": described(about["settings"]["learner"]),
            "order": about["order"],
            "search": about["search"],
            "hidden states": ", ".join(f"{label} {n}" for label, n in about["states"].items()),
            "attributes": ", ".join(f"{size:,} of the {part}" for part, size in about["attributes"].items()),
            "weights that are not zero": f"{about['nonzero_weights']:,}",
            "templates": "" if about["templates"] is None else len(about["templates"]),
            "seed": about["settings"]["seed"],
        }
    )
    yield ""


def _training(about: dict[str, Any], name: str) -> Iterator[str]:
    yield "## Training"
    yield ""
    yield f"Data, its licence and its annotation: {FILL_IN}"
    yield ""
    unit = unit_of(about["history"][-1]["figures"]) if about["history"] else "pass"
    yield from _table(
        {
            "distinct words in the training data": f"{about['training_words']:,}" if about["training_words"] else "",
            "passes" if unit == "pass" else f"{unit}s": len(about["history"]) or "",
            "ended": about["ended"],
            f"{unit} that was kept": about["best_pass"] if about["best_pass"] else "",
            **_scores(about),
        }
    )
    yield ""
    yield f"Scores on test data: {FILL_IN} (`palmette eval {name} test.txt`)"
    yield ""


def _scores(about: dict[str, Any]) -> dict[str, str]:
    """Of the pass that was kept."""
    rows = {row["number"]: row for row in about["history"]}
    kept = rows.get(about["best_pass"]) or (about["history"][-1] if about["history"] else None)
    if kept is None:
        return {}
    found = {"accuracy on the training data": f"{100 * kept['train_accuracy']:.2f} %"}
    if kept["dev"] is not None:
        found["score on the development data"] = f"{100 * kept['dev']:.2f} %"
    return found


def _table(rows: dict[str, Any]) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for name, value in rows.items():
        if value is not None and value != "":
            yield f"| {name} | {str(value).replace('|', chr(92) + '|')} |"


def _code(text: str) -> str:
    """Text as code in a cell of a table."""
    fence = "``" if "`" in text else "`"
    edge = " " if "`" in text else ""
    return f"{fence}{edge}{text.replace('|', chr(92) + '|')}{edge}{fence}"
