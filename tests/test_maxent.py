"""Maximum entropy Markov models: the normalised trellis and the gradient against softmaxes by hand, and the learner."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_arrays import PAD, Case, chain_of, column_corpus, data_of, decoded
from fitting import flat_tagger, same_bits
from hypothesis import assume, given
from naive_chain import Model, Token
from naive_local import all_probabilities, expected_less_gold, probability
from objectives import by_feature, evaluated
from strategies import cases, few

from palmette import LabelHistory, Latent, MaxEnt, Tagger
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.features import parse
from palmette.kernels.chain.exact import decode_exact, make_exact_workspace
from palmette.kernels.chain.forms import Chain
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace
from palmette.kernels.chain.posteriors import decode_marginal
from palmette.training import ChainObjective

NEAR = 2e-4  # scores are float32, and sums of up to a hundred


def local_chain(case: Case) -> Chain:
    return chain_of(case)._replace(local=True)


def log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def near(p: float) -> Any:
    return log(p) if p == 0 else pytest.approx(log(p), abs=NEAR)


# --- the normalised trellis ---------------------------------------------------------------------------------


@few(3)
@given(cases())
def test_the_best_path_and_its_probability(case: Case) -> None:
    for restricted in (False, True):
        found = decoded(local_chain(case), data_of(case), restricted)
        for s, (score, path) in enumerate(found):
            paths = all_probabilities(case.model, case.sentences[s], case.allowed(s) if restricted else None)
            best = max(paths.values())
            assert score == near(best)
            if best > 0:
                assert log(paths[path]) == near(best)


@few(2)
@given(cases())
def test_sums_over_all_paths(case: Case) -> None:
    """What is left of 1 where histories lead nowhere; 1 where nothing is forbidden."""
    for restricted in (False, True):
        log_z = np.zeros(len(case.sentences))
        chain, data = local_chain(case), data_of(case)
        log_partitions(chain, data, make_sum_workspace(chain, data), log_z, restricted)
        for s, sentence in enumerate(case.sentences):
            total = math.fsum(all_probabilities(case.model, sentence, case.allowed(s) if restricted else None).values())
            assert log_z[s] == near(total)
            if not case.model.forbidden and not restricted:
                assert log_z[s] == pytest.approx(0, abs=NEAR)


@few(1)
@given(cases())
def test_marginals_and_exact_decoding(case: Case) -> None:
    chain, data = local_chain(case), data_of(case)
    n = int(data.offset[-1])
    labels, sure, log_z = np.zeros(n, np.int32), np.zeros(n), np.zeros(len(case.sentences))
    decode_marginal(chain, data, make_sum_workspace(chain, data, both=True), labels, sure, log_z, False)
    best, proven, share = np.zeros(n, np.int32), np.zeros(log_z.size, np.bool_), np.zeros(log_z.size)
    decode_exact(chain, data, make_exact_workspace(chain, data, 100), best, proven, share, False)
    for s, sentence in enumerate(case.sentences):
        paths = all_probabilities(case.model, sentence)
        total, lo = math.fsum(paths.values()), data.offset[s]
        if total == 0:
            continue
        for i in range(len(sentence)):
            of_state: dict[int, float] = defaultdict(float)
            for path, p in paths.items():
                of_state[path[i]] += p / total
            assert sure[lo + i] == pytest.approx(max(of_state.values()), abs=NEAR)
            assert of_state[int(labels[lo + i])] == pytest.approx(max(of_state.values()), abs=NEAR)
        assert proven[s]
        assert share[s] == pytest.approx(max(paths.values()) / total, abs=NEAR)


def test_scores_too_far_apart_for_products() -> None:
    """Edges that favour one state and an observation that favours the other, by far: the sum of products is 0."""
    model = Model(1, 2)
    model.weights = {("pair", 0, 0): 2000.0, ("pair", 1, 0): 2000.0, ("one", 0, 1): 2001.0}
    sentence = [Token(((0, 1.0),)) for _ in range(3)]
    case = Case(model, (0, 1), (1, 0, 0), [sentence], [[frozenset([0, 1])] * 3], [1.0])
    ((score, path),) = decoded(local_chain(case), data_of(case))
    assert path == (1, 1, 1)
    assert score == pytest.approx(log(probability(model, sentence, path)), abs=1e-3)


# --- the likelihood -----------------------------------------------------------------------------------------


def with_gold(case: Case) -> tuple[Case, list[tuple[int, ...]]]:
    """The case with one label known at each token."""
    paths = [tuple(min(labels) for labels in known) for known in case.known]
    return case._replace(known=[[frozenset([h]) for h in path] for path in paths]), paths


def objective_of(case: Case, l2: float = 0.0, threads: int = 1) -> ChainObjective:
    chain = local_chain(case)
    for w in (part.w for part in (*chain.transitions, *chain.weights)):
        w[w == PAD] = 0.0
    return ChainObjective(chain, data_of(case), l2, threads)


@few(3)
@given(cases(learning=True))
def test_value_and_gradient_by_hand(case: Case) -> None:
    case, golds = with_gold(case)
    objective = objective_of(case)
    value, gradient = evaluated(objective)
    by_hand, expected, infeasible = 0.0, defaultdict(float), 0
    for sentence, gold, weight in zip(case.sentences, golds, case.weights, strict=True):
        p = probability(case.model, sentence, gold)
        if p == 0:
            infeasible += 1
            continue
        by_hand -= weight * math.log(p)
        for feature, amount in expected_less_gold(case.model, sentence, gold).items():
            expected[feature] += weight * amount
    assert objective.infeasible == infeasible
    assert value == pytest.approx(by_hand, abs=1e-4, rel=1e-5)
    found = by_feature(objective, gradient)
    for feature in expected.keys() | found.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), abs=2e-5), feature


@few(1)
@given(cases(learning=True))
def test_gradient_against_finite_differences(case: Case) -> None:
    model = replace(case.model, ends=True, transitions=True, triples=True)
    objective = objective_of(with_gold(case._replace(model=model))[0], l2=0.5)
    start = objective.start()
    assume(np.abs(start).max(initial=0.0) < 50)
    gradient = evaluated(objective, start)[1]
    direction = np.random.default_rng(0).choice([-1.0, 1.0], start.size) * (gradient != 0)
    step = 2.0**-7
    up, down = (evaluated(objective, start + sign * step * direction)[0] for sign in (1, -1))
    wanted = float(gradient @ direction)
    assert (up - down) / (2 * step) == pytest.approx(wanted, rel=2e-2, abs=2e-2 * (1 + abs(wanted)))


# --- the learner --------------------------------------------------------------------------------------------

TEXT = "U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[0,1]\nU3:%x[-1,1]/%x[0,1]\n"


def demo(part: str, n: int | None = None) -> tuple[list, list]:
    X, y = load_demo(part)
    return X[:n], y[:n]


def test_order_0_is_the_crf_of_order_0() -> None:
    settings: dict[str, Any] = {"template": parse(TEXT), "constraints": "none", "iterations": 30, "l2": 0.3}
    X, y = demo("train", 60)
    crf, maxent = (flat_tagger(learner=learner, **settings).fit(X, y) for learner in ("crf", "maxent"))
    values = [t.training_log_[-1]["figures"]["objective"] for t in (crf, maxent)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert crf.predict(demo("test")[0]) == maxent.predict(demo("test")[0])


@pytest.mark.parametrize("extra", ["B\n", "B\n*4:%x[0,1]\n", "B\n*4:%x[0,1]\nT\n"])
def test_it_learns_and_is_saved(extra: str, tmp_path: Path) -> None:
    tagger = Tagger(learner=MaxEnt(l2=0.3, iterations=40), template=parse(TEXT + extra)).fit(*demo("train", 150))
    values = [row["figures"]["objective"] for row in tagger.training_log_]
    assert all(b <= a for a, b in pairwise(values))
    X, y = demo("test")
    assert tagger.evaluate(X, y).accuracy > 0.9
    labels, scores = tagger.predict_scored(X)
    assert all(score <= NEAR for score in scores)  # they are log probabilities
    tagger.save(tmp_path / "m.palm")
    loaded = Tagger.load(tmp_path / "m.palm")
    assert loaded.model_.shape.local
    assert loaded.predict_scored(X) == (labels, scores)
    for how in ("marginal", "exact"):
        assert loaded.predict(X, decode=how) == tagger.predict(X, decode=how)
    fixed = [["O" if i == 0 else None for i, _ in enumerate(x)] for x in X]
    assert all(own[0] == "O" for own in loaded.predict(X, allowed=fixed))


def test_threads_change_nothing() -> None:
    X, y = demo("train", 40)
    corpus = column_corpus([[list(token) for token in x] for x in X], y)
    one, three = (
        Tagger(template=parse(TEXT + "B\nT\n"), learner=MaxEnt(iterations=8)).fit_corpus(corpus, None, threads=n).model_
        for n in (1, 3)
    )
    assert same_bits(one, three)


def test_l1_leaves_few_weights() -> None:
    few_weights, many = (
        flat_tagger(template=parse(TEXT + "B\n"), learner="maxent", iterations=60, **penalty).fit(*demo("train", 60))
        for penalty in ({"l1": 0.4}, {"l2": 0.4})
    )
    sizes = [np.count_nonzero(t.model_.chain.weights[0].w) for t in (few_weights, many)]
    assert 0 < sizes[0] < sizes[1] / 5


def test_training_goes_on_from_its_weights() -> None:
    X, y = demo("train", 60)
    tagger = Tagger(template=parse(TEXT + "B\n"), learner=MaxEnt(iterations=5)).fit(X, y)
    before = tagger.training_log_[-1]["figures"]["objective"]
    tagger.partial_fit(X, y)
    assert tagger.model_.shape.local
    assert tagger.training_log_[-1]["figures"]["objective"] < before


def test_what_it_cannot_do() -> None:
    X, y = demo("train", 3)
    with pytest.raises(UsageError, match="dplvm"):
        Tagger("chunk", learner="maxent", states=Latent(2)).fit(X, y)
    with pytest.raises(UsageError, match="states: maxent is given the previous labels"):
        Tagger("chunk", learner="maxent", states=LabelHistory("bigram")).fit(X, y)
    y[1] = [None, *y[1][1:]]
    with pytest.raises(DataError, match="only partly known"):
        Tagger("chunk", learner="maxent").fit(X, y)
