"""Scores by field: GROBID's labels, B_X, and bare labels on request, against a twin that compares sets of fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from test_notations import naive_fields, naive_runs

from palmette import Classifier, Mira, Tagger
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.evaluation import ChunkTables, LabelScores, score, seqeval_text, span_counts, strict_span_counts

GROBID = [p + f"<{t}>" for p in ("I-", "") for t in ("a", "b", "other")]
BARE = ["O", "Street", "City"]
READ = {"GROBID": naive_fields, "BARE": naive_runs}


class Outputs(NamedTuple):
    """Sentences of (gold, guess) pairs as arrays."""

    labels: list[str]
    gold: np.ndarray
    guess: np.ndarray
    offset: np.ndarray


def outputs(sentences: list[list[tuple[str, str]]], labels: list[str]) -> Outputs:
    flat = [pair for sentence in sentences for pair in sentence]
    gold, guess = (np.array([labels.index(pair[k]) for pair in flat], np.int32) for k in (0, 1))
    return Outputs(labels, gold, guess, np.cumsum([0, *map(len, sentences)]))


def naive_counts(sentences: list[list[tuple[str, str]]], scheme: str) -> dict[str, tuple[int, int, int]]:
    """Of each type the fields that are right, guessed and in gold."""
    gold, guess = (
        {(s, *field) for s, own in enumerate(sentences) for field in READ[scheme]([pair[k] for pair in own])}
        for k in (0, 1)
    )
    kinds = {field[1] for field in gold | guess}
    return {kind: tuple(sum(f[1] == kind for f in some) for some in (gold & guess, guess, gold)) for kind in kinds}


def naive_f1(right: int, guessed: int, gold: int) -> float:
    return 2 * right / (guessed + gold) if guessed + gold else 0.0


def tagged(labels: list[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    label = st.sampled_from(labels)
    return st.lists(st.lists(st.tuples(label, label), min_size=1, max_size=6), min_size=1, max_size=4)


def check_counts(sentences: list[list[tuple[str, str]]], labels: list[str], scheme: str, told: str | None) -> None:
    data, expected = outputs(sentences, labels), naive_counts(sentences, scheme)
    found = score(data.gold, data.guess, data.offset, labels, scheme=told)
    assert {k: (f.correct, f.guessed, f.gold) for k, f in found.by_type.items()} == expected
    totals = np.array([*expected.values(), (0, 0, 0)]).sum(axis=0).tolist()
    assert found.f1 == pytest.approx(naive_f1(*totals))
    each = [naive_f1(*counts) for counts in expected.values()]
    assert found.macro_f1 == pytest.approx(sum(each) / len(each) if each else 0.0)
    assert found.accuracy == pytest.approx(np.mean([a == b for own in sentences for a, b in own]))


@given(tagged(GROBID))
def test_fields_of_grobid_equal_the_twin(sentences: list[list[tuple[str, str]]]) -> None:
    check_counts(sentences, GROBID, "GROBID", None)


@given(tagged(BARE))
def test_runs_of_bare_labels_equal_the_twin(sentences: list[list[tuple[str, str]]]) -> None:
    check_counts(sentences, BARE, "BARE", "bare")


@given(tagged(["O", "B_X", "I_X", "B_Y", "I_Y"]))
def test_separators_make_no_difference(sentences: list[list[tuple[str, str]]]) -> None:
    labels = ["O", "B_X", "I_X", "B_Y", "I_Y"]
    data, usual = outputs(sentences, labels), [label.replace("_", "-") for label in labels]
    one, other = (score(*data[1:], names, scheme=None) for names in (labels, usual))
    assert (one.by_type, one.f1, one.chunk_rules) == (other.by_type, other.f1, "conlleval")


@given(tagged(GROBID))
def test_strict_fields_begin_with_their_mark(sentences: list[list[tuple[str, str]]]) -> None:
    """A field that I- does not begin does not count; as in strict IOB2 of the same letters."""
    data = outputs(sentences, GROBID)
    letters = {"I-<a>": "B-a", "<a>": "I-a", "I-<b>": "B-b", "<b>": "I-b", "I-<other>": "O", "<other>": "O"}
    ours = strict_span_counts(*data[1:], GROBID, "GROBID")
    theirs = strict_span_counts(*data[1:], [letters[label] for label in GROBID], "IOB2")
    assert ours.by_type() == theirs.by_type()


@given(tagged(BARE))
def test_bare_labels_have_nothing_to_be_strict_about(sentences: list[list[tuple[str, str]]]) -> None:
    data = outputs(sentences, BARE)
    strict = strict_span_counts(*data[1:], BARE, "BARE")
    assert strict.by_type() == span_counts(*data[1:], ChunkTables.of(BARE, "BARE")).by_type()


def by_hand(**more: str | bool) -> LabelScores:
    sentence = [
        ("I-<day>", "I-<day>"), ("<day>", "I-<day>"), ("I-<other>", "I-<other>"), ("<other>", "I-<other>"),
        ("I-<month>", "I-<month>"), ("I-<year>", "I-<year>"),
    ]  # fmt: skip
    labels = sorted({label for pair in sentence for label in pair})
    return score(*outputs([sentence], labels)[1:], labels, **more)


def test_by_hand_and_which_rules_are_named() -> None:
    found = by_hand()
    assert found.chunk_rules == "GROBID"
    assert set(found.by_type) == {"day", "month", "year"}  # GROBID leaves <other> out too
    assert (found.by_type["day"].gold, found.by_type["day"].guessed, found.by_type["day"].correct) == (1, 2, 0)
    assert (found.precision, found.recall) == (2 / 4, 2 / 3)
    assert found.macro_f1 == 2 / 3
    assert by_hand(scheme="GROBID", strict=True).chunk_rules == "strict GROBID"


def test_word_classes_are_no_spans_unless_asked_for() -> None:
    data = outputs([[("NN", "NN"), ("VB", "NN")]], ["NN", "VB"])
    assert score(*data[1:], data.labels).f1 is None
    asked = score(*data[1:], data.labels, scheme="bare")
    assert asked.chunk_rules == "runs of equal labels"
    assert asked.f1 == 0.0
    with pytest.raises(UsageError, match="not a chunk label"):
        ChunkTables.of(data.labels)


def test_macro_average_is_that_of_the_report_of_seqeval() -> None:
    data = outputs([[("I-<a>", "I-<a>"), ("I-<b>", "I-<a>"), ("<b>", "<b>")]], GROBID)
    text = seqeval_text(span_counts(*data[1:], ChunkTables.of(GROBID)))
    told = next(line.split() for line in text.splitlines() if "macro avg" in line)
    assert float(told[4]) == pytest.approx(score(*data[1:], GROBID).macro_f1, abs=1e-4)


# Command line and estimator

DATES = "3 I-<day>\nMay I-<month>\n2004 I-<year>\n\non I-<other>\nthe <other>\n21 I-<day>\n22 <day>\nJune I-<month>\n\n"


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def test_grobid_is_named_enforced_and_scored(cli: Cli) -> None:
    cli.write("dates.txt", 4 * DATES)
    cli.write("t.txt", "U0:%x[0,0]\nB\n")
    trained = cli("train dates.txt -o m.palm --template t.txt")
    assert trained.code == 0
    assert "(GROBID)" in trained.err
    assert "(GROBID)" in cli.fine("inspect m.palm")
    found = json.loads(cli.fine("eval m.palm dates.txt --json"))
    assert found["chunk_rules"] == "GROBID"
    assert set(found["by_type"]) == {"day", "month", "year"}
    assert found["f1"] == found["macro_f1"] == 1.0
    shown = cli.fine("eval m.palm dates.txt")
    assert "spans by type (GROBID's rules)" in shown
    assert "macro F1" in shown
    assert "month: precision: 100.00%" in cli.fine("eval m.palm dates.txt --style conlleval")
    assert "micro avg     1.0000" in cli.fine("eval m.palm dates.txt --style seqeval --strict")
    tagger = Tagger.load(cli.folder / "m.palm")
    place = tagger.labels_.index
    _, pair, _ = tagger.model_.allowed
    assert not pair[place("I-<month>"), place("<day>")]
    assert pair[place("I-<day>"), place("<day>")]
    assert pair[place("<day>"), place("I-<day>")]


def test_rare_mistakes_in_grobid_labels_are_repaired(caplog: pytest.LogCaptureFixture) -> None:
    labels = [["I-<other>", "<other>", "I-<day>"]] * 60 + [["<day>", "I-<other>", "<other>"]]
    words = [["on", "the", "3"]] * 60 + [["4", "on", "the"]]
    tagger = Tagger(order=1).fit(words, labels)
    assert tagger.model_.scheme == "GROBID"
    assert "1 of 122 chunks is ill-formed in GROBID" in caplog.text
    assert tagger.predict([["4", "on", "the"]]) == [["I-<day>", "I-<other>", "<other>"]]


def test_bare_labels_are_scored_if_asked_for_and_the_model_remembers(cli: Cli) -> None:
    cli.write("t.txt", "U0:%x[0,0]\nB\n")
    text = "12 Number\nElm Street\nRoad Street\nRome City\n\n"
    cli.write("train.txt", 6 * text)
    cli.write("test.txt", text.replace("Rome", "Elm"))
    cli.fine("train train.txt -o plain.palm --template t.txt")
    assert json.loads(cli.fine("eval plain.palm test.txt --json"))["f1"] is None
    told = json.loads(cli.fine("eval plain.palm test.txt --json --scheme bare"))
    ran = cli("train train.txt -o bare.palm --template t.txt --constraints bare --dev test.txt --metric f1")
    assert ran.code == 0, ran.err
    assert "3 labels (BARE)" in ran.err
    assert "3 labels (BARE)" in cli.fine("inspect bare.palm")
    found = json.loads(cli.fine("eval bare.palm test.txt --json"))
    assert found["chunk_rules"] == told["chunk_rules"] == "runs of equal labels"
    gold = {("Number", 0, 1), ("Street", 1, 3), ("City", 3, 4)}
    guess = naive_runs(Tagger.load(cli.folder / "bare.palm").predict([["12", "Elm", "Road", "Elm"]])[0])
    assert found["f1"] == pytest.approx(2 * len(gold & guess) / (len(gold) + len(guess)))
    assert "spans by type (runs of equal labels)" in cli.fine("eval bare.palm test.txt")
    assert "City: precision" in cli.fine("eval bare.palm test.txt --style conlleval")
    assert "calibration" in json.loads(cli.fine("eval bare.palm test.txt --json --calibration"))
    cli.fine("train train.txt -o more.palm --resume bare.palm")
    assert Tagger.load(cli.folder / "more.palm").model_.scheme == "BARE"
    pairs = Tagger.load(cli.folder / "more.palm").model_.allowed.pair
    assert pairs.all()


def test_eval_says_what_is_missing(cli: Cli) -> None:
    cli.write("both.txt", "a X X\nb X Y\n\n")
    assert "--scheme bare" in cli("eval --guess both.txt --style conlleval").err
    assert "FB1:   0.00" in cli.fine("eval --guess both.txt --style conlleval --scheme bare")
    assert "unknown tag scheme 'iob7'" in cli("eval --guess both.txt --scheme iob7").err
    assert "not a chunk label" in cli("eval --guess both.txt --scheme iob2").err
    ran = cli("train both.txt -o m.palm --metric f1 --dev both.txt --features pos")
    assert "--constraints bare" in ran.err


def test_span_costs_and_confidences_know_bare_labels() -> None:
    words = [["12", "Elm", "Road", "Rome"]] * 5
    labels = [["Number", "Street", "Street", "City"]] * 5
    tagger = Tagger(learner=Mira(cost="span"), constraints="bare").fit(words, labels)
    assert tagger.predict(words[:1]) == labels[:1]
    with pytest.raises(UsageError, match="not a chunk label"):
        Tagger(learner=Mira(cost="span")).fit(words, labels)


def test_a_chunker_with_another_separator_starts_a_classifier_as_well() -> None:
    sentences, labels = (part[:60] for part in load_demo("train"))
    texts, classes = sentences + [own[::-1] for own in sentences], ["1"] * 60 + ["0"] * 60
    written = (labels, [[label.replace("-", "_", 1) for label in own] for own in labels])
    chunkers = [Tagger("ngrams", order=1, constraints="iob2", passes=2).fit(sentences, own) for own in written]
    one, other = (Classifier(init=chunker, passes=1).fit(texts, classes) for chunker in chunkers)
    assert one.model_.settings.chunk_types == other.model_.settings.chunk_types
    assert np.array_equal(one.decision_function(texts), other.decision_function(texts))
