"""The batch learners over latent structures.

lclr. An epoch decodes the positive sentences and keeps their structures. Each of its rounds then decodes all negative
sentences, stores each structure that is new to its sentence, and trains on all stored structures; the epoch ends when a
round finds no new structure. The next epoch begins with an empty store.

lclr-variant. An epoch decodes all sentences once, then trains on these structures.

Training on fixed structures runs inner epochs over them, as the online learner does without decoding, until none is
misclassified. Sentences are decoded by all threads; inner epochs, which do not search, have one.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import MODE, PYTHON
from palmette.kernels.latent.cache import add_new
from palmette.kernels.latent.forms import (
    CAPPED,
    DECODED,
    N_COUNTS,
    WRONG_NEGATIVES,
    WRONG_POSITIVES,
    Labelled,
    Store,
    Views,
    Weights,
    make_workspace,
)
from palmette.kernels.latent.train import decide
from palmette.options.latent import LatentSettings
from palmette.options.learners import BatchLatent, Lclr
from palmette.structures.latent.data import longest
from palmette.structures.latent.weights import new_store, with_capacity
from palmette.training.latent.online import Evaluate, LatentLearning, counts_of
from palmette.training.slices import Monitor, Slices
from palmette.training.trainer import Counts, shuffled
from palmette.training.workers import Workers


class BatchLearning(LatentLearning):
    """Weights, sentences and clock of a classifier that decodes many sentences with the same weights."""

    def __init__(
        self, views: Views, weights: Weights, data: Labelled, settings: LatentSettings,
        evaluate: Evaluate | None = None, threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(views, weights, data, settings, evaluate, threads)
        self.workers = Workers(1 if MODE == PYTHON else threads)
        learner = settings.chosen_learner
        assert isinstance(learner, BatchLatent)
        self.learner = learner
        self.strict = isinstance(learner, Lclr)  # rounds of decoding negatives until no new structure is found
        self.rounds = learner.inner_rounds if isinstance(learner, Lclr) else 1
        self.decoding = Slices(self.costs)
        longer, combine = longest(data.x), self.how.decoding.combine
        self.decoders = [make_workspace(views, longer, combine) for _ in range(self.workers.threads)]

    def train(self, permutation: np.ndarray, monitor: Monitor) -> Counts:
        y = self.data.y
        fixed = np.sort(permutation[y[permutation] > 0] if self.strict else permutation)
        negatives = np.sort(permutation[y[permutation] < 0])
        store, _ = self._decode(fixed, new_store(y.size), monitor, first=True)
        for k in range(self.rounds):
            if self.strict:
                store, found = self._decode(negatives, store, monitor, first=k == 0)
                self.new_structures.append(found)
                if not found:
                    break
            self.inner_epochs.append(self._train_on(store, monitor))
            if monitor.interrupt:
                break
        else:
            self.tally.counts[CAPPED] += self.strict
        return counts_of(self.tally)

    def _decode(self, which: np.ndarray, store: Store, monitor: Monitor, first: bool) -> tuple[Store, int]:
        """Decode some sentences and add new structures to the store. Returns the store and the number of new ones."""
        x, y, counts = self.data.x, self.data.y, self.tally.counts
        states = np.zeros((self.views.size.size, int(x.offset[-1])), np.int16)
        scores = np.zeros(y.size)
        for examples in monitor.over(self.decoding, which):
            parts = np.array_split(examples, self.workers.threads)

            def work(k: int, parts: list[np.ndarray] = parts) -> None:
                how, own = self.how.decoding, self.decoders[k]
                decide(self.views, self.weights, x, parts[k], how, own, scores, states)

            self.workers.each(work, len(parts))
        if monitor.interrupt:
            return store, 0
        counts[DECODED] += which.size
        if first:
            counts[WRONG_POSITIVES] += np.count_nonzero((y[which] > 0) & (scores[which] < 0))
            counts[WRONG_NEGATIVES] += np.count_nonzero((y[which] < 0) & (scores[which] >= 0))
        store = with_capacity(store, which.size, states.shape[0] * int(self.costs[which].sum()))
        return store, int(add_new(store, states, x.offset, which))

    def _train_on(self, store: Store, monitor: Monitor) -> int:
        """Run inner epochs over the stored structures until all are classified correctly. Returns their number."""
        n = int(store.size[0])
        slices = Slices(self.costs[store.owner[:n]])
        done, wrong = 0, 1
        while wrong and done < self.learner.inner_passes and not monitor.interrupt:
            done, self.inner = done + 1, self.inner + 1
            tally = self.tally._replace(counts=np.zeros(N_COUNTS))
            for examples in monitor.over(slices, shuffled(self.settings.seed, self.inner, n)):
                self.learn_from(store, examples, tally)
            wrong = counts_of(tally).wrong
            # An epoch reports errors at the time of decoding.
            tally.counts[WRONG_POSITIVES] = tally.counts[WRONG_NEGATIVES] = 0
            self.tally.counts[:] += tally.counts
        return done
