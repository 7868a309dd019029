"""The probabilistic perceptron against its definition (every path written out), and where it is the perceptron."""

from __future__ import annotations

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, features_of
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import PathRunner, perceptron_steps
from naive_chain import Model, Token
from naive_forward import all_paths
from naive_nbest import (
    ProbPercTwin,
    assert_close,
    assert_learns,
    learner_of,
    learning_cases,
    probabilities,
    with_real_weights,
)
from strategies import cases, few

from palmette import ProbPerc
from palmette.datasets import load_demo
from palmette.features import parse
from palmette.training import shuffled

FLAT = {"nbest": 1, "add_gold": False, "rate": 1.0, "rate_schedule": "constant"}  # the perceptron in disguise


@st.composite
def settings_of_probperc(draw: st.DrawFn) -> ProbPerc:
    function = draw(st.sampled_from(["softmax", "linear", "polynomial"]))
    return ProbPerc(
        nbest=draw(st.integers(1, 6)),
        rate=draw(st.sampled_from([0.2, 0.5, 1.0])),
        rate_schedule=draw(st.sampled_from(["falling", "constant"])),
        probability_function=function,
        degree=draw(st.sampled_from([2.0, 3.0, 0.5])) if function == "polynomial" else 2.0,
        add_gold=draw(st.booleans()),
        when=draw(st.sampled_from(["always", "errors"])),
    )


def twin_rule(chosen: ProbPerc) -> ProbPercTwin:
    return ProbPercTwin(
        chosen.nbest or 5, chosen.rate, chosen.rate_schedule == "falling",
        chosen.probability_function, chosen.degree, chosen.add_gold, chosen.when == "errors",
    )  # fmt: skip


# --- the definition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@few(2)
@given(
    data=st.data(),
    chosen=settings_of_probperc(),
    seed=st.integers(0, 999),
    tied_update=st.sampled_from([0.0, 1.0, 0.5]),
)
def test_weights_and_averages_are_those_of_the_definition(
    order: int, data: st.DataObject, chosen: ProbPerc, seed: int, tied_update: float
) -> None:
    drawn, fresh, mavg = data.draw(learning_cases(order)), data.draw(st.booleans()), data.draw(st.booleans())
    case = with_real_weights(drawn, seed, fresh)._replace(
        tied_update=tied_update if drawn.states_per_label > 1 else 0.0
    )
    assert_learns(case, PathRunner(chosen.rule(len(case.sentences))), twin_rule(chosen), seed, mavg, 1e-4)


def test_the_rate_falls_to_a_half_in_one_pass() -> None:
    """One token, two labels, gold added: the step is rate / (1 + (clock - 1) / sentences) * P(the other label)."""
    model = Model(0, 2, ends=False)
    n = 4
    tokens = [[Token(((k, 1.0),))] for k in range(n)]
    case = Case(model, (0, 1), (n, 0, 0), tokens, [[frozenset([1])]] * n, [1.0] * n)
    chain, data = chain_of(case), data_of(case)
    rule = PathRunner(ProbPerc(nbest=2, rate=0.5, rate_schedule="falling").rule(n))
    rule.learn(chain, data, np.arange(n), 0, n, 1.0)
    found = features_of(chain)
    for k in range(n):  # an attribute of its own: both labels are as probable
        assert found["one", k, 1] == pytest.approx(0.5 / (1 + k / n) / 2)
        assert found["one", k, 0] == -found["one", k, 1]
    rule.learn(chain, data, np.zeros(1, np.int64), 0, 1, n + 1.0)
    before = 0.25
    grown = 0.25 * probabilities([before, -before], "softmax", 1.0)[1]
    assert features_of(chain)["one", 0, 1] == pytest.approx(before + grown, rel=1e-5)


