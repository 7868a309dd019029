"""The learners as tests run them: any chain and data, some sentences, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette import Beam
from palmette.kernels.chain.candidates import Chunks, no_chunks
from palmette.kernels.chain.forms import Active, Chain, Data, LabelContextWeights
from palmette.kernels.chain.train_beam import BeamLearner
from palmette.kernels.learning.rule import PERCEPTRON, Rule
from palmette.options import UPDATE_NUMBERS, Learner
from palmette.training import PathLearning, ThreadTeam, chunks_for
from palmette.training.chain.learning import BeamLearning


class Step(NamedTuple):
    """What a slice has done."""

    clock: float
    updates: int
    wrong: int
    infeasible: int


class PathRunner:
    """A rule over the best paths of exact search."""

    def __init__(self, rule: Rule, chunks: Chunks | None = None, team: ThreadTeam | None = None) -> None:
        self.rule, self.chunks, self.team = rule, chunks or no_chunks(), team or ThreadTeam()

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        learning = PathLearning(chain, data, clock=clock, rule=self.rule, chunks=self.chunks, team=self.team)
        updates, wrong = learning.learn(order[first:last])
        return Step(learning.clock, updates, wrong, learning.infeasible)


def perceptron_steps(chain: Chain, data: Data, order: np.ndarray, clock: float = 1.0) -> Step:
    """The perceptron on some sentences in their order."""
    return PathRunner(Rule(PERCEPTRON)).learn(chain, data, order, 0, order.size, clock)


class BeamRunner:
    """A rule over the prefixes of a beam; weights of earlier labels and counters go on from slice to slice."""

    def __init__(
        self,
        learner: Learner,
        beam: Beam,
        contexts: LabelContextWeights,
        seen: Active,
        sentences: int,
        labels: Sequence[str] = (),
    ) -> None:
        self.contexts, self.seen = contexts, seen
        rule, chunks = beam.rule(learner.rule(sentences, beam.width)), chunks_for(learner, labels)
        self.learner = BeamLearner(beam.width, UPDATE_NUMBERS[str(beam.update)], rule, chunks, bool(beam.recombine))
        self.updates = self.bad = 0
        self.position = 0.0

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        learning = BeamLearning(chain, data, clock=clock, contexts=self.contexts, seen=self.seen, learner=self.learner)
        updates, wrong = learning.learn(order[first:last])
        self.contexts = learning.contexts
        self.updates, self.bad = self.updates + learning.updates, self.bad + learning.bad
        self.position += learning.position
        return Step(learning.clock, updates, wrong, learning.infeasible)
