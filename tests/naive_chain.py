"""Slow twins of the chain core, from the definitions: a path is a bag of features, the best path is found by
looking at all of them, and the averaged perceptron really adds up all of its weight vectors.

A feature is a tuple: ("one", attribute, h), ("two", attribute, g, h), ("three", attribute, f, g, h) for
observations, ("start", h), ("end", h), ("pair", g, h), ("triple", f, g, h) for what depends on states alone,
and ("bias", h). Weights are a dictionary; a feature that is not in it weighs 0. Nothing of src is used.

Ties: among the best paths the one with the smaller last state, then the smaller state before it, and so on.
Tests that compare paths keep all numbers to multiples of 1/64, so that float32 and float64 tie together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

Feature = tuple[Any, ...]
Path = tuple[int, ...]


class Token(NamedTuple):
    """The attributes of a token with their values: on its label, on the pair and on the triple it ends."""

    one: tuple[tuple[Any, float], ...] = ()
    two: tuple[tuple[Any, float], ...] = ()
    three: tuple[tuple[Any, float], ...] = ()


Sentence = Sequence[Token]


@dataclass
class Model:
    """A chain. Forbidden are ("start", h), ("end", h) and, from order 1 on, ("pair", g, h). With `seen` an
    feature of the kinds `limited` that is not in it does not exist."""

    order: int
    n_states: int
    weights: dict[Feature, float] = field(default_factory=dict)
    forbidden: frozenset[Feature] = frozenset()
    ends: bool = True
    transitions: bool = True
    triples: bool = True
    seen: frozenset[Feature] | None = None
    limited: tuple[str, ...] = ("two", "three")

    def is_feature(self, feature: Feature) -> bool:
        """Whether the feature has a weight that can be learnt."""
        kind = feature[0]
        if kind in self.limited and self.seen is not None and feature not in self.seen:
            return False
        switches = {"start": self.ends, "end": self.ends, "pair": self.transitions, "triple": self.triples}
        return switches.get(kind, kind != "bias")


# --- paths as bags of features ------------------------------------------------------------------------------


def token_parts(model: Model, sentence: Sentence, i: int, path: Path) -> Iterator[tuple[Feature, float]]:
    """What token i adds, with its value; `path` ends at token i and has as many states as the order needs."""
    token = sentence[i]
    yield ("bias", path[-1]), 1.0
    if i == 0:
        yield ("start", path[-1]), 1.0
    if i == len(sentence) - 1:
        yield ("end", path[-1]), 1.0
    yield from ((("one", a, path[-1]), value) for a, value in token.one)
    if i >= 1 and model.order >= 1:
        yield ("pair", *path[-2:]), 1.0
        yield from ((("two", a, *path[-2:]), value) for a, value in token.two)
    if i >= 2 and model.order >= 2:
        yield ("triple", *path[-3:]), 1.0
        yield from ((("three", a, *path[-3:]), value) for a, value in token.three)


def parts(model: Model, sentence: Sentence, path: Path) -> Iterator[tuple[Feature, float]]:
    """Everything that happens along a path."""
    return itertools.chain.from_iterable(token_parts(model, sentence, i, path[: i + 1]) for i in range(len(sentence)))


def summed(model: Model, found: Iterable[tuple[Feature, float]]) -> float:
    """The sum of the weights; minus infinity when any of the features is forbidden."""
    total = 0.0
    for feature, value in found:
        if feature in model.forbidden:
            return -math.inf
        total += model.weights.get(feature, 0.0) * value
    return total


def path_score(model: Model, sentence: Sentence, path: Path) -> float:
    return summed(model, parts(model, sentence, path))


# --- search -------------------------------------------------------------------------------------------------


class Best(NamedTuple):
    score: float
    path: Path
    unique: bool


def best_path(model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]] | None = None) -> Best:
    """Score every path whose states are allowed (all, unless given) and take the best."""
    choices = [sorted(states) for states in allowed or [range(model.n_states)] * len(sentence)]
    scored = [(path_score(model, sentence, path), path) for path in itertools.product(*choices)]
    top = max((score for score, _ in scored), default=-math.inf)
    winners = [path for score, path in scored if score == top]
    return Best(top, min(winners, key=lambda path: path[::-1], default=()), len(winners) == 1)


def memoised_viterbi(model: Model, sentence: Sentence) -> Best:
    """Top down: the best way to end in the last one or two states, by the best ways to get there."""
    search = _pairs_top_down if model.order >= 2 and len(sentence) > 1 else _states_top_down
    ways = search(model, sentence)
    top = max(score for score, _ in ways)
    winners = [path for score, path in ways if score == top]
    return Best(top, min(winners, key=lambda path: path[::-1]), False)


def _step(model: Model, sentence: Sentence, i: int, path: Path) -> float:
    return summed(model, token_parts(model, sentence, i, path))


def _states_top_down(model: Model, sentence: Sentence) -> list[tuple[float, Path]]:
    H = model.n_states

    @cache
    def best(i: int, h: int) -> tuple[float, Path]:
        if i == 0:
            return _step(model, sentence, 0, (h,)), (h,)
        ways = [(best(i - 1, g)[0] + _step(model, sentence, i, (g, h)), g) for g in range(H)]
        score, g = max(ways, key=lambda way: (way[0], -way[1]))
        return score, (*best(i - 1, g)[1], h)

    return [best(len(sentence) - 1, h) for h in range(H)]


def _pairs_top_down(model: Model, sentence: Sentence) -> list[tuple[float, Path]]:
    H = model.n_states

    @cache
    def best(i: int, g: int, h: int) -> tuple[float, Path]:
        if i == 1:
            return _step(model, sentence, 0, (g,)) + _step(model, sentence, 1, (g, h)), (g, h)
        ways = [(best(i - 1, f, g)[0] + _step(model, sentence, i, (f, g, h)), f) for f in range(H)]
        score, f = max(ways, key=lambda way: (way[0], -way[1]))
        return score, (*best(i - 1, f, g)[1], h)

    return [best(len(sentence) - 1, g, h) for g in range(H) for h in range(H)]


# --- the averaged perceptron --------------------------------------------------------------------------------


class Example(NamedTuple):
    """A sentence, the states that what is known allows at each token, and the weight of the example.
    `certain`: a label is a state and all labels are known; such a path is gold even where it is forbidden."""

    sentence: Sentence
    allowed: Sequence[frozenset[int]]
    weight: float = 1.0
    certain: bool = False


@dataclass
class TrainedChain:
    """Training so far: it can be gone on with."""

    last: dict[Feature, float] = field(default_factory=lambda: defaultdict(float))
    total: dict[Feature, float] = field(default_factory=lambda: defaultdict(float))  # of w_0 .. w_N
    vectors: int = 0  # N + 1
    updates: int = 0
    wrong: int = 0
    infeasible: int = 0

    @property
    def mean(self) -> dict[Feature, float]:
        return {feature: value / self.vectors for feature, value in self.total.items()}

    def count(self) -> None:
        for feature, weight in self.last.items():
            self.total[feature] += weight
        self.vectors += 1


def started(weights: dict[Feature, float]) -> TrainedChain:
    """Nothing learnt yet: w_0 counts as the first vector."""
    begun = TrainedChain(last=defaultdict(float, weights))
    begun.count()
    return begun


def perceptron(
    model: Model, examples: Sequence[Example], orders: Iterable[Sequence[int]], so_far: TrainedChain | None = None
) -> TrainedChain:
    """Passes over the examples in the given orders, from the model's weights or from earlier training."""
    now = so_far or started(model.weights)
    model = replace(model, weights=now.last)
    for k in itertools.chain.from_iterable(orders):
        _learn(model, examples[k], now)
        now.count()
    return now


