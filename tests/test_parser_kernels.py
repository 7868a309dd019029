"""The parser's search and learning against the slow twins `naive_parse` and `naive_parse_training`."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from naive_parse import START, Item, Model, Risky, Sentence, oracle, states_along, tree_of
from naive_parse_training import Rule
from naive_trees import crosses, trees
from parse_cases import BEAMS, Bank, Taught, banks
from strategies import few

from palmette.parsing import training as tree_training
from palmette.parsing.kernels.weights import lists_of

UPDATES = ("standard", "early", "max-violation", "latest", "hybrid", "laso")
PASS = 15  # sentences: 1 + 15 is a power of two, so that averages are exact

orders = st.lists(st.integers(0, 99), min_size=PASS, max_size=PASS)
sets = st.sampled_from(["tiny", "tiny", "basic", "rich"])


def expected_parses(both: Taught, model: Model, beam: int) -> list[tuple[float, list[tuple[int, str]]]]:
    tops = [model.search(sentence, beam)[-1][0] for sentence in both.sentences]
    return [(item.score, tree_of(item.state, sentence.n)) for item, sentence in zip(tops, both.sentences, strict=True)]


@few()
@given(banks(), orders, sets, st.sampled_from(UPDATES), st.sampled_from(BEAMS), st.sampled_from(["avg", "last"]))
def test_the_perceptron(bank: Bank, order: list[int], templates: str, update: str, beam: int, estimator: str) -> None:
    """Whole numbers: everything is equal, ties included."""
    both = Taught(bank, templates, Rule(update, beam), estimator=estimator)
    order = [s % len(bank.trees) for s in order]
    for half in (order[:7], order[7:]):
        both.learning.begin_epoch(1)
        both.learns(half)
        before = both.twin.updates, both.twin.bad, both.twin.infeasible
        both.twin_learns(half)
        now = both.twin.updates, both.twin.bad, both.twin.infeasible
        found = both.updates, both.bad, both.infeasible
        assert found == tuple(b - a for a, b in zip(before, now, strict=True))
        model = both.twin.averaged() if estimator == "avg" else both.twin.model
        for width in {beam, 3}:
            assert both.parses(width) == expected_parses(both, model, width)


rules = st.builds(
    Rule,
    learner=st.sampled_from(["pa", "mira", "mira", "probperc"]),
    update=st.sampled_from(UPDATES[:3]),
    beam=st.sampled_from(BEAMS),
    candidates=st.sampled_from([1, 2, 8]),
    cap=st.sampled_from(["each", "sum"]),
    pa_type=st.sampled_from(["PA", "PA-I", "PA-II"]),
    aggressiveness=st.sampled_from([1 / 64, 1 / 64, 0.25]),  # the first one is reached soon, and keeps numbers exact
)


@few(2)
@given(st.booleans().flatmap(lambda varied: banks(varied=varied)), orders, sets, rules, st.booleans())
def test_learners_with_margins(bank: Bank, order: list[int], templates: str, rule: Rule, averaged: bool) -> None:
    """Up to the first sentence where rounding might choose between two items."""
    rule = replace(rule, candidates=min(rule.candidates, rule.beam), sentences=len(bank.trees))
    both = Taught(bank, templates, rule, estimator="avg" if averaged else "last")
    done = []
    for s in order:
        try:
            both.twin_learns([s % len(bank.trees)])
        except Risky:
            break
        done.append(s % len(bank.trees))
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.updates == both.twin.updates
    model, parses = both.twin.averaged() if averaged else both.twin.model, both.parses(rule.beam)
    for sentence, (score, tree) in zip(both.sentences, parses, strict=True):
        try:
            best = model.search(sentence, rule.beam)[-1][0]
        except Risky:
            continue
        assert score == pytest.approx(best.score, rel=2e-5, abs=1e-4)  # weights are float32
        assert tree == tree_of(best.state, sentence.n)


probperc_rules = st.builds(
    Rule,
    learner=st.just("probperc"),
    update=st.sampled_from(UPDATES[:3]),
    beam=st.sampled_from(BEAMS),
    candidates=st.sampled_from([1, 2, 8]),
    rate=st.sampled_from([0.2, 1.0]),
    falling=st.booleans(),
    function=st.sampled_from(["softmax", "linear", "polynomial"]),
    add_gold=st.booleans(),
    on_errors=st.booleans(),
)


@few(2)
@given(st.booleans().flatmap(lambda varied: banks(varied=varied)), orders, sets, probperc_rules, st.data())
def test_all_options_of_probperc(bank: Bank, order: list[int], templates: str, rule: Rule, data: st.DataObject) -> None:
    """Up to the first sentence where rounding might choose between two items. The n best items may contain gold; if
    they do not, it counts only with add_gold."""
    degree = data.draw(st.sampled_from([0.5, 2.0, 3.0])) if rule.function == "polynomial" else 2.0
    rule = replace(rule, candidates=min(rule.candidates, rule.beam), sentences=len(bank.trees), degree=degree)
    both = Taught(bank, templates, rule, estimator="last")
    done = []
    for s in order:
        try:
            both.twin_learns([s % len(bank.trees)])
        except Risky:
            break
        done.append(s % len(bank.trees))
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.updates == both.twin.updates
    expected = [weight for row in both.twin.weights.values() for weight in row.values() if abs(weight) > 1e-5]
    found = [weight for weight in numbers(both) if abs(weight) > 1e-5]
    assert found == pytest.approx(sorted(expected), rel=1e-4, abs=1e-5)


@few()
@given(banks(varied=True), orders, sets, st.sampled_from(BEAMS), st.booleans())
def test_laso_against_the_mean_of_the_beam(
    bank: Bank, order: list[int], templates: str, beam: int, averaged: bool
) -> None:
    """Up to the first sentence where rounding might choose between two items."""
    rule = Rule("laso-mean", beam)
    both = Taught(bank, templates, rule, estimator="avg" if averaged else "last")
    done = []
    for s in order:
        before = both.twin.updates
        try:
            both.twin_learns([s % len(bank.trees)])
        except Risky:
            assume(both.twin.updates == before)  # else part of a sentence has been learnt
            break
        done.append(s % len(bank.trees))
    both.learns(done)
    assert (both.updates, both.bad) == (both.twin.updates, both.twin.bad)
    model, parses = both.twin.averaged() if averaged else both.twin.model, both.parses(beam)
    for sentence, (score, tree) in zip(both.sentences, parses, strict=True):
        try:
            best = model.search(sentence, beam)[-1][0]
        except Risky:
            continue
        assert score == pytest.approx(best.score, rel=1e-5, abs=1e-4)
        assert tree == tree_of(best.state, sentence.n)


def derivations(model: Model, sentence: Sentence, item: Item = START) -> list[Item]:
    """All complete ones, in no order."""
    if len(item.path) == 2 * sentence.n - 1:
        return [item]
    return [found for new in model.extended(sentence, item) for found in derivations(model, sentence, new)]


@few()
@given(banks(longest=4, relations=2), st.lists(st.integers(0, 99), min_size=8, max_size=8), st.booleans())
def test_pa_takes_the_largest_score_plus_cost(bank: Bank, order: list[int], tiny: bool) -> None:
    """Of all derivations but gold's, since the beam is wide enough for all of them."""
    rule = Rule("standard", 1024, "pa", aggressiveness=1 / 64)
    both = Taught(bank, "tiny" if tiny else "basic", rule, estimator="last")
    for s in (k % len(bank.trees) for k in order):
        sentence, gold = both.sentences[s], oracle(bank.trees[s], both.twin.actions)
        wrong = [item for item in derivations(both.twin.model, sentence) if item.path != gold]
        values = {item.path: item.score + sum(a != b for a, b in zip(item.path, gold, strict=True)) for item in wrong}
        both.learns([s])
        if wrong:
            found = tuple(both.learning.workspaces[0].paths.actions[0, : len(gold)].tolist())
            assert values[found] == pytest.approx(max(values.values()), rel=1e-5, abs=1e-4)
        try:
            both.twin_learns([s])
        except Risky:
            return


