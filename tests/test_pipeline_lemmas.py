"""Lemmas of words, as a component of pipelines."""

from __future__ import annotations

import copy
import json
import logging
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_words import noun, treebank

from palmette.data import Treebank, treebank_from_sentences
from palmette.errors import ModelError, UsageError
from palmette.pipeline import Lemmas
from palmette.pipeline.known_words import keys_of_cells, looked_up, mixed

CELLS = st.text(alphabet="abAB_|=", min_size=1, max_size=3)


def lemmas_of(words: Treebank) -> list[str]:
    return words.column("lemma").cells()


def blank(words: Treebank) -> Treebank:
    return treebank_from_sentences(
        [[dict(zip(("form", "upos", "feats"), (word[0], word[2], word[4]), strict=True)) for word in sentence]
         for sentence in map(words.corpus.sentence, range(words.n_sentences))]
    )  # fmt: skip


@pytest.fixture(scope="module")
def lemmas() -> Lemmas:
    return Lemmas(seed=3).fit(treebank(60, 1))


def test_regular_endings_of_new_words_are_found(lemmas: Lemmas) -> None:
    gold = treebank(20, 2, unseen=True)
    assert lemmas_of(lemmas.apply(blank(gold))) == lemmas_of(gold)


@given(st.lists(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=4), min_size=1, max_size=4))
def test_words_of_the_treebank_keep_their_most_frequent_lemma(rows: list[list[tuple[str, str, str, str]]]) -> None:
    """By form, UPOS and FEATS where these have another lemma most often than form and UPOS have, else by the latter."""
    names = ("form", "upos", "feats", "lemma")
    train = treebank_from_sentences([[dict(zip(names, word, strict=True)) for word in row] for row in rows])
    if train.column("lemma").types == ["_"]:
        return
    found = lemmas_of(Lemmas(passes=1).fit(train).apply(blank(train)))
    by_tag: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    by_all: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    words = [word for row in rows for word in row]
    for form, upos, feats, lemma in words:
        by_tag[form, upos][lemma] += 1
        by_all[form, upos, feats][lemma] += 1
    for (form, upos, feats, _), lemma in zip(words, found, strict=True):
        most = [name for name, n in by_all[form, upos, feats].items() if n == max(by_all[form, upos, feats].values())]
        assert lemma in most or by_tag[form, upos][lemma] == max(by_tag[form, upos].values())
        if len(most) == 1 and len(by_all[form, upos, feats]) == len(by_tag[form, upos]) == 1:
            assert lemma == most[0]


def test_feats_distinguish_lemmas() -> None:
    rows = [{"form": "saw", "upos": "X", "feats": "Tense=Past", "lemma": "see"}] * 3
    rows += [{"form": "saw", "upos": "X", "feats": "_", "lemma": "saw"}]
    train = treebank_from_sentences([rows])
    assert lemmas_of(Lemmas().fit(train).apply(blank(train))) == ["see", "see", "see", "saw"]


def test_capitalised_words_are_looked_up_in_lower_case() -> None:
    rows = [{"form": "went", "upos": "VERB", "lemma": "go"}, {"form": "cat", "upos": "NOUN", "lemma": "cat"}]
    made = Lemmas().fit(treebank_from_sentences([rows]))
    words = treebank_from_sentences([[{"form": "Went", "upos": "VERB"}, {"form": "WENT", "upos": "VERB"}]])
    assert lemmas_of(made.apply(words)) == ["go", "go"]


def test_lemmas_of_the_treebank_are_preferred() -> None:
    """Endings alone do not tell where the stem of an unknown word ends; the stems of the treebank do."""
    stems = ["kalu", "kalule", "tofu", "mirale", "mira", "seno"]
    train = [noun(stem, False, False) for stem in stems for _ in range(2)]
    train += [noun(stem, True, True) for stem in stems[:3]] + [noun("balole", False, True), noun("rikale", False, True)]
    made = Lemmas().fit(treebank_from_sentences([train]))
    asked = [noun("seno", True, True), noun("mira", True, True)]
    words = treebank_from_sentences([[{name: word[name] for name in ("form", "upos", "feats")} for word in asked]])
    assert lemmas_of(made.apply(words)) == ["seno", "mira"]


def test_any_word_and_tags_have_a_lemma(lemmas: Lemmas) -> None:
    strange = ["a", "İ", "ẞ", "\U0001f600", "x" * 5000, "e\u0301", "-", "_", "LER", "in"]
    words = treebank_from_sentences(
        [[{"form": form, "upos": upos, "feats": feats} for form in strange]
         for upos in ("NOUN", "VERB", "ODD", "_") for feats in ("_", "Case=Gen|Number=Plur", "Odd=Yes")]
    )  # fmt: skip
    assert all(lemmas_of(lemmas.apply(words)))


