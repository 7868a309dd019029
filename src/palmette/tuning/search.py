"""The search: brackets of settings, each by successive halving, until the trials or the minutes are used up.

Which settings are tried, and which go on, depends on the seed and on scores alone: neither on the number of threads nor
on who is first. Only a limit of minutes makes a search depend on the speed of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from palmette.structures.training_log import Epoch
from palmette.tuning.halving import KEPT, levels, survivors
from palmette.tuning.options import TRIALS, TuningOptions
from palmette.tuning.record import Record
from palmette.tuning.space import Settings, Space
from palmette.tuning.trial import FULL, Level, Task, Trial
from palmette.tuning.workers import Workers

BRACKET = KEPT**2  # settings that are tried at a time if only the minutes are limited


class Watcher(Protocol):
    """Who is told how far a search is."""

    def begins(self, level: int, n_levels: int, tasks: Sequence[Task]) -> None:
        """Trainings begin, on a level from 1."""

    def epoch(self, task: Task, epoch: Epoch) -> None:
        """A pass of a training is over; called by any thread."""

    def ended(self, trial: Trial, known: bool) -> None:
        """A training is over, or was known from a record."""


class Search:
    """One search; `trials` has every training, in the order in which they ended."""

    def __init__(self, workers: Workers, record: Record, watcher: Watcher, options: TuningOptions) -> None:
        self.workers, self.record, self.watcher, self.options = workers, record, watcher, options
        self.trials: list[Trial] = []
        self.interrupted = False
        self.deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes

    def run(self, space: Space, seed: int, n_sentences: int) -> None:
        """Search until the end; Ctrl-C ends it early, with what there is."""
        try:
            self._run(space.draws(seed), n_sentences)
        except KeyboardInterrupt:
            self.interrupted = True
            self.workers.stop()

    def _run(self, drawn: Iterator[Settings], n_sentences: int) -> None:
        size = self.options.trials
        if size is None:
            size = TRIALS if self.deadline is None else max(BRACKET, KEPT * self.workers.size)
        first = 1
        extra = [Task(0, {}, FULL)]  # the tagger as it is
        while bracket := list(islice(drawn, size)):
            steps = levels(len(bracket), n_sentences) if self.options.halving else [FULL]
            self._bracket(list(enumerate(bracket, first)), steps, extra)
            first, extra = first + len(bracket), []
            if self.options.trials is not None or self.deadline is None or self._late():
                break

    def _bracket(self, settings: list[tuple[int, Settings]], steps: list[Level], extra: list[Task]) -> None:
        for k, level in enumerate(steps, 1):
            if self._late():
                return
            tasks = extra + [Task(number, own, level) for number, own in settings]
            self.watcher.begins(k, len(steps), tasks)
            trials = [trial for trial in self._done(tasks) if trial.number]
            settings, extra = [(trial.number, trial.settings) for trial in survivors(trials)], []

    def _done(self, tasks: Sequence[Task]) -> Iterator[Trial]:
        new = []
        for task in tasks:
            trial = self.record.trial(task)
            if trial is None:
                new.append(task)
            else:
                yield self._noted(trial, known=True)
        for trial in self.workers.run(new, self.deadline, self.watcher.epoch):
            self.record.add(trial)
            yield self._noted(trial, known=False)

    def _noted(self, trial: Trial, known: bool) -> Trial:
        self.trials.append(trial)
        self.watcher.ended(trial, known)
        return trial

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline
