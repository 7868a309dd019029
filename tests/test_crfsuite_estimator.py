"""`palmette.crfsuite.CRF` with sklearn-crfsuite as the judge: parameters, labels, probabilities, attributes, pickles,
and what scikit-learn does with estimators."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn_crfsuite
from crf_items import TEST, TRAIN, features, lists

from palmette.crfsuite import CRF, metrics, scorers
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError

ALGORITHMS: dict[str, dict[str, Any]] = {
    "lbfgs": {"c1": 0.1, "c2": 0.1, "all_possible_transitions": True},
    "l2sgd": {"c2": 0.1, "max_iterations": 20},
    "ap": {"max_iterations": 20},
    "pa": {"max_iterations": 20, "pa_type": 2, "c": 0.5, "error_sensitive": False, "averaging": True},
    "arow": {"max_iterations": 20, "variance": 2.0, "gamma": 1.0},
}


@pytest.fixture(scope="module")
def fitted() -> CRF:
    return CRF(c1=0.1, c2=0.1, max_iterations=30).fit(*TRAIN)


@pytest.fixture(scope="module")
def judged(fitted: CRF) -> Any:
    """The judge with the same model."""
    return sklearn_crfsuite.CRF(model_filename=fitted.modelfile.name)


# Parameters


def test_parameters_and_their_defaults_are_the_judges() -> None:
    theirs = inspect.signature(sklearn_crfsuite.CRF.__init__).parameters
    ours = inspect.signature(CRF.__init__).parameters
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]
    assert CRF().get_params() == sklearn_crfsuite.CRF().get_params()


class Recorded:
    """Stands for a trainer, and keeps what is asked of it."""

    calls: list[Any]

    def __init__(self, **given: Any) -> None:
        Recorded.calls = [given]
        self.logparser = "the log"

    def append(self, *given: Any) -> None:
        Recorded.calls.append(given)

    def train(self, name: str, **given: Any) -> None:
        Recorded.calls.append((Path(name).suffix, given))


@pytest.mark.parametrize("dev", [False, True])
def test_a_trainer_is_asked_for_the_same_things(dev: bool) -> None:
    given = {name: k for k, name in enumerate(CRF().get_params()) if name not in ("model_filename", "keep_tempfiles")}
    data = ([["x"]], [["A"]], [["z"]], [["B"]]) if dev else ([["x"]], [["A"]])
    seen = []
    for kind in (CRF, sklearn_crfsuite.CRF):
        crf = kind(**given | {"trainer_cls": Recorded, "verbose": False})
        assert crf.fit(*data) is crf
        assert crf.training_log_ == "the log"
        seen.append(Recorded.calls)
    assert seen[0] == seen[1]


def test_wrong_parameters() -> None:
    with pytest.raises(UsageError, match="CRF has no parameter 'c3'; it has algorithm"):
        CRF().set_params(c3=1)
    with pytest.raises(ValueError, match="c1"):
        CRF(algorithm="ap", c1=1.0).fit(*TRAIN)
    with pytest.raises(ValueError, match="perceptron"):
        CRF(algorithm="perceptron").fit(*TRAIN)


def test_what_it_prints() -> None:
    assert repr(CRF()) == "CRF()"
    assert repr(CRF("lbfgs", c1=0.5)) == "CRF(algorithm='lbfgs', c1=0.5)"


# Labels, probabilities and what was learnt


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_trained_alike(algorithm: str) -> None:
    """Both train by themselves; all but lbfgs shuffle the sentences, each in its own way."""
    ours, theirs = (
        kind(algorithm=algorithm, **ALGORITHMS[algorithm]).fit(*TRAIN) for kind in (CRF, sklearn_crfsuite.CRF)
    )
    assert sorted(ours.classes_) == sorted(theirs.classes_)
    if algorithm == "lbfgs":
        a, b = (np.array(metrics.flatten(crf.predict(TEST[0]))) for crf in (ours, theirs))
        assert np.mean(a == b) > 0.995
    assert ours.score(*TEST) > theirs.score(*TEST) - (0.002 if algorithm == "lbfgs" else 0.06)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_trained_twice_the_same(algorithm: str) -> None:
    parameters = ALGORITHMS[algorithm] | {"max_iterations": 3}
    a, b = (CRF(algorithm, **parameters).fit(*TRAIN).modelfile.bytes for _ in range(2))
    assert a == b


def test_the_optimum_is_the_same() -> None:
    """The objective of L-BFGS with L2 has one optimum: weights and probabilities are those of the judge."""
    ours, theirs = (kind(c2=1.0, delta=1e-8, epsilon=1e-7).fit(*TRAIN) for kind in (CRF, sklearn_crfsuite.CRF))
    for name in ("state_features_", "transition_features_"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert set(a) == set(b)
        assert max(abs(a[key] - b[key]) for key in a) < 2e-3
    assert lists(ours.predict(TEST[0])) == lists(theirs.predict(TEST[0]))
    assert ours.attributes_ == theirs.attributes_
    assert ours.num_attributes_ == theirs.num_attributes_


def test_labels_and_probabilities_of_a_model(fitted: CRF, judged: Any) -> None:
    assert lists(fitted.predict(TEST[0])) == lists(judged.predict(TEST[0]))
    for mine, theirs in zip(fitted.predict_marginals(TEST[0]), judged.predict_marginals(TEST[0]), strict=True):
        assert [list(one) for one in mine] == [list(one) for one in theirs]
        for own, other in zip(mine, theirs, strict=True):
            assert list(own.values()) == pytest.approx(list(other.values()), abs=1e-6)


def test_one_sequence_as_many(fitted: CRF) -> None:
    X = TEST[0][:12]
    assert [fitted.predict_single(one) for one in X] == lists(fitted.predict(X))
    for one, many in zip(X, fitted.predict_marginals(X), strict=True):
        for own, other in zip(fitted.predict_marginals_single(one), many, strict=True):
            assert own == pytest.approx(other, abs=1e-6)


def test_what_was_learnt(fitted: CRF, judged: Any) -> None:
    for name in ("classes_", "attributes_", "num_attributes_", "state_features_", "transition_features_", "size_"):
        assert getattr(fitted, name) == getattr(judged, name), name
    assert fitted.size_ == os.path.getsize(fitted.modelfile.name)
    assert fitted.tagger_.labels() == fitted.classes_


def test_an_array_of_lists_whatever_their_lengths(fitted: CRF) -> None:
    one, many = TEST[0][0], TEST[0][:3]
    for X in (many, [one, one], [one], [], [[]]):
        for found in (fitted.predict(X), fitted.predict_marginals(X)):
            assert found.shape == (len(X),)
            assert [(type(row), len(row)) for row in found] == [(list, len(x)) for x in X]


def test_data_of_any_kind(fitted: CRF) -> None:
    def tuples(data: Any) -> Iterator[Any]:
        return (tuple(one) for one in data)

    other = CRF(c1=0.1, c2=0.1, max_iterations=30).fit(tuples(TRAIN[0]), tuples(TRAIN[1]))
    assert other.state_features_ == fitted.state_features_
    assert lists(other.predict(tuples(TEST[0]))) == lists(fitted.predict(TEST[0]))
    assert len(other.predict_marginals(tuples(TEST[0]))) == len(TEST[0])
    assert other.score(tuples(TEST[0]), tuples(TEST[1])) == fitted.score(*TEST)


def test_score_is_the_share_of_right_labels(fitted: CRF, judged: Any) -> None:
    found = [a == b for a, b in zip(metrics.flatten(TEST[1]), metrics.flatten(fitted.predict(TEST[0])), strict=True)]
    assert fitted.score(*TEST) == sum(found) / len(found) == pytest.approx(judged.score(*TEST))
    with pytest.raises(DataError, match="differ in the number"):
        fitted.score(TEST[0], TEST[1][:-1])
    with pytest.raises(DataError, match="no token"):
        fitted.score([], [])


def test_development_data_are_scored() -> None:
    crf = CRF(max_iterations=4).fit(*TRAIN, *TEST)
    last = crf.training_log_.last_iteration
    assert last["num"] == 4
    assert last["item_accuracy_float"] == pytest.approx(crf.score(*TEST), abs=1e-4)
    with pytest.raises(ValueError, match="X_dev and y_dev"):
        CRF().fit(*TRAIN, X_dev=TEST[0])


def test_a_line_per_iteration(capfd: pytest.CaptureFixture[str]) -> None:
    crf = CRF(verbose=True, max_iterations=3).fit(*TRAIN, *TEST)
    shown = [line for line in capfd.readouterr().out.splitlines() if line.startswith("Iter ")]
    assert [line.split()[1] for line in shown] == ["1", "2", "3"]
    assert f"F1={crf.training_log_.last_iteration['avg_f1']:.3f}" in shown[-1]
    CRF(max_iterations=2).fit(*TRAIN)
    assert capfd.readouterr().out == ""


def test_data_that_do_not_belong_together(fitted: CRF) -> None:
    before = fitted.state_features_
    with pytest.raises(DataError, match="X and y have different lengths"):
        fitted.fit(TRAIN[0], TRAIN[1][:-1])
    with pytest.raises(ValueError, match=r"differ|labels"):
        fitted.fit([TRAIN[0][0]], [TRAIN[1][0][:-1]])
    assert fitted.state_features_ == before  # the model is still the one that there was


class Chunker(CRF):
    """As projects derive their estimators: parameters of its own, features made on the way."""

    def __init__(self, window: int = 1, c1: float = 0.2, **more: Any) -> None:
        super().__init__("lbfgs", c1=c1, **more)
        self.window = window

    def made(self, X: Any) -> Any:
        return [[[f"{d}:{one[k + d][0]}" for d in range(-self.window, self.window + 1) if 0 <= k + d < len(one)]
                 for k in range(len(one))] for one in X]  # fmt: skip

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Any:
        return super().fit(self.made(X), y, X_dev, y_dev)

    def predict(self, X: Any) -> Any:
        return super().predict(self.made(X))


def test_subclasses() -> None:
    X, y = (part[:60] for part in load_demo("train"))
    chunker = Chunker(window=2, max_iterations=20)
    assert chunker.get_params() == {"window": 2, "c1": 0.2}
    assert chunker.set_params(window=0).fit(X, y).score(X, y) > 0.6
    assert {name.partition(":")[0] for name in chunker.attributes_} == {"0"}
    assert lists(pickle.loads(pickle.dumps(chunker)).predict(X)) == lists(chunker.predict(X))
    with pytest.raises(UsageError, match="Chunker has no parameter"):
        chunker.set_params(delta=1)


# scikit-learn


def test_clones() -> None:
    from sklearn import base
    from sklearn.utils.validation import check_is_fitted

    crf = CRF(algorithm="ap", max_iterations=3).fit(*TRAIN)
    other = base.clone(crf)
    assert other.get_params() == crf.get_params()
    assert other.tagger_ is None
    assert not base.is_classifier(crf)
    check_is_fitted(crf)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(other)


@pytest.mark.parametrize("kind", ["GridSearchCV", "RandomizedSearchCV"])
def test_searches_find_what_the_judge_finds(kind: str) -> None:
    from scipy import stats
    from sklearn import model_selection as selection
    from sklearn.metrics import make_scorer

    score = make_scorer(metrics.flat_f1_score, average="weighted", zero_division=0)
    found = []
    for estimator in (CRF, sklearn_crfsuite.CRF):
        crf = estimator(max_iterations=15, all_possible_transitions=True)
        if kind == "GridSearchCV":
            search = selection.GridSearchCV(crf, {"c1": [0.01, 30.0]}, cv=2, scoring=score)
        else:
            space = {"c1": stats.expon(scale=0.5), "c2": stats.expon(scale=0.05)}
            search = selection.RandomizedSearchCV(crf, space, cv=2, n_iter=2, scoring=score, random_state=1)
        found.append(search.fit(*TRAIN))
    ours, theirs = found
    assert ours.best_params_ == theirs.best_params_
    assert ours.cv_results_["mean_test_score"] == pytest.approx(theirs.cv_results_["mean_test_score"], abs=0.02)
    assert ours.best_estimator_.classes_


def test_cross_validation_and_pipelines() -> None:
    from joblib import parallel_config
    from sklearn import model_selection as selection
    from sklearn import pipeline, preprocessing

    X, y = (part[:40] for part in load_demo("train"))
    make = preprocessing.FunctionTransformer(lambda data: [[features(one, k) for k in range(len(one))] for one in data])
    steps = pipeline.Pipeline([("features", make), ("crf", CRF(max_iterations=8))])
    steps.set_params(crf__c2=0.5)
    guess = selection.cross_val_predict(steps, X, y, cv=4)
    assert [len(one) for one in guess] == [len(one) for one in y]
    assert metrics.flat_accuracy_score(y, guess) > 0.75
    assert len(selection.cross_val_score(steps, X, y, cv=2, scoring=scorers.sequence_accuracy)) == 2
    made = make.transform(X)
    with parallel_config(backend="threading", n_jobs=2):
        parallel = selection.cross_val_predict(CRF(max_iterations=8, c2=0.5), made, y, cv=4)
    assert lists(parallel) == lists(guess)


def test_without_scikit_learn(tmp_path: Path) -> None:
    """Training and tagging neither need scikit-learn nor load it."""
    (tmp_path / "sklearn.py").write_text("raise ImportError('not here')")
    program = (
        "import sys\nfrom palmette.crfsuite import CRF, metrics, scorers\n"
        "X, y = [[{'a': 1}, {'b': 2}]] * 3, [['A', 'B']] * 3\ncrf = CRF().fit(X, y)\n"
        "assert list(crf.predict(X)) == y and crf.score(X, y) == 1 and 'sklearn' not in sys.modules\n"
        "assert metrics.sequence_accuracy_score(y, crf.predict(X)) == 1\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    made = subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path}, capture_output=True)
    assert made.returncode == 0, made.stderr.decode()
