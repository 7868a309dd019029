"""Values that are too large: a right model, an error or a warning that says what to do, never a silent failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fitting import epochs

from palmette import Beam, Crf, Latent, LinearClassifier, Tagger
from palmette.errors import DataError, PalmetteError

SIZES = (1e4, 1e6, 1e10, 1e16, 1e20, 1e30, 3e38)
LEARNERS: dict[str, dict[str, Any]] = {
    **{name: {"learner": name} for name in ("perceptron", "probperc", "mira", "pa", "arow", "crf", "maxent")},
    "sgd": {"learner": Crf(optimiser="sgd")},
    "adagrad": {"learner": Crf(optimiser="adagrad")},
    "l1": {"learner": Crf(l1=0.1)},
    "dplvm": {"learner": "dplvm", "states": Latent(2)},
    "mira by beam": {"learner": "mira", "search": Beam(4)},
    "perceptron by beam": {"search": Beam(4)},
}


def rows(size: float) -> tuple[list[list[dict[str, float]]], list[list[str]]]:
    """Two words of each sentence tell their label, by attributes of this size."""
    X = [[{"a": size, "b": size / 1e3}, {"b": size}], [{"c": size}, {"a": size}]] * 10
    return X, [["N", "V"], ["D", "N"]] * 10


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(LEARNERS))
def test_large_values_are_learnt_or_reported(name: str, size: float, logged: list[str]) -> None:
    X, y = rows(size)
    tagger, problem = Tagger(**LEARNERS[name] | epochs(30, LEARNERS[name].get("learner", "perceptron"))), ""
    try:
        tagger.fit(X, y)
    except PalmetteError as error:
        problem = str(error)
    if problem:
        assert "scale the values" in problem
        return
    warned = any("scale the values" in message for message in logged)
    blocks = [part.w for part in (*tagger.model_.chain.transitions, *tagger.model_.chain.weights)]
    assert all(np.isfinite(block).all() for block in blocks)
    assert warned or tagger.score(X, y) == 1.0


@pytest.mark.parametrize("name", ["mira", "pa"])
@pytest.mark.parametrize("exponent", [15, 20, 33, 60, 90])
def test_margin_steps_scale_with_the_values(name: str, exponent: int) -> None:
    """A step is loss / |x|^2 times x: with values c times as large, the weights of attributes are 1 / c as large. (From
    16 on no step reaches its cap.)"""

    def weights(size: float) -> np.ndarray:
        tagger = Tagger(learner=name, passes=5, order=0, ends=False).fit(*rows(size))
        return np.sort(tagger.model_.chain.weights[0].w.ravel()) * size

    expected = weights(16.0)
    assert expected.any()
    np.testing.assert_allclose(weights(2.0**exponent), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [1e20, 1e30])
@pytest.mark.parametrize("learner", ["crf", "maxent"])
def test_a_likelihood_without_a_step_is_an_error(learner: str, size: float) -> None:
    with pytest.raises(DataError, match=r"no step .*\n  scale the values"):
        Tagger(learner=learner).fit(*rows(size))


def test_a_linear_classifier_reports_too() -> None:
    with pytest.raises(DataError, match="scale the values"):
        LinearClassifier().fit([[1e30, 1.0], [1.0, 1e30]] * 5, ["x", "y"] * 5)


def test_resuming_from_an_optimum_is_no_error() -> None:
    X, y = rows(1.0)
    tagger = Tagger(learner="crf").fit(X, y)
    before = tagger.predict_scored(X)[0]
    assert tagger.partial_fit(X, y).partial_fit(X, y).predict_scored(X)[0] == before


@pytest.mark.parametrize("optimiser", ["sgd", "adagrad"])
def test_steps_that_are_too_large_are_an_error(optimiser: str) -> None:
    """Words without values: weights overflow by the rate alone."""
    X = [["a", "b"], ["b", "c", "a"]] * 10
    y = [["N", "V"], ["V", "D", "N"]] * 10
    with pytest.raises(DataError, match="choose a smaller rate"):
        Tagger("pos", learner=Crf(optimiser=optimiser, rate=1e38, l2=0.0), passes=20).fit(X, y)


def test_ordinary_values_are_not_reported(logged: list[str]) -> None:
    for options in LEARNERS.values():
        Tagger(**options | epochs(5, options.get("learner", "perceptron"))).fit(*rows(1.0))
    assert not any("scale" in message for message in logged)
