"""Labels that are whole numbers: the model is that of their names, and predictions are numbers again."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cli_run import Cli
from fitting import epochs, same_bits
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette import Tagger
from palmette.data import LabelNumbers, corpus_from_items, label_numbers
from palmette.datasets import load_demo
from palmette.errors import DataError, ModelError, UsageError

X, Y = load_demo("train")
X, Y = X[:60], Y[:60]
TEST, GOLD = (part[:20] for part in load_demo("test"))
NAMES = sorted({label for labels in (*Y, *GOLD) for label in labels})


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def numbers(y: list[list[str]]) -> list[list[int]]:
    return [[NAMES.index(label) for label in labels] for labels in y]


def chunker(**options: Any) -> Tagger:
    return Tagger("chunk", **options | epochs(2, options.get("learner", "perceptron")))


def test_the_model_is_that_of_the_names(tmp_path: Path) -> None:
    expected, tagger = chunker().fit(X, Y), chunker().fit(X, numbers(Y), labels=NAMES)
    assert same_bits(tagger.model_, expected.model_)
    assert tagger.labels_ == expected.labels_
    assert tagger.classes_ == [NAMES.index(label) for label in expected.classes_]
    assert tagger.model_.scheme == expected.model_.scheme == "IOB2"
    tagger.save(tmp_path / "numbers.palm")
    for own in (tagger, Tagger.load(tmp_path / "numbers.palm"), pickle.loads(pickle.dumps(tagger))):
        found = own.predict(TEST)
        assert found == numbers(expected.predict(TEST))
        assert {type(label) for labels in found for label in labels} == {int}
        assert own.classes_ == tagger.classes_


def test_whatever_is_told_is_told_in_numbers() -> None:
    expected, tagger = chunker(learner="crf").fit(X, Y), chunker(learner="crf").fit(X, numbers(Y), labels=NAMES)
    assert tagger.predict(TEST[:2]) == numbers(expected.predict(TEST[:2]))
    assert [tagger.session().tag(s) for s in TEST] == numbers(expected.predict(TEST))
    assert tagger.predict([]) == [] == tagger.predict([[]])[0]
    for decode in ("marginal", "exact"):
        assert tagger.predict(TEST, decode=decode) == numbers(expected.predict(TEST, decode=decode))
    for one, two in zip(tagger.nbest(TEST, 3), expected.nbest(TEST, 3), strict=True):
        assert [(c.output, c.score) for c in one] == [(numbers([c.output])[0], c.score) for c in two]
    row, same = tagger.predict_marginals(TEST)[0][0], expected.predict_marginals(TEST)[0][0]
    assert row == {NAMES.index(label): value for label, value in same.items()}
    assert tagger.predict_confidence(TEST)[0]["tags"] == numbers(expected.predict(TEST))[0]
    assert tagger.predict_proba(TEST)[0].tolist() == expected.predict_proba(TEST)[0].tolist()
    assert tagger.log_probability(X, numbers(Y)) == expected.log_probability(X, Y)
    assert tagger.score(TEST, numbers(GOLD)) == tagger.score(TEST, GOLD) == expected.score(TEST, GOLD)


def test_allowed_labels_are_numbers_or_names() -> None:
    expected, tagger = chunker().fit(X, Y), chunker().fit(X, numbers(Y), labels=NAMES)
    noun, verb = NAMES.index("B-NP"), NAMES.index("B-VP")
    by_name: list[list[Any]] = [[None, {"B-NP", "B-VP"}, *["B-NP"] * (len(s) - 2)] for s in TEST]
    by_number = [[-100, {noun, verb}, *[np.int64(noun)] * (len(s) - 2)] for s in TEST]
    answer = numbers(expected.predict(TEST, allowed=by_name))
    assert tagger.predict(TEST, allowed=by_number) == tagger.predict(TEST, allowed=by_name) == answer
    with pytest.raises(DataError, match=re.escape("allowed[0][0] is 99: labels are the numbers from 0 to")):
        tagger.predict([[("a", "b")]], allowed=[[99]])


@few(1)
@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_numbers_of_any_type(y: list[list[int]], data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([list, tuple, np.int64, np.int8, np.uint16, object]))
    given_so = [kind(own) if kind in (list, tuple) else np.array(own, kind) for own in y]
    sentences = [["w"] * len(own) for own in y]
    corpus = corpus_from_items(sentences, given_so, numbers=LabelNumbers(None)).corpus
    assert corpus.labels is not None
    assert corpus.labels.cells() == [str(number) for own in y for number in own]
    assert corpus.label_numbers == LabelNumbers(None)
    names = [f"n{k}" for k in range(13)]
    named = corpus_from_items(sentences, given_so, numbers=label_numbers(names)).corpus
    assert named.labels is not None
    assert named.labels.cells() == [names[number] for own in y for number in own]


def test_without_names_labels_are_digits() -> None:
    tagger = chunker().fit(X, numbers(Y))
    assert tagger.labels_ == [str(number) for number in tagger.classes_]
    assert {type(label) for labels in tagger.predict(TEST) for label in labels} == {int}
    expected = chunker(constraints="none").fit(X, Y)
    assert tagger.predict(TEST) == numbers(expected.predict(TEST))
    square = np.array([[3, 11], [11, 3]])
    assert Tagger("pos", passes=3).fit([["a", "b"], ["b", "a"]], square).predict([["a", "b"]]) == [[3, 11]]


@pytest.mark.parametrize("learner", ["hmm", "maxent", "mira"])
def test_other_learners(learner: str) -> None:
    words = [[w for w, _ in s] for s in X]
    features = None if learner == "hmm" else "pos"
    tagger, expected = (
        Tagger(features, learner=learner).fit(words, labels, labels=NAMES) for labels in (numbers(Y), Y)
    )
    assert same_bits(tagger.model_, expected.model_)
    assert tagger.predict(words) == numbers(expected.predict(words))


def test_minus_100_is_a_label_that_is_not_known() -> None:
    hidden: list[list[Any]] = [[-100 if i % 3 == 1 else k for i, k in enumerate(own)] for own in numbers(Y)]
    none = [[None if k == -100 else NAMES[k] for k in own] for own in hidden]
    tagger, expected = chunker().fit(X, [np.array(own) for own in hidden], labels=NAMES), chunker().fit(X, none)
    assert same_bits(tagger.model_, expected.model_)
    assert tagger.score(X, hidden) == expected.score(X, none)  # these tokens are not scored
    found = tagger.predict(X)
    known = [(k, g) for own, guess in zip(hidden, found, strict=True) for k, g in zip(own, guess, strict=True)]
    assert tagger.score(X, hidden) == pytest.approx(np.mean([k == g for k, g in known if k != -100]))
    assert -100 not in {label for labels in found for label in labels}
    with pytest.raises(DataError, match="only partly known"):
        chunker(learner="maxent").fit(X, hidden, labels=NAMES)


def test_sets_of_numbers() -> None:
    sets: list[Any] = [[{k, 0} if i % 4 == 1 else k for i, k in enumerate(own)] for own in numbers(Y)]
    names = [[{NAMES[k] for k in own} if isinstance(own, set) else NAMES[own] for own in labels] for labels in sets]
    assert same_bits(chunker().fit(X, sets, labels=NAMES).model_, chunker().fit(X, names).model_)


def test_more_training_and_development_data() -> None:
    tagger = chunker().partial_fit(X[:30], numbers(Y[:30]), labels=NAMES).partial_fit(X[30:], numbers(Y[30:]))
    expected = chunker().partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    assert same_bits(tagger.model_, expected.model_)
    assert tagger.predict(TEST) == numbers(expected.predict(TEST))
    assert tagger.partial_fit(X[:2], numbers(Y[:2]), labels=NAMES).model_.label_numbers == LabelNumbers(tuple(NAMES))
    with pytest.raises(UsageError, match="the model has other names"):
        tagger.partial_fit(X[:2], numbers(Y[:2]), labels=NAMES[::-1])
    with pytest.raises(DataError, match=re.escape("y[0][0] is of type int: a label is a string")):
        expected.partial_fit(X[:2], numbers(Y[:2]))
    dev = chunker(patience=1).fit(X, numbers(Y), labels=NAMES, dev=(TEST, numbers(GOLD)))
    assert same_bits(dev.model_, chunker(patience=1).fit(X, Y, dev=(TEST, GOLD)).model_)
    assert same_bits(dev.model_, chunker(patience=1).fit(X, numbers(Y), labels=NAMES, dev=(TEST, GOLD)).model_)


@pytest.mark.parametrize(
    "labels",
    [
        ["O", "B-X"],
        ("O", np.str_("B-X")),
        {0: "O", 1: "B-X"},
        {"1": "B-X", "0": "O"},
        SimpleNamespace(names=["O", "B-X"]),
        SimpleNamespace(feature=SimpleNamespace(names=["O", "B-X"])),
    ],
)
def test_names_as_people_have_them(labels: Any) -> None:
    tagger = Tagger("pos", passes=3).fit([["a", "b"]], [[1, 0]], labels=labels)
    assert (tagger.labels_, tagger.predict([["a", "b"]])) == (["B-X", "O"], [[1, 0]])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("O B-X", "labels is of type str: a list of names"),
        (3, "labels is of type int"),
        ([], "there are no names"),
        (["O", "O"], "'O' is the name of both 0 and 1"),
        (["O", ""], "name 1 is ''"),
        (["O", 1], "name 1 is 1"),
        ({1: "O", 2: "X"}, "the keys of a dict of names are the numbers 0 to 1"),
    ],
)
def test_names_that_are_none(labels: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Tagger("pos").fit([["a"]], [[0]], labels=labels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1], [3]], "y[1][0] is 3: labels are the numbers from 0 to 2, which have names"),
        ([[0, 1], [-1]], "y[1][0] is -1: labels are the numbers from 0 to 2, which have names\n  -100 stands for"),
        ([[0, {1, 7}], [0]], "y[0][1] is 7: labels"),
        ([[0, True], [0]], "y[0][1] is of type bool: a label is a string or a whole number"),
        ([np.array([0, 1]), np.array([False])], "y[1][0] is of type bool"),
        ([np.array([0.0, 1.0]), [0]], "y[0][0] is of type float"),
        ([[0, 1], ["A"]], "y[1][0] is of type str, and the labels before it are numbers"),
        ([["A", "B"], [1]], "y[1][0] is of type int, and the labels before it are strings"),
        ([[0, {0, "A"}], [1]], "y[0][1] is of type str, and the labels before it are numbers"),
        ([["A", "B"], ["D"]], "y[1][0] is 'D', which is none of the names"),
        ([[0, [1]], [1]], "y[0][1] is of type list"),
        ([[0, {1, -100}], [1]], "y[0][1] is of type set"),
        ([[0, set()], [1]], "y[0][1] is of type set"),
        ([np.array([[0], [1]]), [1]], "y[0][0] is of type tuple"),
    ],
)
def test_labels_that_do_not_fit(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        Tagger("pos").fit([["a", "b"], ["c"]], y, labels=["A", "B", "C"])


def test_large_and_negative_numbers_without_names() -> None:
    for strange in (-1, 10**9, 2**70):
        with pytest.raises(DataError, match=re.escape(f"y[0][0] is {strange}: labels are the numbers from 0 to")):
            Tagger("pos").fit([["a"]], [[strange]])


def test_names_check_labels_that_are_strings() -> None:
    tagger = chunker().fit(X, Y, labels=NAMES)
    assert tagger.classes_ == tagger.labels_
    assert tagger.model_.label_numbers is None


def test_repaired_labels_have_numbers(caplog: pytest.LogCaptureFixture) -> None:
    """A rare I-X after O would become B-X, which has no number here."""
    sentences, y = [["a", "b", "c"]] * 30 + [["d", "e"]], [["B-Y", "I-Y", "O"]] * 30 + [["O", "I-X"]]
    assert "B-X" in Tagger("pos", passes=1).fit(sentences, y).labels_
    names = ["O", "B-Y", "I-Y", "I-X"]
    tagger = Tagger("pos", passes=1).fit(sentences, [[names.index(k) for k in own] for own in y], labels=names)
    assert sorted(tagger.labels_) == sorted(names)
    assert "follow no tag scheme" in caplog.text


def test_the_command_line_shows_names(cli: Cli) -> None:
    words = [[w for w, _ in s] for s in X]
    tagger = Tagger("pos", passes=2).fit(words, numbers(Y), labels=NAMES)
    tagger.save(cli.folder / "names.palm")
    cli.write("words.txt", "\n".join(words[0]) + "\n")
    lines = cli.fine("tag names.palm words.txt -q").split()
    assert lines[1::2] == [NAMES[k] for k in tagger.predict(words[:1])[0]]


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    for stored in ({"names": ["Z"]}, {"names": None}, {"names": [*NAMES, NAMES[0]]}, {"names": [1]}):
        tagger = chunker().fit(X, numbers(Y), labels=NAMES)
        tagger.model_.meta["label_numbers"] = stored
        tagger.save(tmp_path / "damaged.palm")
        with pytest.raises(ModelError, match="damaged model"):
            Tagger.load(tmp_path / "damaged.palm")
