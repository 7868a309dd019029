"""Pictures of a model, drawn by matplotlib from plain records: the learning curve, transition weights as a heat map,
the strongest weights. Each function returns a figure, which notebooks show; `save_figure` writes it to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.files import FilePath, write_whole
from palmette.errors import UsageError
from palmette.structures.training_log import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from palmette.estimators.base import Estimator

FORMATS = ("png", "svg", "pdf")
PICTURES = {
    "curve": "scores (and the objective) by pass or iteration",
    "transitions": "weights of label pairs as a heat map",
    "weights": "the strongest attributes of up to four labels",
}
MOST_STATES = 40  # of a heat map that can be read
MOST_LABELS = 4  # panels of a figure
_TRAIN, _DEV, _AGAINST = "#8c959f", "#0969da", "#bc4c00"


def plot(
    estimator: Estimator, what: str = "curve", *, labels: Sequence[str] | None = None, top: int = 10, title: str = ""
) -> Figure:
    """A picture of a fitted estimator: its learning curve, or of a `Tagger` its transitions or strongest weights, the
    latter of some labels (default: the first four)."""
    from palmette.estimators.tagger import Tagger

    if what not in PICTURES:
        raise UsageError(f"what: there is no picture {what!r}; choose one of {', '.join(PICTURES)}")
    model = estimator._fitted()
    if what == "curve":
        return learning_curve(model.meta.get("history", []), model.meta.get("best_pass"), title)
    if not isinstance(estimator, Tagger):
        raise UsageError(f"{what} is a picture of taggers; of other models there is the learning curve")
    from palmette.reports.inspection import inspect_chain, transition_table

    if what == "transitions":
        return transition_map(*transition_table(model), title)
    return strongest_weights(inspect_chain(model, top, labels).about["top"], title)


def learning_curve(history: Sequence[dict[str, Any]], best: int | None = None, title: str = "") -> Figure:
    """The scores of each pass of a training log, and the objective below them if it has one. `best`: the pass that was
    kept."""
    if not history:
        raise UsageError("the model has no training log to draw")
    objective = [row["figures"].get("objective") for row in history]
    with_objective = all(value is not None for value in objective)
    figure, axes = _subplots(2 if with_objective else 1, (6.4, 5.2 if with_objective else 3.6))
    numbers = [row["number"] for row in history]
    _curve(axes[0], numbers, [100 * row["train_accuracy"] for row in history], "training", _TRAIN)
    dev = [None if row["dev"] is None else 100 * row["dev"] for row in history]
    if any(value is not None for value in dev):
        there = [(n, value) for n, value in zip(numbers, dev, strict=True) if value is not None]
        _curve(axes[0], [n for n, _ in there], [value for _, value in there], "development", _DEV)
        kept = None if best is None else dict(there).get(best)
        if best is not None and kept is not None:
            axes[0].plot([best], [kept], "o", color=_DEV, markersize=8, markerfacecolor="none")
            axes[0].annotate(
                f"kept: {kept:.2f}", (best, kept), xytext=(0, -14), textcoords="offset points", ha="center", color=_DEV
            )
    axes[0].set(ylabel="score, %", title=title)
    if with_objective:
        _curve(axes[1], numbers, objective, "objective", _TRAIN)
        axes[1].set(ylabel="objective")
    axes[-1].set(xlabel=unit_of(history[-1]["figures"]))
    axes[-1].locator_params(axis="x", integer=True)
    return figure


def transition_map(states: Sequence[str], weights: Sequence[Sequence[float | None]], title: str = "") -> Figure:
    """Weights of transitions from rows to columns; None is a forbidden one. Of many states, those that move most."""
    import numpy as np

    table = np.array([[np.nan if value is None else value for value in row] for row in weights])
    if table.size == 0:
        raise UsageError("the model has no transition weights to draw")
    names = list(states)
    if len(names) > MOST_STATES:
        strength = np.nansum(np.abs(table), axis=0) + np.nansum(np.abs(table), axis=1)
        kept = np.sort(np.argsort(-strength, kind="stable")[:MOST_STATES])
        table, names = table[np.ix_(kept, kept)], [names[k] for k in kept]
        title = f"{title} ({MOST_STATES} of {len(states)} states)".strip()
    size = max(4.0, 0.28 * len(names) + 1.8)
    figure, (axis,) = _subplots(1, (size + 0.8, size))
    most = float(np.nanmax(np.abs(table))) if np.isfinite(table).any() else 1.0
    axis.set_facecolor("0.85")  # what is forbidden
    image = axis.imshow(table, cmap="RdBu", vmin=-most, vmax=most)
    axis.set_xticks(range(len(names)), names, rotation=90)
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(length=0, labelsize=8)
    axis.set(xlabel="to", ylabel="from", title=title)
    figure.colorbar(image, ax=axis, shrink=0.7, label="weight (grey: forbidden)")
    return figure


def strongest_weights(top: dict[str, list[dict[str, Any]]], title: str = "") -> Figure:
    """The strongest attributes of up to four labels as bars, as `palmette inspect --json` lists them under `top`."""
    shown = {label: rows for label, rows in top.items() if rows}
    if not shown:
        raise UsageError("the model has no weights of attributes to draw")
    shown = dict(list(shown.items())[:MOST_LABELS])
    depth = max(len(rows) for rows in shown.values())
    figure, axes = _subplots(len(shown), (7.0, 0.7 + len(shown) * (0.45 + 0.2 * depth)))
    for axis, (label, rows) in zip(axes, shown.items(), strict=True):
        values = [row["weight"] for row in rows][::-1]
        axis.barh(range(len(rows)), values, color=[_DEV if value > 0 else _AGAINST for value in values])
        axis.set_yticks(range(len(rows)), [row["name"] for row in rows][::-1], fontsize=8)
        axis.axvline(0, color="0.5", linewidth=0.8)
        axis.set_title(label, loc="left", fontsize=10, fontweight="bold")
    axes[-1].set(xlabel="weight")
    figure.suptitle(title)
    return figure


def picture_format(path: FilePath) -> str:
    """The format of a picture by the ending of its name; UsageError if there is none, or nothing to draw with."""
    kind = os.path.splitext(os.fspath(path))[1].lower().lstrip(".")
    if kind not in FORMATS:
        raise UsageError(f"{path}: a picture is a file that ends in {', '.join('.' + name for name in FORMATS)}")
    need_matplotlib()
    return kind


def save_figure(figure: Figure, path: FilePath) -> None:
    """Write a figure, whole or not at all; the ending of the name is the format."""
    kind = picture_format(path)
    with write_whole(path) as out:
        figure.savefig(out, format=kind, dpi=150)


def need_matplotlib() -> None:
    """UsageError if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise UsageError("a picture needs matplotlib: pip install 'palmette[plot]'") from None


def _subplots(rows: int, size: tuple[float, float]) -> tuple[Figure, Sequence[Axes]]:
    need_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")  # without pyplot: no window, and nothing to close
    axes = list(figure.subplots(rows, 1, squeeze=False)[:, 0])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _curve(axis: Axes, x: Sequence[float], y: Sequence[float], name: str, colour: str) -> None:
    """A line with its name at its end."""
    axis.plot(x, y, color=colour, linewidth=1.8, marker="o" if len(x) < 25 else "", markersize=3)
    axis.annotate(
        f" {name}", (x[-1], y[-1]), xytext=(4, 0), textcoords="offset points", va="center", color=colour, fontsize=9
    )
