"""Beam search and the perceptron on it against their definitions, the examples that every textbook has, and bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from beam_arrays import BeamCase, beam_cases, decoded_lists, features_with_contexts
from chain_arrays import Case, chain_of, data_of
from fitting import assert_equal_weights
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import BeamRunner
from naive_beam import Task, beam_perceptron
from naive_chain import Model, Token, best_path, dot, norm, perceptron
from strategies import cases, few

from palmette import Beam, Perceptron
from palmette.options import UPDATES
from palmette.structures import BeamSearch, estimated, estimated_contexts

FIXING = ("early", "max-violation", "latest", "hybrid", "laso")
WIDTHS = st.sampled_from([1, 2, 3, 100])


def rule_of(drawn: BeamCase, B: int, update: str, recombine: bool = False) -> BeamRunner:
    beam = Beam(B, update=update, recombine=recombine)
    return BeamRunner(Perceptron(), beam, drawn.contexts(), drawn.seen, len(drawn.case.sentences))


# --- search -------------------------------------------------------------------------------------------------


@few(3)
@given(beam_cases(), WIDTHS, st.integers(1, 4), st.booleans(), st.booleans())
def test_the_last_beam_is_that_of_the_definition(
    drawn: BeamCase, B: int, n: int, restricted: bool, recombine: bool
) -> None:
    case = drawn.case
    found = decoded_lists(drawn, BeamSearch(B, recombine), n, restricted)
    for s, sentence in enumerate(case.sentences):
        task = Task(case.model, sentence, drawn.readings[s], drawn.reach if recombine else None)
        beams = task.beams(B, allowed=case.allowed(s) if restricted else None)
        expected = beams[-1][:n] if len(beams) == len(sentence) + 1 else []
        assert found[s] == expected


@few(2)
@given(cases(max_states=3, max_tokens=4), st.booleans())
def test_a_beam_as_wide_as_the_space_is_exact(case: Case, restricted: bool) -> None:
    """Orders 0 to 2, forbidden transitions, partial knowledge."""
    assert_exact(case, BeamSearch(81, recombine=False), restricted)


@few(3)
@given(cases(max_states=3, max_tokens=5), st.booleans())
def test_with_recombination_a_beam_as_wide_as_the_ends_is_exact(case: Case, restricted: bool) -> None:
    """H ** order prefixes are all that the future can distinguish: 1 for order 0, one per label for order 1."""
    assert_exact(case, BeamSearch(case.model.n_states**case.model.order, recombine=True), restricted)


def assert_exact(case: Case, beam: BeamSearch, restricted: bool) -> None:
    found = decoded_lists(BeamCase(case, [[[] for _ in s] for s in case.sentences], 0), beam, 1, restricted)
    for s, sentence in enumerate(case.sentences):
        best = best_path(case.model, sentence, case.allowed(s) if restricted else None)
        if best.score == -math.inf:
            assert found[s] == []
        else:
            assert found[s][0][0] == best.score
            assert found[s][0][1] == best.path or not best.unique


@few(2)
@given(beam_cases(), st.integers(1, 4))
def test_recombined_prefixes_have_different_ends(drawn: BeamCase, B: int) -> None:
    found = decoded_lists(drawn, BeamSearch(B, recombine=True), B, False)
    for listed in found:
        ends = [path[max(0, len(path) - drawn.reach) :] for _, path in listed]
        assert len(set(ends)) == len(ends)
        assert [score for score, _ in listed] == sorted((score for score, _ in listed), reverse=True)


# --- the perceptron -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", [update for update in UPDATES if update != "laso-mean"])  # its steps are thirds, too
@few()
@given(drawn=beam_cases(learning=True), B=WIDTHS, seed=st.integers(0, 99), recombine=st.booleans())
def test_updates_are_those_of_the_definition(update: str, drawn: BeamCase, B: int, seed: int, recombine: bool) -> None:
    """Weights, averages and all that is told; rows run out in the middle of a slice, too."""
    case = drawn.case
    chain, data, rule = chain_of(case), data_of(case), rule_of(drawn, B, update, recombine)
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(case.sentences)), 3))
    reach = drawn.reach if recombine else None
    twin = beam_perceptron(case.model, case.examples(), drawn.readings, order.tolist(), B, update, reach=reach)
    half = order.size // 2
    steps = [rule.learn(chain, data, order, 0, half, 1.0)]
    steps.append(rule.learn(chain, data, order, half, order.size, steps[0].clock))
    clock = steps[-1].clock
    assert clock == twin.vectors
    assert sum(s.updates for s in steps) == twin.updates == rule.updates
    assert sum(s.wrong for s in steps) == twin.wrong
    assert sum(s.infeasible for s in steps) == twin.infeasible
    assert rule.bad == twin.bad
    assert rule.position == pytest.approx(sum(twin.positions))
    assert_equal_weights(features_with_contexts(chain, rule.contexts), twin.last)
    averaged = features_with_contexts(estimated(chain, clock), estimated_contexts(rule.contexts, clock))
    assert_equal_weights(averaged, twin.mean)


@few(1)
@given(beam_cases(learning=True), st.sampled_from([1, 2, 3]), st.sampled_from(FIXING), st.booleans())
def test_all_updates_but_the_standard_one_are_violations(drawn: BeamCase, B: int, update: str, recombine: bool) -> None:
    rule = rule_of(drawn, B, update, recombine)
    order = np.tile(np.arange(len(drawn.case.sentences)), 5)
    rule.learn(chain_of(drawn.case), data_of(drawn.case), order, 0, order.size, 1.0)
    assert rule.bad == 0


@few()
@given(cases(max_states=3, max_tokens=3, learning=True))
def test_a_full_beam_with_standard_updates_is_the_perceptron(drawn: Case) -> None:
    case = drawn._replace(known=[[frozenset([min(k)]) for k in s] for s in drawn.known])
    order = list(range(len(case.sentences))) * 2
    exact = perceptron(case.model, case.examples(), [order])
    none = [[[] for _ in s] for s in case.sentences]
    twin = beam_perceptron(case.model, case.examples(), none, order, 27, "standard")
    assume(twin.infeasible == 0)
    # ties may be broken in another way, so counts are compared where there are none
    if twin.updates == exact.updates == 0:
        assert twin.wrong == exact.wrong == 0
    rule = rule_of(BeamCase(case, none, 0), 27, "standard")
    step = rule.learn(chain_of(case), data_of(case), np.array(order), 0, len(order), 1.0)
    assert (step.updates, rule.bad) == (twin.updates, 0)


def test_gold_that_is_recombined_with_a_better_prefix_has_fallen() -> None:
    """Order 1, gold A B B, and a start that prefers B. All prefixes fit into the beam, but A B and B B end alike, B B
    is better, and early update cuts there. Without recombination gold stays, and the cut is at the end."""
    A, B = 0, 1
    model = Model(1, 2, {("start", B): 2.0, ("one", 0, B): 1.0})
    tokens = [Token(), Token(((0, 1.0),)), Token()]
    case = Case(model, (0, 1), (1, 0, 0), [tokens], [[frozenset([y]) for y in (A, B, B)]], [1.0])
    drawn = BeamCase(case, [[[] for _ in tokens]], 0)
    for recombine, cut in ((True, 2 / 3), (False, 1.0)):
        rule = rule_of(drawn, 4 if recombine else 8, "early", recombine)
        step = rule.learn(chain_of(case), data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
        assert (step.updates, rule.bad, rule.position) == (1, 0, pytest.approx(cut))


# --- examples by hand ---------------------------------------------------------------------------------------


def sentence_of(tokens: list[Token], gold: tuple[int, ...], seen: set[tuple]) -> BeamCase:
    """One sentence of two labels; of pairs only the features in `seen` exist, and bare ones not at all."""
    sizes = tuple(1 + max((a for token in tokens for a, _ in token[order]), default=-1) for order in range(3))
    model = Model(1, 2, ends=False, transitions=False, seen=frozenset(seen))
    case = Case(model, (0, 1), sizes, [tokens], [[frozenset([y]) for y in gold]], [1.0])
    return BeamCase(case, [[[] for _ in tokens]], 0)


def products_of(drawn: BeamCase, update: str, rounds: int = 12) -> list[float]:
    """w . df of each update in greedy search, by the twin; the kernel must make as many, and as many bad ones."""
    case = drawn.case
    twin = beam_perceptron(case.model, case.examples(), drawn.readings, [0] * rounds, 1, update)
    rule = rule_of(drawn, 1, update)
    step = rule.learn(chain_of(case), data_of(case), np.zeros(rounds, np.int64), 0, rounds, 1.0)
    assert (step.updates, rule.bad) == (twin.updates, twin.bad)
    return twin.products


def test_the_standard_update_never_ends_where_the_others_do() -> None:
    """Gold N N V; features: the first label is N, the third V, pairs N V and V V; greedy, ties to N. Here a label is
    told by features for N and for V, which counts twice, so that the pairs have two attributes each, and w . df is
    twice the 0, 0, 1, 1, 2, 2, ... of single features."""
    N, V = 0, 1
    pairs = ((0, 1.0), (1, 1.0))
    tokens = [Token(((0, 1.0),)), Token((), pairs), Token(((1, 1.0),), pairs)]
    drawn = sentence_of(tokens, (N, N, V), {("two", a, before, V) for a in (0, 1) for before in (N, V)})
    assert products_of(drawn, "standard") == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10]
    for update in ("early", "max-violation"):
        products = products_of(drawn, update)
        assert len(products) == 2
        assert max(products) <= 0


def test_time_flies() -> None:
    """Gold N V; features: how often there is N and V, pairs N N, N V and V V; greedy, ties to V."""
    V, N = 0, 1
    tokens = [Token(((0, 1.0),)), Token(((0, 1.0),), ((0, 1.0),))]
    drawn = sentence_of(tokens, (N, V), {("two", 0, *pair) for pair in ((N, N), (N, V), (V, V))})
    products = products_of(drawn, "standard")
    assert products[:6] == [0, -1, 2, 3, 4, 5]  # and so on: it never ends
    assert len(products) == 12
    for update in ("early", "max-violation"):
        products = products_of(drawn, update)
        assert len(products) == 3
        assert max(products) <= 0


# --- bounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["early", "max-violation"])
@few(0.5)
@given(drawn=beam_cases(learning=True, of_order=1), B=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_updates_stay_below_the_bound(update: str, drawn: BeamCase, B: int, seed: int) -> None:
    """On data that some weights separate with margin d, prefixes too: at most R^2 / d^2 violations."""
    case = drawn.case._replace(model=Model(1, drawn.case.model.n_states), weights=[1.0] * len(drawn.case.sentences))
    none = [[[] for _ in s] for s in case.sentences]
    order = [k for number in range(30) for k in np.random.default_rng([seed, number]).permutation(len(none)).tolist()]
    twin = beam_perceptron(case.model, case.examples(), none, order, B, update)
    separator = twin.last
    away = list(prefix_differences(case))
    margin = min((dot(separator, bag) for bag in away), default=0.0)
    assume(away and margin > 0)
    d = margin / norm(separator)
    rule = rule_of(BeamCase(case, none, 0), B, update)
    step = rule.learn(chain_of(case), data_of(case), np.array(order), 0, len(order), 1.0)
    assert step.updates <= max(norm(bag) for bag in away) ** 2 / d**2 + 1e-9


def prefix_differences(case: Case):
    """f(gold) - f(other) for all prefixes of the same length that are not gold's."""
    for s, sentence in enumerate(case.sentences):
        task = Task(case.model, sentence, [[] for _ in sentence])
        gold = tuple(min(labels) for labels in case.known[s])
        for n in range(1, len(gold) + 1):
            mine = task.features(gold[:n])
            for other in itertools.product(range(case.model.n_states), repeat=n):
                if other != gold[:n]:
                    its = task.features(other)
                    yield {f: mine.get(f, 0.0) - its.get(f, 0.0) for f in mine.keys() | its.keys()}
