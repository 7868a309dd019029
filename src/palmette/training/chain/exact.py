"""A chain in training: what the online trainer asks of a structure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.evaluation.scores import Scores, score
from palmette.kernels.chain.forms import Chain, Data, TransitionWeights
from palmette.structures.chain.model import best_labels
from palmette.structures.chain.weights import estimated, norm, restart_from_average
from palmette.training.chain.rules import Learner, Perceptron
from palmette.training.chain.state_roles import StateRoles
from palmette.training.trainer import Counts, Learning


@dataclass
class Dev:
    """Development data, encoded with the training alphabets."""

    data: Data
    gold: np.ndarray  # i32[N] into `labels`
    labels: list[str]  # those of the model, then those only dev has
    metric: str  # f1 or accuracy
    sure: np.ndarray | None = None  # bool[N]: where gold is fully known; None: everywhere

    def scores(self, chain: Chain) -> Scores:
        guess, _ = best_labels(chain, self.data, restricted=False)
        return score(self.gold, guess, self.data.offset, self.labels, known=self.sure)

    def figure(self, chain: Chain) -> float:
        found = self.scores(chain)
        return float(found.f1 if self.metric == "f1" and found.f1 is not None else found.accuracy)


class ChainLearning(Learning):
    """Weights, training data and clock of a chain."""

    def __init__(
        self,
        chain: Chain,
        data: Data,
        estimator: str,
        dev: Dev | None,
        clock: float = 1.0,
        every: int | None = None,
        start: TransitionWeights | None = None,
        latent: bool = False,
        rule: Learner | None = None,
    ) -> None:
        self.chain = chain
        self.data = data
        self.estimator = estimator
        self.dev = dev
        self.clock = clock
        self.every = every  # mavg: passes between two restarts from the average
        self.start = start  # the random start of a latent chain
        self.rule: Learner = rule or Perceptron()
        self.infeasible = 0  # sentences of this pass whose known labels no allowed path can give
        self.roles = StateRoles(data) if latent else None

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.data.offset)

    def begin_epoch(self, number: int) -> None:
        self.infeasible = 0
        self.rule.begin_pass()
        if self.every is not None and number % self.every == 0:
            restart_from_average(self.chain, self.clock)

    def learn(self, examples: np.ndarray) -> Counts:
        step = self.rule.learn(self.chain, self.data, examples, 0, examples.size, self.clock)
        self.clock = step.clock
        self.infeasible += step.infeasible
        return Counts(step.updates, step.wrong)

    def snapshot(self) -> Chain:
        return estimated(self.chain, None if self.estimator == "last" else self.clock, self.start)

    def saved(self) -> dict[str, np.ndarray]:
        """What an exact resumption needs besides chain and clock."""
        return {}

    def figures(self) -> dict[str, float]:
        found = {"norm": norm(self.chain)} | self.rule.figures(self.chain)
        return found if self.roles is None else found | self.roles.compared(self.chain)

    @property
    def has_dev(self) -> bool:
        return self.dev is not None

    def evaluate(self, snapshot: Chain) -> float:
        assert self.dev is not None
        return self.dev.figure(snapshot)
