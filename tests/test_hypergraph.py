"""K-best derivations against the list of all of them: random forests, a toy grammar, and chains."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from chain_arrays import Case
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Model, Sentence, summed, token_parts
from naive_kbest import best_paths
from strategies import cases, few

from palmette.errors import UsageError
from palmette.parsing import Hypergraph
from palmette.parsing.hypergraph import Derivation, Edge, Vertex


class Twin(NamedTuple):
    """A derivation from the definition."""

    score: float
    edge: int  # among all
    parts: tuple[Twin, ...]


def every_derivation(edges: list[Edge], root: Vertex) -> list[Twin]:
    """All of them, in order: by score, hyperedge, and the places of the parts in their own lists."""
    found = []
    for number, edge in enumerate(edges):
        if edge.head == root and edge.score > -math.inf:
            lists = [every_derivation(edges, tail) for tail in edge.tails]
            for ranks in itertools.product(*(range(len(own)) for own in lists)):
                parts = tuple(own[rank] for own, rank in zip(lists, ranks, strict=True))
                score = edge.score + math.fsum(part.score for part in parts)
                found.append((-score, number, ranks, Twin(score, number, parts)))
    return [twin for *_, twin in sorted(found, key=lambda item: item[:3])]


def as_twin(found: Derivation, edges: list[Edge]) -> Twin:
    number = next(k for k, edge in enumerate(edges) if edge is found.edge)
    return Twin(found.score, number, tuple(as_twin(part, edges) for part in found.parts))


@st.composite
def forests(draw: st.DrawFn) -> Hypergraph:
    """Vertices 0..5; tails are smaller than their head. Scores are small multiples of 1/4: ties are real."""
    forest = Hypergraph()
    scores = st.sampled_from([0.0, 0.0, 1.0, -0.5, 0.25, -math.inf])
    for head in range(6):
        for _ in range(draw(st.integers(0, 3))):
            tails = draw(st.lists(st.integers(0, head - 1), max_size=2)) if head else []
            forest.add(head, tails, draw(scores))
    return forest


@few(4)
@given(forests(), st.sampled_from([1, 2, 5, 1000]))
def test_the_best_of_all_derivations_in_order(forest: Hypergraph, k: int) -> None:
    edges = list(forest.edges())
    twins = every_derivation(edges, 5)
    if len(twins) <= 1000:
        assert [as_twin(found, edges) for found in forest.kbest(5, k)] == twins[:k]


def chain_forest(model: Model, sentence: Sentence) -> Hypergraph:
    """A chain as a forest: a vertex is a token with its last one or two states. Hyperedges are added in the order
    of the states, from the last token backwards, so that ties go the same way."""
    forest, H, n = Hypergraph(), range(model.n_states), len(sentence)
    keep = max(1, model.order)

    def contexts(i: int) -> list[tuple[int, ...]]:
        own = itertools.product(H, repeat=min(keep, i + 1))
        return sorted(own, key=lambda path: path[::-1])

    for i in range(n):
        for now in contexts(i):
            if i == 0:
                forest.add((0, now), (), summed(model, token_parts(model, sentence, 0, now)), now[-1])
                continue
            for before in contexts(i - 1):
                path = (*before, now[-1])
                if path[-len(now) :] == now:
                    score = summed(model, token_parts(model, sentence, i, path))
                    forest.add((i, now), [(i - 1, before)], score, now[-1])
    for now in contexts(n - 1):
        forest.add("end", [(n - 1, now)])
    return forest


@few()
@given(cases(max_states=3, max_tokens=4), st.sampled_from([1, 3, 100]))
def test_a_chain_is_a_forest(case: Case, k: int) -> None:
    for sentence in case.sentences:
        found = chain_forest(case.model, sentence).kbest("end", k)
        paths = [(one.score, tuple(edge.label for edge in one.edges())[:0:-1]) for one in found]
        assert paths == best_paths(case.model, sentence, k)


# --- trees --------------------------------------------------------------------------------------------------

RULES = {  # head, left, right: score
    ("S", "NP", "VP"): 0.0, ("VP", "V", "NP"): -0.5, ("VP", "VP", "PP"): -1.0, ("NP", "NP", "PP"): -1.25,
    ("PP", "P", "NP"): 0.0, ("NP", "D", "N"): -0.25,
}  # fmt: skip
WORDS = {
    "I": [("NP", -1.0)], "saw": [("V", 0.0), ("N", -3.0)], "a": [("D", 0.0)], "man": [("N", 0.0), ("V", -2.0)],
    "with": [("P", 0.0)], "telescope": [("N", 0.0)],
}  # fmt: skip


def forest_of(words: list[str]) -> Hypergraph:
    """CKY: a vertex is a category over words i..j."""
    forest = Hypergraph()
    for i, word in enumerate(words):
        for category, score in WORDS[word]:
            forest.add((category, i, i + 1), score=score, label=word)
    for i, j in itertools.combinations(range(len(words) + 1), 2):
        for k in range(i + 1, j):
            for (head, left, right), score in RULES.items():
                forest.add((head, i, j), [(left, i, k), (right, k, j)], score)
    return forest


def bracketed(tree: Derivation) -> str:
    return f"({tree.edge.head[0]} {' '.join(map(bracketed, tree.parts)) or tree.edge.label})"


def every_tree(words: list[str], category: str) -> list[tuple[float, str]]:
    """By cutting the words in two in all ways: no table, no sharing."""
    if len(words) == 1:
        return [(score, f"({own} {words[0]})") for own, score in WORDS[words[0]] if own == category]
    return [
        (score + a + b, f"({category} {first} {second})")
        for (head, left, right), score in RULES.items()
        if head == category
        for k in range(1, len(words))
        for a, first in every_tree(words[:k], left)
        for b, second in every_tree(words[k:], right)
    ]


@pytest.mark.parametrize("tail", [0, 1, 2, 3])
def test_all_trees_of_an_ambiguous_sentence(tail: int) -> None:
    words = ["I", "saw", "a", "man", *["with", "a", "telescope"] * tail]
    trees = forest_of(words).kbest(("S", 0, len(words)), 1000)
    found = [(tree.score, bracketed(tree)) for tree in trees]
    assert len(found) == [1, 2, 5, 14][tail]  # the Catalan numbers
    assert sorted(found) == sorted(every_tree(words, "S"))
    assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)


# --- edges of the world -------------------------------------------------------------------------------------


def test_a_vertex_that_nothing_makes_has_no_derivation() -> None:
    forest = Hypergraph()
    forest.add("a", ["nowhere"])
    forest.add("b", score=-math.inf)
    assert forest.kbest("a", 3) == forest.kbest("b", 3) == forest.kbest("elsewhere", 3) == []


def test_a_part_that_is_used_twice() -> None:
    forest = Hypergraph()
    for score in (1.0, 0.0):
        forest.add("x", score=score)
    forest.add("xx", ["x", "x"], 0.5)
    found = forest.kbest("xx", 9)
    assert [one.score for one in found] == [2.5, 1.5, 1.5, 0.5]
    assert [[edge.score for edge in one.edges()][1:] for one in found] == [[1, 1], [1, 0], [0, 1], [0, 0]]


def test_only_what_is_asked_for_is_made() -> None:
    """A million million derivations, of which three are looked at."""
    forest = Hypergraph()
    for i in range(40):
        for score in (1.0, 0.0):
            forest.add(i, [] if i == 0 else [i - 1], score)
    assert [one.score for one in itertools.islice(forest.derivations(39), 3)] == [40.0, 39.0, 39.0]


def test_a_forest_deeper_than_the_stack_of_python() -> None:
    rng = np.random.default_rng(1)
    forest = Hypergraph()
    for i in range(5000):
        for score in rng.integers(0, 9, 2).tolist():
            forest.add(i, [] if i == 0 else [i - 1], score)
    found = forest.kbest(4999, 4)
    assert len({tuple(id(edge) for edge in one.edges()) for one in found}) == 4
    assert found[0].score == sum(edge.score for edge in found[0].edges())


def test_what_is_wrong_is_told() -> None:
    forest = Hypergraph()
    forest.add("a", ["b"])
    forest.add("b", ["a"])
    with pytest.raises(UsageError, match="cycle"):
        forest.kbest("a", 1)
    with pytest.raises(UsageError, match="below infinity"):
        forest.add("c", score=math.nan)
    with pytest.raises(UsageError, match="list of vertices"):
        forest.add("c", "NP")
    with pytest.raises(UsageError, match="from 1 on"):
        forest.kbest("c", 0)
