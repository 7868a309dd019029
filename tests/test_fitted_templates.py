"""Templates that fit a treebank: which tags and categories are chosen, by the definition of their gain and on data
where the answer is known; and what the templates then read."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from naive_parse import atoms_of
from parse_cases import Bank, banks
from strategies import few

from palmette import Beam, Parser
from palmette.data import Treebank, read_treebank, treebank_from_sentences
from palmette.parsing.fitted_templates import (
    BACKING_OFF,
    bits,
    category_gains,
    fitted_templates,
    has_lemmas,
    refined,
    unknown_tags,
)
from palmette.parsing.templates import SETS

Word = dict[str, str | int]
RICH = [frozenset(atoms_of(line)) for line in SETS["rich"].splitlines() if line]


def treebank(sentence: Callable[[random.Random], list[Word]], n: int = 400) -> Treebank:
    rng = random.Random(1)
    return treebank_from_sentences([sentence(rng) for _ in range(n)])


def read(text: str) -> list[frozenset[tuple[str, str]]]:
    return [frozenset(atoms_of(line)) for line in text.splitlines() if not line.startswith("#")]


def letters(text: str) -> set[str]:
    return {what for atoms in read(text) for _, what in atoms}


def a_clause(rng: random.Random) -> list[Word]:
    """Case tells subjects from objects, Number tells nothing; the verb's Voice turns them round in what follows."""
    case, number, voice = rng.choice(["Nom", "Acc"]), rng.choice(["Sing", "Plur"]), rng.choice(["Act", "Pass"])
    relation = {"Nom": "nsubj", "Acc": "obj"}[case]
    other = {"Act": "obl", "Pass": "obl:agent"}[voice]
    return [
        {"form": rng.choice("abc"), "lemma": "x", "upos": "NOUN", "feats": f"Case={case}|Number={number}", "head": 2,
         "deprel": relation},
        {"form": rng.choice("de"), "lemma": "y", "upos": "VERB", "feats": f"Voice={voice}", "head": 0,
         "deprel": "root"},
        {"form": rng.choice("abc"), "lemma": "z", "upos": "PROPN", "head": 2, "deprel": other},
    ]  # fmt: skip


def test_categories_are_found_where_relations_depend_on_them() -> None:
    found = category_gains(treebank(a_clause))
    assert list(found.dependant) == ["Case"]
    assert list(found.head) == ["Voice"]
    # One word in three has a fair choice, of which the category leaves nothing
    assert found.dependant["Case"] == pytest.approx(1 / 3, abs=0.03)
    assert found.head["Voice"] == pytest.approx(1 / 3, abs=0.03)
    assert not found.reads_xpos


def test_categories_become_part_of_tags() -> None:
    templates = fitted_templates(treebank(a_clause))
    lines = read(templates.text)
    assert templates.name == "auto"
    assert len(lines) == len(set(lines)) == len(templates.lists)
    assert "t" not in letters(templates.text)
    assert frozenset({("s0", "u"), ("s0", "f:Case"), ("s1", "u"), ("s1", "f:Case")}) in lines
    assert frozenset({("s0", "u"), ("s0", "f:Case"), ("s1", "u"), ("s1", "f:Voice")}) in lines
    assert frozenset({("s0", "u"), ("s1", "u")}) in lines
    assert "Case (0.3" in templates.text.splitlines()[0]


def test_nothing_is_chosen_that_says_nothing() -> None:
    def sentence(rng: random.Random) -> list[Word]:
        feats = f"Case={rng.choice('ab')}|Gender={rng.choice('abcdefgh')}|Number={rng.choice('ab')}"
        noun = {"form": "a", "lemma": "b", "upos": "NOUN", "xpos": rng.choice(["N1", "N2"]), "feats": feats}
        return [
            noun | {"head": 2, "deprel": rng.choice(["nsubj", "obj"])},
            {"form": "d", "lemma": "e", "upos": "VERB", "head": 0, "deprel": "root"},
        ]

    found = category_gains(treebank(sentence))
    assert (found.dependant, found.head, found.reads_xpos) == ({}, {}, False)


def test_a_rare_category_is_left_alone() -> None:
    def sentence(rng: random.Random) -> list[Word]:
        return [*a_clause(rng), {"form": ".", "upos": "PUNCT", "head": 2, "deprel": "punct"}]

    rare = {"form": "!", "upos": "PUNCT", "feats": "Typo=Yes", "head": 0, "deprel": "root"}
    rng = random.Random(1)
    found = category_gains(treebank_from_sentences([[rare], *(sentence(rng) for _ in range(300))]))
    assert "Typo" not in found.dependant | found.head


def english(rng: random.Random) -> list[Word]:
    """XPOS tells verbs apart; FEATS repeat what it says."""
    tag, relation = rng.choice([("VBG", "xcomp"), ("VBN", "acl")])
    form = {"VBG": "Ger", "VBN": "Part"}[tag]
    return [
        {"form": "saw", "lemma": "see", "upos": "VERB", "xpos": "VBD", "head": 0, "deprel": "root"},
        {"form": rng.choice("ab"), "lemma": "x", "upos": "VERB", "xpos": tag, "feats": f"VerbForm={form}", "head": 1,
         "deprel": relation},
    ]  # fmt: skip