adaptive_rules = st.builds(
    Rule,
    learner=st.sampled_from(["perceptron", "pa", "mira", "arow", "probperc"]),
    update=st.sampled_from(UPDATES[:3]),
    beam=st.sampled_from(BEAMS),
    candidates=st.sampled_from([2, 8]),
    pa_type=st.sampled_from(["PA", "PA-I"]),
    aggressiveness=st.just(0.25),
    spread=st.sampled_from([0.25, 1.0]),
)


@few()
@given(banks(varied=True), orders, sets, adaptive_rules)
def test_rules_that_adapt_to_each_weight(bank: Bank, order: list[int], templates: str, rule: Rule) -> None:
    """Weights and learner state, up to the first sentence where rounding might choose between two items."""
    rule = replace(rule, candidates=min(rule.candidates, rule.beam), sentences=len(bank.trees))
    both = Taught(bank, templates, rule, estimator="last")
    done = []
    for s in order:
        try:
            both.twin_learns([s % len(bank.trees)])
        except Risky:
            break
        done.append(s % len(bank.trees))
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.updates == both.twin.updates
    expected = [weight for row in both.twin.weights.values() for weight in row.values() if abs(weight) > 1e-5]
    found = [weight for weight in numbers(both) if abs(weight) > 1e-5]
    assert found == pytest.approx(sorted(expected), rel=1e-4, abs=1e-5)
    weights = both.learning.weights
    states = [weights.state[a : a + n] for a, n in zip(*lists_of(weights.table), strict=True)]
    found = [state for state in np.concatenate(states).tolist() if state > 1e-5]
    assert sorted(found) == pytest.approx(sorted(s for s in both.twin.state.values() if s > 1e-5), rel=1e-3, abs=1e-5)


