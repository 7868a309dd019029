"""Outputs of training: the log of its epochs, also as lines of text, the best epoch, and the reason for ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from palmette.options.training import StopWindow
from palmette.structures.training_log import Epoch, unit_of

MORE = 3  # times as many iterations as were too few, in advice
CUT_SHORT = "cut_short"  # attribute of the log record that warns of it
ERROR = "error"  # the figure of an epoch that the error window looks at


class Progress(Protocol):
    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        """Called during epoch `number`, with the tokens done and in all, and once with its record when it is over."""
        ...


def watcher_of(progress: Progress | None) -> Any:
    """Who is told how far each worker is, as a `Watcher` of training/cluster.py: the method `workers` of a `Progress`
    that has one."""
    return getattr(progress, "workers", None)


class TrainResult(NamedTuple):
    """The result of a training."""

    best: Any  # a snapshot of the weights
    best_epoch: int
    training_log: list[Epoch]
    signal: int  # that has interrupted it; 0: none
    ended: str  # the reason for ending
    cut_short: bool = False  # the limit of iterations ended L-BFGS before it converged: more may give a better model

    @property
    def interrupted(self) -> bool:
        return self.signal != 0

    @property
    def kept(self) -> Epoch | None:
        """The record of the epoch whose weights came out."""
        return next((row for row in self.training_log if row.number == self.best_epoch), None)

    def summary(self, score: str = "dev") -> str:
        """The reason for ending and the pass or iteration that was kept, with its score on development data."""
        kept = self.kept
        unit = "pass" if kept is None else unit_of(kept.figures)
        dev = "" if kept is None or kept.dev is None else f" ({score} {100 * kept.dev:.2f})"
        return f"{self.ended}; kept {unit} {self.best_epoch}{dev}"


class EpochLog:
    """The epochs so far and the best of them: by the score on development data if there is some, else the last one.

    A training that continues another starts from its epochs, and from its best snapshot if there is one.
    """

    def __init__(
        self,
        patience: int | None = None,
        progress: Progress | None = None,
        epochs: Sequence[Epoch] = (),
        best: Any = None,
        unit: str = "pass",
        window: StopWindow | None = None,
    ) -> None:
        self.patience = patience  # epochs without a better one after which training ends
        self.window = window  # in which the error rate must vary
        self.progress = progress
        self.epochs = list(epochs)
        self.best = best
        self.unit = unit  # how messages refer to an epoch
        scored = [(epoch.dev, -epoch.number) for epoch in epochs if epoch.dev is not None] if best is not None else []
        self.best_score, number = max(scored, default=(-np.inf, 0))
        self.best_epoch = -number

    def add(self, epoch: Epoch, work: int, snapshot: Callable[[], Any], dev_error: float | None = None) -> None:
        """Record an epoch of `work` tokens; the snapshot is taken if it is the best so far on development data.
        `dev_error`: the error rate there; with an error window it is recorded, or that on training data."""
        if self.window is not None:
            error = 1.0 - epoch.train_accuracy if dev_error is None else dev_error
            epoch = msgspec.structs.replace(epoch, figures=epoch.figures | {ERROR: float(error)})
        self.epochs.append(epoch)
        if epoch.dev is None:
            self.best_epoch = epoch.number
        elif epoch.dev > self.best_score:
            self.best, self.best_epoch, self.best_score = snapshot(), epoch.number, epoch.dev
        if self.progress is not None:
            self.progress(epoch.number, work, work, epoch)

    def report(self, number: int, done: int, total: int) -> None:
        """Show how far epoch `number` is."""
        if self.progress is not None:
            self.progress(number, done, total, None)

    @property
    def reason_to_stop(self) -> str | None:
        """Why training need not go on: patience has run out, or the error rate hardly varies any more."""
        if not self.epochs:
            return None
        last = self.epochs[-1]
        if self.patience is not None and last.dev is not None and last.number - self.best_epoch >= self.patience:
            return f"stopped: no better {self.unit} than {self.best_epoch} in the last {self.patience}"
        if self.window is None:
            return None
        errors = self._errors(self.window.passes)
        if len(errors) < self.window.passes or not 100 * (max(errors) - min(errors)) < self.window.change:
            return None
        of = "training" if last.dev is None else "development"
        return (
            f"stopped: the error on {of} data varied by less than {self.window.change:g} points in the last "
            f"{self.window.passes} {'passes' if self.unit == 'pass' else self.unit + 's'}"
        )

    def _errors(self, most: int) -> list[float]:
        """The error rates of the last epochs that were measured on the same data as that of the last one."""
        found: list[float] = []
        for epoch in reversed(self.epochs[-most:]):
            if ERROR not in epoch.figures or (epoch.dev is None) != (self.epochs[-1].dev is None):
                break
            found.append(epoch.figures[ERROR])
        return found


# The training log as lines of text, one per pass or iteration: for the command line, and for `verbose` in Python.


class EpochLines:
    """Makes the lines, below a heading whenever columns change; a better score on development data has a mark."""

    def __init__(self, metric: str = "score") -> None:
        self.metric = metric  # how the heading calls the score on development data
        self.best: float | None = None
        self._head = ""

    def of(self, row: Epoch) -> list[str]:
        """The line of a record, after a heading if it is the first one with its columns."""
        before, self._head = self._head, _heading(self.metric, row)
        lines = [] if self._head == before else [self._head]
        if row.number == 1:  # another start, or the second of two stages
            self.best = None
        better = row.dev is not None and (self.best is None or row.dev > self.best)
        if better:
            self.best = row.dev
        return [*lines, _line(row, better)]


class Printed:
    """A `Progress` that prints the lines to standard output, which notebooks show as they come."""

    def __init__(self) -> None:
        self.lines = EpochLines()

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        for line in () if finished is None else self.lines.of(finished):
            print(line, flush=True)


class _Both:
    """Printed lines, and the caller's own function."""

    def __init__(self, own: Progress) -> None:
        self.own, self.printed, self.workers = own, Printed(), watcher_of(own)

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        self.printed(number, done, total, finished)
        self.own(number, done, total, finished)


