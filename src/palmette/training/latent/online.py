"""The online learner: a passive-aggressive step a sentence, negatives again until they are labelled so.

The bound that can be measured: from weights w at the start of a pass and for any u,

    sum of l_t^2  <=  (||u - w|| + 2 sqrt(sum of u's own losses squared))^2

for plain PA steps along vectors of length 1, u's loss being taken at the learner's structure. (For a negative sentence
u's loss at its own best structure is larger still, for a positive one it is not.) Without normalised features the same
holds of losses divided by ||f||. As u serves the estimate at the start of the pass.
"""

from __future__ import annotations

import math

import numpy as np

from palmette.kernels.latent.forms import N_COUNTS, RIVAL_LOSS, VECTORS, Labelled, Tally, Views, Weights, make_workspace
from palmette.kernels.latent.train import train_latent
from palmette.options.classifier_settings import Settings
from palmette.structures.latent.data import longest
from palmette.structures.latent.weights import distance, new_store, no_rival, restart_mean, rival, snapshot
from palmette.training.latent.passes import Counted, Slicing, Tell
from palmette.training.trainer import shuffled


class OnlineTrainer:
    """Weights under training."""

    def __init__(self, views: Views, weights: Weights, data: Labelled, settings: Settings) -> None:
        self.views, self.weights, self.data, self.settings = views, weights, data, settings
        self.clock, self.how = np.ones(2), settings.training()
        self.room, self.store = make_workspace(views, longest(data.x)), new_store(0)
        self.n_sentences, self.n_tokens = data.y.size, int(data.x.offset[-1])
        self.slicing = Slicing(np.diff(data.x.offset))

    def one_pass(self, number: int, tell: Tell, interrupted: list[bool]) -> Counted:
        order = shuffled(self.settings.seed, number, self.n_sentences)
        counts, again = np.zeros(N_COUNTS), np.zeros(self.how.cap, np.int64)
        u, away = no_rival(self.weights), 0.0
        if self.settings.bound:
            u = rival(self.snapshot())
            away = distance(u, self.weights)
        if self.settings.estimator == "pass":
            restart_mean(self.weights, self.clock)
        for first, last in self.slicing.over(order, tell, interrupted):
            tally = Tally(self.clock, counts, again, u)
            train_latent(self.views, self.weights, self.data, self.store, order[first:last], self.how, self.room, tally)
        bound = (away + 2.0 * math.sqrt(counts[RIVAL_LOSS])) ** 2 if self.settings.bound else None
        return Counted(counts, again, bound)

    def snapshot(self) -> Weights:
        return snapshot(self.weights, None if self.settings.estimator == "last" else self.clock[VECTORS])
