"""Weights, data and clock of a chain during training.

`ChainLearning` is the common base class; `PathLearning` learns from the best paths of exact search. Descent on the
likelihood is in descent.py, beams are in beam.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.kernels.chain.batches import CLOCK, DONE, INFEASIBLE, UPDATES, WRONG, Batch, make_batch, new_counts
from palmette.kernels.chain.candidates import Chunks, no_chunks
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.chain.train_paths import PathWorkspace, make_path_workspace, train_paths
from palmette.kernels.learning.rule import PERCEPTRON, Rule
from palmette.structures.chain.lists import with_room
from palmette.structures.chain.random_start import RandomStart, estimated_from
from palmette.structures.chain.weights import estimated, norm, restart_from_average
from palmette.training.chain.dev import Dev
from palmette.training.chain.resume import saved_state
from palmette.training.chain.state_roles import StateRoles
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning


class Averaging(NamedTuple):
    """Which weights training returns."""

    estimator: str = "last"  # last; avg and mavg: the mean of all weight vectors
    every: int | None = None  # mavg: epochs after which training restarts from the mean


LAST, PLAIN = Averaging(), Rule(PERCEPTRON)


@dataclass
class ChainLearning(Learning):
    """Weights, data and clock of a chain."""

    chain: Chain
    data: Data
    averaging: Averaging = LAST
    dev: Dev | None = None
    clock: float = 1.0  # 1 + examples seen so far
    start: RandomStart | None = None  # of a latent chain
    latent: bool = False
    learnt: np.ndarray | None = None  # bool[H, W]: label pairs whose weights are learnt; None: all
    team: ThreadTeam = field(default_factory=ThreadTeam)
    infeasible: int = field(default=0, init=False)  # sentences of this epoch without an allowed gold path

    def __post_init__(self) -> None:
        self.roles = StateRoles(self.data) if self.latent else None

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.data.offset)

    @property
    def batch_size(self) -> int:
        return self.team.batch

    def begin_epoch(self, number: int) -> None:
        self.infeasible = 0
        if self.averaging.every is not None and number % self.averaging.every == 0:
            self.restart_from_average()

    def restart_from_average(self) -> None:
        restart_from_average(self.chain, self.clock)

    def make_room(self, sentences: np.ndarray, paths: int) -> None:
        """Enlarge the lists of weights for updates of these sentences by so many paths."""
        self.chain = with_room(self.chain, self.data, sentences, paths)

    @property
    def mean_clock(self) -> float | None:
        """The clock for the mean of all weights; None if training returns the last weights."""
        return None if self.averaging.estimator == "last" else self.clock

    def snapshot(self) -> Any:
        if self.start is None:
            return estimated(self.chain, self.mean_clock)
        return estimated_from(self.start, self.chain, self.mean_clock)

    def saved(self) -> dict[str, np.ndarray]:
        """Arrays for an exact resumption."""
        return saved_state(self.chain, self.clock, self.start)

    def figures(self) -> dict[str, float]:
        found = {"norm": norm(self.chain)}
        return found if self.roles is None else found | self.roles.compared(self.chain)

    @property
    def has_dev(self) -> bool:
        return self.dev is not None

    def evaluate(self, snapshot: Any) -> float:
        assert self.dev is not None
        return self.dev.figure(snapshot)

    def dev_error(self, score: float) -> float:
        assert self.dev is not None
        return self.dev.error


@dataclass
class PathLearning(ChainLearning):
    """Learning from gold and the best paths of exact search."""

    rule: Rule = PLAIN
    chunks: Chunks = field(default_factory=no_chunks)

    @cached_property
    def batch(self) -> Batch:
        return make_batch(self.team.batch, self.data, self.rule.candidates)

    @cached_property
    def workspaces(self) -> list[PathWorkspace]:
        return [make_path_workspace(self.chain, self.data, self.rule, self.learnt) for _ in self.team.members]

    def learn(self, examples: np.ndarray) -> Counts:
        total, first = Counts(), 0
        while first < examples.size:
            counts = self._learn(examples[first:])
            self.clock = float(counts[CLOCK])
            self.infeasible += int(counts[INFEASIBLE])
            total = total + Counts(int(counts[UPDATES]), int(counts[WRONG]))
            first += int(counts[DONE])
            if first < examples.size:  # too little room in the lists of weights for the next batch
                self.make_room(examples[first : first + self.team.batch], max(2, self.rule.candidates + 1))
        return total

    def _learn(self, examples: np.ndarray) -> np.ndarray:
        """Learn from examples until there is too little room; the counts."""
        m, x, team, batch, counts = self.chain, self.data, self.team, self.batch, new_counts(self.clock)
        own, rule, chunks = self.workspaces, self.rule, self.chunks
        team.run(train_paths, lambda t: (m, x, own[t.number], batch, examples, t, counts, rule, chunks))
        return counts
