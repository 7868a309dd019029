"""Reliability of confidences: tables, and a reliability diagram."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from palmette.data.files import FilePath, write_whole
from palmette.errors import counted
from palmette.evaluation.calibration import BINS, Reliability
from palmette.reports.plots import need_matplotlib
from palmette.reports.svg import COLOURS, LIGHT, spread
from palmette.reports.tables import OutputConsole
from palmette.structures.chain.calibrate import Reliabilities
from palmette.structures.chain.temperature import Calibration

ERRORS = {
    "nll": "negative log-likelihood per token",
    "ece_tokens": "expected calibration error of tokens, %",
    "ece_spans": "of spans, %",
    "ece_sentences": "of whole sentences, %",
}


def print_calibration(found: Calibration, console: Console | None = None) -> None:
    """A fitted temperature, and the figures before and after."""
    console = console or OutputConsole(100)
    console.print(f"[bold]temperature {found.temperature:.4g}[/bold]")
    size = f"{counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}"
    console.print(f"fitted on {found.data}: {size}", markup=False)
    table = Table(box=None, padding=(0, 3, 0, 0))
    for head in ("", "before", "after"):
        table.add_column(head, justify="right" if head else "left")
    for name, text in ERRORS.items():
        if name in found.after:
            pair = (found.before[name], found.after[name])
            table.add_row(text, *(f"{v:.4f}" if name == "nll" else f"{100 * v:.2f}" for v in pair))
    console.print(table)


def calibration_data(found: Reliabilities, called: str, temperature: float) -> dict[str, Any]:
    """For JSON."""
    import msgspec

    tables = {name: msgspec.to_builtins(table) for name, table in found._asdict().items() if table is not None}
    return {"called": called, "temperature": temperature, **tables}


def print_reliability(found: Reliabilities, called: str, temperature: float, console: Console | None = None) -> None:
    """Per bin the number of guesses, their mean confidence and their accuracy."""
    console = console or OutputConsole(100)
    tables = {name: table for name, table in found._asdict().items() if table is not None}
    at = "" if temperature == 1.0 else f", at temperature {temperature:.4g}"
    console.print(f"reliability of the {called}{at}: mean and accuracy by level, %", style="italic", markup=False)
    shown = Table(box=None, padding=(0, 1, 0, 0))  # nine columns of figures in 80 characters
    shown.add_column("")
    for name in tables:
        for head in (name, "mean", "accuracy"):
            shown.add_column(head, justify="right")
    for b in range(BINS):
        cells = [cell for table in tables.values() for cell in _cells(table, b)]
        if any(cells):
            shown.add_row(f"{b / BINS:.1f}-{(b + 1) / BINS:.1f}", *cells)
    totals = [(f"{t.count:,}", _percent(t.confidence), _percent(t.accuracy)) for t in tables.values()]
    shown.add_row("all", *(cell for cells in totals for cell in cells))
    console.print(shown)
    errors = ", ".join(f"{name} {_percent(table.ece)}" for name, table in tables.items())
    console.print(f"expected calibration error, %: {errors}")


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _cells(table: Reliability, b: int) -> tuple[str, str, str]:
    for row in table.bins:
        if row.low == b / BINS:
            return f"{row.count:,}", _percent(row.confidence), _percent(row.accuracy)
    return "", "", ""


def draw_reliability(found: Reliabilities, called: str, path: FilePath) -> None:
    """A reliability diagram as a PNG: accuracy against confidence, and how many guesses each bin has."""
    need_matplotlib()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 6), sharex=True, height_ratios=[3, 1], layout="constrained"
    )  # fmt: skip
    above.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    tables = {name: table for name, table in found._asdict().items() if table is not None and table.bins}
    ends = [table.bins[-1].accuracy for table in tables.values()]
    places = spread(ends, 0.055, 0.0, 1.0)
    for k, (name, table) in enumerate(tables.items()):
        points, colour = [(row.confidence, row.accuracy) for row in table.bins], LIGHT[COLOURS[k]]
        above.plot(*zip(*points, strict=True), marker="os^"[k], color=colour)
        above.annotate(
            f"{name}, ECE {_percent(table.ece)} %", points[-1], xytext=(1.04, places[k]), textcoords="data",
            va="center", color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6},
        )  # fmt: skip
        width = 0.8 / BINS / len(tables)
        left = [row.low + 0.1 / BINS + k * width for row in table.bins]
        below.bar(left, [row.count / table.count for row in table.bins], width, align="edge", color=colour)
    above.set(ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    below.set(xlabel=called, ylabel="share of guesses")
    for axis in (above, below):
        axis.spines[["top", "right"]].set_visible(False)
    with write_whole(path) as out:
        figure.savefig(out, format="png", dpi=150)
    plt.close(figure)