def test_a_treebank_without_lemmas() -> None:
    with pytest.raises(UsageError, match="no lemmas to learn"):
        Lemmas().fit(treebank(3, 1, without=("lemma",)))
    with pytest.raises(UsageError, match="not trained"):
        Lemmas().apply(treebank(3, 1))


def test_no_words(lemmas: Lemmas) -> None:
    assert lemmas.apply(treebank(3, 1).take(np.zeros(0, np.int64))).n_tokens == 0


def test_score_on_development_data_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Lemmas(passes=2).fit(treebank(30, 1), treebank(10, 2))
    assert "lemmas: on dev 100.00" in caplog.text


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (Lemmas(seed=5).fit(treebank(20, 1)).parts() for _ in range(2))
    assert json.dumps(one[1], sort_keys=True) == json.dumps(two[1], sort_keys=True)
    assert all(np.array_equal(one[0][name], two[0][name]) for name in one[0])


def test_parts_make_the_same_component(lemmas: Lemmas) -> None:
    arrays, meta = lemmas.parts()
    again = Lemmas.from_parts(arrays, json.loads(json.dumps(meta)), "the test")
    words = blank(treebank(20, 2, unseen=True))
    assert lemmas_of(again.apply(words)) == lemmas_of(lemmas.apply(words))


HOSTILE_META = {
    "nothing": lambda meta: meta.clear(),
    "no script": lambda meta: meta["scripts"].__setitem__(0, "no script"),
    "a line end": lambda meta: meta["scripts"].__setitem__(0, "=a\nb"),
    "half a surrogate pair": lambda meta: meta["scripts"].__setitem__(0, "=\ud800"),
    "fewer scripts": lambda meta: meta["scripts"].clear(),
    "numbers": lambda meta: meta.update(scripts=[1, 2]),
    "more upos than groups": lambda meta: meta.update(upos=[str(k) for k in range(100)]),
    "columns": lambda meta: meta["model"]["templates"].update(text="U:%x[0,3]\n"),
    "transitions": lambda meta: meta["model"]["templates"].update(text="B\n"),
    "no attributes": lambda meta: meta["model"].update(attributes=0),
    "a unit that is no number": lambda meta: meta["model"].update(unit=float("nan")),
    "no model": lambda meta: meta.pop("model"),
}


@pytest.mark.parametrize("name", HOSTILE_META)
def test_hostile_metadata(lemmas: Lemmas, name: str) -> None:
    arrays, meta = lemmas.parts()
    meta = copy.deepcopy(meta)
    HOSTILE_META[name](meta)
    with pytest.raises(ModelError):
        Lemmas.from_parts(arrays, meta, "the test")


HOSTILE_ARRAYS = {
    "dictionary.key": lambda a: a[::-1].copy(),
    "dictionary.script": lambda a: a + 1000,
    "lemmas.key": lambda a: a.astype(np.int64),
    "weights.part": lambda a: -a - 1,
    "group.begin": lambda a: a + 1,
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_hostile_arrays(lemmas: Lemmas, name: str) -> None:
    arrays, meta = lemmas.parts()
    with pytest.raises(ModelError):
        Lemmas.from_parts(arrays | {name: HOSTILE_ARRAYS[name](arrays[name])}, meta, "the test")
    with pytest.raises(ModelError):
        Lemmas.from_parts({own: array for own, array in arrays.items() if own != name}, meta, "the test")
    with pytest.raises(ModelError):
        Lemmas.from_parts(arrays | {"other": np.zeros(1)}, meta, "the test")


@given(st.lists(st.tuples(CELLS, CELLS), unique=True, max_size=8), st.lists(st.tuples(CELLS, CELLS), max_size=8))
def test_keys_find_what_was_put_in(entries: list[tuple[str, str]], wanted: list[tuple[str, str]]) -> None:
    keys = np.unique(keys_of_cells(entries))
    assert keys.size == len(entries)
    found = looked_up(keys, keys_of_cells(wanted)) >= 0
    assert found.tolist() == [pair in entries for pair in wanted]


def test_keys_depend_on_order_and_number() -> None:
    a, b = np.array([5], np.uint64), np.array([9], np.uint64)
    made = [mixed(a), mixed(a, b), mixed(b, a), mixed(a, a), mixed(a, a, a)]
    assert len({int(key[0]) for key in made}) == len(made)
