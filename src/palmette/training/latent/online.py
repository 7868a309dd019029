"""Online training of a classifier over latent structures.

The measured bound: for weights w at the start of an epoch and any u,

    sum of l_t^2  <=  (||u - w|| + 2 sqrt(sum of u's own losses squared))^2

for plain PA steps along vectors of length 1, where u's loss is computed at the learner's structure. (For a negative
sentence u's loss at its own best structure is at least as large, for a positive one it is not.) Without normalised
features the bound holds for losses divided by ||f||. Here u is the estimate at the start of the epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from palmette.kernels.latent.forms import (
    CAPPED,
    DECODED,
    RIVAL_LOSS,
    SQUARED_LOSS,
    UPDATES,
    VECTORS,
    WRONG_NEGATIVES,
    WRONG_POSITIVES,
    Labelled,
    Store,
    Tally,
    Views,
    Weights,
    for_thread,
    make_batch,
    make_tally,
    make_workspace,
)
from palmette.kernels.latent.train import train_latent
from palmette.options.latent import LatentSettings
from palmette.structures.latent.data import longest, most_attributes
from palmette.structures.latent.weights import distance, new_store, no_rival, restart_mean, rival, snapshot
from palmette.structures.training_log import ClassifierEpoch
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning

Evaluate = Callable[[Weights], float]


class LatentLearning(Learning):
    """Weights, sentences and clock of a classifier that learns batch by batch, from negative sentences repeatedly until
    they are classified as negative."""

    def __init__(
        self, views: Views, weights: Weights, data: Labelled, settings: LatentSettings,
        evaluate: Evaluate | None = None, threads: int = 1,
    ) -> None:  # fmt: skip
        self.views, self.weights, self.data, self.settings = views, weights, data, settings
        self.team = ThreadTeam(threads, settings.batch_size or 1)
        self.how, self.clock = settings.training(data.y.size), np.ones(2)
        self.inner = 0  # inner epochs of a batch learner so far; each has its own permutation
        self.occurrences = most_attributes(data.x) if self.how.rule.spread > 0 else 0
        most = longest(data.x)
        self.workspaces = [make_workspace(views, most, self.how.decoding.combine) for _ in self.team.members]
        self.batch = make_batch(views, self.team.batch, most)
        self._evaluate = evaluate
        self._costs = np.diff(data.x.offset)
        self._clear()

    def _clear(self) -> None:
        """Reset the counts of an epoch."""
        none = no_rival(self.weights)
        self.tally = make_tally(self.views, self.how, self.clock, none, self.batch, self.occurrences)
        self.away = 0.0  # distance between the weights and the rival
        self.new_structures: list[int] = []
        self.inner_epochs: list[int] = []

    @property
    def costs(self) -> np.ndarray:
        return self._costs

    @property
    def batch_size(self) -> int:
        return self.team.batch

    def begin_epoch(self, number: int) -> None:
        self._clear()
        if self.settings.bound:
            self.tally = self.tally._replace(rival=rival(self.snapshot()))
            self.away = distance(self.tally.rival, self.weights)
        if self.settings.estimator == "pass":
            restart_mean(self.weights, self.clock)

    def learn(self, examples: np.ndarray) -> Counts:
        return self.learn_from(new_store(0), examples, self.tally)

    def learn_from(self, store: Store, examples: np.ndarray, tally: Tally) -> Counts:
        """Learn from sentences, or from structures of the store if it has any."""
        before, v, w, data, how = counts_of(tally), self.views, self.weights, self.data, self.how
        own = [for_thread(tally) for _ in self.team.members]
        self.team.run(
            train_latent,
            lambda t: (v, w, data, store, examples, how, self.workspaces[t.number], own[t.number], t),
        )
        now = counts_of(tally)
        return Counts(now.updates - before.updates, now.wrong - before.wrong)

    def snapshot(self) -> Weights:
        return snapshot(self.weights, None if self.settings.estimator == "last" else self.clock[VECTORS])

    @property
    def has_dev(self) -> bool:
        return self._evaluate is not None

    def evaluate(self, snapshot: Weights) -> float:
        """Accuracy."""
        assert self._evaluate is not None
        return self._evaluate(snapshot)

    def record(self, number: int, counts: Counts, seconds: float, dev: float | None) -> ClassifierEpoch:
        found, again = self.tally.counts, self.tally.again
        return ClassifierEpoch(
            number,
            counts.updates,
            counts.wrong,
            1.0 - counts.wrong / max(1, self.data.y.size),
            seconds,
            dev,
            {},
            wrong_positives=int(found[WRONG_POSITIVES]),
            wrong_negatives=int(found[WRONG_NEGATIVES]),
            decoded=int(found[DECODED]),
            again=np.trim_zeros(again, "b").tolist(),
            capped=int(found[CAPPED]),
            squared_loss=float(found[SQUARED_LOSS]),
            bound=(self.away + 2.0 * math.sqrt(found[RIVAL_LOSS])) ** 2 if self.settings.bound else None,
            new_structures=self.new_structures,
            inner_passes=self.inner_epochs,
        )


def counts_of(tally: Tally) -> Counts:
    counts = tally.counts
    return Counts(int(counts[UPDATES]), int(counts[WRONG_POSITIVES] + counts[WRONG_NEGATIVES]))