def reporter(progress: Progress | None, verbose: bool) -> Progress | None:
    """Who is told of each pass: the caller's own function, printed lines if it is `verbose`, or both."""
    if not verbose:
        return progress
    return Printed() if progress is None else _Both(progress)


def report_end(outcome: TrainResult, verbose: bool) -> None:
    """Print why a training ended and what it kept."""
    if verbose:
        print(outcome.summary(), flush=True)


def _heading(metric: str, row: Epoch) -> str:
    """The heads of the columns that the rows of this training have."""
    dev = "" if row.dev is None else f"{'dev ' + metric:>14}"
    more = f"{'bad':>8}{'cut at':>8}" if "bad" in row.figures else ""
    work = f"{'objective':>14}" if "objective" in row.figures else f"{'updates':>10}"
    error = f"{'error':>9}" if "error" in row.figures else ""
    unit = unit_of(row.figures)
    return f"{unit:>{_width(unit)}}{work}{more}{'train acc.':>12}{error}{dev}{'seconds':>10}"


def _line(row: Epoch, better: bool) -> str:
    dev = "" if row.dev is None else f"{100 * row.dev:>13.2f}{'*' if better else ' '}"
    bad, cut = row.figures.get("bad"), row.figures.get("cut")  # of a beam: see docs/beam.md
    more = "" if bad is None or cut is None else f"{100 * bad:>7.1f}%{100 * cut:>7.1f}%"
    objective = row.figures.get("objective")  # what a likelihood minimises; every sentence is an update
    work = f"{row.updates:>10,}" if objective is None else f"{_short(objective):>14}"
    error = f"{100 * row.figures['error']:>8.2f}%" if "error" in row.figures else ""  # what --stop-window looks at
    number = f"{row.number:>{_width(unit_of(row.figures))}}"
    return f"{number}{work}{more}{100 * row.train_accuracy:>11.2f}%{error}{dev}{row.seconds:>10.2f}"


def _width(unit: str) -> int:
    """Of the column of numbers."""
    return len(unit) + 2


def _short(value: float) -> str:
    """Two decimals, or the exponent of what is too long for its column."""
    plain = f"{value:,.2f}"
    return plain if len(plain) <= 13 else f"{value:.6g}"
