"""One training: the data as numbers, the parameters, and the log that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from palmette.crfsuite.log import Holdout, Log
from palmette.crfsuite.parameters import Parameters
from palmette.crfsuite.sequences import Sequences
from palmette.data.corpus import Corpus
from palmette.kernels.chain.forms import Active, Chain, Data, stride_of
from palmette.kernels.core.compile import check_compiled
from palmette.options.chain import ChainSettings
from palmette.options.learners import Arow, Crf, Learner, PassiveAggressive, Perceptron
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Seen, new_chain
from palmette.training.chain.finish import finish
from palmette.training.chain.fit import prepared
from palmette.training.chain.request import TrainedChain, TrainingData, TrainRequest
from palmette.training.chain.seen import learnt_pairs, seen_labels
from palmette.training.interrupt import Interrupt
from palmette.training.result import TrainResult

LEAST = 1e-9  # of what must be above zero
SEED = 1  # of the order in which online learners see the sequences


@dataclass
class Job:
    """What the algorithms train on, and tell about it."""

    values: Mapping[str, Any]  # of the parameters
    problem: TrainingData
    corpus: Corpus
    log: Log
    holdout: Holdout | None
    interrupt: Interrupt
    sizes: tuple[int, int] = (0, 0)  # features and attributes before those without weights are dropped

    def generated(self) -> None:
        """Report the number of features."""
        self.sizes = self.n_features, self.problem.collected.sizes[1]
        self.log.generated(self.sizes[0])

    @cached_property
    def learnt(self) -> np.ndarray:
        """bool[H, W]: the label pairs that have weights."""
        found = learnt_pairs(self.problem)
        if found is None:
            H = self.problem.shape.n_states
            found = np.zeros((H, stride_of(H)), np.bool_)
            found[:, :H] = True
        return found

    @cached_property
    def seen(self) -> Seen | None:
        """The labels of each attribute that it has weights for; None: all."""
        return seen_labels(self.problem)

    @cached_property
    def labels_of(self) -> Seen:
        """The labels that each attribute has weights for, as lists also where these are all labels."""
        A, Y = self.problem.collected.sizes[1], self.problem.shape.n_labels
        every = Seen(np.arange(A + 1, dtype=np.int64) * Y, np.tile(np.arange(Y, dtype=np.int32), A))
        return every if self.seen is None else self.seen

    @cached_property
    def data(self) -> Data:
        """What is learnt from: attributes of value 0 decide which features exist, and nothing else."""
        data = self.problem.data
        one, two, three = data.features
        if not one.val.size:
            return data
        there = one.val != 0.0
        before = np.concatenate(([0], np.cumsum(there)))
        val = one.val[there]
        kept = Active(before[one.ptr], one.att[there], val if (val != 1.0).any() else np.zeros(0, np.float32))
        return data._replace(features=(kept, two, three))

    def new_chain(self) -> Chain:
        """Zeros: a list of labels per attribute."""
        problem = self.problem
        return new_chain(problem.shape, problem.collected.sizes, problem.allowed, {1: self.labels_of})

    @property
    def n_features(self) -> int:
        sizes = self.problem.collected.sizes[1], self.problem.shape.n_labels
        return int((sizes[0] * sizes[1] if self.seen is None else self.seen.combo.size) + self.learnt.sum())

    def stop_if_asked(self) -> None:
        """Raise KeyboardInterrupt after Ctrl-C."""
        if self.interrupt:
            raise KeyboardInterrupt

    def after_iteration(self, lines: list[str], chain: Callable[[], Chain]) -> None:
        """Report an iteration, with the scores of the holdout group."""
        scores = [] if self.holdout is None else self.holdout.lines(chain())
        self.log.say(*lines, f"Seconds required for this iteration: {self.log.seconds()}", *scores, "")


def new_job(sequences: Sequences, parameters: Parameters, holdout: int, log: Log, interrupt: Interrupt) -> Job:
    """Read the sequences, and number attributes and labels."""
    check_compiled("training")
    values = parameters.values
    if holdout >= 0:
        log.say(f"Holdout group: {holdout + 1}", "")
    log.features(values)
    corpus, held = sequences.split(holdout)
    if not corpus.n_tokens:
        raise ValueError("there is nothing to train on: append sequences first, in another group than the holdout")
    request = TrainRequest(None, _settings(values), ends=False, least_sum=float(values["feature.minfreq"]))
    problem = prepared(corpus, request)
    return Job(values, problem, corpus, log, None if held is None else Holdout(held, problem), interrupt)


def _settings(values: Mapping[str, Any]) -> ChainSettings:
    """What is learnt of the data: the same for all algorithms."""
    which = {True: "all", False: "seen"}
    return ChainSettings(
        learner=Crf(l1=float(values.get("c1", 0.0)), l2=float(values.get("c2", 1.0))), constraints="none",
        unicode="none", partial=False, state_features=which[values["feature.possible_states"]],
        transition_features=which[values["feature.possible_transitions"]],
    )  # fmt: skip


def model_of(job: Job, algorithm: str, chain: Chain, ended: str) -> ChainModel:
    """The model with the weights that came out."""
    settings = job.problem.settings
    if algorithm != "lbfgs":
        settings = settings.replace(learner=_learner(algorithm, job.values), transition_features="all")
    trained = TrainedChain(TrainResult(chain, 0, [], 0, ended), settings, 0, dict)
    return finish(job.problem, trained)


def _learner(algorithm: str, values: Mapping[str, Any]) -> Learner:
    """The learner of ours that comes closest: a model file names it."""
    if algorithm == "l2sgd":
        return Crf(optimiser="sgd", l2=float(values["c2"]))
    if algorithm == "passive-aggressive":
        variant = ("PA", "PA-I", "PA-II")[values["type"]]
        return PassiveAggressive(pa_type=variant, aggressiveness=max(values["c"], LEAST))
    return Arow(aggressiveness=1.0 / max(values["gamma"], LEAST)) if algorithm == "arow" else Perceptron()
