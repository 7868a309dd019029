"""A chain in training whose search is a beam: weights of templates that read earlier labels come along."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.errors import DataError, UsageError
from palmette.features.templates import PAST
from palmette.kernels.chain.beam import BeamData, BeamWeights
from palmette.kernels.chain.costs import no_chunks
from palmette.kernels.chain.forms import Active, Chain, no_active
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.kernels.chain.train_beam import BeamLearner, train_beam
from palmette.kernels.learning.rule import MAX_VIOLATION, PERCEPTRON, Rule
from palmette.structures.chain.label_context import (
    carried,
    estimated_past,
    grown,
    makers,
    past_norm,
    restart_past,
    restored,
    saved_past,
)
from palmette.structures.chain.weights import estimated, norm
from palmette.training.chain.exact import ChainLearning
from palmette.training.chain.request import TrainingData
from palmette.training.chain.resume import saved_state
from palmette.training.trainer import Counts


@dataclass(kw_only=True)
class BeamLearning(ChainLearning):
    """Learning from gold and the prefixes of a beam, both cut after the same step. Snapshots are `BeamWeights`."""

    past: LabelContextWeights
    seen: Active  # attributes of templates that read earlier labels
    learner: BeamLearner = field(default_factory=lambda: BeamLearner(1, MAX_VIOLATION, Rule(PERCEPTRON), no_chunks()))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.updates, self.bad, self.position = 0, 0, 0.0  # of this epoch; bad: no violation

    def begin_epoch(self, number: int) -> None:
        super().begin_epoch(number)
        self.updates, self.bad, self.position = 0, 0, 0.0

    def restart_from_average(self) -> None:
        super().restart_from_average()
        restart_past(self.past, self.clock)

    def learn(self, examples: np.ndarray) -> Counts:
        total, first, last = Counts(), 0, examples.size
        data = BeamData(self.data, self.seen)
        while first < last:
            first, self.clock, updates, wrong, infeasible, bad, position = train_beam(
                BeamWeights(self.chain, self.past), data, examples, first, last, self.clock, self.learner
            )
            total = total + Counts(updates, wrong)
            self.infeasible += infeasible
            self.updates, self.bad, self.position = self.updates + updates, self.bad + bad, self.position + position
            if first < last:  # no room for the rows of the next sentence
                self._grow(int(examples[first]))
        return total

    def _grow(self, sentence: int) -> None:
        lo, hi = self.data.offset[sentence], self.data.offset[sentence + 1]
        paths = self.learner.rule.candidates + 1
        self.past = grown(self.past, int(self.seen.ptr[hi] - self.seen.ptr[lo]) * paths)

    def snapshot(self) -> Any:
        return BeamWeights(estimated(self.chain, self.mean_clock), estimated_past(self.past, self.mean_clock))

    def figures(self) -> dict[str, float]:
        """`bad`: the share of updates that were no violation. `cut`: the share of a sentence that was kept of it."""
        n = max(1, self.updates)
        whole = math.hypot(norm(self.chain), past_norm(self.past))
        return {"norm": whole, "bad": float(self.bad / n), "cut": float(self.position / n)}

    def saved(self) -> dict[str, np.ndarray]:
        return saved_state(self.chain, self.clock) | saved_past(self.past)


def starting_contexts(problem: TrainingData, chain: Chain, keeps_state: bool) -> tuple[LabelContextWeights, Active]:
    """Weights of templates that read earlier labels, from zero or from an older model; and their attributes."""
    collected, old = problem.collected, problem.request.resume
    before = None if old is None else old.past
    past = carried(collected.encoder, makers(collected, before), chain.bias.size, before, keeps_state)
    if old is not None and old.checkpoint and before is not None:
        past = restored(past, old.checkpoint)
    return past, collected.actives.get(PAST, no_active())


def best_before(problem: TrainingData, best: Chain | None) -> BeamWeights | None:
    """The best weights so far of a training that is resumed."""
    old = problem.request.resume
    if best is None or old is None:
        return None
    template = makers(problem.collected, old.past)
    return BeamWeights(best, estimated_past(carried(old.encoder, template, best.bias.size, old.past), None))


def check_beam(problem: TrainingData) -> None:
    """Refuse what a beam cannot do."""
    shape, data = problem.shape, problem.data
    if shape.per > 1:
        raise UsageError("search: a beam keeps labels, and latent states or label histories are for exact search")
    unsure = np.flatnonzero(data.known >= shape.n_labels)
    if unsure.size:
        corpus = problem.collected.corpus
        raise DataError(
            "a beam learns from labels that are fully known, and this one is not", file=corpus.source,
            line=corpus.line_of(int(unsure[0])), hint="partial labels are for exact search: leave --search beam out",
        )  # fmt: skip
