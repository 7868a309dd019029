"""Learners that go through the data sentence by sentence, each around a compiled loop over a slice of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from palmette.evaluation.spans import ChunkTables
from palmette.kernels.chain.costs import Chunks, no_chunks
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights
from palmette.kernels.chain.stochastic import Decay, Squares, descend
from palmette.kernels.chain.train import train_perceptron
from palmette.kernels.chain.train_paths import train_paths
from palmette.kernels.learning.rule import (
    CAPPED,
    HARD,
    LINEAR,
    MIRA,
    PA,
    PERCEPTRON,
    POLYNOMIAL,
    PROBPERC,
    SOFT,
    SOFTMAX,
    Rule,
)
from palmette.options.settings import RATES, Settings, n_candidates
from palmette.structures.chain.weights import aligned_zeros, norm

VARIANTS = {"PA": HARD, "PA-I": CAPPED, "PA-II": SOFT}
FUNCTIONS = {"softmax": SOFTMAX, "linear": LINEAR, "polynomial": POLYNOMIAL}
LISTING = ("probperc", "pa", "mira")  # learners over gold and candidates


class Step(NamedTuple):
    """What a slice has done."""

    clock: float
    updates: int
    wrong: int  # tokens that the guess had wrong
    infeasible: int  # sentences whose known labels no allowed path can give


class Learner(Protocol):
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


class PathLearner(Perceptron):
    """A rule over gold and the n best paths."""

    def __init__(self, rule: Rule, chunks: Chunks | None = None) -> None:
        self.rule, self.chunks = rule, chunks or no_chunks()

    def learn(self, chain: Chain, data: Data, order: np.ndarray, first: int, last: int, clock: float) -> Step:
        return Step(*train_paths(chain, data, order, first, last, clock, self.rule, self.chunks))


def rule_for(settings: Settings, n_examples: int) -> Rule:
    """The rule of a learner over gold and candidates."""
    C = float(settings.aggressiveness)
    if settings.learner == "perceptron":
        return Rule(PERCEPTRON)
    if settings.learner == "pa":
        return Rule(PA, aggressiveness=C, variant=VARIANTS[settings.pa_type])
    if settings.learner == "mira":
        return Rule(MIRA, n_candidates(settings), aggressiveness=C)
    return Rule(
        PROBPERC,
        n_candidates(settings),
        rate=float(RATES["probperc"] if settings.rate is None else settings.rate),
        decay=1.0 / max(1, n_examples) if settings.rate_schedule == "falling" else 0.0,
        function=FUNCTIONS[settings.probability_function],
        degree=float(settings.degree),
        add_gold=settings.add_gold,
        on_errors=settings.when == "errors",
    )


def chunks_for(settings: Settings, labels: Sequence[str]) -> Chunks:
    """The tables of costs of spans; empty where the cost is that of tokens."""
    if settings.cost != "span":
        return no_chunks()
    tables = ChunkTables.of(labels)
    return Chunks(tables.starts, tables.ends, np.asarray(tables.type_of, np.int64))


def learner_for(settings: Settings, chain: Chain, data: Data, labels: Sequence[str] = ()) -> Learner:
    """What learns sentence by sentence with exact search."""
    if settings.learner == "perceptron":
        return Perceptron()
    if settings.learner in LISTING:
        return PathLearner(rule_for(settings, data.offset.size - 1), chunks_for(settings, labels))
    return Descent(chain, data, settings.optimiser, settings.rate, settings.l2 or 0.0)


def _zeros_like(w: np.ndarray, wanted: bool) -> np.ndarray:
    return aligned_zeros(w.shape, np.float32) if wanted else np.zeros((0,) * w.ndim, np.float32)


def _decay(active: Active, rows: FeatureWeights, l2: float) -> np.ndarray:
    counts = np.bincount(active.att, minlength=rows.slot.size)
    return (2 * l2 / np.maximum(counts, 1)).astype(np.float32)
