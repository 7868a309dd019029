"""The perceptron's mistake bound on separable data, and its accumulators when the clock is large."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chain_arrays import Case, column_corpus, data_of, features_of, tokens_of
from fitting import fit
from learners import perceptron_steps
from naive_chain import Model, Token, best_path, differences, dot, norm
from strategies import random_model

from palmette.features import parse
from palmette.kernels.chain.forms import Chain, Data
from palmette.structures import Seen, Shape, estimated, everything_allowed, new_chain

# --- the mistake bound --------------------------------------------------------------------------------------


SIMPLE = {0: "U0:%x[0,0]", 1: "U0:%x[0,0]\nB", 2: "U0:%x[0,0]\nB\nT"}


def separable(order: int, seed: int) -> tuple[Model, list[list[list[str]]], list[tuple[int, ...]], float]:
    """Sentences that a known weight vector labels with a margin: (its model, sentences, gold, margin)."""
    rng = np.random.default_rng([order, seed])
    templates = parse(SIMPLE[order])
    drawn = random_model(rng, order, 3, (5, 0, 0), "spread")
    weights = {
        ("one", f"U0:w{feature[1]}", feature[2]) if feature[0] == "one" else feature: weight
        for feature, weight in drawn.weights.items()
        if feature[0] != "bias"
    }
    u = Model(order, 3, {feature: weight / norm(weights) for feature, weight in weights.items()})
    sentences, golds, margin = [], [], math.inf
    while len(sentences) < 15:
        sentence = [[f"w{word}"] for word in rng.integers(0, 5, rng.integers(1, 5))]
        tokens = tokens_of(templates, sentence)
        gold = best_path(u, tokens).path
        nearest = min(dot(u.weights, bag) for bag in differences(u, tokens, gold))
        if nearest > 0.05:
            sentences.append(sentence)
            golds.append(gold)
            margin = min(margin, nearest)
    return u, sentences, golds, margin


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_updates_stay_within_the_bound_on_separable_data(order: int, seed: int) -> None:
    """Zero start, exact search: at most R^2 / d^2 updates, then no error is left and training ends."""
    u, sentences, golds, d = separable(order, seed)
    templates = parse(SIMPLE[order])
    R = max(
        norm(bag)
        for sentence, gold in zip(sentences, golds, strict=True)
        for bag in differences(u, tokens_of(templates, sentence), gold)
    )
    assert norm(u.weights) == pytest.approx(1.0)
    corpus = column_corpus(sentences, [["NVD"[y] for y in gold] for gold in golds])
    bound = R * R / (d * d)
    model, outcome = fit(corpus, SIMPLE[order], passes=math.ceil(bound) + 2, estimator="last", seed=seed)
    updates = [p.updates for p in outcome.training_log]
    assert 0 < sum(updates) <= bound
    assert updates[-1] == 0
    assert all(updates[:-1])
    assert outcome.ended == f"converged after {len(updates)} passes (no training errors)"
    assert outcome.training_log[-1].train_accuracy == 1.0
    guessed, _ = model.tag(corpus)
    assert [model.labels[y] for y in guessed] == ["NVD"[y] for gold in golds for y in gold]


# --- the clock ----------------------------------------------------------------------------------------------


def flipping(n_tokens: int, sizes: tuple[int, int, int]) -> Data:
    """Two examples of weight 1/4 that contradict each other: taken in turn, each of them is an error."""
    token = Token(*(((0, 1.0),) if size else () for size in sizes))
    known = [[frozenset([label])] * n_tokens for label in (1, 0)]
    return data_of(Case(Model(0, 2), (0, 1), sizes, [[token] * n_tokens] * 2, known, [0.25] * 2))


def flipped(shape: Shape, sizes: tuple[int, int, int], seen: bool, n: int, start: float) -> tuple[Chain, float]:
    """A new chain after n examples, beginning at the clock `start`, and the clock then."""
    places = {k: Seen(np.array([0, 2]), np.array(_ends(k), np.int32)) for k in (2, 3) if seen}
    chain = new_chain(shape, dict(enumerate(sizes, 1)), everything_allowed(2), places)
    order = np.tile(np.arange(2), n // 2)
    data = flipping(shape.order + 1, sizes)
    clock, *counts = perceptron_steps(chain, data, order, start)
    assert clock == start + n
    assert counts == [n, n * (shape.order + 1), 0]
    return chain, clock


def _ends(order: int) -> list[int]:
    """The places of label 0 alone and of label 1 alone in a row."""
    return [0, 2**order - 1]


@pytest.mark.parametrize("start", [2.0**24 + 1, 1e9])
@pytest.mark.parametrize("seen", [False, True])
def test_accumulators_keep_small_steps_at_large_clocks(start: float, seen: bool) -> None:
    """A float32 accumulator has steps of 2 at 2^24: the sum of (clock * change) would be far off."""
    n = 20_000
    chain, clock = flipped(Shape(2, 2, True, True, True), (1, 1, 1), seen, n, start)
    # +c, -(c+1), +(c+2), ...: each pair of examples leaves -1 for label 1, and +1 for label 0
    expected = [0.25 * n / 2, -0.25 * n / 2]
    for order, rows in zip((1, 2, 3), chain.weights, strict=True):
        sums = rows.a[:, 0] if rows.first.size else rows.a[rows.slot[0], _ends(order)]
        times = 4 - order  # a sentence of three tokens has three labels, two pairs, one triple
        assert sums.tolist() == [times * value for value in expected]
    ends, pairs, triples = (own.a for own in chain.transitions)
    assert ends.tolist() == [expected, expected]
    assert pairs.reshape(-1)[_ends(2)].tolist() == [2 * value for value in expected]
    assert triples.reshape(-1)[_ends(3)].tolist() == expected
    # label 1 had the weight 1/4 at its three tokens in every second vector, after `start` vectors of zeros
    mean = features_of(estimated(chain, clock))
    assert mean[("one", 0, 1)] == pytest.approx(3 * 0.25 * (n / 2) / clock, rel=1e-6)
    assert mean[("three", 0, 0, 0, 0)] == pytest.approx(-0.25 * (n / 2) / clock, rel=1e-6)
