"""Search with merged states against all derivations there are, lists of trees, and the theory of updates."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_parse import Item, Model, Sentence, difference, distinct_trees, oracle, tree_of
from naive_parse_training import Rule, dot
from parse_cases import Bank, Taught, banks
from strategies import few

from palmette.parse.learning import ParserLearning
from palmette.parse.nbest import best_trees
from palmette.parser import Parser
from palmette.text.treebank import read_treebank

WIDE = 1024
small_banks = banks(longest=4, relations=2)
orders = st.lists(st.integers(0, 99), min_size=7, max_size=7)


def taught(bank: Bank, templates: str, order: list[int], rule: Rule, **options) -> Taught:
    """Some sentences learnt by both, whole numbers for weights."""
    both = Taught(bank, templates, rule, estimator="last", **options)
    chosen = [s % len(bank.trees) for s in order]
    both.twin_learns(chosen)
    both.learns(chosen)
    return both


def listed(both: Taught, s: int, n: int, beam: int, merge: bool) -> list[tuple[float, list[tuple[int, str]]]]:
    model, words = both.model(), both.learning.words
    found = best_trees(model, model.grammar(), words, s, n, beam, merge)
    return [(tree.score, both.trees(tree.heads, tree.relations)) for tree in found]


# --- against everything there is ------------------------------------------------------------------------------


@few(0.5)
@given(small_banks, orders, st.sampled_from(["basic", "tiny"]))
def test_a_wide_beam_finds_the_best_of_all(bank: Bank, order: list[int], templates: str) -> None:
    both = taught(bank, templates, order, Rule("max-violation", 2))
    merged, plain = both.parses(WIDE, merge=True), both.parses(WIDE)
    for s, sentence in enumerate(both.sentences):
        everything = both.twin.model.everything(sentence)
        scores = {tuple(tree): score for score, tree in distinct_trees(everything, sentence.n)}
        assert merged[s][0] == plain[s][0] == everything[0].score
        assert scores[tuple(merged[s][1])] == scores[tuple(plain[s][1])] == everything[0].score
        found = listed(both, s, 10**6, WIDE, merge=True)
        assert [score for score, _ in found] == sorted(scores.values(), reverse=True)[: len(found)]
        assert {tuple(tree): score for score, tree in found} == scores


@few(0.5)
@given(small_banks, orders, st.sampled_from(["basic", "tiny"]), st.sampled_from([1, 2, 3]))
def test_a_narrow_beam_with_merging_gives_derivations(bank: Bank, order: list[int], templates: str, beam: int) -> None:
    """What a narrow beam finds exists, with the score that it says."""
    both = taught(bank, templates, order, Rule("max-violation", 2))
    for s, (score, tree) in enumerate(both.parses(beam, merge=True)):
        sentence = both.sentences[s]
        own = [i.score for i in both.twin.model.everything(sentence) if tree_of(i.state, sentence.n) == tree]
        assert score in own
        first = listed(both, s, 1, beam, merge=True)[0]
        assert first[0] == score


@few(0.5)
@given(banks(), orders, st.sampled_from(["basic", "rich", "tiny"]), st.sampled_from([1, 2, 8]))
def test_lists_without_merging_are_the_last_beam(bank: Bank, order: list[int], templates: str, beam: int) -> None:
    both = taught(bank, templates, order, Rule("early", 2))
    for s, sentence in enumerate(both.sentences):
        trees = distinct_trees(both.twin.model.search(sentence, beam)[-1], sentence.n)
        assert listed(both, s, beam, beam, merge=False) == trees
        assert listed(both, s, 1, beam, merge=False) == trees[:1]
