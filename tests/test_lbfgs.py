"""L-BFGS and OWL-QN: against SciPy, against the definitions, and at the edges."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import UsageError
from palmette.kernels.learning.lbfgs import BLOCK
from palmette.training import Workers
from palmette.training import minimise as minimise_single
from palmette.training.lbfgs import (
    CURVATURE,
    ENDINGS,
    MEMORY,
    NOISE,
    PERIOD,
    SUFFICIENT,
    StepTrial,
    bytes_needed,
    strong_wolfe,
)

SHARP = {"tolerance": 0.0, "gradient_tolerance": 1e-9, "iterations": 2000}


def minimise(function, start, **settings):
    """Of a function that returns its value and its gradient, in float64."""

    def fill(w, gradient):
        value, gradient[:] = function(w.astype(np.float64))
        return value

    result = minimise_single(fill, start, **settings)
    return result._replace(point=result.point.astype(np.float64))


def quadratic(w):
    """A narrow bowl around 1, 2, 3, ..."""
    away = w - np.arange(1.0, len(w) + 1)
    steep = np.logspace(0, 3, len(w))
    return 0.5 * float(np.sum(steep * away**2)), steep * away


def rosenbrock(w):
    a, b = w[:-1], w[1:]
    gradient = np.zeros_like(w)
    gradient[:-1] = -400.0 * a * (b - a**2) - 2.0 * (1.0 - a)
    gradient[1:] += 200.0 * (b - a**2)
    return float(np.sum(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2)), gradient


def logistic(l2=0.0, rows=120, columns=30, seed=5):
    """Logistic regression on data of which a few columns matter; the last column is always zero."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, columns))
    truth = np.where(np.arange(columns) < 5, random.normal(size=columns) * 3.0, 0.0)
    sign = np.where(x @ truth + random.normal(size=rows) > 0.0, 1.0, -1.0)
    x[:, -1] = 0.0

    def function(w):
        margin = sign * (x @ w)
        value = float(np.logaddexp(0.0, -margin).sum()) + l2 * float(w @ w)
        return value, -(x.T @ (sign / (1.0 + np.exp(margin)))) + 2.0 * l2 * w

    return function


def scipy_optimum(function, start, bounds=None):
    from scipy import optimize

    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30}
    return optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


def scipy_optimum_l1(function, n, l1):
    """w = u - v with u, v >= 0: the L1 term becomes linear, and the bounds do the rest."""

    def split(uv):
        value, gradient = function(uv[:n] - uv[n:])
        return value + l1 * float(uv.sum()), np.concatenate((gradient + l1, l1 - gradient))

    uv = scipy_optimum(split, np.zeros(2 * n), bounds=[(0.0, None)] * (2 * n))
    return uv[:n] - uv[n:]


@pytest.mark.parametrize(
    ("function", "start"),
    [
        (quadratic, np.zeros(50)),
        (rosenbrock, np.array([-1.2, 1.0])),
        (rosenbrock, np.full(10, 0.5)),
        (logistic(l2=0.5), np.zeros(30)),
        (logistic(l2=0.1), np.ones(30)),
    ],
    ids=["quadratic", "rosenbrock2", "rosenbrock10", "logistic", "weaker-l2"],
)
def test_smooth_optimum_is_that_of_scipy(function, start):
    result = minimise(function, start, **SHARP)
    np.testing.assert_allclose(result.point, scipy_optimum(function, start), atol=1e-6, rtol=1e-6)
    assert result.value == function(result.point)[0]
    assert result.norm == pytest.approx(np.linalg.norm(function(result.point)[1]), rel=1e-6)


def test_ill_conditioned_value_is_that_of_scipy():
    """Here the point is only known to about six digits: the value is flat in some directions."""
    function = logistic(l2=1e-3)
    result = minimise(function, np.ones(30), **SHARP)
    assert result.value == pytest.approx(function(scipy_optimum(function, np.ones(30)))[0], rel=1e-12)


