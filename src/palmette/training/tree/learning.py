"""The weights, data and clock of a parser during training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palmette.kernels.learning.coefficients import asks_for_products, searches_with_costs
from palmette.kernels.learning.rule import Rule
from palmette.kernels.tree.cutoff import allow_features, count_gold
from palmette.kernels.tree.forms import Grammar, SearchOptions, Weights, Words, make_workspace
from palmette.kernels.tree.train import (
    BAD,
    CLOCK,
    CUTS,
    DONE,
    LACKS,
    MERGES,
    N_COUNTS,
    UPDATES,
    WRONG,
    make_batch,
    train_tree,
)
from palmette.kernels.tree.update import PLACES as MORE_PLACES
from palmette.kernels.tree.weights import frozen, larger_table, restart_from_average
from palmette.options.search import UPDATE_NUMBERS
from palmette.options.tree import MAVG_EVERY, TreeSettings
from palmette.structures.tree.model import frozen_weights, longest
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning
from palmette.training.tree.resume import TrainingStart, new_weights, saved_state

MANY_PLACES = 1 << 20  # tables with fewer grow at once to eight times their size


# Kernel parts as plain Python functions
_asks_for_products: Callable[[Rule], bool] = getattr(asks_for_products, "py_func", asks_for_products)
_searches_with_costs: Callable[[Rule], bool] = getattr(searches_with_costs, "py_func", searches_with_costs)


def _larger_table(table: np.ndarray) -> np.ndarray:
    return larger_table(table, 8 if table.size < 2 * MANY_PLACES else 2)


def _doubled(array: np.ndarray, used: int) -> np.ndarray:
    """A copy of what is used, with twice the size. The rest is zeros, which take memory when they are written to."""
    made = np.zeros(2 * array.size, array.dtype)
    made[:used] = array[:used]
    return made


class ParserLearning(Learning):
    """Weights, training data and clock of a parser."""

    def __init__(
        self,
        grammar: Grammar,
        words: Words,
        settings: TreeSettings,
        evaluate: Callable[[Weights], dict[str, float]] | None,
        rule: Rule | None = None,  # None: the rule of the settings
        start: TrainingStart | None = None,  # None: no weights
        threads: int = 1,
    ) -> None:
        self.grammar, self.words, self.settings = grammar, words, settings
        beam = settings.beam
        own = beam.rule(settings.chosen_learner.rule(words.offset.size - 1, beam.width))
        self.rule = own if rule is None else rule
        augment = _searches_with_costs(self.rule) and not settings.merge
        self.how = SearchOptions(
            beam.width, settings.merge, UPDATE_NUMBERS[str(beam.update)], augment, settings.chosen_learner.from_forest
        )
        self.weights, clock = start or TrainingStart(new_weights(self.rule.spread > 0))
        differences = _asks_for_products(self.rule) or self.rule.spread > 0
        most = longest(words)
        self.team = ThreadTeam(threads, settings.batch_size or 1)
        self.workspaces = [
            make_workspace(grammar, most, self.how, self.rule.candidates, differences) for _ in self.team.members
        ]
        self.batch = make_batch(self.team.batch, len(self.team.members), grammar, most, self.rule)
        self.counts = np.zeros(N_COUNTS)  # of this epoch, except for the clock
        self.counts[CLOCK] = clock
        if settings.min_count:
            self._close(settings.min_count)
        self._evaluate = evaluate
        self._dev: dict[str, float] = {}

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.words.offset)

    @property
    def clock(self) -> float:
        return float(self.counts[CLOCK])

    def begin_epoch(self, number: int) -> None:
        self.counts[CLOCK + 1 :] = 0.0
        if self.settings.estimator == "mavg" and number % (self.settings.mavg_every or MAVG_EVERY) == 0:
            restart_from_average(self.weights, self.clock)

    @property
    def batch_size(self) -> int:
        return self.team.batch

    def learn(self, examples: np.ndarray) -> Counts:
        before, first = self.counts.copy(), 0
        while first < examples.size:
            self.counts[DONE], self.counts[LACKS] = 0.0, 0.0
            self._learn(examples[first:])
            first += int(self.counts[DONE])
            if first < examples.size:
                self._grow(int(self.counts[LACKS]))
        new = self.counts - before
        return Counts(int(new[UPDATES]), int(new[WRONG]))

    def _learn(self, examples: np.ndarray) -> None:
        own, g, w, words, batch, counts = (
            self.workspaces,
            self.grammar,
            self.weights,
            self.words,
            self.batch,
            self.counts,
        )
        self.team.run(
            train_tree,
            lambda t: (own[t.number], g, w, words, batch, examples, self.how, self.rule, t, counts),
        )

    def _grow(self, lacks: int) -> None:
        """Enlarge the table or the lists, whichever may be too small for the next sentence. One array after the other,
        each released before the next is copied."""
        if lacks == MORE_PLACES:
            self.weights = self.weights._replace(table=_larger_table(self.weights.table))
            return
        used = int(self.weights.used[1])
        entry = _doubled(self.weights.entry, 2 * used)
        self.weights = self.weights._replace(entry=entry, value=entry.view(np.float32))
        self.weights = self.weights._replace(sums=_doubled(self.weights.sums, used))
        self.weights = self.weights._replace(state=_doubled(self.weights.state, used))

    def _close(self, least: int) -> None:
        """Let only those features have weights that have some already or occur in at least `least` gold states."""
        table, used, first, last = np.zeros(2, np.uint64), np.zeros(1, np.int64), 0, self.words.offset.size - 1
        while first < last:
            table = _larger_table(table)
            first = count_gold(self.workspaces[0], self.grammar, self.words, first, last, table, used)
        keys, first = table[::2][table[1::2] >= least], 0
        while first < keys.size:
            first, lacks = allow_features(self.weights, keys, first)
            if first < keys.size:
                self._grow(lacks)
        self.weights = self.weights._replace(closed=True)

    def saved(self) -> dict[str, np.ndarray]:
        """The state for an exact resumption."""
        return saved_state(self.weights, self.clock)

    def snapshot(self) -> Weights:
        clock = 0.0 if self.settings.estimator == "last" else self.clock
        table, entry = frozen(self.weights, clock)
        return frozen_weights(table, entry, self.grammar.move.size)

    def figures(self) -> dict[str, float]:
        """Fraction of updates that were no violation, mean position of the cut, and merged states per sentence."""
        counts, updates = self.counts, max(1.0, self.counts[UPDATES])
        found = {"bad": float(counts[BAD] / updates), "cut": float(counts[CUTS] / updates)} | self._dev
        if self.settings.merge:
            found["merges"] = float(counts[MERGES] / max(1, self.words.offset.size - 1))
        return found

    @property
    def has_dev(self) -> bool:
        return self._evaluate is not None

    def evaluate(self, snapshot: Weights) -> float:
        """LAS on development data; UAS is added to the figures."""
        assert self._evaluate is not None
        self._dev = self._evaluate(snapshot)
        return self._dev.pop("las")
