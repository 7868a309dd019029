"""The likelihood of a corpus in shards: each worker has the sum over its own sentences, which the driver adds up."""

from __future__ import annotations

import numpy as np

from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import TrainingData
from palmette.training.chain.start import starting_weights
from palmette.training.cluster import Cluster
from palmette.training.lbfgs import squared_norm


class ShardedObjective(ChainObjective):
    """Value and gradient, in float64 and in the order of the shards, so that they do not depend on the workers."""

    def __init__(self, cluster: Cluster, problem: TrainingData, l2: float, tokens: int) -> None:
        chain, _, _ = starting_weights(problem)
        super().__init__(chain, problem.data, l2, problem.request.n_threads)
        self.cluster, self.n_tokens = cluster, tokens

    @property
    def tokens(self) -> int:
        return self.n_tokens

    def __call__(self, vector: np.ndarray, gradient: np.ndarray) -> float:
        self.put(vector)
        self.cluster.doing = "gradient"
        value, total = 0.0, np.zeros(vector.size)
        self.wrong = self.infeasible = 0
        for own, part, wrong, infeasible in self.cluster.run("gradient", vector):
            value += own
            total += part
            self.wrong, self.infeasible = self.wrong + wrong, self.infeasible + infeasible
        total += (2 * self.l2) * vector
        gradient[:] = total
        return value + (self.l2 * squared_norm(self.workers, vector) if self.l2 else 0.0)
