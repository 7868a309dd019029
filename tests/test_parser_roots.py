"""The relation of the root: learnt if the training data has several, and as before if it has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_parse import tree_of
from naive_parse_training import Rule
from naive_roots import Roots
from parse_cases import BEAMS, Bank, Taught, banks
from strategies import few

from palmette import Beam, Parser
from palmette.parsing import best_trees, inspect_parser
from palmette.parsing.kernels.forms import ROOT

PASS = 15  # sentences: 1 + 15 is a power of two, so that averages are exact
orders = st.lists(st.integers(0, 99), min_size=PASS, max_size=PASS)
Trees = list[list[tuple[int, str]]]


@st.composite
def rooted(draw: st.DrawFn) -> Bank:
    """Trees whose roots have several relations, some of which arcs have too."""
    bank = draw(banks())
    names = st.sampled_from(["root", "frag", "a"])
    made = [[(head, relation if head else draw(names)) for head, relation in tree] for tree in bank.trees]
    return Bank(bank.words, made)


def plain(trees: Trees) -> Trees:
    return [[(head, relation if head else "") for head, relation in tree] for tree in trees]


@few()
@given(
    rooted(), orders, st.sampled_from(["tiny", "basic"]), st.sampled_from(["laso", "early"]), st.sampled_from(BEAMS),
    st.sampled_from(["avg", "last"]), st.booleans(),
)  # fmt: skip
def test_the_choice_against_its_twin(
    bank: Bank, order: list[int], templates: str, update: str, beam: int, estimator: str, merge: bool
) -> None:
    """Root relations are those of the twin for the best tree, and trees are as if there were one root relation."""
    order = [s % len(bank.trees) for s in order]
    both = Taught(bank, templates, Rule("early" if merge else update, beam), estimator=estimator, merge=merge)
    roots = Roots(bank.trees)
    for clock, s in enumerate(order, 1):
        roots.learn(both.sentences[s], bank.trees[s], both.twin.actions, clock)
    both.learns(order)
    found = both.parses(beam, merge)
    same = [[(head, relation if head else "root") for head, relation in tree] for tree in bank.trees]
    alone = Taught(Bank(bank.words, same), templates, Rule("early" if merge else update, beam),
                   estimator=estimator, merge=merge)  # fmt: skip
    alone.learns(order)
    expected = alone.parses(beam, merge)
    assert [score for score, _ in found] == [score for score, _ in expected]
    assert plain([tree for _, tree in found]) == [tree for _, tree in expected]
    if merge:
        return
    both.twin_learns(order)
    model = both.twin.averaged() if estimator == "avg" else both.twin.model
    for sentence, (_, tree) in zip(both.sentences, found, strict=True):
        state = model.search(sentence, beam)[-1][0].state
        chosen = roots.choice(sentence, state, 1.0 + PASS if estimator == "avg" else None)
        assert tree == [
            (h, r if h else chosen if len(roots.relations) > 1 else "") for h, r in tree_of(state, sentence.n)
        ]


@few()
@given(rooted(), orders, st.booleans())
def test_the_best_of_several_trees_is_the_one_tree(bank: Bank, order: list[int], merge: bool) -> None:
    both = Taught(bank, "basic", Rule("early", 3), merge=merge)
    both.learns([s % len(bank.trees) for s in order])
    model = both.model()
    words, grammar, offset = model.encode(both.treebank), model.grammar(), both.treebank.offset
    one = model.parse(both.treebank, 3, merge)
    for s in range(len(bank.trees)):
        listed = best_trees(model, grammar, words, s, 3, 3, merge)
        assert listed[0].relations.tolist() == one.relations[offset[s] : offset[s + 1]].tolist()
        roots = {tree.relations[tree.heads < 0].item() for tree in listed}
        names = {"" if root < 0 else both.relations[root] for root in roots}
        assert names <= set(model.roots) | ({""} if len(model.roots) == 1 else set())


WELL = [[("Well", "INTJ")], [("Oh", "INTJ")]]
GO = [[("We", "PRON"), ("go", "VERB")], [("They", "PRON"), ("sing", "VERB")]]
FRAGMENTS: Trees = [[(0, "frag")], [(0, "frag")]]
CLAUSES: Trees = [[(2, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]


def quick(**options: object) -> Parser:
    return Parser("basic", passes=10, estimator="last", search=Beam(2), **options)


@pytest.mark.parametrize("least", [0, 1])
def test_a_relation_follows_from_the_word(least: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "palmette"):
        parser = quick(min_count=least).fit(GO + WELL + GO, CLAUSES + FRAGMENTS + CLAUSES)
    assert "2 of 6 roots have a relation other than root: the parser learns which" in caplog.messages
    assert parser.predict(WELL + GO) == FRAGMENTS + CLAUSES
    assert [found[0].output for found in parser.nbest(WELL + GO, 1)] == FRAGMENTS + CLAUSES
    parser.save(tmp_path / "p.palm")
    loaded = Parser.load(tmp_path / "p.palm")
    assert loaded.model_.roots == ["frag", "root"]
    assert loaded.predict(WELL + GO) == FRAGMENTS + CLAUSES
    assert inspect_parser(loaded).about["roots"] == ["frag", "root"]
    loaded.compact()
    assert loaded.predict(WELL + GO) == FRAGMENTS + CLAUSES


def test_a_new_relation_of_roots_comes_with_new_data() -> None:
    first = quick().fit(GO, CLAUSES, checkpoint=True)
    assert all(move != ROOT for move, _ in first.model_.actions)
    assert first.predict(WELL) == [[(0, "root")], [(0, "root")]]
    more = quick().fit(GO + WELL, CLAUSES + FRAGMENTS, resume=first.model_, checkpoint=True)
    assert more.model_.actions[: len(first.model_.actions)] == first.model_.actions
    assert more.predict(WELL + GO) == FRAGMENTS + CLAUSES
    again = quick().fit(GO + WELL, CLAUSES + FRAGMENTS, resume=more.model_)
    assert again.model_.actions == more.model_.actions
    assert again.predict(WELL + GO) == FRAGMENTS + CLAUSES


def test_hidden_variants_of_arcs_leave_the_choice_alone() -> None:
    parser = Parser("latent", variants=2, passes=10, estimator="last", search=Beam(2))
    parser.fit(GO + WELL + GO, CLAUSES + FRAGMENTS + CLAUSES)
    assert parser.predict(WELL + GO) == FRAGMENTS + CLAUSES


def test_one_relation_is_no_choice() -> None:
    parser = quick().fit(GO, CLAUSES)
    assert parser.model_.roots == ["root"]
    assert not parser.model_.grammar().chooses_root
    found = parser.model_.parse(parser.parse(GO), 2, False)
    assert (found.relations[found.heads < 0] == -1).all()
    assert np.array_equal(found.heads, [1, -1, 1, -1])
