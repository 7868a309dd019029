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

import msgspec
import numpy as np

from palmette.classification.kernels.forms import (
    CAPPED,
    DECODED,
    N_COUNTS,
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
from palmette.classification.kernels.train import add_new, decide, train_latent
from palmette.classification.model import (
    ClassifierModel,
    distance,
    longest,
    most_attributes,
    new_store,
    no_rival,
    restart_mean,
    rival,
    snapshot,
    used,
    with_capacity,
)
from palmette.classification.options import LatentSettings
from palmette.kernels.core.compile import MODE, PYTHON
from palmette.options.declare import OptionError
from palmette.options.learners import BatchLatent, Lclr
from palmette.structures.training_log import ClassifierEpoch
from palmette.training.team import ThreadTeam, Workers
from palmette.training.trainer import Counts, Learning, Monitor, Slices, shuffled

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


# The batch learners over latent structures.
#
# lclr. An epoch decodes the positive sentences and keeps their structures. Each of its rounds then decodes all
# negative sentences, stores each structure that is new to its sentence, and trains on all stored structures; the
# epoch ends when a round finds no new structure. The next epoch begins with an empty store.
#
# lclr-variant. An epoch decodes all sentences once, then trains on these structures.
#
# Training on fixed structures runs inner epochs over them, as the online learner does without decoding, until none is
# misclassified. Sentences are decoded by all threads; inner epochs, which do not search, have one.


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


# Resume the training of a classifier.
#
# With a checkpoint it continues exactly: the model then stores the raw weights, the accumulators and the example
# count next to the resulting weights. Without one it starts from the resulting weights. New data may bring new
# attributes, which are numbered after the old ones; the views stay as they are.

# Settings that weights and accumulators depend on
FIXED = ("views", "types", "latent", "pairs", "normalise", "estimator")


def check_resumed(old: ClassifierModel, settings: LatentSettings) -> None:
    """UsageError if a training with these settings cannot continue that of a model."""
    for name in FIXED:
        before, now = getattr(old.settings, name), getattr(settings, name)
        if before != now:
            raise OptionError("resume", f"{name} is {before!r} in the model, and cannot become {now!r}")
    kind = old.settings.chosen_learner.kind
    if settings.chosen_learner.kind != kind:
        raise OptionError("resume", f"training continues with the learner of the model, {kind}")


def training_log_of(old: ClassifierModel) -> list[ClassifierEpoch]:
    return msgspec.convert(old.meta.get("history", []), list[ClassifierEpoch])


def saved_state(weights: Weights, clock: np.ndarray, inner: int) -> dict[str, np.ndarray]:
    """The state for an exact resumption. inner: inner epochs of a batch learner so far."""
    n = used(weights)
    state = {
        "clock": clock, "inner": np.array([inner]), "slot": weights.one.slot, "weights": weights.one.w[:n],
        "end": weights.end, "pair": weights.pair,
    }  # fmt: skip
    if weights.end_a.shape[0]:
        state |= {"sums.weights": weights.one.a[:n], "sums.end": weights.end_a, "sums.pair": weights.pair_a}
    return state


def restore(weights: Weights, state: dict[str, np.ndarray]) -> None:
    """Copy the weights and accumulators of a checkpoint into new ones, which may have more attributes."""
    n, A = state["weights"].shape[0], state["slot"].size
    weights.one.slot[:A], weights.one.used[0] = state["slot"], n
    weights.one.w[:n], weights.end[:], weights.pair[:] = state["weights"], state["end"], state["pair"]
    if weights.end_a.shape[0]:
        weights.one.a[:n] = state["sums.weights"]
        weights.end_a[:], weights.pair_a[:] = state["sums.end"], state["sums.pair"]


def carry(weights: Weights, old: Weights) -> None:
    """Start from the weights of a model without a checkpoint. Its attributes get rows one after the other."""
    moved = np.flatnonzero(old.one.slot)
    n = 1 + moved.size
    weights.one.slot[moved], weights.one.used[0] = np.arange(1, n), n
    weights.one.w[1:n] = old.one.w[old.one.slot[moved]]
    weights.end[:], weights.pair[:] = old.end, old.pair


def with_attributes(old: Weights, n_attributes: int) -> Weights:
    """The weights of a model for at least as many attributes; new ones have none."""
    slot = np.zeros(n_attributes, np.int32)
    slot[: old.one.slot.size] = old.one.slot
    return old._replace(one=old.one._replace(slot=slot))