@few(0.25)
@given(banks(), orders, st.sampled_from(BEAMS))
def test_restarts_from_the_average(bank: Bank, order: list[int], beam: int) -> None:
    """Pass 2 starts from the mean of all weights so far; the clock goes on."""
    both = Taught(bank, "tiny", Rule("max-violation", beam), estimator="mavg", mavg_every=2)
    order = [s % len(bank.trees) for s in order]
    both.twin_learns(order[:7])
    both.learns(order[:7])
    both.twin.restart_from_average()
    both.learning.begin_epoch(2)
    both.twin_learns(order[7:])
    both.learns(order[7:])
    assert both.parses(beam) == expected_parses(both, both.twin.averaged(), beam)


@few()
@given(st.lists(trees(6), min_size=1, max_size=4), st.integers(0, 9))
def test_trees_that_no_actions_make_are_counted(shapes: list[list[int]], seed: int) -> None:
    """Trees with crossing arcs; projective ones are made by the actions that the twin's oracle gives."""
    rng = random.Random(seed)
    named = [[(head, rng.choice("ab") if head else "root") for head in heads] for heads in shapes]
    both = Taught(Bank([[{"form": "w"}] * len(tree) for tree in named], named), "tiny", Rule("early", 2))
    both.learns(range(len(named)))
    both.twin_learns(range(len(named)))
    crossing = [any(crosses(heads, d) for d in range(1, len(heads) + 1)) for heads in shapes]
    assert both.infeasible == both.twin.infeasible == sum(crossing)
    assert both.learning.clock == 1 + len(named)
    for tree, crossed in zip(named, crossing, strict=True):
        path = oracle(tree, both.twin.actions)
        if not crossed:
            *_, last = states_along(path, both.twin.actions)
            assert tree_of(last, len(tree)) == [(head, relation if head else "") for head, relation in tree]


def test_an_arc_that_no_action_makes() -> None:
    """Words learnt from may have arcs that are not among the actions: no other arcs are made in their place."""
    bank = Bank([[{"form": "w"}] * 3] * 2, [[(2, "a"), (3, "a"), (0, "root")]] * 2)
    both = Taught(bank, "tiny", Rule("early", 2))
    words = both.learning.words
    for relation, head in ((-1, 1), (both.relations.index("root"), 1)):
        words.relation[0], words.head[0] = relation, head
        both.learning.begin_epoch(1)
        both.learns([0, 1])
        assert both.infeasible == 1


@few(0.5)
@given(banks(), orders, st.sampled_from(["perceptron", "mira"]), st.sampled_from([1, 3]), st.sampled_from([0.0, 1.0]))
def test_little_room_to_begin_with(bank: Bank, order: list[int], learner: str, beam: int, spread: float) -> None:
    """Weights move and the table grows in the middle of a pass: nothing else changes."""
    rule = Rule("max-violation", beam, learner, candidates=beam, spread=spread)
    order = [s % len(bank.trees) for s in order]
    roomy = Taught(bank, "basic", rule)
    with mock.patch.multiple(tree_training, PLACES=2, CAPACITY=2):
        tight = Taught(bank, "basic", rule)
    assert tight.learning.weights.table.size < 100
    for both in (roomy, tight):
        both.learns(order)
    assert tight.updates == roomy.updates
    assert tight.parses(beam) == roomy.parses(beam)
    assert numbers(tight) == numbers(roomy)


def numbers(both: Taught) -> list[float]:
    """All weights, in order of size: where they lie is no matter."""
    return sorted(both.learning.snapshot().entry.view(np.float32)[1::2].tolist())
