"""A parser in training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palmette.kernels.tree.forms import Grammar, Weights, Words
from palmette.kernels.tree.train import train_tree
from palmette.kernels.tree.update import PLACES as MORE_PLACES
from palmette.kernels.tree.weights import CLASSES, frozen, larger_table, restart_from_average
from palmette.options.search import UPDATE_NUMBERS
from palmette.options.tree import MAVG_EVERY, TreeSettings
from palmette.structures.tree.model import frozen_weights
from palmette.training.trainer import Counts, Learning

PLACES = 1 << 16
ROOM = 1 << 18


def new_weights() -> Weights:
    entry = np.zeros(2 * ROOM, np.int32)
    free, used = np.full(CLASSES, -1, np.int64), np.zeros(2, np.int64)
    return Weights(np.zeros(2 * PLACES, np.uint64), entry, entry.view(np.float32), np.zeros(ROOM), free, used)


def roomier(w: Weights) -> Weights:
    """The same weights with twice the room."""
    entry = np.concatenate((w.entry, np.zeros_like(w.entry)))
    sums = np.concatenate((w.sums, np.zeros_like(w.sums)))
    return w._replace(entry=entry, value=entry.view(np.float32), sums=sums)


class ParserLearning(Learning):
    """Weights, training data and clock of a parser."""

    def __init__(
        self,
        grammar: Grammar,
        words: Words,
        settings: TreeSettings,
        evaluate: Callable[[Weights], dict[str, float]] | None,
    ) -> None:
        self.grammar, self.words, self.settings = grammar, words, settings
        self.beam = settings.beam
        self.rule = settings.chosen_learner.rule(words.offset.size - 1, self.beam.width)
        self.update = UPDATE_NUMBERS[str(self.beam.update)]
        self.weights = new_weights()
        self.clock = 1.0
        self._evaluate = evaluate
        self._dev: dict[str, float] = {}
        self.begin_epoch(1)

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.words.offset)

    def begin_epoch(self, number: int) -> None:
        self.updates = self.bad = self.merges = self.infeasible = 0
        self.places = 0.0
        if self.settings.estimator == "mavg" and number % (self.settings.mavg_every or MAVG_EVERY) == 0:
            restart_from_average(self.weights, self.clock)

    def learn(self, examples: np.ndarray) -> Counts:
        counts, first = Counts(), 0
        while True:
            done, self.clock, updates, wrong, bad, places, merges, infeasible, lacks = train_tree(
                self.grammar, self.weights, self.words, examples, first, examples.size, self.clock, self.beam.width,
                self.settings.merge, self.update, self.rule,
            )  # fmt: skip
            counts = counts + Counts(updates, wrong)
            self.updates += updates
            self.bad += bad
            self.places += places
            self.merges += merges
            self.infeasible += infeasible
            first += done
            if first == examples.size:
                return counts
            self._grow(lacks)

    def _grow(self, lacks: int) -> None:
        """Twice what the next sentence may need more of."""
        w = self.weights
        self.weights = w._replace(table=larger_table(w.table)) if lacks == MORE_PLACES else roomier(w)

    def snapshot(self) -> Weights:
        return frozen_weights(*frozen(self.weights, 0.0 if self.settings.estimator == "last" else self.clock))

    def figures(self) -> dict[str, float]:
        """Updates that mended nothing, where prefixes were cut, and how many states merged a sentence."""
        updates = max(1, self.updates)
        found = {"bad": self.bad / updates, "cut": self.places / updates} | self._dev
        if self.settings.merge:
            found["merges"] = self.merges / max(1, self.words.offset.size - 1)
        return found

    @property
    def has_dev(self) -> bool:
        return self._evaluate is not None

    def evaluate(self, snapshot: Weights) -> float:
        """LAS decides; UAS is told beside it."""
        assert self._evaluate is not None
        self._dev = self._evaluate(snapshot)
        return self._dev.pop("las")