@pytest.mark.parametrize("l1", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("l2", [0.05, 1.0])
def test_l1_optimum_is_that_of_split_variables(l1, l2):
    function = logistic(l2)
    result = minimise(function, np.zeros(30), l1=l1, **SHARP)
    np.testing.assert_allclose(result.point, scipy_optimum_l1(function, 30, l1), atol=1e-5)


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (2.0, 0.0), (2.0, 0.3), (8.0, 0.3)])
def test_l1_optimum_meets_its_conditions(l1, l2):
    function = logistic(l2)
    result = minimise(function, np.full(30, 0.3), l1=l1, **SHARP)
    w, gradient = result.point, function(result.point)[1]
    zero = w == 0.0
    assert 0 < zero.sum() < 30
    assert (np.abs(gradient[zero]) <= l1 + 1e-4).all()
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(w[~zero]), atol=1e-4)
    assert result.value == pytest.approx(function(w)[0] + l1 * np.abs(w).sum(), rel=1e-12)


def test_l1_of_a_separable_bowl_is_soft_thresholding():
    centre = np.array([3.0, -2.0, 0.5, -0.5, 0.0, 1.0])
    result = minimise(lambda w: (0.5 * float((w - centre) @ (w - centre)), w - centre), np.zeros(6), l1=1.0, **SHARP)
    np.testing.assert_allclose(result.point, [2.0, -1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert (result.point[2:] == 0.0).all()


def test_l1_so_large_that_nothing_is_left():
    result = minimise(logistic(), np.ones(30), l1=1e4, **SHARP)
    assert (result.point == 0.0).all()
    assert result.ending == "gradient"
    assert result.norm == 0.0


def test_values_fall_and_are_counted():
    for l1 in (0.0, 1.0):
        result = minimise(logistic(0.1), np.zeros(30), l1=l1, **SHARP)
        assert (np.diff(result.values) <= NOISE * np.abs(result.values[:-1])).all()
        assert result.values[-1] < result.values[0]
        assert len(result.values) == result.iterations + 1
        assert result.values[-1] == result.value
        assert result.evaluations > result.iterations
        assert result.ending in ENDINGS


@pytest.mark.parametrize(("l1", "near"), [(0.0, 5e-6), (1.0, 5e-7)])
def test_slopes_lead_on_where_values_are_noise(l1, near):
    """Values with an error of 1e-9 of their size and exact gradients; by values alone it ends up to ten times as far
    from the optimum, and a hundred times with L1."""
    exact, random = logistic(0.1), np.random.default_rng(3)

    def noisy(w):
        value, gradient = exact(w)
        return value * (1.0 + 1e-9 * random.uniform(-1.0, 1.0)), gradient

    best = minimise(exact, np.zeros(30), l1=l1, **SHARP)
    found = minimise(noisy, np.zeros(30), l1=l1, **SHARP)
    assert np.abs(found.point - best.point).max() < near


def test_few_evaluations():
    """A Wolfe search on a smooth function takes the first step nearly always."""
    result = minimise(logistic(0.5), np.zeros(30), gradient_tolerance=1e-6, tolerance=0.0)
    assert result.ending in ("gradient", "decrease")
    assert result.evaluations <= 1.3 * result.iterations + 5


def test_start_at_the_optimum():
    result = minimise(quadratic, np.arange(1.0, 6.0))
    assert (result.ending, result.iterations, result.evaluations) == ("gradient", 0, 1)
    np.testing.assert_array_equal(result.point, np.arange(1.0, 6.0))


@pytest.mark.parametrize("l1", [0.0, 0.25])
def test_one_weight(l1):
    result = minimise(lambda w: (float((w[0] - 3.0) ** 2), 2.0 * (w - 3.0)), np.zeros(1), l1=l1, **SHARP)
    assert result.point[0] == pytest.approx(3.0 - l1 / 2.0, abs=1e-8)


def test_no_weights():
    result = minimise(lambda w: (1.5, w), np.zeros(0))
    assert (result.ending, result.value) == ("gradient", 1.5)


def test_flat_function():
    result = minimise(lambda w: (7.0, np.zeros_like(w)), np.ones(4))
    assert (result.ending, result.value, result.evaluations) == ("gradient", 7.0, 1)
    np.testing.assert_array_equal(result.point, np.ones(4))


def test_weights_without_gradient_stay_where_they_are():
    result = minimise(logistic(), np.full(30, 0.25), iterations=20)
    assert result.point[-1] == 0.25
    assert (minimise(logistic(), np.zeros(30), l1=1.0, **SHARP).point[-1]) == 0.0


def test_report_hears_of_each_iteration_and_stops():
    heard = []

    def report(done):
        assert rosenbrock(done.point)[0] == pytest.approx(done.value)
        assert done.length == pytest.approx(np.linalg.norm(done.point))
        heard.append((done.number, done.value, done.norm, done.evaluations))
        return done.number == 3

    result = minimise(rosenbrock, np.array([-1.2, 1.0]), report=report)
    assert [row[0] for row in heard] == [1, 2, 3]
    assert heard[-1] == (3, result.value, result.norm, result.evaluations)
    assert [row[1] for row in heard] == result.values[1:]
    assert (result.ending, result.iterations) == ("report", 3)
    assert result.value == rosenbrock(result.point)[0]
    assert result.ending not in ("gradient", "decrease")


def test_iterations_are_a_limit():
    result = minimise(rosenbrock, np.array([-1.2, 1.0]), iterations=4)
    assert (result.ending, result.iterations) == ("iterations", 4)
    assert minimise(rosenbrock, np.array([-1.2, 1.0]), iterations=0).evaluations == 1


def test_decrease_ends_it_at_the_first_window_that_is_flat():
    result = minimise(logistic(1e-3), np.zeros(30), tolerance=1e-2, gradient_tolerance=0.0)
    decrease = [(a - b) / b for a, b in zip(result.values, result.values[PERIOD:], strict=False)]
    assert result.ending == "decrease"
    assert decrease[-1] <= 1e-2 < min(decrease[:-1], default=math.inf)


def test_gradient_tolerance_is_relative_to_the_weights():
    result = minimise(quadratic, np.zeros(50), tolerance=0.0, gradient_tolerance=1e-4)
    assert result.ending == "gradient"
    assert 1e-6 < result.norm <= 1e-4 * np.linalg.norm(result.point)


def test_a_wrong_gradient_is_told():
    result = minimise(lambda w: (float(w @ w), -2.0 * w), np.ones(3))
    assert (result.ending, result.iterations) == ("no step", 0)
    np.testing.assert_array_equal(result.point, np.ones(3))


@pytest.mark.parametrize("start", [2.0, 2.1, 2.3, 5.0])
def test_best_step_is_taken_where_the_slope_never_flattens(start):
    """At a kink the trials of a search run out, and the last one need not be the best."""

    def function(w):
        away = float(w[0]) - 1.0 / 3.0
        return max(away, -3.0 * away), np.array([1.0 if away > 0.0 else -3.0])

    result = minimise(function, np.array([start]), iterations=1)
    assert result.iterations == 1
    assert result.value == function(result.point)[0]
    assert result.value < 1e-2


@pytest.mark.parametrize("l1", [0.0, 1e-9])
def test_search_ends_where_rounding_hides_the_decrease(l1):
    result = minimise(lambda w: (1e12 + 0.5 * float(w @ w), w.copy()), np.full(2, 1e-3), l1=l1, gradient_tolerance=0.0)
    assert result.ending in ("no step", "gradient")
    assert result.evaluations <= 5
    assert np.abs(result.point).max() <= np.float32(1e-3)


@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("broken", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("in_gradient", [False, True])
@pytest.mark.parametrize("start", [[1e-3, 0.999, 0.3], [0.9]])
def test_line_search_backs_off_from_what_is_not_finite(l1, broken, in_gradient, start):
    """-log w - log(1 - w), which is not there outside of (0, 1)."""

    def function(w):
        if not ((w > 0.0) & (w < 1.0)).all():
            return (-1e9, np.full_like(w, broken)) if in_gradient else (broken, np.zeros_like(w))
        return float(-np.log(w).sum() - np.log(1.0 - w).sum()), 1.0 / (1.0 - w) - 1.0 / w

    result = minimise(function, np.array(start), l1=l1, **SHARP)
    np.testing.assert_allclose(result.point, 0.5, atol=1e-6 if l1 == 0.0 else 1e-2)


@pytest.mark.parametrize(("value", "slope"), [(np.nan, 0.0), (np.inf, 0.0), (0.0, np.nan), (0.0, np.inf)])
def test_start_that_is_not_finite(value, slope):
    with pytest.raises(UsageError, match="at the start"):
        minimise(lambda w: (value, np.full_like(w, slope)), np.zeros(3), l1=1.0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"l1": -1.0}, "l1: -1.0"),
        ({"l1": math.nan}, "l1: nan"),
        ({"memory": 0}, "memory: 0"),
        ({"iterations": -1}, "iterations: -1"),
        ({"tolerance": -1e-3}, "tolerance"),
        ({"gradient_tolerance": math.inf}, "gradient-tolerance"),
        ({"start": np.zeros((2, 2))}, "2 dimensions"),
    ],
)
def test_wrong_arguments(setting, message):
    with pytest.raises(UsageError, match=message):
        minimise(quadratic, setting.pop("start", np.zeros(3)), **setting)


