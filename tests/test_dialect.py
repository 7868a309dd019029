"""One dialect: every estimator has the same verbs with the same meaning, the same errors, parameters, and files."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import palmette
from palmette import HMM, Beam, Classifier, Crf, LanguageModel, LinearClassifier, Mira, Parser, Tagger
from palmette.errors import DataError, ModelError, PalmetteError, UsageError
from palmette.estimators.base import Estimator
from palmette.features import parse

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"], ["a", "dog", "sleeps"]]
LABELS = [["D", "N", "V"]] * 4
TREES = [[(2, "det"), (3, "nsubj"), (0, "root")]] * 4
CLASSES = ["1", "0", "1", "0"]
TEMPLATE = parse("U0:%x[0,0]\n")
ROWS = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]


class Case(NamedTuple):
    """An estimator, its input and its gold; `y` None: it learns from X alone."""

    make: Callable[[], Any]
    X: list[Any]
    y: list[Any] | None
    changed: dict[str, Any]  # parameters that are not the defaults

    @property
    def data(self) -> tuple[Any, ...]:
        return (self.X,) if self.y is None else (self.X, self.y)


CASES = {
    "Tagger": Case(lambda: Tagger("pos", passes=2), WORDS, LABELS, {"features": "pos", "passes": 2}),
    "Parser": Case(
        lambda: Parser("basic", passes=2, search=Beam(4)), WORDS, TREES,
        {"features": "basic", "passes": 2, "search": Beam(4)},
    ),
    "Classifier": Case(
        lambda: Classifier(template=TEMPLATE, passes=2, types=1), WORDS, CLASSES,
        {"template": TEMPLATE, "passes": 2, "types": 1},
    ),
    "LinearClassifier": Case(lambda: LinearClassifier(Crf(l2=0.1)), ROWS, CLASSES, {"learner": Crf(l2=0.1)}),
    "HMM": Case(lambda: HMM(2, rare=0), WORDS, LABELS, {"order": 2, "rare": 0}),
    "LanguageModel": Case(lambda: LanguageModel(2), WORDS, None, {"order": 2}),
}  # fmt: skip
cases = pytest.mark.parametrize("case", list(CASES.values()), ids=list(CASES))
WITH_GOLD = {name: case for name, case in CASES.items() if case.y is not None}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: case.make().fit(*case.data) for name, case in CASES.items()}


def test_every_estimator_is_here() -> None:
    public = {name for name in palmette.__all__ if inspect.isclass(made := getattr(palmette, name))
              and issubclass(made, Estimator)}  # fmt: skip
    assert public == {*CASES, "Pipeline"}  # which makes documents: it is called, and has no one score


# --- verbs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["fit", "predict", "score", "save", "load", "get_params", "set_params"])
@pytest.mark.parametrize("name", list(CASES))
def test_all_verbs_are_there(name: str, verb: str) -> None:
    assert callable(getattr(getattr(palmette, name), verb))


@pytest.mark.parametrize("name", list(CASES))
def test_data_comes_by_position_and_the_rest_by_name(name: str) -> None:
    """`fit(X, y, *, dev=...)`: what is not the data or gold is given by keyword."""
    made = getattr(palmette, name)
    n_data = len(CASES[name].data)
    for verb, most in (
        ("fit", n_data),
        ("predict", 1),
        ("score", n_data + 1),
    ):  # a sample weight is third, as elsewhere
        parameters = list(inspect.signature(getattr(made, verb)).parameters.values())[1:]
        by_position = [each for each in parameters if each.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert len(by_position) <= most, (name, verb, by_position)
        for each in by_position[n_data:]:
            assert each.name == "sample_weight"
        assert all(each.name != "dev" for each in by_position)


@pytest.mark.parametrize("name", list(CASES))
def test_fit_gives_itself_and_predict_one_output_per_input(name: str, fitted: dict[str, Any]) -> None:
    case, made = CASES[name], fitted[name]
    again = case.make()
    assert again.fit(*case.data) is again
    assert len(made.predict(case.X)) == len(case.X)
    assert list(made.predict([])) == []


@pytest.mark.parametrize("name", list(CASES))
def test_scores_are_numbers_and_larger_is_better(name: str, fitted: dict[str, Any]) -> None:
    case, made = CASES[name], fitted[name]
    found = made.score(*case.data)
    assert isinstance(found, float)
    if case.y is None:
        assert found < 0  # a mean log-probability
    else:
        assert 0.5 <= found <= 1
        wrong = case.y[1:] + case.y[:1] if name in ("Classifier", "LinearClassifier") else _wrong(name, case.y)
        assert made.score(case.X, wrong) < found


def _wrong(name: str, y: list[Any]) -> list[Any]:
    if name == "Parser":
        return [[(0, "root"), (1, "det"), (2, "det")]] * len(y)
    return [labels[::-1] for labels in y]


@pytest.mark.parametrize("name", ["Tagger", "Classifier", "LinearClassifier", "Parser"])
def test_development_data_is_a_pair(name: str) -> None:
    case = CASES[name]
    assert case.y is not None
    made = case.make().fit(case.X, case.y, dev=(case.X[:2], case.y[:2]))
    log = made.tagger_.training_log_ if name == "LinearClassifier" else made.training_log_
    assert name == "LinearClassifier" or all(row["dev"] is not None for row in log)


def test_probabilities_mean_the_same(fitted: dict[str, Any]) -> None:
    """`log_probability(X, y)` is log P(y | x) wherever it exists, `log_likelihood` the probability of the words."""
    crf = Tagger("pos", learner=Crf(iterations=5)).fit(WORDS, LABELS)
    for made in (crf, fitted["HMM"]):
        names = made.labels_
        paths = [[a, b] for a in names for b in names]
        found = made.log_probability([["the", "dog"]] * len(paths), paths)
        assert np.exp(found).sum() == pytest.approx(1, rel=1e-5)
    hmm = fitted["HMM"]
    joint = hmm.log_joint(WORDS, LABELS)
    assert [a + b for a, b in zip(hmm.log_likelihood(WORDS), hmm.log_probability(WORDS, LABELS), strict=True)] == (
        pytest.approx(joint)
    )


# --- parameters -------------------------------------------------------------------------------------------------


@cases
def test_parameters_can_be_read_and_set(case: Case) -> None:
    made = case.make()
    params = made.get_params(deep=False)
    assert {name: params[name] for name in case.changed} == case.changed
    assert type(made)().set_params(**params).get_params() == made.get_params()
    with pytest.raises(UsageError, match="no parameter 'nonsense'"):
        made.set_params(nonsense=1)
    with pytest.raises(UsageError, match="no parameter 'nonsense'"):
        type(made)(nonsense=1)
    assert list(inspect.signature(type(made)).parameters)
    if "template" not in case.changed:
        names = {name: getattr(palmette, name) for name in palmette.__all__}
        assert eval(repr(made), names).get_params() == made.get_params()


@cases
def test_scikit_learn_clones_it(case: Case) -> None:
    from sklearn import base

    made = case.make()
    clone = base.clone(made)
    assert clone is not made
    assert clone.get_params() == made.get_params()


def test_grids_reach_into_learners() -> None:
    made = Parser(learner="mira").set_params(learner__nbest=5, search__width=3)
    assert made.learner == Mira(nbest=5)
    assert made.search == Beam(3)
    assert made.get_params()["learner__nbest"] == 5
    both = Classifier().set_params(learner="lclr", learner__inner_rounds=3)
    assert both.get_params()["learner__inner_rounds"] == 3


@cases
def test_wrong_parameters_are_value_errors(case: Case) -> None:
    name, value = ("order", 99) if isinstance(case.make(), HMM | LanguageModel) else ("passes", 0)
    with pytest.raises(ValueError, match=rf"{name}: {value} is not a (whole )?number") as caught:
        case.make().set_params(**{name: value}).fit(*case.data)
    assert isinstance(caught.value, PalmetteError)


@pytest.mark.parametrize("name", list(WITH_GOLD))
def test_wrong_data_is_a_value_error(name: str) -> None:
    case = CASES[name]
    assert case.y is not None
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        case.make().fit(case.X, case.y[:-1])
    assert isinstance(caught.value, PalmetteError)


# --- not trained yet --------------------------------------------------------------------------------------------


@cases
def test_unfitted_use_is_an_error_of_both_kinds(case: Case, tmp_path: Path) -> None:
    from sklearn import exceptions

    made = case.make()
    uses: list[Callable[[], object]] = [
        lambda: made.predict(case.X), lambda: made.score(*case.data), lambda: made.save(tmp_path / "m.palm"),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(exceptions.NotFittedError, match=f"this {type(made).__name__} is not trained yet") as caught:
            use()
        assert isinstance(caught.value, UsageError)
    assert not (tmp_path / "m.palm").exists()


def test_unfitted_use_without_scikit_learn() -> None:
    program = (
        "import sys\nfrom palmette import Tagger\ntry:\n    Tagger().predict([['a']])\nexcept ValueError as error:\n"
        "    print(type(error).__name__, 'sklearn' in sys.modules)\n"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert made.stdout == "UsageError False\n"


# --- files and pickles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CASES))
def test_what_is_saved_is_loaded(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    case, made = CASES[name], fitted[name]
    made.save(tmp_path / "m.palm")
    again = type(made).load(tmp_path / "m.palm")
    assert type(again) is type(made)
    assert list(again.predict(case.X)) == list(made.predict(case.X))
    assert again.score(*case.data) == made.score(*case.data)
    again.save(str(tmp_path / "again.palm"))
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "m.palm").read_bytes()
    copied = pickle.loads(pickle.dumps(made))
    assert list(copied.predict(case.X)) == list(made.predict(case.X))
    assert repr(copied) == repr(made)


@pytest.mark.parametrize("name", list(CASES))
def test_a_file_of_another_kind_is_named(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    """A tagger reads the chain of a linear classifier and of an HMM; everything else is refused."""
    made = fitted[name]
    made.save(tmp_path / "m.palm")
    for other in CASES:
        if other == name or (other == "Tagger" and name in ("HMM", "LinearClassifier")):
            continue
        with pytest.raises(ModelError, match="not a"):
            getattr(palmette, other).load(tmp_path / "m.palm")
    with pytest.raises(DataError, match="no such file"):
        type(made).load(tmp_path / "none.palm")
