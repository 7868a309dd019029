"""Gradient descent sentence by sentence against a slow twin that lists all paths, and its settings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from chain_arrays import PAD, Case, chain_of, data_of, features_of, weights_by_name
from fitting import flat_tagger
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Feature, Path, parts
from naive_forward import Listed, all_paths
from objectives import evaluated
from strategies import cases, few

from palmette import Crf, Tagger
from palmette.data import corpus_from_items, known_gold
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, Data
from palmette.structures import allow_table, encode_corpus, estimated, with_state
from palmette.training import ChainObjective, DescentLearning

BARE = ("start", "end", "pair", "triple")


def started(case: Case) -> tuple[Chain, Data]:
    """The chain of a case with its weights, and with accumulators."""
    chain = chain_of(case)
    for w in (part.w for part in (*chain.transitions, *chain.weights)):
        w[w == PAD] = 0.0
    return chain, data_of(case)


class Twin:
    """One sentence after the other, one feature after the other, from the definition."""

    def __init__(self, case: Case, adaptive: bool, rate: float, l2: float) -> None:
        self.case, self.adaptive, self.rate, self.l2 = case, adaptive, rate, l2
        self.squares: dict[Feature, float] = defaultdict(float)
        self.sums: dict[Feature, float] = defaultdict(float)
        self.clock = 1.0
        self.occurrences = Counter(
            (kind, attribute)
            for sentence in case.sentences
            for token in sentence
            for kind, own in zip(("one", "two", "three"), (token.one, token.two, token.three), strict=True)
            for attribute, _ in own
        )

    def now(self) -> float:
        fall = 0.0 if self.adaptive else self.rate * 2 * self.l2 / len(self.case.sentences)
        return self.rate / (1 + fall * self.clock)

    def change(self, feature: Feature, slope: float) -> None:
        if self.adaptive:
            self.squares[feature] += slope**2
            slope /= math.sqrt(self.squares[feature] + 0.01)
        weights = self.case.model.weights
        weights[feature] = weights.get(feature, 0.0) - self.now() * slope
        self.sums[feature] -= self.clock * self.now() * slope

    def differences(self, s: int, sides: tuple[Listed, Listed], i: int, size: int) -> dict[Path, float]:
        """How probable the states of the `size` tokens that end at i are, less how probable given what is known."""
        free, known = (side.of_part(i, size) for side in sides)
        return {states: self.case.weights[s] * (free[states] - known[states]) for states in {**free, **known}}

    def learn(self, s: int) -> None:
        case, model = self.case, self.case.model
        sentence = case.sentences[s]
        everything = [range(model.n_states)] * len(sentence)
        sides = all_paths(model, sentence, everything), all_paths(model, sentence, case.allowed(s))
        if sides[1].probability:
            bare = self.bare_slopes(s, sides)
            for i, token in enumerate(sentence):
                for size, kind, own in ((1, "one", token.one), (2, "two", token.two), (3, "three", token.three)):
                    if size - 1 <= min(i, model.order):
                        self.move_attributes(kind, own, self.differences(s, sides, i, size))
            for feature in {f for f in model.weights if f[0] in BARE} | bare.keys():
                if model.is_feature(feature):
                    decay = 2 * self.l2 / len(case.sentences) * model.weights.get(feature, 0.0)
                    self.change(feature, bare.get(feature, 0.0) + decay)
        self.clock += 1

    def bare_slopes(self, s: int, sides: tuple[Listed, Listed]) -> dict[Feature, float]:
        found: dict[Feature, float] = defaultdict(float)
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            for path, p in side.probability.items():
                for feature, _ in parts(self.case.model, self.case.sentences[s], path):
                    if feature[0] in BARE:
                        found[feature] += sign * self.case.weights[s] * p
        return found

    def move_attributes(self, kind: str, own: tuple[tuple[int, float], ...], slopes: dict[Path, float]) -> None:
        """Each attribute's weights, also those that nothing is expected of: they pay their penalty."""
        model = self.case.model
        for attribute, value in own:
            mine = {(kind, attribute, *states) for states in slopes} | {
                f for f in model.weights if f[:2] == (kind, attribute)
            }
            for feature in mine:
                if model.is_feature(feature):
                    decay = 2 * self.l2 / self.occurrences[kind, attribute] * model.weights.get(feature, 0.0)
                    self.change(feature, value * slopes.get(feature[2:], 0.0) + decay)


FIXED = cases(max_tokens=3, latent=True, learning=True, lists=True).filter(lambda case: not case.growing)


