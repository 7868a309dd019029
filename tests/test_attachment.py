"""Scores of trees against the official scorer of Universal Dependencies, digit for digit."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_trees import trees
from strategies import few
from udtools.udeval import CONTENT_DEPRELS, evaluate, load_conllu

from palmette.data import Treebank, read_treebank, treebank_bytes, treebank_from_sentences
from palmette.data.formats.conllu_light import read_trees
from palmette.errors import DataError
from palmette.evaluation import CompareOptions, compare, randomisation, score_trees, tree_rivals
from palmette.evaluation.attachment import CONTENT, METRICS, compared, tallies, universal

RELATIONS = ["nsubj", "nsubj:pass", "obj", "punct", "case", "det", "root", "acl:relcl", "acl", "odd"]
FORMS = ["He", "saw", "it", ".", "?!", "»", "$", "ça"]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Treebank, Treebank]:
    """Gold and guess: any trees over the same words, with some arcs in common."""
    sides: tuple[list, list] = [], []
    for _ in range(draw(st.integers(1, 3))):
        gold = draw(trees(6))
        guess = draw(st.one_of(st.just(gold), trees(len(gold), least=len(gold))))
        forms = draw(st.lists(st.sampled_from(FORMS), min_size=len(gold), max_size=len(gold)))
        for side, heads in zip(sides, (gold, guess), strict=True):
            relations = draw(st.lists(st.sampled_from(RELATIONS), min_size=len(gold), max_size=len(gold)))
            rows = zip(forms, heads, relations, strict=True)
            side.append([{"form": form, "head": head, "deprel": name} for form, head, name in rows])
    return treebank_from_sentences(sides[0]), treebank_from_sentences(sides[1])


def official(gold: bytes, guess: bytes) -> dict:
    return evaluate(*(load_conllu(io.StringIO(text.decode()), "x", {}) for text in (gold, guess)))


@few(2)
@given(pairs())
def test_the_official_scorer_agrees(pair: tuple[Treebank, Treebank]) -> None:
    gold, guess = pair
    judged = official(*map(treebank_bytes, pair))
    found = score_trees(gold, guess)
    assert found.uas == judged["UAS"].f1
    assert found.las == judged["LAS"].f1
    assert found.clas == judged["CLAS"].f1
    assert (found.content.precision, found.content.recall) == (judged["CLAS"].precision, judged["CLAS"].recall)
    for metric in METRICS:
        assert tallies(gold, guess, metric).value == judged[metric.upper()].f1


@few(2)
@given(pairs())
def test_figures_by_group_from_their_definitions(pair: tuple[Treebank, Treebank]) -> None:
    gold, guess = pair
    found = score_trees(gold, guess)
    here = [universal(name) for name in gold.relations.cells()]
    there = [universal(name) for name in guess.relations.cells()]
    rows = list(zip(gold.heads.tolist(), guess.heads.tolist(), here, there, gold.forms.cells(), strict=True))
    for name, arcs in found.by_relation.items():
        assert arcs.labelled.gold == here.count(name)
        assert arcs.labelled.guessed == there.count(name)
        assert arcs.labelled.correct == sum(h == g and a == b == name for h, g, a, b, _ in rows)
    assert set(found.by_relation) == {*here, *there}
    assert sum(arcs.labelled.gold for arcs in found.by_length.values()) == gold.n_tokens
    assert sum(arcs.labelled.correct for arcs in found.by_length.values()) == round(found.las * gold.n_tokens)
    assert found.by_length["root"].labelled.gold == gold.n_sentences
    spoken = [(h == g, a == b) for h, g, a, b, form in rows if form not in (".", "?!", "»")]
    assert found.no_punctuation.words == len(spoken)
    if spoken:
        assert found.no_punctuation.uas == sum(head for head, _ in spoken) / len(spoken)
        assert found.no_punctuation.las == sum(head and name for head, name in spoken) / len(spoken)


def test_the_content_relations_are_the_official_ones() -> None:
    assert CONTENT == CONTENT_DEPRELS


def test_lengths_of_arcs() -> None:
    n = 13
    chain = [{"form": "w", "head": 0 if k == 0 else 1, "deprel": "x"} for k in range(n)]
    bank = treebank_from_sentences([chain])
    counts = {name: arcs.labelled.gold for name, arcs in score_trees(bank, bank).by_length.items()}
    assert counts == {"root": 1, "1": 1, "2": 1, "3-6": 4, "7-10": 4, "11 and more": 2}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([["a", "b"]], "gold has 2 sentences, the guess 1"),
        ([["a"], ["c"]], "sentence 1 has 2 words in gold and 1"),
        ([["a", "x"], ["c"]], "sentence 1, word 2: 'b' in gold, 'x' in the guess"),
    ],
)
def test_other_words_are_an_error(words: list[list[str]], message: str) -> None:
    def made(sentences: list[list[str]]) -> Treebank:
        return treebank_from_sentences(
            [[{"form": form, "head": k, "deprel": "x"} for k, form in enumerate(words)] for words in sentences]
        )

    with pytest.raises(DataError, match=message):
        score_trees(made([["a", "b"], ["c"]]), made(words))


SENTENCE = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t1\tobj\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no sentence"),
        ("1\ta\n", r"x.conllu:1: 2 columns where 10"),
        (SENTENCE.replace("2\tb", "3\tb"), r"x.conllu:2: word number '3' where 2 is expected"),
        (SENTENCE.replace("2\tb", "2-b\tb"), r"x.conllu:2: word number '2-b'"),
        ("\n\n# c\n" + SENTENCE.replace("1\tobj", "2\tobj"), r"x.conllu:5: sentence 1: the heads form a cycle"),
    ],
)
def test_files_that_cannot_be_scored(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.conllu").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_trees(tmp_path / "x.conllu")


@few()
@given(pairs())
def test_parsers_side_by_side(pair: tuple[Treebank, Treebank]) -> None:
    gold, guess = pair
    rivals = tree_rivals(gold, {"guess": guess, "gold": gold, "again": guess})
    found = compare(rivals, CompareOptions(rounds=20, all_pairs=True))
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("guess", "gold"), ("guess", "again"), ("gold", "again")
    ]  # fmt: skip
    for metric in METRICS:
        scores = [system.scores[metric] for system in found.systems]
        assert [system.metrics[metric].value for system in found.systems] == scores
        assert scores[0] == scores[2] == tallies(gold, guess, metric).value
        assert found.pairs[0].differences[metric].value == scores[1] - scores[0]
        assert found.pairs[1].differences[metric].p == 1.0
        span = found.systems[1].metrics[metric].interval
        assert span.low == span.high or metric == "clas"
    same = compared(gold, guess).arc
    cuts = gold.offset.tolist()
    assert found.differing_sentences == sum(not same[a:b].all() for a, b in pairwise(cuts))
    assert found.pairs[0].mcnemar.only_first == 0
    assert found.pairs[0].mcnemar.only_second == (~same).sum()


@pytest.mark.corpus
def test_the_light_reader_and_the_official_scorer_on_a_treebank(corpora: Path, tmp_path: Path) -> None:
    """Gold against arcs spoilt at random: multi-word tokens, empty nodes and comments are in the way."""
    path = corpora / "ud-ewt" / "en_ewt-ud-test.conllu"
    gold = read_treebank(path)
    light = read_trees(path)
    assert light.heads.tolist() == gold.heads.tolist()
    assert light.relations.cells() == gold.relations.cells()
    assert light.forms.cells() == gold.forms.cells()
    rng = np.random.default_rng(1)
    heads = gold.heads.copy()
    root = np.repeat(np.flatnonzero(heads == 0) - gold.offset[:-1] + 1, np.diff(gold.offset))
    spoilt = (heads != 0) & (rng.random(heads.size) < 0.1)
    heads[spoilt] = root[spoilt]  # it stays a tree
    guess = gold.with_trees(heads, gold.relations)
    (tmp_path / "guess.conllu").write_bytes(treebank_bytes(guess))
    found = score_trees(light, read_trees(tmp_path / "guess.conllu"))
    judged = official(path.read_bytes(), (tmp_path / "guess.conllu").read_bytes())
    assert 0.8 < found.las < 0.95
    assert (found.uas, found.las, found.clas) == tuple(judged[name].f1 for name in ("UAS", "LAS", "CLAS"))
    p = randomisation([tallies(light, light, "las")], [tallies(light, guess, "las")], rounds=200)
    assert p < 0.01
