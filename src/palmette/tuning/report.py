"""A search for options: how it goes, on stderr, and what it has found."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from palmette.errors import counted
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import as_flags
from palmette.reports.tables import OutputConsole, percent, plain_table
from palmette.structures.training_log import Epoch, unit_of
from palmette.tuning.run import TuneResult
from palmette.tuning.search import best_of, highest
from palmette.tuning.trial import Trial, TrialTask

ROWS = 10  # of the table during a search, and at its end
GIVEN = "(nothing changed)"


def options_of(settings: Mapping[str, Any]) -> str:
    """Settings as the flags that give them."""
    return " ".join(as_flags(TaggerOptions, settings)) or GIVEN


class TuningDisplay:
    """Shows trainings as they end: in a terminal a table that is drawn again and again, elsewhere a line each."""

    def __init__(self, quiet: bool = False, minutes: float | None = None) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.minutes = minutes
        self.begun = time.perf_counter()
        self.trials: list[Trial] = []
        self.running: dict[int, str] = {}
        self.step = ""
        self._lock = Lock()  # passes are reported by the threads that train
        self._drawn: Any = None

    def __enter__(self) -> TuningDisplay:
        if self.live:
            from rich.live import Live

            console = Console(stderr=True, highlight=False, emoji=False)
            self._drawn = Live(get_renderable=self._table, console=console, refresh_per_second=4, transient=True)
            self._drawn.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def begins(self, level: int, n_levels: int, tasks: Sequence[TrialTask]) -> None:
        self.step = f"step {level} of {n_levels}: {counted(len(tasks), 'training')}"
        self._line(self.step)

    def epoch(self, task: TrialTask, epoch: Epoch) -> None:
        with self._lock:
            self.running[task.number] = f"{unit_of(epoch.figures)} {epoch.number}: {percent(epoch.dev)}"

    def ended(self, trial: Trial, known: bool) -> None:
        with self._lock:
            self.running.pop(trial.number, None)
            self.trials.append(trial)
        known_before = " (from the record)" if known else f" in {trial.seconds:.1f} s"
        result = percent(trial.score) if trial.score is not None else f"failed: {trial.error}"
        self._line(f"  trial {trial.number}: {result}{known_before}, {_amount(trial)}: {options_of(trial.settings)}")

    def _line(self, text: str) -> None:
        if not self.quiet and not self.live:
            print(text, file=sys.stderr, flush=True)

    def _table(self) -> Table:
        with self._lock:
            trials, running = list(self.trials), dict(self.running)
        seconds = int(time.perf_counter() - self.begun)
        spent = f"{seconds // 60}:{seconds % 60:02}" + ("" if self.minutes is None else f" of {self.minutes:g} minutes")
        best = best_of(trials)
        shown = "" if best is None else f", best in full {percent(best.score)}"
        table = trials_table(highest(trials))
        table.title, table.title_justify = escape(f"{spent}, {self.step}{shown}"), "left"
        now = "; ".join(f"trial {number}: {text}" for number, text in sorted(running.items())[:ROWS])
        table.caption, table.caption_justify = escape(now), "left"
        return table


def trials_table(trials: Sequence[Trial]) -> Table:
    """The first trials, a row each."""
    table = plain_table(["trial", "score", "sentences", "passes", "seconds", "options"], 0)
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    table.columns[-1].overflow = "fold"
    for trial in trials[:ROWS]:
        cells = [str(trial.number), percent(trial.score), f"{100 * trial.level.share:.0f}%", str(trial.passes)]
        table.add_row(*cells, f"{trial.seconds:.1f}", escape(trial.error or options_of(trial.settings)))
    return table


def print_tuning(found: TuneResult, console: Console | None = None) -> None:
    """Print the best trials, and compare the best with the tagger as it was given."""
    console = console or OutputConsole(100)
    tried = len({trial.number for trial in found.trials} - {0})
    failed = sum(1 for trial in found.trials if trial.score is None)
    n = counted(len(found.trials), "training") + (f", {failed} of them failed" if failed else "")
    ended = ", interrupted" if found.interrupted else ""
    console.print(f"{counted(tried, 'setting')} tried in {n} and {found.seconds:.1f} s{ended}; scores: {_name(found)}")
    trials = highest(found.trials)
    console.print(trials_table(trials))
    if len(trials) > ROWS:
        console.print(f"and {len(trials) - ROWS} more", style="dim", markup=False)
    console.print(_verdict(found), markup=False)


def _verdict(found: TuneResult) -> str:
    best, given = found.best, found.given
    if best.number == 0:
        return f"nothing tried is better than {_with_interval(best)}, without any of these options"
    text = f"best: {_with_interval(best)}, trial {best.number}, kept pass {best.best_pass}"
    if given is not None and given.score is not None and best.score is not None:
        text += f"; without any of these options {_with_interval(given)} ({100 * (best.score - given.score):+.2f})"
    return text


def _with_interval(trial: Trial) -> str:
    """A score, and where it would be in 95 of 100 such samples of sentences."""
    around = trial.interval
    return percent(trial.score) + (f" [{percent(around.low)}, {percent(around.high)}]" if around else "")


def _name(found: TuneResult) -> str:
    return "F1 of spans" if found.metric == "f1" else "accuracy"


def _amount(trial: Trial) -> str:
    share = "" if trial.level.share == 1.0 else f" of {100 * trial.level.share:.0f}% of the sentences"
    return f"{counted(trial.passes, 'pass', 'passes')}{share}"