def test_start_is_left_alone():
    start = np.ones(30)
    for l1 in (0.0, 1.0):
        minimise(logistic(0.1), start, l1=l1)
    np.testing.assert_array_equal(start, np.ones(30))


def long_function(n):
    """A convex function of n weights that do not depend on each other."""
    centre = np.random.default_rng(3).normal(size=n)

    def function(w):
        away = w - centre
        return float(np.sum(np.sqrt(1.0 + away**2) + 0.1 * w**2)), away / np.sqrt(1.0 + away**2) + 0.2 * w

    return function


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_number_of_threads_does_not_matter(l1, monkeypatch):
    monkeypatch.setattr("palmette.training.lbfgs.FEWEST", 1)
    n, settings = 5 * BLOCK + 1, {"iterations": 8, "tolerance": 0.0, "gradient_tolerance": 0.0}
    found = set()
    for threads in (1, 2, 3):
        result = minimise(long_function(n), np.zeros(n), l1=l1, workers=Workers(threads), **settings)
        found.add((result.point.tobytes(), result.value, result.norm))
    assert len(found) == 1


def test_memory_is_that_of_the_pairs_and_three_vectors():
    """Tables of sums and the like take a little more; a trial and its gradient take none of their own."""
    n = 20 * BLOCK
    shared = np.ones(n, np.float32)

    def function(w, gradient):
        np.subtract(w, shared, out=gradient)
        np.multiply(gradient, shared, out=gradient)
        return float(np.dot(gradient, gradient)) / 2

    tracemalloc.start()
    minimise_single(function, np.zeros(n, np.float32), iterations=3 * MEMORY, gradient_tolerance=0.0, tolerance=0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bytes_needed(n) <= peak < 1.1 * bytes_needed(n)


@given(
    a=st.floats(-3.0, 3.0),
    b=st.floats(0.1, 5.0),
    first=st.sampled_from([1e-6, 1e-3, 1.0, 10.0, 1e4]),
)
def test_accepted_step_meets_the_strong_wolfe_conditions(a, b, first):
    """On b t^2 - 4 t + a sin t, which starts downhill and is bounded below."""

    def look(step):
        return StepTrial(step, b * step**2 - 4.0 * step + a * math.sin(step), 2.0 * b * step - 4.0 + a * math.cos(step))

    start = look(0.0)
    found = strong_wolfe(look, start.value, start.slope, first)
    assert found is not None
    assert found == look(found.step)
    assert found.value <= start.value + SUFFICIENT * found.step * start.slope
    assert abs(found.slope) <= -CURVATURE * start.slope
