"""The gradient of the likelihood against finite differences, and its value against lists of all paths."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from chain_arrays import PAD, Case, chain_of, data_of
from hypothesis import assume, given
from naive_chain import Feature, Model, Token, parts
from naive_forward import all_paths
from objectives import by_feature, evaluated
from strategies import cases, few

from palmette.errors import UsageError
from palmette.training import ChainObjective


def objective_of(case: Case, l2: float = 0.0, threads: int = 1) -> ChainObjective:
    chain = chain_of(case)
    for w in (part.w for part in (*chain.transitions, *chain.weights)):
        w[w == PAD] = 0.0
    return ChainObjective(chain, data_of(case), l2, threads)


def value_by_hand(case: Case) -> float:
    """Sum of log Z - log Z of what is known, over the sentences that have such a path."""
    value = 0.0
    for s, sentence in enumerate(case.sentences):
        everything = [range(case.model.n_states)] * len(sentence)
        free, known = (all_paths(case.model, sentence, allowed) for allowed in (everything, case.allowed(s)))
        if math.isfinite(known.log_z):
            value += case.weights[s] * (free.log_z - known.log_z)
    return value


def gradient_by_hand(case: Case) -> dict[Feature, float]:
    """How often each feature is expected, less how often given what is known."""
    found: dict[Feature, float] = defaultdict(float)
    for s, sentence in enumerate(case.sentences):
        everything = [range(case.model.n_states)] * len(sentence)
        free, known = (all_paths(case.model, sentence, allowed) for allowed in (everything, case.allowed(s)))
        if not known.probability:
            continue
        for side, sign in ((free, 1.0), (known, -1.0)):
            for path, p in side.probability.items():
                for feature, value in parts(case.model, sentence, path):
                    if case.model.is_feature(feature):
                        found[feature] += sign * case.weights[s] * p * value
    return found


@few(3)
@given(cases(latent=True, learning=True))
def test_value_and_gradient_are_those_of_all_paths(case: Case) -> None:
    objective = objective_of(case)
    value, gradient = evaluated(objective)
    assert value == pytest.approx(value_by_hand(case), abs=1e-4, rel=1e-5)
    expected = gradient_by_hand(case)
    found = by_feature(objective, gradient)
    for feature in expected.keys() | found.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), abs=2e-5), feature


@few(1)
@given(cases(latent=True, learning=True))
def test_gradient_against_finite_differences(case: Case) -> None:
    model = replace(case.model, ends=True, transitions=True, triples=True)  # all weights are learnt
    objective = objective_of(case._replace(model=model), l2=0.5)
    start = objective.start()
    gradient = evaluated(objective, start)[1]
    rng = np.random.default_rng(0)
    assume(np.abs(start).max(initial=0.0) < 50)
    for _ in range(3):
        direction = rng.choice([-1.0, 1.0], start.size) * (gradient != 0)
        step = 2.0**-7
        up, down = (evaluated(objective, start + sign * step * direction)[0] for sign in (1, -1))
        wanted = float(gradient @ direction)
        assert (up - down) / (2 * step) == pytest.approx(wanted, rel=2e-2, abs=2e-2 * (1 + abs(wanted)))


@few(1)
@given(cases(max_tokens=4, latent=True, learning=True))
def test_threads_change_nothing(case: Case) -> None:
    results = []
    for threads in (1, 3):
        objective = objective_of(case, l2=0.1, threads=threads)
        value, gradient = evaluated(objective)
        results.append((value, gradient.tobytes(), objective.wrong, objective.infeasible))
    assert results[0] == results[1]


def test_numbers_too_small_for_products() -> None:
    """Two states that exclude each other at every other token: the fast way gives up, the logarithms do not."""
    model = Model(1, 2, ends=False)
    model.weights = {("one", k, h): (2000.0 if k == h else -2000.0) for k in (0, 1) for h in (0, 1)}
    model.weights |= {("pair", g, h): (-3000.0 if g != h else 0.0) for g in (0, 1) for h in (0, 1)}
    sentence = [Token(((k % 2, 1.0),)) for k in range(6)]
    case = Case(model, (0, 1), (2, 0, 0), [sentence], [[frozenset([k % 2]) for k in range(6)]], [1.0])
    value, gradient = evaluated(objective_of(case))
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(value_by_hand(case), rel=1e-6)


@few(1)
@given(cases(max_tokens=4, latent=True, learning=True))
def test_blocks_of_sentences_add_up(case: Case) -> None:
    """A table for all tokens, and one for a sentence at a time."""
    whole = objective_of(case, l2=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palmette.training.chain.objective.MOST_TABLES", 1)
        apart = objective_of(case, l2=0.1)
    assert len(apart.work) == len(case.sentences)
    (value, gradient), (other, summed) = evaluated(whole), evaluated(apart)
    assert other == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert summed == pytest.approx(gradient, rel=1e-6, abs=1e-6)
    assert (apart.wrong, apart.infeasible) == (whole.wrong, whole.infeasible)


def test_a_sentence_whose_tables_are_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.training.chain.objective.LONGEST_TABLES", 40)
    sentence = [Token(((0, 1.0),))] * 6
    case = Case(Model(1, 2, ends=False), (0, 1), (2, 0, 0), [sentence], [[frozenset([0])] * 6], [1.0])
    with pytest.raises(UsageError, match="a sentence of 6 tokens"):
        objective_of(case)


def test_scores_beyond_float32_are_seen_in_the_value() -> None:
    """A line search may try such weights: it must get a value that it can reject."""
    model = Model(1, 2, ends=False)
    model.weights = {("one", k, 0): 3e38 for k in (0, 1)}
    sentence = [Token(((0, 1.0), (1, 1.0)))] * 2
    case = Case(model, (0, 1), (2, 0, 0), [sentence], [[frozenset([1])] * 2], [1.0])
    value, _ = evaluated(objective_of(case))
    assert not math.isfinite(value)
