"""The trainings of a search: settings, how much of the data and of the passes they get, and the score they reach; and
the threads that run them.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, NamedTuple, Protocol, Self

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.data.subset import take
from palmette.errors import PalmetteError
from palmette.estimators.tagger import Tagger
from palmette.evaluation.significance import Interval, bootstrap, interval, span_tally, token_tally
from palmette.evaluation.spans import ChunkTables
from palmette.options.learners import Likelihood
from palmette.structures.chain.gold import certain, gold_and_guess
from palmette.structures.training_log import Epoch
from palmette.tuning.space import Settings, Space

LEAST_ITERATIONS = 30  # of L-BFGS: fewer say nothing
ROUNDS = 1_000  # of the bootstrap of a score


class Level(msgspec.Struct, frozen=True):
    """How much a training gets: a share of the sentences, and of the passes."""

    share: float = 1.0
    effort: float = 1.0


FULL = Level()


class TrialTask(msgspec.Struct, frozen=True):
    """A training to be done. Number 0 is the tagger as it is given, without any settings."""

    number: int
    settings: Settings
    level: Level


class Trial(msgspec.Struct, frozen=True):
    """A training that is over."""

    number: int
    settings: Settings
    level: Level
    passes: int  # or iterations, at most
    score: float | None  # on development data; None: it failed
    best_pass: int = 0
    seconds: float = 0.0
    error: str = ""
    interval: Interval | None = None  # of the score, of a training in full

    @property
    def in_full(self) -> bool:
        """Whether all sentences were learnt from in all passes, as `palmette train` would."""
        return self.score is not None and self.level == FULL


class Material(NamedTuple):
    """What all trainings of a search have in common."""

    train: Corpus
    dev: Corpus
    space: Space


class TrialStopped(Exception):
    """A training that was stopped on the way."""


Watch = Callable[[TrialTask, Epoch], None]
"""Called when a pass of a training is over."""


def run_trial(
    material: Material,
    task: TrialTask,
    stopped: Callable[[], bool],
    *,
    threads: int = 1,
    watch: Watch | None = None,
) -> Trial:
    """Train and score; raises Stopped soon after stopped() is true. Wrong settings and data are part of the result."""
    begun = time.perf_counter()
    passes = 0

    def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
        if stopped():
            raise TrialStopped
        if finished is not None and watch is not None:
            watch(task, finished)

    try:
        tagger = limited(Tagger(**material.space.params(task.settings)), task.level.effort)
        passes = tagger._settings().n_passes()
        # Copies of the two objects, not of their arrays: training notes there which labels are partly known.
        train, dev = copy.copy(part_of(material.train, task.level.share, tagger.seed)), copy.copy(material.dev)
        if stopped():
            raise TrialStopped
        tagger.fit_corpus(train, dev, names=False, threads=threads, progress=progress)
    except (PalmetteError, MemoryError) as error:
        problem = str(error).split("\n")[0] or "out of memory"
        return Trial(task.number, task.settings, task.level, passes, None, 0, time.perf_counter() - begun, problem)
    outcome = tagger.outcome_
    if outcome.interrupted:
        raise TrialStopped
    score = None if outcome.kept is None else outcome.kept.dev
    around = _interval(tagger, material.dev) if task.level == FULL else None
    seconds = time.perf_counter() - begun
    return Trial(task.number, task.settings, task.level, passes, score, outcome.best_epoch, seconds, interval=around)


def _interval(tagger: Tagger, dev: Corpus) -> Interval:
    """The bootstrap interval of the score of a tagger on development data."""
    model = tagger.model_
    gold, guess, labels = gold_and_guess(model, copy.copy(dev))
    known, scheme = certain(dev), unseen_scheme(model.scheme)
    if tagger.metric == "accuracy" or not are_chunk_labels(labels, scheme):
        tally = token_tally(gold, guess, dev.offset, known)
    else:
        tally = span_tally(gold, guess, dev.offset, ChunkTables.of(labels, scheme), known)
    return interval(bootstrap([tally], ROUNDS)[:, 0])


def limited(tagger: Tagger, effort: float) -> Tagger:
    """The tagger with a share of its passes, or of the iterations of L-BFGS; all of them: the tagger as it is."""
    limits = limits_of(tagger, effort)
    return tagger.set_params(**limits) if limits else tagger


def limits_of(tagger: Tagger, effort: float) -> dict[str, Any]:
    """The parameters that give a training this share of its passes."""
    if effort >= 1.0:
        return {}
    settings = tagger._settings()
    learner, n = settings.chosen_learner, settings.n_passes()
    if isinstance(learner, Likelihood) and learner.full_batch:
        return {"learner__iterations": min(n, max(LEAST_ITERATIONS, math.ceil(n * effort)))}
    return {} if "passes" in learner.unused else {"passes": max(1, round(n * effort))}


def part_of(corpus: Corpus, share: float, seed: int) -> Corpus:
    """A share of the sentences, drawn by seed, in their order; the corpus itself if that is all of them."""
    if share >= 1.0:
        return corpus
    n = max(1, round(share * corpus.n_sentences))
    drawn = np.random.default_rng([seed, 4]).permutation(corpus.n_sentences)[:n]
    return take(corpus, np.sort(drawn))


# Threads of this process run the trainings of a search. Kernels release the lock of the interpreter, the data is
# there once, and a training gives the same result in any thread.
#
# A cluster is in connect/ray_cluster.py, with the same methods.


class TrialWorkers(Protocol):
    """Trainings side by side."""

    size: int  # how many at a time

    def run(self, tasks: Sequence[TrialTask], deadline: float | None, watch: Watch) -> Iterator[Trial]:
        """The trials of the tasks as they end, those that the deadline (of `time.monotonic`) has not stopped."""

    def stop(self) -> None:
        """End all trainings, soon, and wait for that."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TrialThreads:
    """Trainings on threads of this process."""

    def __init__(self, material: Material, size: int | None = None) -> None:
        self.size = size or cores()
        self._material = material
        self._ended = Event()
        self._pool = ThreadPoolExecutor(self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def run(self, tasks: Sequence[TrialTask], deadline: float | None, watch: Watch) -> Iterator[Trial]:
        def stopped() -> bool:
            return self._ended.is_set() or (deadline is not None and time.monotonic() >= deadline)

        # With fewer trainings than threads, L-BFGS has several: its result is the same for any number.
        threads = max(1, self.size // max(1, len(tasks)))
        left: set[Future[Trial]] = {
            self._pool.submit(run_trial, self._material, task, stopped, threads=threads, watch=watch) for task in tasks
        }
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            yield from _finished(done)

    def stop(self) -> None:
        self._ended.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


def _finished(done: set[Future[Trial]]) -> Iterator[Trial]:
    for future in done:
        try:
            trial = future.result()
        except TrialStopped:
            continue
        yield trial