@pytest.mark.parametrize("probability", ["softmax", "linear", "polynomial"])
def test_equal_scores_are_equally_probable(probability: str) -> None:
    """From zero, with all four paths of two tokens and gold among them: three quarters up, a quarter down."""
    tokens = [Token(((0, 1.0),)), Token(((1, 1.0),))]
    case = Case(Model(0, 2, ends=False), (0, 1), (2, 0, 0), [tokens], [[frozenset([0]), frozenset([1])]], [1.0])
    chain = chain_of(case)
    chosen = ProbPerc(nbest=9, rate=1.0, probability_function=probability)
    PathRunner(chosen.rule(1)).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
    half = {("one", 0, 0): 0.5, ("one", 0, 1): -0.5, ("one", 1, 0): -0.5, ("one", 1, 1): 0.5}
    assert_close(features_of(chain), half, 1e-7)


@few(2)
@given(cases(max_tokens=3, latent=True, learning=True), st.integers(0, 99))
def test_a_list_with_all_paths_is_the_likelihood(drawn: Case, seed: int) -> None:
    """With every path in the list and gold fully known the step is the gradient of a CRF."""
    case = with_real_weights(drawn, seed)
    assume(case.plain)
    s, model = 0, case.model
    sentence, known = case.sentences[s], [frozenset([min(labels)]) for labels in case.known[s]]
    case = case._replace(known=[known, *case.known[1:]])
    listed = all_paths(model, sentence, [range(model.n_states)] * len(sentence))
    gold = tuple(min(labels) for labels in known)
    assume(gold in listed.probability)
    chain = chain_of(case)
    chosen = ProbPerc(nbest=model.n_states**3, rate=1.0, rate_schedule="constant")
    PathRunner(chosen.rule(len(case.sentences))).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
    learner = learner_of(case, ProbPercTwin(1))
    example = case.examples()[s]
    expected = dict(model.weights)
    for path, share in [(gold, 1.0), *((path, -p) for path, p in listed.probability.items())]:
        for feature, value in learner.features(example, path).items():
            expected[feature] = expected.get(feature, 0.0) + example.weight * share * value
    assert_close(features_of(chain), expected)


@few(2)
@given(cases(max_tokens=3, split=2, latent=True, learning=True), st.integers(0, 99))
def test_gold_has_the_mass_of_its_labels(drawn: Case, seed: int) -> None:
    """With every path in the list the best gold path goes up by 1 - P(gold labels), P summing over latent paths, and no
    path with these labels goes down."""
    case = with_real_weights(drawn, seed)
    model, sentence = case.model, case.sentences[0]
    known = [frozenset([min(labels)]) for labels in case.known[0]]
    case = case._replace(known=[known, *case.known[1:]])
    example = case.examples()[0]
    listed = all_paths(model, sentence, [range(model.n_states)] * len(sentence)).probability
    learner = learner_of(case, ProbPercTwin(1))
    right = {path: p for path, p in listed.items() if not learner.missed(example, path)}
    assume(right)
    best = sorted(right.values())[-2:]
    assume(len(best) == 1 or best[1] - best[0] > 1e-5)  # else float32 may take the other one
    gold = max(right, key=right.__getitem__)
    chain = chain_of(case)
    chosen = ProbPerc(nbest=model.n_states**3, rate=1.0)
    PathRunner(chosen.rule(len(case.sentences))).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
    expected = dict(model.weights)
    wrong = [(path, -p) for path, p in listed.items() if path not in right]
    for path, share in [(gold, 1.0 - sum(right.values())), *wrong]:
        for feature, value in learner.features(example, path).items():
            expected[feature] = expected.get(feature, 0.0) + example.weight * share * value
    assert_close(features_of(chain), expected)


def test_another_state_of_the_gold_label_is_not_pushed_down() -> None:
    """One token, labels {0, 1} and {2}, all scores 0: of three paths two are right, so the wrong one has a third."""
    model = Model(0, 4, {("start", 3): -100.0})  # the second label has one state that counts
    tokens = [[Token(((0, 1.0),))]]
    case = Case(model, (0, 0, 1, 1), (1, 0, 0), tokens, [[frozenset([0])]], [1.0], states_per_label=2)
    chain = chain_of(case)
    PathRunner(ProbPerc(nbest=3, rate=1.0).rule(1)).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
    found = features_of(chain)
    assert found["one", 0, 0] == pytest.approx(1 / 3)
    assert found["one", 0, 2] == pytest.approx(-1 / 3)
    assert ("one", 0, 1) not in found


