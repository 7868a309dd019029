"""The search: brackets of settings, each by successive halving, until the trials or the minutes are used up.

Which settings are tried, and which go on, depends on the seed and on scores alone: neither on the number of threads nor
on who is first. Only a limit of minutes makes a search depend on the speed of the machine.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.files import FilePath, check_output, read_all, shown, write_whole
from palmette.errors import DataError
from palmette.options.declare import Value
from palmette.structures.training_log import Epoch
from palmette.tuning.options import TRIALS, TuningOptions
from palmette.tuning.space import Settings, Space
from palmette.tuning.trial import FULL, Level, Material, Trial, TrialTask, TrialWorkers

# Successive halving (Jamieson and Talwalkar 2016), by thirds: all settings get a little, the best third of them three
# times as much, and so on up to a training in full.
#
# Less is a third of the passes, and then a third of the sentences, as long as enough are left: small data has two
# levels, and large data up to four.
#
# The tagger as it is given is trained before all others. With a limit of minutes its time tells how many settings a
# bracket can have, so that some of them are trained in full; each level gets an equal part of the time that is left.

KEPT = 3  # one of this many settings continues
MOST_LEVELS = 4
LEAST_SENTENCES = 1_000  # of a part of the data: the score on fewer predicts little about a model of all


def levels(n_settings: int, n_sentences: int) -> list[Level]:
    """The levels for a number of settings, from the least to the full one."""
    found = [FULL]
    if n_settings >= KEPT:
        found.append(Level(1.0, 1.0 / KEPT))
    while len(found) < MOST_LEVELS and n_settings >= KEPT ** len(found):
        share = found[-1].share / KEPT
        if share * n_sentences < LEAST_SENTENCES:
            break
        found.append(Level(share, 1.0 / KEPT))
    return found[::-1]


def survivors(trials: Iterable[Trial]) -> list[Trial]:
    """The best third of the trials of a level, best first; of equal ones those that were drawn first."""
    scored = sorted((t for t in trials if t.score is not None), key=rank)
    return scored[: math.ceil(len(scored) / KEPT)]


def rank(trial: Trial) -> tuple[float, float, int]:
    """Sorts trials: the best score first, then more passes, then the number."""
    return (-(trial.score if trial.score is not None else -math.inf), -trial.level.effort, trial.number)


def cost(n_settings: int, steps: Sequence[Level]) -> float:
    """How many trainings in full the levels of so many settings take."""
    left = [math.ceil(n_settings / KEPT**k) for k in range(len(steps))]
    return sum(n * level.share * level.effort for n, level in zip(left, steps, strict=True))


def highest(trials: Iterable[Trial]) -> list[Trial]:
    """Of each setting the training that got most; those that got most first, and of these the best."""
    most: dict[int, Trial] = {}
    for trial in sorted(trials, key=lambda trial: (trial.level.share, trial.level.effort)):
        most[trial.number] = trial
    return sorted(most.values(), key=lambda trial: (-trial.level.share, -trial.level.effort, *rank(trial)))


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """The best trial in full: its score is that of a command."""
    return min((t for t in trials if t.in_full), key=rank, default=None)


# The record of searches: a line of JSON for each training that is over. A search that is run again, after Ctrl-C or
# with more trials, takes from it what it has done before.
#
# A line belongs to the searches with the same training data, development data and fixed options, whose `context` it
# has; a file may hold those of several.


class _RecordLine(msgspec.Struct):
    context: str
    trial: Trial


class Record:
    """Results by settings and level; kept in a file if there is one."""

    def __init__(self, path: FilePath | None, context: str) -> None:
        self.path = path
        self.context = context
        self._found: dict[str, Trial] = {}
        if path is not None:
            check_output(path)
            for line in self._lines():
                if line.context == context:
                    self._found[_key(line.trial.settings, line.trial.level)] = line.trial

    def trial(self, task: TrialTask) -> Trial | None:
        """The result of a task that was done before."""
        found = self._found.get(_key(task.settings, task.level))
        return None if found is None else msgspec.structs.replace(found, number=task.number)

    def add(self, trial: Trial) -> None:
        self._found[_key(trial.settings, trial.level)] = trial
        if self.path is None:
            return
        before = read_all(self.path) if os.path.exists(self.path) else b""
        with write_whole(self.path) as file:
            file.write(before + msgspec.json.encode(_RecordLine(self.context, trial)) + b"\n")

    def _lines(self) -> Iterator[_RecordLine]:
        assert self.path is not None
        if not os.path.exists(self.path):
            return
        for number, line in enumerate(read_all(self.path).splitlines(), 1):
            try:
                yield msgspec.json.decode(line, type=_RecordLine)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise DataError(
                    "not a line of a record of `palmette tune`", file=shown(self.path), line=number,
                    hint="choose another file, or delete this one",
                ) from None  # fmt: skip


def _key(settings: Settings, level: Level) -> str:
    return msgspec.json.encode((sorted(settings.items()), level)).decode()


def context_of(material: Material) -> str:
    """What results depend on besides settings: the data, and the parameters of the tagger."""
    digest = hashlib.blake2b(digest_size=12)
    for corpus in (material.train, material.dev):
        for part in _parts(corpus):
            digest.update(part)
    fixed = {name: _plain(value) for name, value in sorted(material.space.base.items())}
    digest.update(repr(fixed).encode())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Value) else value


def _parts(corpus: Corpus) -> Iterator[bytes]:
    """The content of a corpus as bytes: sentences, cells, labels, attributes with their values, weights."""
    yield corpus.offset.tobytes()
    given = corpus.attributes
    columns: list[Column | None] = [*corpus.columns, corpus.labels, None if given is None else given.names]
    for column in columns:
        if column is not None:
            yield column.hash[column.ids].tobytes()
    arrays: list[np.ndarray | None] = [corpus.weight]
    if given is not None:
        arrays += [given.ptr, given.val, given.rest]
    yield from (array.tobytes() for array in arrays if array is not None)


MOST = KEPT**3  # settings that are tried at a time if only the minutes are limited
DEARER = 2.0  # a setting takes so many times as long as the tagger that is given, to be on the safe side


class Watcher(Protocol):
    """Gets the progress of a search."""

    def begins(self, level: int, n_levels: int, tasks: Sequence[TrialTask]) -> None:
        """Trainings begin, on a level from 1."""

    def epoch(self, task: TrialTask, epoch: Epoch) -> None:
        """A pass of a training is over; called by any thread."""

    def ended(self, trial: Trial, known: bool) -> None:
        """A training is over, or was known from a record."""


class TuningSearch:
    """One search; `trials` has every training, in the order in which they ended."""

    def __init__(self, workers: TrialWorkers, record: Record, watcher: Watcher, options: TuningOptions) -> None:
        self.workers, self.record, self.watcher, self.options = workers, record, watcher, options
        self.trials: list[Trial] = []
        self.interrupted = False
        self.deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes

    def run(self, space: Space, seed: int, n_sentences: int) -> None:
        """Search until the end; Ctrl-C ends it early, with what there is."""
        try:
            self._run(space.draws(seed, self.best_settings), n_sentences)
        except KeyboardInterrupt:
            self.interrupted = True
            self.workers.stop()

    def _run(self, drawn: Iterator[Settings], n_sentences: int) -> None:
        self._level(1, 1, [TrialTask(0, {}, FULL)], self.deadline)  # the tagger as it is
        first = 1
        while not self._late() and (bracket := list(islice(drawn, self._size(n_sentences)))):
            self._bracket(list(enumerate(bracket, first)), self._steps(len(bracket), n_sentences))
            first += len(bracket)
            if self.options.trials is not None or self.deadline is None:
                break

    def _steps(self, n_settings: int, n_sentences: int) -> list[Level]:
        return levels(n_settings, n_sentences) if self.options.halving else [FULL]

    def _size(self, n_sentences: int) -> int:
        """How many settings the next bracket has."""
        if self.options.trials is not None or self.deadline is None:
            return self.options.trials or TRIALS
        given = next((trial.seconds for trial in self.trials if not trial.number), 0.0)
        left = (self.deadline - time.monotonic()) * self.workers.size / max(DEARER * given, 1e-3)
        fits = (n for n in range(MOST, 1, -1) if cost(n, self._steps(n, n_sentences)) <= left)
        return next(fits, self.workers.size)

    def _bracket(self, settings: list[tuple[int, Settings]], steps: list[Level]) -> None:
        for k, level in enumerate(steps, 1):
            if self._late():
                return
            tasks = [TrialTask(number, own, level) for number, own in settings]
            best = survivors(self._level(k, len(steps), tasks, self._until(len(steps) - k + 1)))
            settings = [(trial.number, trial.settings) for trial in best]

    def _until(self, levels_left: int) -> float | None:
        """When the first of so many levels ends."""
        if self.deadline is None:
            return None
        now = time.monotonic()
        return now + (self.deadline - now) / levels_left

    def _level(self, number: int, n_levels: int, tasks: Sequence[TrialTask], until: float | None) -> list[Trial]:
        self.watcher.begins(number, n_levels, tasks)
        return list(self._done(tasks, until))

    def best_settings(self) -> Settings:
        """Those of the best trial in full so far."""
        best = best_of(self.trials)
        return {} if best is None else best.settings

    def _done(self, tasks: Sequence[TrialTask], until: float | None) -> Iterator[Trial]:
        new = []
        for task in tasks:
            trial = self.record.trial(task)
            if trial is None:
                new.append(task)
            else:
                yield self._noted(trial, known=True)
        for trial in self.workers.run(new, until, self.watcher.epoch):
            self.record.add(trial)
            yield self._noted(trial, known=False)

    def _noted(self, trial: Trial, known: bool) -> Trial:
        self.trials.append(trial)
        self.watcher.ended(trial, known)
        return trial

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline
