"""Crossing arcs found, lifted and put back, against the definitions in `naive_trees`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_trees import above, crosses, every_tree, is_tree, lifted, lowered, trees
from strategies import few

from palmette.data import Treebank, read_treebank, treebank_from_sentences
from palmette.errors import DataError
from palmette.parsing import projective_sentences
from palmette.parsing.kernels.projective import crossing_arcs, lift_arcs, lower_arcs
from palmette.parsing.projective import LIFTED, deprojectivised, projectivised

# Catalan's convolution: the projective trees of n words, with the root anywhere
PROJECTIVE = {1: 1, 2: 2, 3: 7, 4: 30}


def offset_of(sentences: list[list[int]]) -> np.ndarray:
    return np.cumsum([0, *map(len, sentences)]).astype(np.int64)


def flat(sentences: list[list[int]]) -> np.ndarray:
    return np.array([head for heads in sentences for head in heads], np.int32)


def bank(sentences: list[list[tuple[int, str]]]) -> Treebank:
    return treebank_from_sentences(
        [[{"form": "w", "head": head, "deprel": relation} for head, relation in words] for words in sentences]
    )


@pytest.mark.parametrize("n", PROJECTIVE)
def test_the_number_of_projective_trees(n: int) -> None:
    every = every_tree(n)
    crossing = crossing_arcs(flat(every), offset_of(every)).reshape(-1, n).any(axis=1)
    assert (~crossing).sum() == PROJECTIVE[n]
    assert crossing.tolist() == [any(crosses(heads, d) for d in range(1, n + 1)) for heads in every]


@few(3)
@given(st.lists(trees(), max_size=3))
def test_lifting_makes_projective_trees(sentences: list[list[int]]) -> None:
    offset = offset_of(sentences)
    made = lift_arcs(flat(sentences), offset)
    assert made.tolist() == flat([lifted(heads) for heads in sentences]).tolist()
    assert not crossing_arcs(made, offset).any()
    for s, heads in enumerate(sentences):
        new = made[offset[s] : offset[s + 1]].tolist()
        assert is_tree(new)
        assert all(new[d - 1] in above(heads, d) for d in range(1, len(heads) + 1))  # lifted, never sideways


@few(3)
@given(trees(), st.data())
def test_the_search_for_heads(heads: list[int], data: st.DataObject) -> None:
    """Any marks on any tree, as a parser may guess them: the twin's heads, and a tree."""
    n = len(heads)
    relations = data.draw(st.lists(st.sampled_from(["a", "b", "a↑b", "b↑a", "a↑c"]), min_size=n, max_size=n))
    made = deprojectivised(bank([list(zip(heads, relations, strict=True))]))
    own = [name.partition(LIFTED)[0] for name in relations]
    wanted = [name.partition(LIFTED)[2] or None for name in relations]
    assert made.heads.tolist() == lowered(heads, own, wanted)
    assert is_tree(made.heads.tolist())
    assert made.relations.cells() == own


@few(3)
@given(trees())
def test_nothing_is_lost_where_relations_tell_words_apart(heads: list[int]) -> None:
    given = bank([[(head, f"r{k}") for k, head in enumerate(heads)]])
    made, told = projectivised(given)
    again = deprojectivised(made)
    assert again.relations.cells() == given.relations.cells()
    assert again.heads.tolist() == heads
    assert told.lifted_arcs == (made.heads != given.heads).sum()
    assert (told.crossing_sentences == 0) == (told.lifted_arcs == 0) == bool(projective_sentences(given)[0])


def test_an_example_and_its_words() -> None:
    """What did you say that she saw? `What` hangs on `saw`."""
    words = [(6, "obj"), (4, "aux"), (4, "nsubj"), (0, "root"), (6, "mark"), (4, "ccomp")]
    given = bank([words, [(0, "root")]])
    made, told = projectivised(given)
    assert made.relations.cells()[0] == "obj↑ccomp"
    assert made.heads[0] == 4
    assert str(told) == "1 of 2 trees is not projective (50.0%); 1 of 7 arcs were lifted"
    assert deprojectivised(made).heads.tolist() == given.heads.tolist()
    rare, _ = projectivised(given, least=2)
    assert rare.relations.cells() == given.relations.cells()
    assert rare.heads[0] == 4


def test_a_mark_of_their_own_is_an_error() -> None:
    with pytest.raises(DataError, match="obj↑x"):
        projectivised(bank([[(0, "root"), (1, "obj↑x")]]))


def test_a_head_that_is_not_there_leaves_the_word_where_it_is() -> None:
    heads, relations = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    base, wanted = np.array([0, 1], np.int32), np.array([-1, 2], np.int32)
    assert lower_arcs(heads, relations, np.array([0, 2]), base, wanted).tolist() == [0, 1]


@pytest.mark.corpus
def test_how_much_of_a_treebank_comes_back(corpora: Path) -> None:
    gold = read_treebank(corpora / "ud-ewt" / "en_ewt-ud-train.conllu")
    made, told = projectivised(gold)
    assert (told.crossing_sentences, told.lifted_arcs) == (288, 357)
    assert projective_sentences(made).all()
    again = deprojectivised(made)
    assert again.relations.cells() == gold.relations.cells()
    assert (again.heads != gold.heads).sum() == 32  # of 357: another word has the relation too
