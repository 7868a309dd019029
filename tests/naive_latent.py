"""Slow twin of latent training, from the definition: decode; where a label of the path is wrong, decode again among
the paths with the right labels; add the features of the second path and take those of the first away. Every weight
vector is added up for the mean, and mavg goes on from that mean.

The first part uses nothing of src. The second makes the twin of a training: it takes the random start from the
product, which alone knows its generator.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from chain_arrays import features_of, tokens_of
from naive_chain import Example, Feature, Model, Path, Sentence, parts, summed, token_parts

from palmette.features import TemplateSet, parse
from palmette.kernels.chain.forms import Chain
from palmette.structures import ChainModel, Shape, everything_allowed, new_chain
from palmette.training import shuffled
from palmette.training.chain.start import start_randomly

CLOSE = 1e-4  # nearer paths may change places between float32 and float64
GRID = 2.0**12  # numbers in steps of 1/GRID are summed exactly by both


class Tie(Exception):
    """A decision hangs on less than CLOSE where numbers are not exact."""


# --- the definition -----------------------------------------------------------------------------------------


class Best(NamedTuple):
    path: Path
    gap: float  # to the next path


def best_of_all(model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]]) -> Best | None:
    """The best of all paths, of equals the one with the smaller last states; None: no path is allowed."""
    ways: list[tuple[float, Path]] = [(0.0, ())]
    for i, states in enumerate(allowed):
        longer = [(score, (*path, h)) for score, path in ways for h in states]
        ways = [(score + summed(model, token_parts(model, sentence, i, path)), path) for score, path in longer]
        ways = [way for way in ways if way[0] > -math.inf]
    ways.sort(key=lambda way: (-way[0], way[1][::-1]))
    if not ways:
        return None
    return Best(ways[0][1], ways[0][0] - ways[1][0] if len(ways) > 1 else math.inf)


@dataclass
class Learnt:
    """What a latent training has come to."""

    last: dict[Feature, float]
    start: dict[Feature, float] = field(default_factory=dict)
    total: dict[Feature, float] = field(default_factory=lambda: defaultdict(float))  # of all vectors, w_0 too
    vectors: int = 0
    steps: dict[Feature, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    balanced: set[Feature] = field(default_factory=set)  # as often on the gold path as on the guess, in some update
    updates: list[int] = field(default_factory=list)  # of each pass
    wrong: list[int] = field(default_factory=list)
    infeasible: int = 0

    @property
    def mean(self) -> dict[Feature, float]:
        return {feature: value / self.vectors for feature, value in self.total.items()}

    def count(self) -> None:
        for feature, weight in self.last.items():
            self.total[feature] += weight
        self.vectors += 1

    def out(self, estimator: str) -> dict[Feature, float]:
        """The model's weights: what never moved is zero, whatever it started from."""
        weights = self.last if estimator == "last" else self.mean
        return {feature: weights[feature] for feature in self.steps}

    def cancelled(self) -> set[Feature]:
        """Features whose steps leave no trace in either the last or the mean weight: they may count as unmoved."""
        sums = {f: (sum(d for _, d in s), sum(c * d for c, d in s)) for f, s in self.steps.items()}
        return {feature for feature, (plain, timed) in sums.items() if plain == 0 and timed == 0}


def latent_perceptron(
    model: Model, examples: Sequence[Example], passes: Iterable[tuple[int, Sequence[int]]],
    every: int | None = None, exact: bool = True, tied_update: float = 0.0, states: States | None = None,
) -> Learnt:  # fmt: skip
    """Passes (number, order) from the model's weights; mavg starts each pass whose number `every` divides from the
    mean so far. `exact`: the start is such that float32 makes no error before the first such pass. `share` of what a
    feature of `states` gets goes to that feature of all states of the same labels too."""
    now = Learnt(last=defaultdict(float, model.weights), start=dict(model.weights))
    now.count()
    for number, order in passes:
        if every is not None and number % every == 0:
            exact = exact and now.vectors == 1
            now.last = defaultdict(float, now.mean)
        now.updates.append(0)
        now.wrong.append(0)
        for k in order:
            _learn(replace(model, weights=now.last), examples[k], now, exact, tied_update, states)
            now.count()
    return now


