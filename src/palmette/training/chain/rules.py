"""How weights move, example by example: one rule a learner, each around a compiled loop over a slice of a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from palmette.evaluation.spans import ChunkTables
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights
from palmette.kernels.chain.margin_train import Chunks, train_mira, train_pa
from palmette.kernels.chain.probperc import train_probperc
from palmette.kernels.chain.stochastic import Decay, Squares, descend
from palmette.kernels.chain.train import train_perceptron
from palmette.options.settings import PA_TYPES, PROBABILITIES, RATES, Settings, n_candidates
from palmette.structures.chain.weights import aligned_zeros, norm


class Step(NamedTuple):
    """What a slice has done."""

    clock: float
    updates: int
    wrong: int  # tokens that the guess had wrong
    infeasible: int  # sentences whose known labels no allowed path can give


class Rule(Protocol):
    def begin_pass(self) -> None: ...

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        """Learn from the sentences order[first:last]."""
        ...

    def figures(self, chain: Chain) -> dict[str, float]:
        """What is worth telling after a pass."""
        ...


class Perceptron:
    """On an error gold goes up and the guess down by 1."""

    def begin_pass(self) -> None:
        pass

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        return Step(*train_perceptron(chain, data, order, first, last, clock))

    def figures(self, chain: Chain) -> dict[str, float]:
        return {}


class Descent:
    """Gradient descent on the likelihood, with a rate that decays, or one that adapts to each weight."""

    def __init__(self, chain: Chain, data: Data, optimiser: str, rate: float | None, l2: float) -> None:
        self.l2 = l2
        self.rate = RATES[optimiser] if rate is None else rate
        adaptive = optimiser == "adagrad"
        sentences = max(1, data.offset.size - 1)
        # As in Bottou's SGD the rate falls to a half after 1 / fall examples.
        self.fall = 0.0 if adaptive else self.rate * 2 * l2 / sentences
        rows = (chain.one, chain.two, chain.three)
        self.squares = Squares(
            *(_zeros_like(w, adaptive) for w in chain.bare), *(_zeros_like(r.w, adaptive) for r in rows)
        )
        actives = (data.one, data.two, data.three)
        self.decay = Decay(*(_decay(x, r, l2) for x, r in zip(actives, rows, strict=True)))
        self.bare = 2 * l2 / sentences
        self.objective = 0.0

    def begin_pass(self) -> None:
        self.objective = 0.0

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        clock, objective, wrong, infeasible = descend(
            chain, data, order, first, last, clock, self.rate, self.fall, self.squares, self.decay, self.bare
        )
        self.objective += objective
        return Step(clock, last - first - infeasible, wrong, infeasible)

    def figures(self, chain: Chain) -> dict[str, float]:
        """The objective as seen along the pass, with the penalty of the weights at its end."""
        return {"objective": self.objective + self.l2 * norm(chain) ** 2}


class ProbPerc(Perceptron):
    """Gold goes up, the n best paths go down by their probabilities."""

    def __init__(self, settings: Settings, sentences: int) -> None:
        self.nbest = n_candidates(settings)
        self.rate = RATES["probperc"] if settings.rate is None else settings.rate
        self.fall = 1.0 / max(1, sentences) if settings.rate_schedule == "falling" else 0.0
        self.kind = PROBABILITIES.index(settings.probability_function)
        self.settings = settings

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        chosen = self.settings
        found = train_probperc(
            chain, data, order, first, last, clock, self.nbest, float(self.rate), self.fall, chosen.add_gold,
            chosen.when == "errors", self.kind, float(chosen.degree),
        )  # fmt: skip
        return Step(*found)


class PassiveAggressive(Perceptron):
    """The smallest step after which gold is better than the worst violator by its cost."""

    def __init__(self, settings: Settings) -> None:
        self.type, self.most = PA_TYPES.index(settings.pa_type), float(settings.aggressiveness)

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        return Step(*train_pa(chain, data, order, first, last, clock, self.type, self.most))


class Mira(Perceptron):
    """The same for the n best paths at once."""

    def __init__(self, settings: Settings, labels: Sequence[str]) -> None:
        self.nbest, self.most = n_candidates(settings), float(settings.aggressiveness)
        square = np.zeros((0, 0), np.bool_)
        self.chunks = Chunks(square, square, np.zeros(0, np.int64))
        if settings.cost == "span":
            tables = ChunkTables.of(labels)
            self.chunks = Chunks(tables.starts, tables.ends, np.asarray(tables.type_of, np.int64))

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        return Step(*train_mira(chain, data, order, first, last, clock, self.nbest, self.most, self.chunks))


def rule_for(settings: Settings, chain: Chain, data: Data, labels: Sequence[str] = ()) -> Rule:
    """The rule of a learner that goes through the data sentence by sentence."""
    if settings.learner == "perceptron":
        return Perceptron()
    if settings.learner == "probperc":
        return ProbPerc(settings, data.offset.size - 1)
    if settings.learner == "pa":
        return PassiveAggressive(settings)
    if settings.learner == "mira":
        return Mira(settings, labels)
    return Descent(chain, data, settings.optimiser, settings.rate, settings.l2 or 0.0)


def _zeros_like(w: np.ndarray, wanted: bool) -> np.ndarray:
    return aligned_zeros(w.shape, np.float32) if wanted else np.zeros((0,) * w.ndim, np.float32)


def _decay(active: Active, rows: FeatureWeights, l2: float) -> np.ndarray:
    counts = np.bincount(active.att, minlength=rows.slot.size)
    return (2 * l2 / np.maximum(counts, 1)).astype(np.float32)
