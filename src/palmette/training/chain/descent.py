"""Gradient descent on the likelihood, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.errors import DataError
from palmette.kernels.chain.batches import CLOCK, INFEASIBLE, OBJECTIVE, WRONG, make_batch, new_counts
from palmette.kernels.chain.forms import no_sums
from palmette.kernels.chain.stochastic import Descent, descend, make_descent_workspace, make_gradients
from palmette.kernels.core.team import Team
from palmette.options.learners import Crf
from palmette.structures.chain.weights import give_out_rows, norm
from palmette.training.chain.exact import ChainLearning
from palmette.training.chain.overflow import cure
from palmette.training.trainer import Counts


@dataclass
class DescentLearning(ChainLearning):
    """Descent with a decaying rate (sgd), or with an adaptive rate per weight (adagrad), which needs learner state in
    the chain."""

    learner: Crf = field(default_factory=lambda: Crf(optimiser="sgd"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.step, self.l2 = self.learner.step_size, self.learner.penalty
        counts = [
            np.bincount(x.att, minlength=r.slot.size)
            for x, r in zip(self.data.features, self.chain.weights, strict=True)
        ]
        self.be_part_of(self.data.offset.size - 1, counts)
        self.workspaces = [make_descent_workspace(self.chain, self.data) for _ in self.team.members]
        self.gradients = make_gradients(self.chain, self.data, self.team.batch)
        self.batch = make_batch(self.team.batch, self.data)
        self.objective = 0.0

    def be_alone(self) -> None:
        """Called if no others learn from other parts of the data. All attributes get their rows at once, in order,
        since all change in the first epoch. If the last weights are wanted, adagrad does without the accumulators of
        rows, which are half of its memory: it cannot be resumed, so that nobody reads them."""
        give_out_rows(self.chain)
        if self.learner.optimiser == "adagrad" and self.mean_clock is None and self.start is None:
            one, two, three = (r if r.first.size else r._replace(a=no_sums()) for r in self.chain.weights)
            self.chain = self.chain._replace(weights=(one, two, three))

    def be_part_of(self, sentences: int, counts: Sequence[np.ndarray]) -> None:
        """Take penalties as for a corpus of so many sentences in which attributes occur so often, by arity i64[A]."""
        sentences = max(1, sentences)
        adaptive = self.learner.optimiser == "adagrad"
        # As in Bottou's SGD the rate is halved after 1 / fall examples.
        fall = 0.0 if adaptive else self.step * 2 * self.l2 / sentences
        one, two, three = ((2 * self.l2 / np.maximum(own, 1)).astype(np.float32) for own in counts)
        learnt = np.zeros((0, 0), np.bool_) if self.learnt is None else self.learnt
        self.descent = Descent(float(self.step), fall, (one, two, three), 2 * self.l2 / sentences, learnt)

    def begin_epoch(self, number: int) -> None:
        super().begin_epoch(number)
        self.objective = 0.0

    def learn(self, examples: np.ndarray) -> Counts:
        m, x, counts = self.chain, self.data, new_counts(self.clock)

        def given(t: Team) -> tuple[Any, ...]:
            own = self.workspaces[t.number]
            return m, x, own, self.gradients, self.batch, examples, t, counts, self.descent

        self.team.run(descend, given)
        self.clock = float(counts[CLOCK])
        self.objective += float(counts[OBJECTIVE])
        self.infeasible += int(counts[INFEASIBLE])
        return Counts(examples.size - int(counts[INFEASIBLE]), int(counts[WRONG]))

    def figures(self) -> dict[str, float]:
        """The objective accumulated during the epoch, with the penalty of the weights at its end."""
        states = [part.state for part in (*self.chain.transitions, *self.chain.weights)]
        if not all(np.isfinite(state).all() for state in states):
            raise DataError("the squared gradients of adagrad have overflowed", hint=cure(self.data, self.learner))
        own = {"norm": norm(self.chain), "objective": self.objective + (self.l2 and self.l2 * norm(self.chain) ** 2)}
        return own if self.roles is None else own | self.roles.compared(self.chain)
