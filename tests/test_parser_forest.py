"""Candidates of a parser's learners from the derivations of merged states, against all derivations there are, and
against a hypergraph of the states that a narrow beam has merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from naive_parse import Model, Path, Risky, Sentence, oracle, states_along
from naive_parse_training import Rule
from parse_cases import Bank, Taught, banks
from strategies import few

from palmette import Arow, Beam, Mira, Parser, ProbPerc, Tagger
from palmette.datasets import load_trees
from palmette.errors import UsageError
from palmette.parsing import Hypergraph, ParserLearning, TreeSettings
from palmette.parsing.kernels.forms import SHIFT, Grammar, States
from palmette.parsing.kernels.train import CUTS, UPDATES
from palmette.parsing.training import TrainingStart

WIDE = 1024
small_banks = banks(longest=4, relations=2)
orders = st.lists(st.integers(0, 99), min_size=7, max_size=7)
Listed = list[tuple[float, Path]]


def taught(bank: Bank, templates: str, order: Sequence[int]) -> Taught:
    """Some sentences learnt by the perceptron: weights are whole numbers, the same in the twin."""
    both = Taught(bank, templates, Rule("max-violation", 2), estimator="last")
    chosen = [s % len(bank.trees) for s in order]
    both.twin_learns(chosen)
    both.learns(chosen)
    return both


def candidates(both: Taught, s: int, beam: int, K: int, update: str) -> tuple[ParserLearning, int, Listed]:
    """What a learner gets for one sentence: the candidates, after how many steps."""
    settings = TreeSettings(
        learner=ProbPerc(nbest=K, candidates="forest"), search=Beam(beam, update=update), merge=True
    )
    weights = both.learning.weights
    entry = weights.entry.copy()
    own = weights._replace(
        table=weights.table.copy(), entry=entry, value=entry.view(np.float32), sums=weights.sums.copy(),
        free=weights.free.copy(), used=weights.used.copy(),
    )  # fmt: skip
    learning = ParserLearning(both.learning.grammar, both.learning.words, settings, None, start=TrainingStart(own))
    found = learning.workspaces[0].paths
    found.list.score[:] = math.nan
    learning.learn(np.array([s]))
    steps = 2 * both.sentences[s].n - 1
    at = round(learning.counts[CUTS] * steps) if learning.counts[UPDATES] else 0
    scores = found.list.score[1:].tolist()
    listed = [(score, tuple(found.actions[k, :at].tolist())) for k, score in enumerate(scores) if not math.isnan(score)]
    return learning, at, listed


@few()
@given(
    small_banks, orders, st.sampled_from(["basic", "tiny"]), st.sampled_from([1, 3, 20]),
    st.sampled_from(["standard", "max-violation"]),
)  # fmt: skip
def test_a_wide_beam_lists_the_best_of_all_prefixes(
    bank: Bank, order: list[int], templates: str, K: int, update: str
) -> None:
    both = taught(bank, templates, order)
    for s, sentence in enumerate(both.sentences):
        _, at, listed = candidates(both, s, WIDE, K, update)
        gold = oracle(bank.trees[s], both.twin.actions)
        assert gold is not None
        if not listed:
            assert [item.path for item in both.twin.model.everything(sentence)] == [gold]
            continue
        everything = both.twin.model.search(sentence, 10**9)[at]
        others = {item.path: item.score for item in everything if item.path != gold[:at]}
        assert [score for score, _ in listed] == sorted(others.values(), reverse=True)[:K]
        assert len({path for _, path in listed}) == len(listed)
        assert all(others[path] == score for score, path in listed)


# --- a hypergraph of what a narrow beam has merged ----------------------------------------------------------------


def own_path(z: States, x: int) -> list[int]:
    """The actions of the best derivation of a state."""
    if z.step[x] == 0:
        return []
    if z.action[x] == SHIFT:
        return [*own_path(z, z.under[x]), SHIFT]
    return [*own_path(z, z.under[x]), *own_tree(z, z.over[x]), int(z.action[x])]


def own_tree(z: States, x: int) -> list[int]:
    """The actions since the word that the top of the stack begins with, the shift of it included."""
    if z.action[x] == SHIFT:
        return [SHIFT]
    return [*own_tree(z, z.under[x]), *own_tree(z, z.over[x]), int(z.action[x])]


def scores_of(model: Model, sentence: Sentence, path: Sequence[int]) -> list[float]:
    """The score of each action after a derivation, by the twin."""
    *_, state = states_along(tuple(path), model.actions)
    sums = [0.0] * len(model.actions)
    for feature in sentence.features(state):
        for action, weight in model.weights.get(feature, {}).items():
            sums[action] += weight
    return sums


def graph_of(z: States, g: Grammar, items: Sequence[int], model: Model, sentence: Sentence) -> Hypergraph:
    """Subtrees and stacks of all states, with (step, action) as labels."""
    first, graph = 2 * sentence.n, Hypergraph()
    scores = {x: scores_of(model, sentence, own_path(z, x)) for x in [0, *range(first, int(z.counts[0]))]}
    for x in scores:
        if x == 0:
            graph.add(("stack", 0))
            continue
        ways = [(int(z.action[x]), int(z.under[x]), int(z.over[x]))]
        ways += [tuple(row[1:].tolist()) for row in z.rival[: z.counts[2]] if row[0] == x]
        for made, p, q in ways:
            if made == SHIFT:
                graph.add(("tree", x))
                continue
            alike = [a for a in range(1, len(g.move)) if g.move[a] == g.move[made]]
            for action in [made] if g.reads_relations else alike:
                label = [(int(z.step[p]), SHIFT), (int(z.step[q]), action)]
                graph.add(("tree", x), [("tree", p), ("tree", q)], scores[p][0] + scores[q][action], label)
        link = z.first[z.base[x]]
        while link >= 0:
            p = int(z.link[link, 0])
            graph.add(("stack", x), [("stack", p), ("tree", x)], scores[p][0], [(int(z.step[p]), SHIFT)])
            link = z.link[link, 1]
    for x in items:
        graph.add("end", [("stack", x)])
    return graph


@few()
@given(
    banks(longest=6, relations=2), orders, st.sampled_from(["basic", "tiny"]), st.sampled_from([1, 2, 4]),
    st.sampled_from([2, 5, 12]), st.sampled_from(["standard", "early", "max-violation"]),
)  # fmt: skip
def test_a_narrow_beam_lists_the_derivations_of_its_states(
    bank: Bank, order: list[int], templates: str, beam: int, K: int, update: str
) -> None:
    """Scores and derivations, equal ones in the order of the hypergraph."""
    both = taught(bank, templates, order)
    for s, sentence in enumerate(both.sentences):
        learning, at, listed = candidates(both, s, beam, K, update)
        if not at:
            continue
        gold = oracle(bank.trees[s], both.twin.actions)
        assert gold is not None
        z, b = learning.workspaces[0].z, learning.workspaces[0].b
        items = b.items[at, : b.size[at]].tolist()
        graph = graph_of(z, learning.grammar, items, both.twin.model, sentence)
        expected: Listed = []
        for found in graph.kbest("end", K + 1):
            actions = dict(pair for edge in found.edges() for pair in edge.label or ())
            path = tuple(actions[i] for i in range(at))
            if path != gold[:at] and len(expected) < K:
                expected.append((found.score, path))
        assert listed == expected


def test_more_derivations_than_items() -> None:
    """A beam of one state is one item. It has eight derivations, since no template of this set reads relations: each of
    its three arcs to the right may have either of the two relations of that direction."""
    both = taught(Bank([[{"form": "u"}] * 4], [[(2, "a"), (0, "root"), (2, "b"), (3, "a")]]), "basic", [0, 0])
    _, at, listed = candidates(both, 0, 1, 10, "standard")
    assert at == 7
    assert len({path for _, path in listed}) == 8
    shapes = {tuple(action > SHIFT for action in path) for _, path in listed}
    assert shapes == {(False, False, True, False, True, False, True)}


# --- learning -----------------------------------------------------------------------------------------------------

rules = st.builds(
    Rule,
    learner=st.sampled_from(["mira", "probperc", "arow"]),
    update=st.sampled_from(["standard", "max-violation"]),
    beam=st.just(WIDE),
    candidates=st.sampled_from([1, 2, 8]),
    aggressiveness=st.sampled_from([1 / 64, 0.25]),
    add_gold=st.booleans(),
    forest=st.just(True),
)


@few(2)
@given(banks(longest=4, relations=2, varied=True), orders, st.sampled_from(["basic", "tiny"]), rules)
def test_learners_over_derivations(bank: Bank, order: list[int], templates: str, rule: Rule) -> None:
    """Weights as those of the twin, which looks at all prefixes, up to the first sentence with a tie."""
    spread = rule.aggressiveness if rule.learner == "arow" else 0.0
    rule = replace(rule, sentences=len(bank.trees), spread=spread)
    both, done = Taught(bank, templates, rule, estimator="last", merge=True), []
    for s in (k % len(bank.trees) for k in order):
        try:
            both.twin_learns([s])
        except Risky:
            break
        done.append(s)
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.updates == both.twin.updates
    expected = sorted(w for row in both.twin.weights.values() for w in row.values() if abs(w) > 1e-5)
    found = both.learning.snapshot().entry.view(np.float32)[1::2]
    assert sorted(found[np.abs(found) > 1e-5].tolist()) == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("learner", [Mira, ProbPerc, Arow])
def test_parsers_learn_from_forests(learner: type) -> None:
    data = load_trees("train")
    plain = Parser("basic", learner=learner(), merge=True, passes=3).fit(data)
    forest = Parser("basic", learner=learner(candidates="forest"), merge=True, passes=3).fit(data)
    assert forest.model_.settings.learner != plain.model_.settings.learner
    assert not np.array_equal(plain.model_.weights.entry, forest.model_.weights.entry)
    assert forest.evaluate(data).las > 0.9
    assert all(row["figures"]["bad"] == 0 for row in forest.training_log_)


def test_forests_need_merged_states() -> None:
    with pytest.raises(UsageError, match="add merge=True"):
        Parser(learner=Mira(candidates="forest"))._settings()
    with pytest.raises(UsageError, match="parsers with merged states"):
        Tagger(learner=Mira(candidates="forest"))._settings()
