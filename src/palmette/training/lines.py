"""The training log as lines of text, one per pass or iteration: for the command line, and for `verbose` in Python."""

from __future__ import annotations

from palmette.structures.training_log import Epoch, unit_of
from palmette.training.result import Progress, TrainResult, watcher_of


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