def _learn(model: Model, example: Example, now: TrainedChain) -> None:
    guess = best_path(model, example.sentence).path
    missed = sum(state not in allowed for state, allowed in zip(guess, example.allowed, strict=True))
    if not missed:
        return
    now.wrong += missed
    gold = _gold(model, example)
    if gold is None:
        now.infeasible += 1
        return
    _move(model, example, gold, guess)
    now.updates += 1


def _gold(model: Model, example: Example) -> Path | None:
    """The best path that is allowed, if there is one."""
    if example.certain:
        return tuple(min(states) for states in example.allowed)
    best = best_path(model, example.sentence, example.allowed)
    return best.path if best.score > -math.inf else None


def _move(model: Model, example: Example, gold: Path, guess: Path) -> None:
    for path, sign in ((gold, 1.0), (guess, -1.0)):
        for feature, value in parts(model, example.sentence, path):
            if model.is_feature(feature):
                model.weights[feature] += sign * example.weight * value


# --- sizes for the mistake bound ----------------------------------------------------------------------------


def feature_vector(model: Model, sentence: Sentence, path: Path) -> Counter[Feature]:
    bag: Counter[Feature] = Counter()
    for feature, value in parts(model, sentence, path):
        if model.is_feature(feature):
            bag[feature] += value
    return bag


def differences(model: Model, sentence: Sentence, gold: Path) -> Iterator[Counter[Feature]]:
    """f(gold) - f(other) for every other path."""
    mine = feature_vector(model, sentence, gold)
    for other in itertools.product(range(model.n_states), repeat=len(gold)):
        if other != gold:
            bag = Counter(mine)
            bag.subtract(feature_vector(model, sentence, other))
            yield bag


def norm(bag: dict[Feature, float]) -> float:
    return math.sqrt(sum(value * value for value in bag.values()))


def dot(weights: dict[Feature, float], bag: dict[Feature, float]) -> float:
    return sum(weights.get(feature, 0.0) * value for feature, value in bag.items())