def _learn(
    model: Model, example: Example, now: Learnt, exact: bool, tied_update: float, of_labels: States | None
) -> None:
    everything = [range(model.n_states)] * len(example.sentence)
    guess = _decided(best_of_all(model, example.sentence, everything), exact)
    assert guess is not None
    missed = sum(h not in states for h, states in zip(guess, example.allowed, strict=True))
    if not missed:
        return
    now.wrong[-1] += missed
    certain = example.certain
    gold = tuple(min(states) for states in example.allowed) if certain else None
    if not certain:
        gold = _decided(best_of_all(model, example.sentence, example.allowed), exact)
    if gold is None:
        now.infeasible += 1
        return
    change: Counter[Feature] = Counter()
    for path, sign in ((gold, 1.0), (guess, -1.0)):
        for feature, value in parts(model, example.sentence, path):
            if model.is_feature(feature):
                change[feature] += sign * value * example.weight
                if tied_update and of_labels is not None:
                    for other in of_labels.alike(feature):
                        change[other] += tied_update * sign * value * example.weight
    now.balanced |= {feature for feature, step in change.items() if not step}
    for feature, step in change.items():
        if step:
            model.weights[feature] += step
            now.steps[feature].append((now.vectors, step))
    now.updates[-1] += 1


def _decided(found: Best | None, exact: bool) -> Path | None:
    if found is not None and not exact and found.gap < CLOSE:
        raise Tie
    return None if found is None else found.path


def assert_learnt(found: dict[Feature, float], learnt: Learnt, estimator: str, exact: bool = True) -> None:
    """The weights of a model are those of the twin. Without `exact`, rounding may make a step of what went up and down
    by the same in one update: it then keeps the small number that it started from."""
    expected = learnt.out(estimator)
    either = learnt.cancelled()
    rounding = set() if exact else learnt.balanced - learnt.steps.keys()
    for feature in found.keys() | expected.keys():
        mine, other = found.get(feature, 0.0), expected.get(feature, 0.0)
        if feature in rounding:
            other = learnt.last[feature] if mine else 0.0
        # What has come back to where it started, on the mean too, cannot be told from what never moved.
        back = feature in either or abs(other - learnt.start.get(feature, 0.0)) <= 1e-6
        fine = abs(mine - other) <= 1e-5 or (back and mine == 0.0)
        assert fine, (feature, mine, other)


# --- the twin of a training ---------------------------------------------------------------------------------


