"""`Tagger` as a scikit-learn user meets it: fit, predict, score, parameters, searches over them, and keeping models."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitting import flat_tagger
from seqeval import metrics as judge
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

import palmette
from palmette import HMM, Classifier, LinearClassifier, Parser, Tagger
from palmette.data import FormatSpec
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.features import parse
from palmette.structures import corpus_of

X, Y = load_demo("train")
X_TEST, Y_TEST = load_demo("test")
SMALL, SMALL_Y = X[:60], Y[:60]


def chunker(**params: object) -> Tagger:
    return flat_tagger(**{"features": "chunk", "passes": 3, **params})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted() -> Tagger:
    return chunker(passes=6).fit(X, Y)


def as_dicts(sentences: list) -> list:
    return [[{"w": w.lower(), "p": p, "short": len(w) < 4, "size": len(w) / 10} for w, p in s] for s in sentences]


# --- fit, predict, score ------------------------------------------------------------------------------------


def test_score_is_that_of_predict(fitted: Tagger) -> None:
    found = fitted.predict(X_TEST)
    assert [len(s) for s in found] == [len(s) for s in X_TEST]
    pairs = [pair for a, b in zip(found, Y_TEST, strict=True) for pair in zip(a, b, strict=True)]
    assert fitted.evaluate(X_TEST, Y_TEST).accuracy == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert fitted.score(X_TEST, Y_TEST) == pytest.approx(judge.f1_score(Y_TEST, found))
    assert fitted.score(X_TEST, Y_TEST) > 0.94
    assert fitted.labels_ == fitted.classes_ == list(dict.fromkeys(label for s in Y for label in s))
    assert [row["number"] for row in fitted.training_log_] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "view",
    [as_dicts, lambda sentences: [[[f"w={w}", f"p={p}"] for w, p in s] for s in sentences]],
    ids=["dicts", "lists of strings"],
)
def test_ready_made_attributes(view) -> None:  # type: ignore[no-untyped-def]
    tagger = Tagger(passes=4).fit(view(X), Y)
    assert tagger.score(view(X_TEST), Y_TEST) > 0.9


def test_words_alone() -> None:
    words, tags = [[w for w, _ in s] for s in X], [[p for _, p in s] for s in X]
    tagger = Tagger("pos", passes=4).fit(words, tags)
    assert tagger.score([[w for w, _ in s] for s in X_TEST], [[p for _, p in s] for s in X_TEST]) > 0.85


def test_generators_are_read_once() -> None:
    expected = chunker().fit(SMALL, SMALL_Y)
    lazy = chunker().fit(((token for token in s) for s in SMALL), ((label for label in s) for s in SMALL_Y))
    assert lazy.predict(iter(s) for s in X_TEST) == expected.predict(X_TEST)


def test_empty_sentences_keep_their_places(fitted: Tagger) -> None:
    one, two = fitted.predict(X_TEST[:2])
    assert fitted.predict([[], X_TEST[0], [], X_TEST[1], []]) == [[], one, [], two, []]
    assert fitted.predict([]) == []
    assert fitted.predict_scored([[], X_TEST[0]])[1][0] == 0
    with_empty = chunker().fit([[], *SMALL, []], [[], *SMALL_Y, []])
    assert with_empty.predict(X_TEST) == chunker().fit(SMALL, SMALL_Y).predict(X_TEST)


def test_a_new_fit_forgets_the_old_one() -> None:
    tagger = Tagger(passes=2).fit(SMALL, SMALL_Y)
    tagger.fit(as_dicts(SMALL[:9]), SMALL_Y[:9])
    assert tagger.predict(as_dicts(X_TEST)) == Tagger(passes=2).fit(as_dicts(SMALL[:9]), SMALL_Y[:9]).predict(
        as_dicts(X_TEST)
    )


def test_sample_weights() -> None:
    """A weight of 0 is a sentence that teaches nothing; equal weights only scale the scores of a perceptron."""
    other = [["O"] * len(s) for s in SMALL]
    mixed = chunker(order=0).fit(SMALL + SMALL, SMALL_Y + other, sample_weight=[1.0] * 60 + [0.0] * 60)
    assert mixed.score(SMALL, SMALL_Y) > 0.95
    assert mixed.score(SMALL, other) < 0.3
    twice = chunker(learner="perceptron").fit(SMALL, SMALL_Y, sample_weight=[2.0] * 60).predict_scored(X_TEST)
    once = chunker(learner="perceptron").fit(SMALL, SMALL_Y).predict_scored(X_TEST)
    assert twice[0] == once[0]
    assert twice[1] == pytest.approx([2 * score for score in once[1]])


def test_development_data(fitted: Tagger) -> None:
    tagger = chunker(passes=30, patience=2).fit(SMALL, SMALL_Y, dev=(X_TEST, Y_TEST))
    figures = [row["dev"] for row in tagger.training_log_]
    assert len(figures) < 30
    assert tagger.model_.meta["best_pass"] == figures.index(max(figures)) + 1
    held_out = chunker(dev_share=0.25, passes=2).fit(SMALL, SMALL_Y)
    assert all(0 < row["dev"] < 1 for row in held_out.training_log_)


def test_order_and_forbidden_transitions() -> None:
    never = ("I-NP", "B-VP")
    shorter = [(s[:k], t[:k]) for s, t in zip(SMALL, SMALL_Y, strict=True) for k in [_until(t, never)] if k]
    tagger = chunker(order=2, forbidden=[never]).fit([s for s, _ in shorter], [t for _, t in shorter])
    pairs = {pair for s in tagger.predict(X_TEST) for pair in pairwise(s)}
    assert never not in pairs
    free = chunker(order=2).fit([s for s, _ in shorter], [t for _, t in shorter])
    assert never in {pair for s in free.predict(X_TEST) for pair in pairwise(s)}


def _until(labels: list[str], pair: tuple[str, str]) -> int:
    """How many labels come before the pair is complete."""
    return next((k for k in range(1, len(labels)) if (labels[k - 1], labels[k]) == pair), len(labels))


# --- what is known about some tokens ------------------------------------------------------------------------


def test_allowed_labels(fitted: Tagger) -> None:
    sentence = X_TEST[0]
    free = fitted.predict([sentence])[0]
    wanted: list = [None] * len(sentence)
    assert fitted.predict([sentence], allowed=[wanted]) == [free]
    wanted[3], wanted[5] = "O", {"B-VP", "B-ADVP"}
    fixed, score = fitted.predict_scored([sentence], allowed=[wanted])
    assert fixed[0][3] == "O"
    assert fixed[0][5] in wanted[5]
    assert score[0] < fitted.predict_scored([sentence])[1][0]
    assert fitted.predict([[], sentence], allowed=[[], wanted])[1] == fixed[0]


@pytest.mark.parametrize(
    "allowed",
    [
        [["O"]],
        [["O", "O"], ["O"], ["O"]],
        [["O"], ["O", "O"]],
        [["XYZ", None], [None]],
        [[set(), None], [None]],
        [[3, None], [None]],
        [None, [None]],
        [["I-NP", "B-NP"], [None]],  # a sentence cannot begin with I-NP
    ],
)
def test_what_cannot_be_allowed(fitted: Tagger, allowed: list) -> None:
    with pytest.raises(DataError, match=r"allowed|no label sequence is possible"):
        fitted.predict([X_TEST[0][:2], X_TEST[1][:1]], allowed=allowed)


# --- parameters ---------------------------------------------------------------------------------------------


def test_parameters_are_stored_and_nothing_else() -> None:
    tagger = Tagger("ner", passes=7, seed=3)
    assert vars(tagger) == tagger.get_params()
    assert (tagger.get_params()["passes"], tagger.get_params()["features"]) == (7, "ner")
    assert tagger.set_params(passes=2, order=2) is tagger
    assert (tagger.passes, tagger.order) == (2, 2)
    assert repr(tagger) == "Tagger('ner', passes=2, seed=3, order=2)"
    with pytest.raises(UsageError, match="no parameter 'colour'"):
        tagger.set_params(colour=1)


def test_clone(fitted: Tagger) -> None:
    made = clone(fitted)
    assert made.get_params() == fitted.get_params()
    with pytest.raises(UsageError, match="not trained yet"):
        made.predict(X_TEST)


def test_searches_of_scikit_learn() -> None:
    scores = cross_val_score(chunker(), SMALL, SMALL_Y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.7
    grid = GridSearchCV(chunker(), {"passes": np.arange(1, 4, 2), "order": [0, 1]}, cv=2).fit(SMALL, SMALL_Y)
    assert grid.best_params_["passes"] == 3
    best = chunker(passes=3, order=grid.best_params_["order"]).fit(SMALL, SMALL_Y)
    assert grid.predict(X_TEST) == best.predict(X_TEST)


@pytest.mark.parametrize("longest", [None, 3, 1])
def test_predictions_of_folds_are_an_array_of_lists(longest: int | None) -> None:
    """Also if all sentences have the same length, which would make a table of labels."""
    X, y = ([one[:longest] for one in part if len(one) >= 3] for part in (SMALL, SMALL_Y))
    found = cross_val_predict(chunker(), X, y, cv=KFold(3))
    assert (found.shape, found.dtype) == ((len(X),), object)
    for train, test in KFold(3).split(X):
        tagger = clone(chunker()).fit([X[k] for k in train], [y[k] for k in train])
        own = tagger.predict([X[k] for k in test])
        assert isinstance(own, list)
        assert [found[k] for k in test] == own
    assert json.loads(json.dumps(own)) == own
    assert np.asarray(tagger.predict([])).shape == (0,)


def test_other_estimators_in_scikit_learn() -> None:
    words, tags = ([[cells[k] for cells in one] for one in SMALL] for k in (0, 1))
    trees = [[("We", "PRON"), ("saw", "VERB")], [("Go", "VERB")]] * 3, [[(2, "nsubj"), (0, "root")], [(0, "root")]] * 3
    classes = ["yes" if k % 2 else "no" for k in range(len(words))]
    for estimator, X, y in ((HMM(), words, tags), (Parser(passes=1), *trees), (Classifier(passes=1), words, classes)):
        found = cross_val_predict(estimator, X, y, cv=3)
        assert found.shape == (len(X),)
        assert len(found[0]) == len(y[0]) or isinstance(found[0], str)
        assert cross_val_score(estimator, X, y, cv=3).shape == (3,)
        search = GridSearchCV(
            estimator, {"seed": [1, 2]} if not isinstance(estimator, HMM) else {"order": [1, 2]}, cv=2
        )
        assert len(search.fit(X, y).predict(X[:2])) == 2


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"passes": 0}, "passes: 0"),
        ({"passes": 2.5}, "passes: 2.5"),
        ({"order": "1"}, "'1' is not a whole number from 0 to 2"),
        ({"features": "chonk"}, "there is no 'chonk'; choose one of pos"),
        ({"template": "x.txt"}, "not both"),
        ({"constraints": 3}, "constraints: 3"),
        ({"patience": 2}, "need development data"),
    ],
)
def test_wrong_parameters(params: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chunker(**params).fit(SMALL, SMALL_Y)


def test_wrong_data(fitted: Tagger) -> None:
    for x, y in ((SMALL, SMALL_Y[:-1]), (SMALL[:1], [SMALL_Y[0][1:]]), ([], []), ([[]], [[]]), ("ab", ["A", "B"])):
        with pytest.raises(DataError):
            chunker().fit(x, y)
    for weights in ([1.0] * 59, [-1.0] * 60, [float("nan")] * 60):
        with pytest.raises(DataError, match="sample weights"):
            chunker().fit(SMALL, SMALL_Y, sample_weight=weights)
    with pytest.raises(DataError, match=r"sample_weight\[59\] is .*str.*: a weight is a number"):
        chunker().fit(SMALL, SMALL_Y, sample_weight=np.array([1.0] * 59 + ["2"], object))
    with pytest.raises(DataError, match=r"sample_weight\[0\] is .*: a weight is a number"):
        chunker().fit(SMALL, SMALL_Y, sample_weight=["1"] * 60)
    with pytest.raises(DataError, match="sample weights of all sentences are 0: there is nothing to learn from"):
        chunker().fit(SMALL, SMALL_Y, sample_weight=[0.0] * 60)
    for value in (float("nan"), float("inf"), 1e300):
        with pytest.raises(DataError, match=r"X\[0\]\[0\]\['v'\]"):
            Tagger().fit([[{"v": value}]], [["A"]])
    with pytest.raises(DataError, match="reads 2 columns and the input has 1"):
        fitted.predict([["word"]])
    for tagger in (fitted, pickle.loads(pickle.dumps(fitted))):
        for X in ([[("a", "b", "c")]], [[("a", "b", "c")]] * 9):
            with pytest.raises(
                DataError, match=r"X\[0\]\[0\] has 3 columns, and .* trained on 2 \(columns 0 to 1\)"
            ) as told:
                tagger.predict(X)
            assert "column 2 is 'c' here" in str(told.value.hint)
    wide = [[("a", "b", "c")]], [["B-NP"]]
    for learn in (lambda: fitted.partial_fit(*wide), lambda: chunker().fit(SMALL, SMALL_Y, dev=wide)):
        with pytest.raises(DataError, match="has 3 columns, and the model was trained on 2"):
            learn()


@pytest.mark.parametrize(
    ("token", "one"),
    [
        (lambda word: word, ["Time", "flies"]),
        (lambda word: {"w": word}, [{"w": "Time"}]),
        (lambda word: [f"w={word}", "p"], [["w=Time", "p"], ["w=flies", "p"]]),
    ],
)
def test_one_sentence_is_not_a_list_of_them(token: Any, one: list[Any]) -> None:
    tagger = Tagger(passes=1).fit([[token("Time"), token("flies")]] * 3, [["N", "V"]] * 3)
    for method in (tagger.predict, tagger.predict_marginals, tagger.nbest):
        with pytest.raises(DataError, match=r"looks like one sentence.*predict\(\[sentence\]\)"):
            method(one)
    assert len(tagger.predict([one])[0]) == len(one)
    with pytest.raises(DataError, match="split it first"):
        tagger.predict(["Time flies"])


def test_a_model_of_any_kind_is_opened(fitted: Tagger, tmp_path: Path) -> None:
    rows = LinearClassifier("perceptron", passes=2).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    for made in (fitted, rows, Parser(passes=1).fit([[{"form": "a", "head": 0, "deprel": "root"},
                                                      {"form": "b", "head": 1, "deprel": "x"}]])):  # fmt: skip
        made.save(tmp_path / "model.palm")
        for copied in (False, True):
            assert type(palmette.load(tmp_path / "model.palm", copy=copied)) is type(made)
    (tmp_path / "text").write_text("no model", encoding="utf-8")
    with pytest.raises(palmette.ModelError):
        palmette.load(tmp_path / "text")


def test_a_column_that_no_template_reads_may_be_there() -> None:
    tagger = Tagger(template=parse("U:%x[0,0]\nB\n"), passes=1).fit([[("a", "x", "y"), ("b", "x", "y")]], [["A", "B"]])
    assert tagger.predict([[("a", "x", "y")]]) == tagger.predict([["a"]]) == [["A"]]
    with pytest.raises(UsageError, match="dev is a pair"):
        chunker().fit(SMALL, SMALL_Y, dev=X_TEST)
    with pytest.raises(UsageError, match="not trained yet"):
        Tagger().predict(X_TEST)


# --- more training ------------------------------------------------------------------------------------------


def test_partial_fit_goes_on_exactly() -> None:
    parts = chunker(passes=2).partial_fit(SMALL, SMALL_Y).partial_fit(SMALL, SMALL_Y)
    whole = chunker(passes=4).fit(SMALL, SMALL_Y)
    tags, scores = parts.predict_scored(X_TEST)
    expected, figures = whole.predict_scored(X_TEST)
    assert tags == expected
    # The checkpoint keeps attributes that never moved: the same numbers, added up in other groups.
    assert scores == pytest.approx(figures, rel=1e-6)


def test_partial_fit_brings_labels_and_attributes() -> None:
    tagger = chunker().fit(SMALL, SMALL_Y)
    before = list(tagger.labels_)
    tagger.partial_fit([[("zyx", "ZZ"), ("dogs", "NNS")]] * 20, [["B-NEW", "B-NP"]] * 20)
    assert tagger.labels_ == [*before, "B-NEW"]
    assert tagger.predict([[("zyx", "ZZ"), ("dogs", "NNS")]]) == [["B-NEW", "B-NP"]]
    assert tagger.score(SMALL, SMALL_Y) > 0.8
    with pytest.raises(DataError, match="reads 2 columns and the input has 1"):
        tagger.partial_fit([["zyx"]], [["B-NEW"]])


# --- keeping ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"prune": True}, {"strip": True}, {"prune": True, "strip": True}])
def test_saved_and_loaded(fitted: Tagger, tmp_path: Path, options: dict) -> None:
    fitted.save(tmp_path / "m.palm", **options)
    loaded = Tagger.load(tmp_path / "m.palm")
    (found, scores), (expected, exact) = loaded.predict_scored(X_TEST), fitted.predict_scored(X_TEST)
    assert found == expected
    assert scores == (pytest.approx(exact) if "prune" in options else exact)  # fewer zeros, summed otherwise
    assert loaded.labels_ == fitted.labels_
    assert [row["updates"] for row in loaded.training_log_] == [row["updates"] for row in fitted.training_log_]


def test_a_loaded_tagger_can_be_trained_again(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("U0:%x[0,0]\nU1:%x[0,1]\nB\nT\n", encoding="utf-8")
    for made in (chunker(order=2, seed=4, forbidden=[("O", "I-VP")]), Tagger(template=tmp_path / "t.txt", passes=2)):
        made.fit(SMALL, SMALL_Y).save(tmp_path / "m.palm")
        loaded = Tagger.load(tmp_path / "m.palm")
        assert clone(loaded).fit(SMALL, SMALL_Y).predict_scored(X_TEST) == made.predict_scored(X_TEST)


def test_copies_and_pickles(fitted: Tagger) -> None:
    expected = fitted.predict_scored(X_TEST)
    session = fitted.session()
    session.tag(X_TEST[0])
    for copied in (copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))):
        assert copied(fitted).predict_scored(X_TEST) == expected
        assert [copied(session).tag(s) for s in X_TEST[:3]] == expected[0][:3]


def test_a_bias_in_evaluation(fitted: Tagger) -> None:
    corpus = corpus_of(fitted.model_, X_TEST, Y_TEST)
    plain, eager = fitted.evaluate(corpus), fitted.evaluate(corpus, bias={"O": -5.0})
    assert plain.recall is not None
    assert sum(f.guessed for f in eager.by_type.values()) > sum(f.guessed for f in plain.by_type.values())
    with pytest.raises(UsageError, match="bias: nan"):
        fitted.evaluate(corpus, bias={"O": float("nan")})


def test_files(fitted: Tagger, tmp_path: Path) -> None:
    text = "\n".join("\n".join(" ".join(token) for token in s) + "\n" for s in X_TEST)
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    n = fitted.tag_file(tmp_path / "in.txt", tmp_path / "out.txt", threads=2)
    assert n == sum(map(len, X_TEST))
    out = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert [[line.split()[-1] for line in block.split("\n")] for block in out.strip().split("\n\n")] == fitted.predict(
        X_TEST
    )
    labelled = "\n".join("\n".join(f"{w} {p}" for w, p in s) + "\n" for s in X[:40])
    (tmp_path / "train.txt").write_text(labelled, encoding="utf-8")
    pos = Tagger("pos", passes=20).fit_file(tmp_path / "train.txt", spec=FormatSpec())
    assert pos.predict([[w for w, _ in X[0]]]) == [[p for _, p in X[0]]]


def test_threads_give_the_same_answers(fitted: Tagger) -> None:
    """Many threads use one tagger at once, each with other sentences."""
    pieces = [X[k : k + 30] for k in range(0, 420, 30)]
    expected = [fitted.predict_scored(piece) for piece in pieces]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(fitted.predict_scored, pieces)) == expected
