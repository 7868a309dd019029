"""The perceptron's mistake bound on separable data, and its accumulators when the clock is large."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, features_of, tokens_of
from fitting import fit
from naive_chain import Model, Token, best_path, differences, dot, norm
from strategies import random_model

from palmette.chain.weights import estimated
from palmette.features.templates import parse
from palmette.kernels.train import train_perceptron

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
    updates = [p.updates for p in outcome.history]
    assert 0 < sum(updates) <= bound
    assert updates[-1] == 0
    assert all(updates[:-1])
    assert outcome.why == f"no error was left after {len(updates)} passes"
    assert outcome.history[-1].train_accuracy == 1.0
    guessed, _ = model.tag(corpus)
    assert [model.labels[y] for y in guessed] == ["NVD"[y] for gold in golds for y in gold]


# --- the clock ----------------------------------------------------------------------------------------------


def flipping(weight: float) -> Case:
    """Two examples that contradict each other: taken in turn, each of them is an error."""
    model = Model(0, 2, ends=False)
    known = [[frozenset([1])], [frozenset([0])]]
    return Case(model, (0, 1), (1, 0, 0), [[Token(((0, 1.0),))]] * 2, known, [weight] * 2)


@pytest.mark.parametrize("start", [2.0**24 + 1, 1e9])
def test_accumulators_keep_small_steps_at_large_clocks(start: float) -> None:
    """A float32 accumulator has steps of 2 at 2^24: the sum of (clock * change) would be far off."""
    case, n = flipping(0.25), 200_000
    chain, data = chain_of(case), data_of(case)
    order = np.tile(np.arange(2), n // 2)
    clock, updates, wrong, impossible = train_perceptron(chain, data, order, 0, n, start)
    assert (clock, updates, wrong, impossible) == (start + n, n, n, 0)
    row = chain.one.slot[0]
    assert chain.one.w[row].tolist() == [0.0, 0.0]
    # +c, -(c+1), +(c+2), ...: each pair leaves -1, for label 1; the other way round for label 0
    assert chain.one.a[row].tolist() == [0.25 * n / 2, -0.25 * n / 2]
    # label 1 had the weight 1/4 in every second vector, after `start` vectors of zeros
    mean = features_of(estimated(chain, clock))
    assert mean[("one", 0, 1)] == pytest.approx(0.25 * (n / 2) / clock, rel=1e-6)
    assert mean[("one", 0, 0)] == -mean[("one", 0, 1)]


def test_bare_weights_have_float64_accumulators_too() -> None:
    case = flipping(0.25)
    case = case._replace(model=Model(1, 2), sizes=(0, 0, 0), sentences=[[Token()] * 2] * 2)
    case = case._replace(known=[[frozenset([1])] * 2, [frozenset([0])] * 2])
    chain, data = chain_of(case), data_of(case)
    n = 50_000
    train_perceptron(chain, data, np.tile(np.arange(2), n // 2), 0, n, 2.0**24 + 1)
    for sums in (chain.bare_a.end[0], chain.bare_a.end[1]):
        assert sums[:2].tolist() == [0.25 * n / 2, -0.25 * n / 2]
    assert chain.bare_a.pair.tolist() == [[0.25 * n / 2, 0.0], [0.0, -0.25 * n / 2]]