def test_where_tags_say_all_the_set_is_rich() -> None:
    data = treebank(english)
    templates = fitted_templates(data)
    assert category_gains(data).xpos == pytest.approx(0.5, abs=0.03)  # one word of two, a fair choice
    assert read(templates.text) == RICH
    spelt = [line for line in SETS["rich"].splitlines() if line]
    assert templates.text.splitlines()[1:] == spelt  # so that models of both are the same, number by number


def test_an_xpos_that_repeats_upos_is_not_read_twice() -> None:
    def sentence(rng: random.Random) -> list[Word]:
        return [word | {"xpos": str(word["upos"]), "feats": "_"} for word in english(rng)]

    templates = fitted_templates(treebank(sentence))
    lines = read(templates.text)
    assert not letters(templates.text) & {"t", "x"}
    assert len(set(lines)) == len(lines) < len(RICH)


def test_columns_without_content_are_not_read() -> None:
    def bare(*fields: str) -> set[str]:
        data = treebank(lambda rng: [{k: v for k, v in word.items() if k not in fields} for word in english(rng)])
        return letters(fitted_templates(data).text)

    assert {"w", "m", "t", "u", "f"} <= bare()
    assert not {"f", "m"} & bare("feats", "lemma")
    assert not {"f", "m", "t", "u", "x"} & bare("feats", "lemma", "xpos", "upos")
    assert "w" in bare("feats", "lemma", "xpos", "upos")


def test_lemmas_that_are_forms_are_not_read() -> None:
    data = treebank(lambda rng: [word | {"lemma": str(word["form"]).upper()} for word in english(rng)])
    assert not has_lemmas(data)
    assert "m" not in letters(fitted_templates(data).text)


def test_tags_of_another_set_are_not_read(caplog: pytest.LogCaptureFixture) -> None:
    data = treebank(english)
    other = treebank(lambda rng: [word | {"xpos": f"X{word['xpos']}"} for word in english(rng)], 10)
    assert (unknown_tags(data, data), unknown_tags(data, other)) == (0.0, 1.0)
    assert "t" in letters(fitted_templates(data, data).text)
    with caplog.at_level("INFO", "palmette"):
        found = letters(fitted_templates(data, other).text)
    assert not found & {"t", "x"}
    assert "f:VerbForm" in found  # says what XPOS would have said
    assert "XPOS is not read: 100% of the words of the development data" in caplog.text


@few()
@given(banks())
def test_any_treebank_gets_templates(bank: Bank) -> None:
    templates = fitted_templates(bank.treebank())
    lines = read(templates.text)
    assert len(lines) == len(set(lines)) == len(templates.lists)
    assert frozenset({("s0", "w")}) in lines


# --- the definition of a gain ---------------------------------------------------------------------------------

numbers = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12)


@given(numbers)
def test_probabilities_leave_the_word_itself_out(pairs: list[tuple[int, int]]) -> None:
    relation, known = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    less = np.array([0.1 + 0.2 * r for r in relation.tolist()])
    found = refined(relation, known, less)
    for i, (r, a) in enumerate(pairs):
        others = [pair for j, pair in enumerate(pairs) if j != i and pair[1] == a]
        same = sum(pair[0] == r for pair in others)
        assert found[i] == pytest.approx((same + BACKING_OFF * less[i]) / (len(others) + BACKING_OFF))
    assert bits(found) == pytest.approx(-sum(math.log2(p) for p in found) / len(pairs))


# --- in use -----------------------------------------------------------------------------------------------------


def test_a_parser_keeps_its_templates(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = treebank(a_clause, 60)
    with caplog.at_level("INFO", "palmette"):
        parser = Parser(passes=3, search=Beam(2)).fit(data, checkpoint=True)
    assert "of its own features Case" in caplog.text
    assert parser.evaluate(data).las > 0.95
    parser.save(tmp_path / "p.palm")
    loaded = Parser.load(tmp_path / "p.palm")
    assert (loaded.features, loaded.model_.templates.text) == ("auto", parser.model_.templates.text)
    assert loaded.predict(data) == parser.predict(data)
    more = Parser(passes=1, search=Beam(2)).fit(treebank(english, 20), resume=loaded.model_)
    assert more.model_.templates.text == parser.model_.templates.text
    loaded.compact(data)
    assert loaded.evaluate(data).las > 0.95


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def test_the_command_prints_them(cli: Cli) -> None:
    cli.fine("demo --dataset trees")
    text = cli.fine("parser features auto --data trees.conllu --dev trees_test.conllu")
    assert (
        text
        == fitted_templates(*(read_treebank(cli.folder / f"{name}.conllu") for name in ("trees", "trees_test"))).text
    )
    assert "auto" in cli.fine("parser features")
    cli.write("own.txt", text)
    cli.fine("parser train trees.conllu -o own.palm -f own.txt --passes 1 -q")
    for line, message in (
        ("parser features auto", "--data FILE"),
        ("parser features rich --data trees.conllu", "for the set auto"),
    ):
        ran = cli(line)
        assert ran.code == 2
        assert message in ran.err
