"""Objectives of batch learners, called as functions of one vector."""

from __future__ import annotations

import numpy as np
from chain_arrays import features_of
from naive_chain import Feature

from palmette.training import ChainObjective


def evaluated(objective: ChainObjective, vector: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """The value and the gradient, at the weights of the chain if no vector is given."""
    w = objective.start() if vector is None else vector.astype(np.float32)
    gradient = np.full(objective.size, np.nan, np.float32)
    return objective(w, gradient), gradient


def by_feature(objective: ChainObjective, vector: np.ndarray) -> dict[Feature, float]:
    """A vector in the layout of the weights, by feature."""
    for part in (*objective.chain.transitions, *objective.chain.weights):
        part.w[:] = 0.0
    objective.put(vector)
    return features_of(objective.chain)
