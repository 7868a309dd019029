"""Progress of training on stderr: a bar and a table that grows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from palmette.structures.training_log import Epoch


class TrainingDisplay:
    """Shows epochs as they end; a context manager, called by the trainer."""

    def __init__(self, epochs: int, metric: str | None, quiet: bool = False) -> None:
        self.epochs = epochs
        self.metric = metric
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.best: float | None = None
        self.began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None
        self._head = False

    def __enter__(self) -> TrainingDisplay:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[speed]}"),
                TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task("training", total=self.epochs, speed="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self.quiet:
            return
        if self._bar is not None:
            share = done / max(1, total)
            speed = (number - 1 + share) * total / max(1e-9, time.perf_counter() - self.began)
            self._bar.update(
                self._task, completed=number - 1 + share, total=max(self.epochs, number),
                description=f"pass {number}", speed=f"{speed / 1000:,.0f}k tokens/s",
            )  # fmt: skip
        if finished is not None:
            self._print(finished)

    def _print(self, row: Epoch) -> None:
        lines = [] if self._head else [_heading(self.metric, row)]
        self._head = True
        if row.number == 1:  # another start, or the second of two stages
            self.best = None
        better = row.dev is not None and (self.best is None or row.dev > self.best)
        if better:
            self.best = row.dev
        lines.append(_line(row, better))
        for line in lines:
            if self._bar is not None:
                self._bar.console.print(line, highlight=False, markup=False)
            else:
                print(line, file=sys.stderr, flush=True)


def _heading(metric: str | None, row: Epoch) -> str:
    """The heads of the columns that the rows of this training have."""
    dev = "" if metric is None else f"{'dev ' + metric:>14}"
    more = f"{'bad':>8}{'cut at':>8}" if "bad" in row.figures else ""
    work = f"{'objective':>14}" if "objective" in row.figures else f"{'updates':>10}"
    error = f"{'error':>9}" if "error" in row.figures else ""
    return f"{'pass':>6}{work}{more}{'train acc.':>12}{error}{dev}{'seconds':>10}"


def _line(row: Epoch, better: bool) -> str:
    dev = "" if row.dev is None else f"{100 * row.dev:>13.2f}{'*' if better else ' '}"
    bad, cut = row.figures.get("bad"), row.figures.get("cut")  # of a beam: see docs/beam.md
    more = "" if bad is None or cut is None else f"{100 * bad:>7.1f}%{100 * cut:>7.1f}%"
    objective = row.figures.get("objective")  # what a likelihood minimises; every sentence is an update
    work = f"{row.updates:>10,}" if objective is None else f"{_short(objective):>14}"
    error = f"{100 * row.figures['error']:>8.2f}%" if "error" in row.figures else ""  # what --stop-window looks at
    return f"{row.number:>6}{work}{more}{100 * row.train_accuracy:>11.2f}%{error}{dev}{row.seconds:>10.2f}"


def _short(value: float) -> str:
    """Two decimals, or the exponent of what is too long for its column."""
    plain = f"{value:,.2f}"
    return plain if len(plain) <= 13 else f"{value:.6g}"