# --- where it is the perceptron -----------------------------------------------------------------------------


@few(2)
@given(
    cases(max_tokens=4, latent=True, learning=True), st.sampled_from([0.0, 1.0, 0.5]),
    st.sampled_from(["always", "errors"]),
)  # fmt: skip
def test_one_candidate_without_gold_is_the_perceptron(drawn: Case, tied_update: float, when: str) -> None:
    case = drawn._replace(tied_update=tied_update if drawn.states_per_label > 1 else 0.0)
    order = np.concatenate([shuffled(3, number, len(case.sentences)) for number in (1, 2, 3)])
    one, other, data = chain_of(case), chain_of(case), data_of(case)
    clock, updates, wrong, infeasible = perceptron_steps(one, data, order)
    rule = PathRunner(ProbPerc(when=when, **FLAT).rule(len(case.sentences)))
    step = rule.learn(other, data, order, 0, order.size, 1.0)
    assume(step.infeasible == 0)  # the perceptron goes towards a forbidden gold path, which trainings refuse
    assert (step.clock, step.wrong, infeasible) == (clock, wrong, 0)
    assert step.updates == updates or when == "always"
    for mine, its in zip((*one.weights, *one.transitions), (*other.weights, *other.transitions), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(mine, its, strict=True))


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("latent", [1, 2])
@pytest.mark.parametrize(
    "estimator", [{"estimator": "last"}, {"estimator": "avg"}, {"estimator": "mavg", "mavg_every": 2}]
)
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_whole_trainings_are_those_of_the_perceptron(order: int, latent: int, estimator: dict, edges: str) -> None:
    corpus = column_corpus(*noisy())
    options = {"latent": latent, "passes": 4, "edge_features": edges, **estimator}
    one, outcome = fit(corpus, TEMPLATES[order], **options)
    other, _ = fit(corpus, TEMPLATES[order], learner="probperc", **FLAT, **options)
    assert outcome.training_log[-1].updates > 0
    assert same_bits(one, other)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("latent", [1, 2])
def test_and_so_they_are_on_the_demo_corpus(order: int, latent: int) -> None:
    X, y = load_demo("train")
    lines = "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,1]/%x[0,1]\nB\nB0:%x[0,1]" + ("\nT\nT0:%x[0,1]" if order == 2 else "")
    make = {"template": parse(lines), "passes": 3, "latent": latent}
    one, other = flat_tagger(**make).fit(X, y), flat_tagger(learner="probperc", **FLAT, **make).fit(X, y)
    assert same_bits(one.model_, other.model_)
    assert not same_bits(one.model_, flat_tagger(learner="probperc", **make).fit(X, y).model_)


def test_gold_in_the_list_makes_the_step_smaller() -> None:
    """n = 1 with gold added is not the perceptron: the step is the probability of the wrong path."""
    case = Case(Model(0, 2, ends=False), (0, 1), (1, 0, 0), [[Token(((0, 1.0),))]], [[frozenset([1])]], [1.0])
    steps = []
    for add_gold in (False, True):
        chain = chain_of(case)
        rule = ProbPerc(**{**FLAT, "add_gold": add_gold}).rule(1)
        PathRunner(rule).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
        steps.append(features_of(chain)["one", 0, 1])
    assert steps == [1.0, 0.5]


def test_what_cancels_takes_no_room() -> None:
    """A candidate with hardly any probability changes nothing, and no row of weights is given out for it."""
    weights = {("start", 0): 100.0}
    case = Case(Model(0, 2, weights), (0, 1), (1, 0, 0), [[Token(((0, 1.0),))]], [[frozenset([0])]], [1.0])
    chain = chain_of(case)
    PathRunner(ProbPerc().rule(1)).learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
    assert features_of(chain) == weights
    assert chain.weights[0].used[0] == 1
