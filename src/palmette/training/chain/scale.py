"""How large the data of a training is: a `Scale` surveys and encodes it, and says what it cannot do.

Memory    a corpus                                                       here
Disk      data in blocks, whose numbers are in mapped files              disk.py
Shards    files that the workers of a cluster read, on threads or Ray    shards.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from palmette.data.corpus import Corpus
from palmette.kernels.chain.forms import Data
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel, check_columns
from palmette.structures.chain.search import BeamSearch
from palmette.training.chain.dev import SAME_COLUMNS, check_labelled, for_beam, held_out
from palmette.training.chain.finish import about_data
from palmette.training.chain.learning import ChainLearning
from palmette.training.chain.mixing import MixedLearning, mix_shards
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import Plan, TrainingData, TrainRequest
from palmette.training.chain.settle import SUMMED_SHARDS, Survey, chosen, report_partial, report_size
from palmette.training.chain.train import Penalty, new_objective
from palmette.training.result import EpochLog, Progress, watcher_of

ONE_PROCESS = {
    SUMMED_SHARDS: "lbfgs sums over all sentences, which threads speed up; shards are for passes, and for files that "
    "several workers read",
}


class Scale(ABC):
    """Surveys and encodes the data of a training; what is learnt from it is the same at all scales."""

    refuses: ClassVar[Mapping[str, str]] = {}  # options, and why they do not apply
    held: AbstractContextManager[Any] = nullcontext()  # scratch files or workers, which end with the training

    @abstractmethod
    def survey(self, source: Any, request: TrainRequest) -> Survey:
        """What is known of the data before labels and weights are settled."""

    @abstractmethod
    def encode(self, survey: Any, plan: Plan, dev: Corpus | None) -> TrainingData:
        """The data as numbers."""

    def learning(self, start: ChainLearning, problem: TrainingData) -> ChainLearning | MixedLearning:
        """What the epoch loop drives: the learning itself, or by parts of its data whose weights are mixed."""
        settings = problem.settings
        if settings.shards == 1:
            return start
        threads = problem.request.n_threads
        mixed = mix_shards(start, settings.shards, settings.seed, threads, str(settings.mixing))
        mixed.cluster.watcher = watcher_of(problem.request.progress)
        return mixed

    def objective(self, problem: TrainingData, penalty: Penalty) -> ChainObjective:
        """What a full-batch optimiser minimises."""
        return new_objective(problem, penalty)

    def watched(self, problem: TrainingData, learning: Any, log: EpochLog | None = None) -> Progress | None:
        """Who is told of each pass of a learning, or of each iteration of an objective."""
        return problem.request.progress


class Memory(Scale):
    """A corpus in memory."""

    refuses: ClassVar[Mapping[str, str]] = ONE_PROCESS | {
        "out_of_core": "the data is in memory already: leave it out, or train on files or on Python data",
    }

    def survey(self, source: Corpus, request: TrainRequest) -> Survey:
        check_labelled(source, "training")
        if request.resume is not None:
            check_columns(source, request.resume.encoder, SAME_COLUMNS)
        return Survey(source, chosen(request, source))

    def encode(self, survey: Survey, plan: Plan, dev: Corpus | None) -> TrainingData:
        settings, old, corpus = plan.settings, plan.request.resume, survey.labelled
        collected = Collected(
            corpus, plan.encoder, old.feature_indexes if old else None, settings.min_count, settings.max_attributes
        )
        if not plan.request.is_sample:
            report_size(collected, plan)
        report_partial(int(np.count_nonzero(plan.rows >= len(plan.labels))), plan.rows.size)
        return problem_of(
            plan, collected, collected.data(plan.rows, plan.allow), dev,
            vocabulary=_vocabulary(corpus, str(settings.unicode), old), about=about_data(corpus),
        )  # fmt: skip


def problem_of(plan: Plan, collected: Collected, data: Data, dev: Corpus | None, **own: Any) -> TrainingData:
    """The training data of a plan, with its development data; `own`: fields that depend on the scale."""
    settings, threads = plan.settings, plan.request.n_threads
    on_dev = held_out(dev, plan.encoder, collected.feature_indexes, plan.labels, settings, plan.scheme, threads)
    if settings.beam is not None:
        on_dev = for_beam(on_dev, dev, BeamSearch(settings.beam.width, bool(settings.beam.recombine)), collected)
    return TrainingData(
        collected, data, plan.shape, plan.allowed, plan.labels, on_dev, settings, plan.request, plan.scheme,
        dev_corpus=dev, **own,
    )  # fmt: skip


def _vocabulary(corpus: Corpus, unicode: str, old: ChainModel | None) -> np.ndarray:
    """Hashes of the words of the training data, to distinguish unseen words."""
    words = corpus.columns[0].in_form(unicode).hash if corpus.columns else np.zeros(0, np.uint64)
    return np.union1d(words, old.vocabulary) if old is not None else np.sort(words)