@few(2)
@given(FIXED, st.booleans(), st.sampled_from([0.0, 0.3]), st.none() | st.integers(0, 99))
def test_descent_is_that_of_all_paths(case: Case, adaptive: bool, l2: float, drawn: int | None) -> None:
    """`drawn`: only some label pairs have weights."""
    rate = 0.125
    chain, data = started(case)
    chain = with_state(chain) if adaptive else chain
    model, learnt = replace(case.model, weights=dict(case.model.weights)), None
    if drawn is not None:
        learnt = np.random.default_rng(drawn).random(chain.forbid.shape) < 0.5
        chain.transitions[1].w[~learnt] = 0.0
        pairs = frozenset(("pair", int(f), int(g)) for f, g in np.argwhere(learnt))
        model.limited = (*(model.limited if model.seen is not None else ()), "pair")
        model.seen = pairs | (model.seen or frozenset())
        model.weights = {f: weight for f, weight in model.weights.items() if f[0] != "pair" or f in pairs}
    learner = Crf(optimiser="adagrad" if adaptive else "sgd", rate=rate, l2=l2)
    learning = DescentLearning(chain, data, learnt=learnt, learner=learner)
    twin = Twin(case._replace(model=model), adaptive, rate, l2)
    order = np.arange(len(case.sentences))
    for _ in range(2):
        learning.learn(order)
        for s in order:
            twin.learn(int(s))
    found = features_of(chain)
    for feature in found.keys() | twin.case.model.weights.keys():
        assert found.get(feature, 0.0) == pytest.approx(twin.case.model.weights.get(feature, 0.0), abs=1e-4), feature
    mean = features_of(estimated(chain, learning.clock))
    for feature, weight in twin.case.model.weights.items():
        assert mean.get(feature, 0.0) == pytest.approx(weight - twin.sums[feature] / learning.clock, abs=1e-4), feature
    assert learnt is None or not chain.transitions[1].w[~learnt].any()


def test_both_reach_the_optimum_of_lbfgs() -> None:
    """With a rate that has become small the objective is that of the batch learner, and so are the tags."""
    X, y = (part[:60] for part in load_demo("train"))
    common = {"features": "chunk", "learner": "crf", "l2": 1.0}
    best = flat_tagger(**common, iterations=300, tolerance=1e-7).fit(X, y)
    for optimiser, rate in (("sgd", 0.2), ("adagrad", 0.1)):
        found = flat_tagger(**common, optimiser=optimiser, rate=rate, passes=150, estimator="last").fit(X, y)
        objective = objective_of(found, X, y)
        assert objective == pytest.approx(objective_of(best, X, y), rel=0.02), optimiser


def objective_of(tagger: Tagger, X: list, y: list) -> float:
    """The objective that the weights of a model have on labelled sentences."""
    model, corpus = tagger.model_, corpus_from_items(X, y, mode="columns").corpus
    gold, _ = known_gold(corpus, model.labels)
    data = encode_corpus(corpus, model.encoder, model.feature_indexes, gold, allow_table(len(model.labels)))
    objective = ChainObjective(model.chain, data, l2=1.0)
    return evaluated(objective)[0]


def test_a_seed_gives_one_model_and_a_checkpoint_goes_on() -> None:
    X, y = (part[:40] for part in load_demo("train"))
    make = {"features": "chunk", "learner": "crf", "optimiser": "sgd", "l2": 0.1}
    whole, again = (flat_tagger(**make, passes=4).fit(X, y) for _ in range(2))
    assert weights_by_name(whole.model_) == weights_by_name(again.model_)
    half = flat_tagger(**make, passes=2)
    corpus = corpus_from_items(X, y, mode="columns").corpus
    half.fit_corpus(corpus, None, checkpoint=True)
    half.fit_corpus(corpus, None, resume=half.model_)
    assert weights_by_name(half.model_) == weights_by_name(whole.model_)


def test_latent_states_and_partial_labels_descend_too() -> None:
    X, y = (part[:40] for part in load_demo("train"))
    hidden = [[None if (i + k) % 3 == 0 else label for k, label in enumerate(labels)] for i, labels in enumerate(y)]
    make = {"features": "chunk", "optimiser": "adagrad", "passes": 12}
    latent = flat_tagger(learner="dplvm", latent=2, **make).fit(X, y)
    partly = flat_tagger(learner="crf", partial=True, **make).fit(X, hidden)
    for tagger in (latent, partly):
        objectives = [row["figures"]["objective"] for row in tagger.training_log_]
        assert objectives[-1] < 0.5 * objectives[0]
        assert tagger.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"learner": "perceptron", "optimiser": "sgd"},
            "optimiser: is an option of crf and dplvm; the learner is perceptron",
        ),
        ({"learner": "crf", "optimiser": "newton"}, "choose one of lbfgs, sgd, adagrad"),
        ({"learner": "crf", "rate": 0.1}, "applies to the optimisers sgd and adagrad"),
        ({"learner": "crf", "optimiser": "sgd", "l1": 1.0}, "l1: applies to the optimiser lbfgs, not sgd"),
        ({"learner": "crf", "optimiser": "sgd", "rate": -1.0}, "rate"),
    ],
)
def test_what_does_not_go_together_is_told(settings: dict, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        flat_tagger(**settings)._settings()


def test_adagrad_has_no_checkpoint() -> None:
    X, y = (part[:5] for part in load_demo("train"))
    tagger = Tagger(learner=Crf(optimiser="adagrad"), features="chunk", passes=1)
    with pytest.raises(UsageError, match="adagrad"):
        tagger.fit_corpus(corpus_from_items(X, y, mode="columns").corpus, None, checkpoint=True)
