"""How weights move when the search is a beam: one rule per learner, as in rules.py, with the same updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.kernels.chain.beam_lists import MIRA, train_beam_margin, train_beam_probperc
from palmette.kernels.chain.beam_train import train_beam
from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.kernels.chain.label_context import LabelContextWeights
from palmette.options.settings import UPDATES, Settings
from palmette.structures.chain.label_context import grown
from palmette.training.chain.rules import Mira, PassiveAggressive, ProbPerc, Step


class BeamPerceptron:
    """Gold up and the best prefix down, both cut after the same step. Counts the updates that are no violations."""

    paths = 2  # gold and candidates: what an update may need rows for

    def __init__(self, settings: Settings, past: LabelContextWeights, seen: Active) -> None:
        assert settings.beam is not None
        assert settings.update is not None
        self.past, self.seen = past, seen
        self.beam, self.update = settings.beam, list(UPDATES).index(settings.update)
        self.begin_pass()

    def begin_pass(self) -> None:
        self.updates, self.bad, self.position = 0, 0, 0.0

    def _slice(self, *given: Any) -> tuple[Any, ...]:
        """As much of a slice as there is room for."""
        return train_beam(*given, self.beam, self.update)

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        total = np.zeros(3, np.int64)
        while first < last:
            first, clock, *counts, bad, position = self._slice(
                chain, self.past, data, self.seen, order, first, last, clock
            )
            total += counts
            self.updates, self.bad = self.updates + counts[0], self.bad + bad
            self.position += position
            if first < last:
                lo, hi = data.offset[order[first]], data.offset[order[first] + 1]
                self.past = grown(self.past, int(self.seen.ptr[hi] - self.seen.ptr[lo]) * self.paths)
        return Step(clock, *total.tolist())

    def figures(self, chain: Chain) -> dict[str, float]:
        """Shares: of updates that were no violation, and of a sentence that was kept of it."""
        n = max(1, self.updates)
        return {"bad": float(self.bad / n), "cut": float(self.position / n)}


class BeamProbPerc(BeamPerceptron):
    """Gold goes up, the prefixes of the beam go down by their probabilities."""

    def __init__(self, settings: Settings, past: LabelContextWeights, seen: Active, sentences: int) -> None:
        super().__init__(settings, past, seen)
        self.exact = ProbPerc(settings, sentences)
        self.nbest = min(self.exact.nbest, self.beam)
        self.paths = self.nbest + 1

    def _slice(self, *given: Any) -> tuple[Any, ...]:
        own, chosen = self.exact, self.exact.settings
        return train_beam_probperc(
            *given, self.beam, self.update, self.nbest, float(own.rate), own.fall, chosen.add_gold,
            chosen.when == "errors", own.kind, float(chosen.degree),
        )  # fmt: skip


class BeamMargin(BeamPerceptron):
    """The smallest step after which gold is better than prefixes of the beam by their costs."""

    def __init__(self, settings: Settings, past: LabelContextWeights, seen: Active, labels: Sequence[str]) -> None:
        super().__init__(settings, past, seen)
        listed = Mira(settings, labels)
        self.chunks, self.most, self.nbest, self.type = listed.chunks, listed.most, min(listed.nbest, self.beam), MIRA
        if settings.learner == "pa":
            self.nbest, self.type = 1, PassiveAggressive(settings).type
        self.paths = self.nbest + 1

    def _slice(self, *given: Any) -> tuple[Any, ...]:
        return train_beam_margin(*given, self.beam, self.update, self.nbest, self.type, self.most, self.chunks)


def beam_rule_for(
    settings: Settings, past: LabelContextWeights, seen: Active, data: Data, labels: Sequence[str]
) -> BeamPerceptron:
    """The rule of a learner that searches with a beam."""
    if settings.learner == "perceptron":
        return BeamPerceptron(settings, past, seen)
    if settings.learner == "probperc":
        return BeamProbPerc(settings, past, seen, data.offset.size - 1)
    return BeamMargin(settings, past, seen, labels)
