"""Learners on a beam, around their compiled loop over a slice of an epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.kernels.chain.costs import Chunks
from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.kernels.chain.train_beam import BeamLearner, train_beam
from palmette.kernels.learning.rule import EARLY, HYBRID, LASO, LATEST, MAX_VIOLATION, STANDARD, Rule
from palmette.options.settings import Settings
from palmette.structures.chain.label_context import grown
from palmette.training.chain.rules import Step, chunks_for, rule_for

UPDATE_NUMBERS = {
    "standard": STANDARD,
    "early": EARLY,
    "max-violation": MAX_VIOLATION,
    "latest": LATEST,
    "hybrid": HYBRID,
    "laso": LASO,
}


class BeamRule:
    """A rule over gold and the prefixes of a beam, both cut after the same step. Counts updates that are no
    violations."""

    def __init__(self, settings: Settings, past: LabelContextWeights, seen: Active, rule: Rule, chunks: Chunks) -> None:
        assert settings.beam is not None
        assert settings.update is not None
        self.past, self.seen = past, seen
        rule = rule._replace(candidates=min(rule.candidates, settings.beam))
        self.learner = BeamLearner(settings.beam, UPDATE_NUMBERS[settings.update], rule, chunks)
        self.begin_pass()

    def begin_pass(self) -> None:
        self.updates, self.bad, self.position = 0, 0, 0.0

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        total = np.zeros(3, np.int64)
        while first < last:
            first, clock, *counts, bad, position = train_beam(
                chain, self.past, data, self.seen, order, first, last, clock, self.learner
            )
            total += counts
            self.updates, self.bad = self.updates + counts[0], self.bad + bad
            self.position += position
            if first < last:
                lo, hi = data.offset[order[first]], data.offset[order[first] + 1]
                paths = self.learner.rule.candidates + 1
                self.past = grown(self.past, int(self.seen.ptr[hi] - self.seen.ptr[lo]) * paths)
        return Step(clock, *total.tolist())

    def figures(self, chain: Chain) -> dict[str, float]:
        """Shares: of updates that were no violation, and of a sentence that was kept of it."""
        n = max(1, self.updates)
        return {"bad": float(self.bad / n), "cut": float(self.position / n)}


def beam_rule_for(
    settings: Settings, past: LabelContextWeights, seen: Active, data: Data, labels: Sequence[str]
) -> BeamRule:
    """What learns sentence by sentence with a beam."""
    return BeamRule(settings, past, seen, rule_for(settings, data.offset.size - 1), chunks_for(settings, labels))