@dataclass
class States:
    """The states of labels: `counts` of each, in blocks of `per`."""

    names: list[str]
    counts: list[int]

    @property
    def states_per_label(self) -> int:
        return max(self.counts)

    @property
    def missing(self) -> list[int]:
        return [
            h
            for h in range(len(self.names) * self.states_per_label)
            if h % self.states_per_label >= self.counts[h // self.states_per_label]
        ]

    def alike(self, feature: Feature) -> list[Feature]:
        """The same feature of all states of the same labels, itself too."""
        kind, *rest = feature
        own = rest[:1] if kind in ("one", "two", "three") else []
        labels = [h // self.states_per_label for h in rest[len(own) :]]
        choices = [range(y * self.states_per_label, y * self.states_per_label + self.counts[y]) for y in labels]
        return [(kind, *own, *states) for states in itertools.product(*choices)]

    def of(self, label: str) -> list[int]:
        first = self.names.index(label) * self.states_per_label
        return list(range(first, first + self.counts[self.names.index(label)]))


def latent_twin(
    text: str, states: States, forbidden: Iterable[tuple[str, str]] = (), ends: bool = True
) -> tuple[Model, Shape]:
    """The naive model of a template set over states, and the shape that the product should have. Its weights are
    still zero."""
    templates = parse(text)
    bare = {order for t in templates.templates if not t.macros for order in t.orders}
    ban = _banned(states, forbidden)
    # Forbidden pairs hold in an order 0 model too, whose transitions have no weights.
    order = max(templates.order, 1 if any(kind == "pair" for kind, *_ in ban) else 0)
    model = Model(
        order, len(states.names) * states.states_per_label, forbidden=frozenset(ban), ends=ends, transitions=2 in bare,
        triples=3 in bare,
    )  # fmt: skip
    uneven = tuple(states.counts) if len(set(states.counts)) > 1 else ()
    shape = Shape(len(states.names), templates.order, ends, 2 in bare, 3 in bare, states.states_per_label, uneven)
    return model, shape


def _banned(states: States, forbidden: Iterable[tuple[str, str]]) -> set[Feature]:
    H = len(states.names) * states.states_per_label
    ban: set[Feature] = set()
    for h in states.missing:
        ban |= {("start", h), ("end", h)} | {("pair", g, h) for g in range(H)} | {("pair", h, g) for g in range(H)}
    for before, after in forbidden:
        if before == "<s>":
            ban |= {("start", h) for h in states.of(after)}
        elif after == "</s>":
            ban |= {("end", h) for h in states.of(before)}
        else:
            ban |= {("pair", g, h) for g in states.of(before) for h in states.of(after)}
    return ban


def random_start(shape: Shape, order: int, size: float, seed: int, rounded: bool) -> dict[Feature, float]:
    """The numbers that the product starts a latent model from."""
    blank = new_chain(shape, {}, everything_allowed(shape.n_labels), {})
    (start_on_grid if rounded else start_randomly)(blank, shape, size, seed)
    found = features_of(blank)
    return {f: w for f, w in found.items() if len(f) <= order + 2}


def start_on_grid(chain: Chain, shape: Shape, size: float, seed: int) -> None:
    """`start_randomly`, on numbers whose sums are exact in float32: ties are then real ties."""
    start_randomly(chain, shape, size, seed)
    for block in (t.w for t in chain.transitions):
        block[...] = np.round(block * GRID) / GRID


def state_examples(
    templates: TemplateSet, sentences: list[list[list[str]]], labels: Sequence[Sequence[Iterable[str]]], states: States
) -> list[Example]:
    """Examples from the labels that each token may have (one, several, or none at all: anything)."""

    def allowed(wanted: Iterable[str]) -> frozenset[int]:
        return frozenset(h for label in list(wanted) or states.names for h in states.of(label))

    certain = [states.states_per_label == 1 and all(len(list(wanted)) == 1 for wanted in own) for own in labels]
    return [
        Example(tokens_of(templates, sentence), [allowed(wanted) for wanted in own], 1.0, sure)
        for sentence, own, sure in zip(sentences, labels, certain, strict=True)
    ]


def seen_states(examples: list[Example], order: int, states: States) -> frozenset[Feature]:
    """Observation features on the label pairs and triples of gold, for all states of these labels."""
    states_per_label, H = states.states_per_label, len(states.names) * states.states_per_label
    found = set()
    for example in examples:
        labels = [{h // states_per_label for h in own} for own in example.allowed]
        for i, token in enumerate(example.sentence):
            for kind, attributes, n in (("two", token.two, 2), ("three", token.three, 3)):
                own = labels[i + 1 - n : i + 1] if i + 1 >= n and order + 1 >= n else []
                if len(own) == n and all(len(one) == 1 for one in own):
                    found |= {(kind, a, *(min(one) for one in own)) for a, _ in attributes}
    every = (
        (kind, a, *combo)
        for kind, a, *labels in found
        for combo in itertools.product(
            *(range(y * states_per_label, y * states_per_label + states_per_label) for y in labels)
        )
    )
    return frozenset(feature for feature in every if max(feature[2:]) < H)


def pass_orders(seed: int, n_passes: int, n: int) -> list[tuple[int, np.ndarray]]:
    return [(number, shuffled(seed, number, n)) for number in range(1, n_passes + 1)]


def state_weights(model: ChainModel) -> dict[Feature, float]:
    """The weights of a trained model, attributes by their strings and states by their numbers."""
    names = [[texts[k] for k in range(len(texts))] for order in (1, 2, 3) for texts in [model.names.get(order, ())]]
    return features_of(model.chain, names)
