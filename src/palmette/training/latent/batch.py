"""The batch learners over latent structures.

lclr, strict. A pass: decode the positives and keep their structures; then round after round decode all negatives, add
each structure that is new to the sentence's cache, and train on the positives and on everything in the cache; until a
round finds nothing new. The next pass begins with an empty cache.

lclr-variant. A pass: decode all sentences once, then train on these structures.

To train on fixed structures is to go over them in passes, as the online learner does without decoding, until none is
labelled wrongly.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.latent.cache import add_new
from palmette.kernels.latent.forms import (
    CAPPED,
    DECODED,
    N_COUNTS,
    VECTORS,
    WRONG_NEGATIVES,
    WRONG_POSITIVES,
    Labelled,
    Store,
    Tally,
    Views,
    Weights,
    make_workspace,
)
from palmette.kernels.latent.train import decide, train_latent
from palmette.options.classifier_settings import Settings
from palmette.structures.latent.data import longest
from palmette.structures.latent.weights import new_store, no_rival, restart_mean, snapshot, with_room
from palmette.training.latent.passes import Counted, Slicing, Tell
from palmette.training.trainer import shuffled


class BatchTrainer:
    """Weights under training; `strict`: with inference in the inner loop."""

    def __init__(self, views: Views, weights: Weights, data: Labelled, settings: Settings) -> None:
        self.views, self.weights, self.data, self.settings = views, weights, data, settings
        self.strict = settings.learner == "lclr"
        self.clock, self.how = np.ones(2), settings.training()
        self.room = make_workspace(views, longest(data.x))
        self.n_sentences, self.n_tokens = data.y.size, int(data.x.offset[-1])
        self.cost = np.diff(data.x.offset)
        self.decoding = Slicing(self.cost)
        self.positives, self.negatives = np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)
        self.inner = 0  # passes over fixed structures so far: each has an order of its own

    def one_pass(self, number: int, tell: Tell, interrupted: list[bool]) -> Counted:
        counts = np.zeros(N_COUNTS)
        if self.settings.estimator == "pass":
            restart_mean(self.weights, self.clock)
        store = new_store(self.n_sentences)
        fixed = self.positives if self.strict else np.arange(self.n_sentences)
        store = self._decode(fixed, store, tell, interrupted, counts, first=True)[0]
        new, inner = [], []
        for k in range(self.settings.inner_rounds if self.strict else 1):
            if self.strict:
                store, found = self._decode(self.negatives, store, tell, interrupted, counts, first=k == 0)
                new.append(found)
                if not found:
                    break
            inner.append(self._train(store, tell, interrupted, counts))
            if interrupted:
                break
        else:
            if self.strict:
                counts[CAPPED] += 1
        return Counted(counts, np.zeros(0, np.int64), None, tuple(new), tuple(inner))

    def _decode(
        self, which: np.ndarray, store: Store, tell: Tell, interrupted: list[bool], counts: np.ndarray, first: bool
    ) -> tuple[Store, int]:
        """The structures of some sentences, added to the store where they are new; how many were."""
        R, x = self.views.size.size, self.data.x
        states = np.zeros((R, self.n_tokens), np.int16)
        scores = np.zeros(self.n_sentences)
        for begin, end in self.decoding.over(which, tell, interrupted):
            decide(self.views, self.weights, x, which[begin:end], self.how.decoding, self.room, scores, states)
        if interrupted:
            return store, 0
        counts[DECODED] += which.size
        if first:
            counts[WRONG_POSITIVES] += np.count_nonzero((self.data.y[which] > 0) & (scores[which] < 0))
            counts[WRONG_NEGATIVES] += np.count_nonzero((self.data.y[which] < 0) & (scores[which] >= 0))
        store = with_room(store, which.size, R * int(self.cost[which].sum()))
        return store, int(add_new(store, states, x.offset, which))

    def _train(self, store: Store, tell: Tell, interrupted: list[bool], counts: np.ndarray) -> int:
        """Passes over the structures in the store, until all are labelled rightly; how many there were."""
        n, u = int(store.size[0]), no_rival(self.weights)
        slicing = Slicing(self.cost[store.owner[:n]])
        done, wrong = 0, 1.0
        while wrong and done < self.settings.inner_passes and not interrupted:
            done += 1
            self.inner += 1
            order = shuffled(self.settings.seed, self.inner, n)
            own = np.zeros(N_COUNTS)
            for begin, end in slicing.over(order, tell, interrupted):
                tally = Tally(self.clock, own, np.zeros(self.how.cap, np.int64), u)
                train_latent(self.views, self.weights, self.data, store, order[begin:end], self.how, self.room, tally)
            wrong = own[WRONG_POSITIVES] + own[WRONG_NEGATIVES]
            own[WRONG_POSITIVES] = own[WRONG_NEGATIVES] = 0  # a pass tells what was wrong when it was decoded
            counts += own
        return done

    def snapshot(self) -> Weights:
        return snapshot(self.weights, None if self.settings.estimator == "last" else self.clock[VECTORS])
