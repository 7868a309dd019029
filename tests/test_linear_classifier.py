"""Classifiers as chains of order 0: scikit-learn's logistic regression and a naive multiclass perceptron as judges."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import weights_by_name
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette import Crf, LinearClassifier, Perceptron, Tagger
from palmette.data import model_file
from palmette.datasets import example_files, load_acronyms, load_vowels
from palmette.errors import DataError, ModelError, UsageError
from palmette.training import shuffled

QUARTERS = st.integers(-8, 8).map(lambda k: k / 4)  # sums of them are exact, so that ties are ties


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# --- logistic regression ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vowels", "C"), [("iaeou", 5.0), ("iau", 0.3), ("ou", 2.0)])
def test_logistic_regression_is_that_of_scikit_learn(vowels: str, C: float) -> None:
    from sklearn import linear_model

    chosen = [(row, label) for row, label in zip(*load_vowels(), strict=True) if label in vowels]
    X, y = np.array([[*row, 1.0] for row, _ in chosen]), [label for _, label in chosen]
    judge = linear_model.LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y)
    # Of two labels scikit-learn has one weight vector, ours are its half and minus its half.
    l2 = 1 / C if len(vowels) == 2 else 1 / (2 * C)
    ours = LinearClassifier(Crf(l2=l2, tolerance=1e-12, iterations=2000), bias=False).fit(X, y)
    assert list(ours.classes_) == list(judge.classes_)
    assert ours.predict_proba(X) == pytest.approx(judge.predict_proba(X), abs=2e-4)
    assert list(ours.predict(X)) == list(judge.predict(X))
    found = weights_by_name(ours.tagger_.model_)
    weights = np.array([[found[("one", f"x{k}", label)] for k in range(3)] for label in ours.classes_])
    expected = judge.coef_ if len(vowels) > 2 else np.concatenate((-judge.coef_ / 2, judge.coef_ / 2))
    assert weights == pytest.approx(expected, rel=5e-3, abs=5e-3)
    loss = -np.log(judge.predict_proba(X)[np.arange(len(y)), np.searchsorted(judge.classes_, y)]).sum()
    objective = ours.tagger_.training_log_[-1]["figures"]["objective"]
    assert objective == pytest.approx(loss + l2 * np.square(expected).sum(), rel=1e-5)


# --- the perceptron -----------------------------------------------------------------------------------------


def naive_perceptron(rows: list[dict[str, float]], labels: list[str], names: list[str], orders: list) -> tuple:
    """Last and mean weights {(attribute, label): weight}: w_0 = 0 counts as the first of the vectors."""
    last: dict[tuple[str, str], float] = defaultdict(float)
    total: dict[tuple[str, str], float] = defaultdict(float)
    vectors = 1
    for order in orders:
        for k in order:
            scores = [sum(last[a, name] * value for a, value in rows[k].items()) for name in names]
            guess = names[scores.index(max(scores))]
            if guess != labels[k]:
                for a, value in rows[k].items():
                    last[a, labels[k]] += value
                    last[a, guess] -= value
            for feature, weight in last.items():
                total[feature] += weight
            vectors += 1
    return last, {feature: weight / vectors for feature, weight in total.items()}


@few(2)
@given(st.data(), st.integers(2, 4), st.integers(1, 3), st.sampled_from(["avg", "last"]), st.booleans())
def test_the_perceptron_is_the_naive_one(
    data: st.DataObject, n_labels: int, width: int, estimator: str, bias: bool
) -> None:
    n = data.draw(st.integers(1, 7))
    rows = [[data.draw(QUARTERS) for _ in range(width)] for _ in range(n)]
    labels = [data.draw(st.sampled_from("abcd"[:n_labels])) for _ in range(n)]
    ours = LinearClassifier("perceptron", bias=bias, passes=3, estimator=estimator, seed=5).fit(rows, labels)
    names = list(dict.fromkeys(labels))  # ties go to the label that came first
    given_ = [{f"x{k}": v for k, v in enumerate(row)} | ({"bias": 1.0} if bias else {}) for row in rows]
    orders = [shuffled(5, k, n) for k in range(1, len(ours.tagger_.training_log_) + 1)]
    last, mean = naive_perceptron(given_, labels, names, orders)
    expected = last if estimator == "last" else mean
    found = weights_by_name(ours.tagger_.model_)
    for attribute in given_[0]:
        for name in names:
            weight = found.get(("one", attribute, name), 0.0)
            assert weight == pytest.approx(expected.get((attribute, name), 0.0), abs=1e-5)
    assert not any(kind != "one" for kind, *_ in found)  # no ends, no transitions


# --- rows, labels, neighbours -------------------------------------------------------------------------------


def test_rows_of_three_kinds_mean_the_same() -> None:
    X, y = load_vowels()
    numbers = LinearClassifier("perceptron").fit(X, y)
    dicts = LinearClassifier("perceptron").fit([{"x0": a, "x1": b} for a, b in X], y)
    arrays = LinearClassifier("perceptron").fit(np.array(X), np.array(y))
    for other in (dicts, arrays):
        assert (other.decision_function(X[:50] if other is arrays else [{"x0": a, "x1": b} for a, b in X[:50]])
                == numbers.decision_function(X[:50])).all()  # fmt: skip
    assert numbers.predict([]).shape == (0,)
    words = LinearClassifier("crf").fit([["cheap", "buy"], ["hello", "friend"], ["buy", "now"]], [1, 0, 1])
    assert words.predict([["buy"], {"hello"}, ["unseen"]]).tolist() == [1, 0, 1]
    nothing = LinearClassifier("crf", bias=False).fit([["x"], []], ["a", "b"]).decision_function([["x"], []])
    assert nothing[0, 0] > nothing[0, 1]
    assert nothing[1].tolist() == [0.0, 0.0]
    assert words.predict_proba([["buy"]]).sum() == pytest.approx(1.0)


def test_the_chain_inside_says_the_same() -> None:
    X, y = load_vowels("test")
    classifier = LinearClassifier(Crf(l2=0.01)).fit(*load_vowels())
    assert classifier.score(X, y) > 0.9
    rows = [[{"x0": a, "x1": b, "bias": 1.0}] for a, b in X]
    assert [label for (label,) in classifier.tagger_.predict(rows)] == classifier.predict(X).tolist()


def test_scikit_learn_takes_it() -> None:
    from sklearn import base
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_vowels()
    classifier = LinearClassifier(Crf(l2=0.1))
    assert base.clone(classifier).get_params() == classifier.get_params()
    assert repr(classifier) == "LinearClassifier(Crf(l2=0.1))"
    scores = cross_val_score(make_pipeline(StandardScaler(), classifier), np.array(X), np.array(y), cv=3)
    assert scores.min() > 0.9


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], [], "a string or a number"),
        ([[1.0]], [None], "a string or a number"),
        ([[1.0], [2.0]], ["a"], "1 label for 2 rows"),
        ("abc", ["a"], "a list of rows"),
        ([1.0], ["a"], "a row of numbers"),
        ([[1.0, "x"]], ["a"], "both numbers and names"),
        ([{"bias": 2.0}], ["a"], "of its own"),
        ([[float("nan")]], ["a"], "nan"),
        ([[1.0], [2.0]], [1.0, float("nan")], "not finite"),
        ([[1.0, 2.0], [2.0]], ["a", "b"], "1 number, and the rows before it 2"),
    ],
)
def test_bad_rows(X: object, y: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        LinearClassifier().fit(X, y)  # type: ignore[arg-type]


def test_what_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="call fit"):
        LinearClassifier().predict([[1.0]])
    with pytest.raises(UsageError, match="are not calibrated, so there are no probabilities"):
        LinearClassifier("perceptron").fit([[1.0], [2.0]], "ab").predict_proba([[1.0]])
    with pytest.raises(UsageError, match="no parameter"):
        LinearClassifier().set_params(depth=3)
    with pytest.raises(DataError, match="2 numbers"):
        LinearClassifier().fit([[1.0], [2.0]], "ab").predict([[1.0, 2.0]])
    with pytest.raises(UsageError, match=r"there is no 'hmm'; choose one of perceptron, probperc, mira, pa, .*crf"):
        LinearClassifier("hmm").fit([[1.0]], ["a"])
    with pytest.raises(UsageError, match="l2: is an option of crf and maxent; the learner is perceptron"):
        LinearClassifier("perceptron", l2=1.0)
    with pytest.raises(UsageError, match="dev is a pair"):
        LinearClassifier().fit([[1.0], [2.0]], "ab", dev=([[1.0]],))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="1 sample weight for 2"):
        LinearClassifier().fit([[1.0], [2.0]], "ab").score([[1.0], [2.0]], "ab", [1.0])


@pytest.mark.parametrize(
    "classes", [["b", "a"], [7, -1], [True, False], [0.5, 1.5], list(np.array([3, 1], np.int8))], ids=str
)
@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0, -1.0]], [{"f": 1.0}, {"g": 2.0}], [["x"], ["y", "z"]]], ids=str)
def test_a_model_file_round_trip(rows: list, classes: list, tmp_path: Path) -> None:
    """Classes keep their type, rows of numbers their width."""
    classifier = LinearClassifier(Perceptron(), passes=3, bias=classes[0] == "b").fit(rows, classes)
    classifier.save(tmp_path / "m.palm")
    again = LinearClassifier.load(tmp_path / "m.palm")
    assert again.classes_.dtype == classifier.classes_.dtype
    assert again.classes_.tolist() == classifier.classes_.tolist()
    assert again.decision_function(rows).tolist() == classifier.decision_function(rows).tolist()
    assert again.get_params(deep=False) == classifier.get_params(deep=False) | {"estimator": "avg"}
    assert pickle.loads(pickle.dumps(classifier)).predict(rows).tolist() == again.predict(rows).tolist()
    if isinstance(rows[0][0] if isinstance(rows[0], list) else "", float):
        with pytest.raises(DataError, match="3 numbers, and the rows before it 2"):
            again.predict([[1.0, 2.0, 3.0]])
    again.save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "m.palm").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["a", "a"]}, "not distinct"), ({"classes": ["a", "c"]}, "not its labels"),
        ({"classes": []}, "cannot be read"), ({"dtype": "<i8"}, "not of their type"), ({"dtype": "O"}, "classes are"),
        ({"dtype": "nonsense"}, "not of their type"), ({"width": "2"}, "cannot be read"),
        # these would take gigabytes
        ({"dtype": "<U400000000"}, "not of their type"), ({"dtype": "(1000000000,)i1"}, "not of their type"),
    ],
)  # fmt: skip
def test_damaged_models_are_refused(change: dict, message: str, tmp_path: Path) -> None:
    LinearClassifier().fit([[1.0], [2.0]], "ab").save(tmp_path / "m.palm")
    arrays, meta = model_file.load(tmp_path / "m.palm")
    meta["rows"].update(change)
    model_file.save(tmp_path / "bad.palm", arrays, meta)
    with pytest.raises(ModelError, match=message):
        LinearClassifier.load(tmp_path / "bad.palm")
    del meta["rows"]
    model_file.save(tmp_path / "tagger.palm", arrays, meta)
    with pytest.raises(ModelError, match="a tagger, not a linear classifier"):
        LinearClassifier.load(tmp_path / "tagger.palm")


def test_development_data_and_weights() -> None:
    X, y = load_vowels()
    dev = load_vowels("test")
    classifier = LinearClassifier("perceptron", passes=5).fit(X, y, dev=dev)
    log = classifier.tagger_.training_log_
    assert max(row["dev"] for row in log) == pytest.approx(classifier.score(*dev))
    twice = LinearClassifier(Crf(l2=0.5)).fit(X[:40] + X[:20], y[:40] + y[:20])
    weighted = LinearClassifier(Crf(l2=0.5)).fit(X[:40], y[:40], sample_weight=[2.0] * 20 + [1.0] * 20)
    assert weighted.decision_function(X[:5]) == pytest.approx(twice.decision_function(X[:5]), abs=0.05)
    for weights, message in (
        ([0.0, 0.0], "are 0"),
        (["1", "1"], "a weight is a number"),
        ([1.0], "1 sample weight for 2"),
    ):
        with pytest.raises(DataError, match=message):
            LinearClassifier("perceptron", passes=1).fit(X[:2], y[:2], sample_weight=weights)
        with pytest.raises(DataError, match=message):
            classifier.score(X[:2], y[:2], weights)
    assert classifier.score(X[:2], y[:2], [1.0, 0.0]) == float(classifier.predict(X[:1])[0] == y[0])


# --- the data ----------------------------------------------------------------------------------------------


def test_vowels_are_those_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1]))
    from studies import vowels

    assert vowels.DATA.read_text(encoding="utf-8") == "".join(f"{v} {a} {b}\n" for v, a, b in vowels.vowels())
    sizes = [len(load_vowels(part)[1]) for part in ("train", "test")]
    assert sizes == [240, 60]


def test_acronyms_are_clean() -> None:
    both = [load_acronyms(part) for part in ("train", "test")]
    phrases = ["".join(letters) for X, _ in both for letters in X]
    assert len(phrases) > 500
    assert len(set(phrases)) == len(phrases)
    assert all(set(phrase) <= set("abcdefghijklmnopqrstuvwxyz_") for phrase in phrases)
    for X, y in both:
        for letters, own in zip(X, y, strict=True):
            assert own.count("I") >= 2
            assert all(letter != "_" for letter, label in zip(letters, own, strict=True) if label == "I")
    with pytest.raises(UsageError, match="no part 'dev'"):
        load_acronyms("dev")


def test_the_demo_leaves_data(cli: Cli) -> None:
    for name in ("vowels", "acronyms"):
        cli.fine(f"demo --dataset {name}")
        for file, text in example_files(name).items():
            assert cli.read(file) == text
    assert "choose one of vowels, acronyms" in cli("demo --dataset x").err
    assert "leave --text out" in cli("demo --dataset vowels --text hello").err
    cli.fine("train vowels.txt --format attributes --order 0 --no-ends --learner crf --l2 0.01 -o v.palm -q")
    y = load_vowels("test")[1]
    labels = [label for _, (label,) in zip(y, Tagger.load("v.palm").predict(
        [[{"f1": a, "f2": b, "bias": 1.0}] for a, b in load_vowels("test")[0]]), strict=True)]  # fmt: skip
    assert np.mean([a == b for a, b in zip(labels, y, strict=True)]) > 0.9
