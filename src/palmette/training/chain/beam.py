"""A chain in training whose search is a beam: the weights of earlier labels come along."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError, UsageError
from palmette.evaluation.scores import Scores, score
from palmette.features.templates import PAST
from palmette.kernels.chain.forms import Active, Chain, no_active
from palmette.options.settings import Settings
from palmette.structures.chain.beam import beam_labels
from palmette.structures.chain.data import Collected, encode_past
from palmette.structures.chain.label_context import (
    Weights,
    carried,
    estimated_past,
    makers,
    past_norm,
    restart_past,
    restored,
    saved_past,
)
from palmette.structures.chain.weights import estimated, norm, restart_from_average
from palmette.training.chain.beam_rules import BeamRule, beam_rule_for
from palmette.training.chain.exact import ChainLearning, Dev
from palmette.training.chain.request import TrainingData


@dataclass
class BeamDev(Dev):
    """Development data that is searched with the beam of the training."""

    seen: Active | None = None
    beam: int = 1

    def scores(self, chain: Any) -> Scores:
        weights: Weights = chain
        assert self.seen is not None
        guess, _ = beam_labels(weights, self.data, self.seen, self.beam, restricted=False)
        return score(self.gold, guess, self.data.offset, self.labels, known=self.sure)


def for_beam(dev: Dev | None, corpus: Corpus | None, settings: Settings, collected: Collected) -> Dev | None:
    """Development data with what templates that read earlier labels see in it."""
    if dev is None or corpus is None:
        return None
    seen = encode_past(corpus, collected.encoder, collected.alphabets)
    assert settings.beam is not None
    return BeamDev(dev.data, dev.gold, dev.labels, dev.metric, dev.sure, seen, settings.beam)


class BeamLearning(ChainLearning):
    """Weights, training data and clock; `Learning` for the online trainer. Its snapshots are `Weights`."""

    rule: BeamRule

    def begin_epoch(self, number: int) -> None:
        self.infeasible = 0
        self.rule.begin_pass()
        if self.every is not None and number % self.every == 0:
            restart_from_average(self.chain, self.clock)
            restart_past(self.rule.past, self.clock)

    def snapshot(self) -> Any:
        clock = None if self.estimator == "last" else self.clock
        return Weights(estimated(self.chain, clock), estimated_past(self.rule.past, clock))

    def figures(self) -> dict[str, float]:
        whole = math.hypot(norm(self.chain), past_norm(self.rule.past))
        return {"norm": whole} | self.rule.figures(self.chain)

    def evaluate(self, snapshot: Any) -> float:
        assert self.dev is not None
        return self.dev.figure(snapshot)

    def saved(self) -> dict[str, np.ndarray]:
        return saved_past(self.rule.past)


def beam_learning(
    problem: TrainingData, settings: Settings, chain: Chain, estimator: str, clock: float, every: int | None
) -> BeamLearning:
    """A chain that starts from zeros, or from an older model."""
    collected, old = problem.collected, problem.wish.resume
    past = carried(
        collected.encoder, makers(collected, None if old is None else old.past), chain.bias.size,
        None if old is None else old.past,
    )  # fmt: skip
    if old is not None and old.checkpoint and old.past is not None:
        past = restored(past, old.checkpoint)
    seen = collected.actives.get(PAST, no_active())
    rule = beam_rule_for(settings, past, seen, problem.data, problem.labels)
    return BeamLearning(chain, problem.data, estimator, problem.dev, clock, every, rule=rule)


def best_before(problem: TrainingData, best: Chain | None) -> Weights | None:
    """The best weights so far of a training that goes on."""
    old = problem.wish.resume
    if best is None or old is None:
        return None
    template = makers(problem.collected, old.past)
    return Weights(best, estimated_past(carried(old.encoder, template, best.bias.size, old.past), None))


def check_beam(problem: TrainingData) -> None:
    """What a beam does not do."""
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
