"""What a chain model holds, as plain data and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.chain.model import PARTS, ChainModel
from palmette.chain.weights import n_weights
from palmette.errors import UsageError
from palmette.features.templates import to_text
from palmette.kernels.forms import Rows
from palmette.report.console import OutputConsole

SHOWN_LABELS = 12


def inspection(model: ChainModel, top: int, labels: Sequence[str] | None = None) -> dict[str, Any]:
    """Everything that `palmette inspect` tells, as plain JSON types."""
    for label in labels or ():
        if label not in model.labels:
            raise UsageError(f"the model has no label {label!r}; it has {', '.join(model.labels[:20])}")
    return {
        "labels": model.labels,
        "scheme": model.scheme,
        "order": model.shape.order,
        "attributes": {PARTS[order]: alphabet.size for order, alphabet in model.alphabets.items()},
        "moved": {PARTS[o]: _moved(r) for o, r in enumerate(model.chain[-3:], 1) if r.slot.size},
        "nonzero_weights": n_weights(model.chain),
        "forbidden_transitions": int(np.count_nonzero(~model.allowed.pair)),
        "training_words": int(model.vocabulary.size),
        "bias": model.bias,
        "templates": None if model.encoder is None else to_text(model.encoder.templates).splitlines(),
        "lexicons": [] if model.encoder is None else sorted(model.encoder.resources.lexicons),
        "clusters": [] if model.encoder is None else sorted(model.encoder.resources.clusters),
        "settings": model.meta.get("settings"),
        "reading": model.meta.get("reading"),
        "history": [{k: v for k, v in row.items() if k != "seconds"} for row in model.meta.get("history", [])],
        "best_pass": model.meta.get("best_pass"),
        "ended": model.meta.get("ended"),
        "checkpoint": bool(model.checkpoint),
        "top": {label: top_attributes(model, label, top) for label in labels or model.labels},
        "transitions": top_transitions(model, top),
        "start": _of_states(model, model.chain.bare.end[0]),
        "end": _of_states(model, model.chain.bare.end[1]),
    }


def _moved(rows: Rows) -> int:
    """Attributes with a weight that is not zero."""
    if not rows.first.size:
        full = np.flatnonzero(rows.w.any(axis=1))
        return int(np.isin(rows.slot, full).sum())
    owner = np.repeat(np.arange(rows.first.size - 1), np.diff(rows.first))
    return int(np.unique(owner[rows.w.any(axis=1)]).size)


def top_attributes(model: ChainModel, label: str, top: int) -> list[dict[str, Any]]:
    """The strongest label weights, for and against."""
    rows = model.chain.one
    if not rows.slot.size or top < 1:
        return []
    column = rows.w[:, model.labels.index(label)]
    n = min(top, column.size)
    strongest = np.argpartition(-np.abs(column), n - 1)[:n]
    strongest = strongest[np.argsort(-np.abs(column[strongest]), kind="stable")]
    owner = np.zeros(column.size, np.int64)
    moved = np.flatnonzero(rows.slot)
    owner[rows.slot[moved]] = moved
    return [
        {"attribute": _name(model, 1, int(owner[r])), "weight": float(column[r])} for r in strongest if column[r] != 0
    ]


def _name(model: ChainModel, order: int, attribute: int) -> str:
    return model.names[order][attribute] if order in model.names else f"#{attribute}"


def top_transitions(model: ChainModel, top: int) -> list[dict[str, Any]]:
    """The strongest plain label pairs, for and against."""
    if model.shape.order == 0:
        return []
    Y = len(model.labels)
    weight = model.chain.bare.pair[:, :Y]
    strongest = np.argsort(-np.abs(weight), axis=None, kind="stable")[: 2 * top]
    pairs = [divmod(int(k), Y) for k in strongest]
    return [
        {"from": model.labels[a], "to": model.labels[b], "weight": float(weight[a, b])}
        for a, b in pairs
        if weight[a, b]
    ]


def _of_states(model: ChainModel, row: np.ndarray) -> dict[str, float]:
    return {label: float(row[k]) for k, label in enumerate(model.labels) if row[k]}


def print_inspection(about: dict[str, Any], all_labels: bool, console: Console | None = None) -> None:
    """The same for people."""
    console = console or OutputConsole(110)
    settings = about["settings"] or {}
    console.print(
        f"[bold]{settings.get('learner', '?')}[/bold], {settings.get('estimator', '?')} weights, "
        f"order {about['order']}, {len(about['labels'])} labels" + (f" ({about['scheme']})" if about["scheme"] else "")
    )
    for part, size in about["attributes"].items():
        console.print(f"  {size:,} {part} attributes, {about['moved'].get(part, 0):,} with weights")
    console.print(f"  {about['nonzero_weights']:,} weights that are not zero")
    if about["forbidden_transitions"]:
        console.print(f"  {about['forbidden_transitions']:,} forbidden label pairs")
    for label, value in about["bias"].items():
        console.print(f"  bias {escape(label)}={value:.4g}")
    chosen = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
    console.print(f"  settings: {chosen}", markup=False)
    if about["templates"] is not None:
        known = [f"lexicon {name}" for name in about["lexicons"]] + [f"clusters {name}" for name in about["clusters"]]
        console.print("  " + ", ".join([f"{len(about['templates'])} templates", *known]), markup=False)
    console.print(f"  ended: {about['ended']}; kept pass {about['best_pass']}")
    _print_history(about["history"], console)
    shown = about["top"] if all_labels else dict(list(about["top"].items())[:SHOWN_LABELS])
    for label, rows in shown.items():
        cells = "  ".join(f"{escape(row['attribute'])} [dim]{row['weight']:+.2f}[/dim]" for row in rows)
        console.print(f"\n[bold]{escape(label)}[/bold]  {cells}")
    if len(shown) < len(about["top"]):
        console.print(f"\n... and {len(about['top']) - len(shown)} more labels: --label NAME, or --json")
    if about["transitions"]:
        cells = "  ".join(
            f"{escape(t['from'])} > {escape(t['to'])} [dim]{t['weight']:+.2f}[/dim]" for t in about["transitions"]
        )
        console.print(f"\n[bold]transitions[/bold]  {cells}")


def _print_history(history: list[dict[str, Any]], console: Console) -> None:
    if not history:
        return
    table = Table(box=None, padding=(0, 2, 0, 2))
    for head in ("pass", "updates", "train acc.", "dev"):
        table.add_column(head, justify="right")
    for row in history:
        dev = "-" if row["dev"] is None else f"{100 * row['dev']:.2f}"
        accuracy = f"{100 * row['train_accuracy']:.2f}"
        table.add_row(str(row["number"]), f"{row['updates']:,}", accuracy, dev)
    console.print(table)
