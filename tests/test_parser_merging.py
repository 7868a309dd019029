"""Search with merged states against all derivations there are, lists of trees, and the theory of updates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path as FilePath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_parse import Model, Path, Sentence, difference, distinct_trees, oracle, tree_of
from naive_parse_training import Rule, dot
from parse_cases import TEXTS, Bank, Taught, banks
from strategies import few

from palmette import Parser
from palmette.data import read_treebank
from palmette.parsing import best_trees, compile_templates

WIDE = 1024
small_banks = banks(longest=4, relations=2)
beams = st.integers(1, 4)
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


# --- learning with merged states ------------------------------------------------------------------------------


@few()
@given(
    banks(), orders, st.sampled_from(["basic", "tiny"]), st.sampled_from(["early", "max-violation"]), st.integers(1, 4)
)
def test_updates_with_merging_mend_something(
    bank: Bank, order: list[int], templates: str, update: str, beam: int
) -> None:
    """Gold that was merged into a better state has fallen, and what is updated then is a violation."""
    both = Taught(bank, templates, Rule(update, beam), merge=True)
    both.learns([s % len(bank.trees) for s in order])
    assert both.bad == 0
    assert both.infeasible == 0


@pytest.mark.corpus
def test_real_sentences_merge(corpora: FilePath) -> None:
    treebank = read_treebank(corpora / "ud-ewt" / "en_ewt-ud-dev.conllu")
    some = treebank.take(np.arange(100))
    parser = Parser("basic", merge=True, passes=2).fit(some)
    assert all(row["figures"]["merges"] > 1 for row in parser.training_log_)
    assert all(row["figures"]["bad"] == 0 for row in parser.training_log_)
    found = parser.model_.parse(some, 8, True)
    assert found.merges > 100
    assert found.scores.sum() >= parser.model_.parse(some, 8, False).scores.sum()
    assert [trees[0].score for trees in parser.nbest(some.take(np.arange(10)), 3)] == found.scores[:10].tolist()


# --- the bound of the perceptron ------------------------------------------------------------------------------


def wrong_prefixes(sentence: Sentence, model: Model, path: Path) -> Iterator[dict]:
    """f(gold prefix) - f(other) for every other prefix of the same length."""
    for i, items in enumerate(model.search(sentence, 10**9)):
        gold = sentence.bag(path[:i], model.actions)
        yield from (difference(gold, sentence.bag(item.path, model.actions)) for item in items if item.path != path[:i])


def separator(differences: list[dict]) -> dict:
    """Weights that put gold above all others, by the perceptron."""
    weights: dict = defaultdict(float)
    for _ in range(1000):
        wrong = [change for change in differences if dot(change, weights) <= 0]
        for change in wrong:
            for key, amount in change.items():
                weights[key] += amount
        if not wrong:
            return weights
    raise AssertionError("not separable")


@pytest.mark.parametrize("update", ["early", "max-violation"])
@pytest.mark.parametrize("beam", [1, 2])
def test_updates_end_within_the_bound(update: str, beam: int) -> None:
    """Each update is a violation, so that R^2 / d^2 holds, d being the margin over all wrong prefixes."""
    shapes = [[(2, "a"), (0, "root"), (2, "b")], [(0, "root"), (3, "a"), (1, "b")], [(2, "b"), (3, "a"), (0, "root")]]
    words = [[{"form": form, "upos": form} for form in text] for text in ("uvw", "vux", "wyv")]
    both = Taught(Bank(words, shapes), "basic", Rule(update, beam))
    model = both.twin.model
    golds = [oracle(tree, model.actions) for tree in shapes]
    pairs = zip(both.sentences, golds, strict=True)
    changes = [c for sentence, gold in pairs for c in wrong_prefixes(sentence, model, gold)]
    best = separator(changes)
    d = min(dot(change, best) for change in changes) / math.sqrt(dot(best, best))
    R = max(math.sqrt(dot(change, change)) for change in changes)
    updates = 0
    for _ in range(200):
        before, _ = updates, both.learns(range(3))
        updates = both.updates
        if before == updates:
            break
    assert both.bad == 0
    assert 0 < updates <= R * R / (d * d)
    assert before == updates  # it has ended
    assert [tree for _, tree in both.parses(beam)] == [
        [(head, relation if head else "") for head, relation in tree] for tree in shapes
    ]


def test_named_sets_tell_all_states_apart_that_differ_later() -> None:
    """Templates that read a deeper node or a second child read the others too, so that merging costs nothing more."""
    for name, more in (("basic", 0), ("rich", 0), ("tiny", 10)):
        made = compile_templates(TEXTS[name], name)
        assert len(made.atoms) - len({atom for atoms in made.lists for atom in atoms}) == more
