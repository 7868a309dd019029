"""The bounds of the learners over the n best paths, measured: see nbest_bounds.py for what they say and why."""

from __future__ import annotations

import math

import pytest
from learners import PathRunner
from nbest_bounds import (
    comparator,
    margin_bound,
    mira,
    on_errors,
    on_errors_perceptron,
    pa,
    printed_bound,
    probperc_bound,
    radius,
    run,
    small_problem,
)
from test_theorems import SEEDS, mistakes, plain, separable, with_noise

from palmette import ProbPerc

ORDERS = [0, 1, 2]
PASSES = 1000


# --- probPerc -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "rate"), [(1, 1.0), (3, 1.0), (3, 0.1), (10, 0.02)])
def test_probperc_on_errors_ends_within_its_bound(order: int, seed: int, n: int, rate: float) -> None:
    problem = separable(order, seed, 3)
    made = run(problem, on_errors(n, rate), seed, PASSES)
    assert made.clean
    assert 0 < made.updates == made.mistakes
    assert made.updates <= probperc_bound(problem, rate, n)
    assert made.updates <= printed_bound(problem)  # on these data, though not on all: see below


@pytest.mark.parametrize("order", ORDERS)
def test_without_candidates_to_share_with_it_is_the_perceptron(order: int) -> None:
    problem = separable(order, 1, 2)
    made = run(problem, on_errors_perceptron(), 1, PASSES)
    assert made.updates == sum(mistakes(plain(problem, {}), 1))
    assert 0 < made.updates <= printed_bound(problem)


def test_the_printed_bound_does_not_hold_everywhere() -> None:
    """Three examples, three labels, a separator with d^2 = 225 / 3870: R^2 / d^2 is 206, and there are more updates.
    With a small rate the list stays nearly uniform, so that paths below gold are pushed as well as those above it."""
    rate, n = 0.01, 3
    made = run(small_problem(), on_errors(n, rate), 1, PASSES, shuffle=False)
    assert printed_bound(small_problem()) == pytest.approx(12 * 3870 / 225)
    assert made.clean
    assert 1.5 * printed_bound(small_problem()) < made.updates <= probperc_bound(small_problem(), rate, n)
    assert run(small_problem(), on_errors_perceptron(), 1, PASSES, shuffle=False).updates < 206


def test_always_updating_never_ends() -> None:
    """The step of a right guess is small, and never nothing: no bound on updates exists."""
    problem = separable(1, 1, 2)
    always = PathRunner(ProbPerc(rate=0.5, rate_schedule="constant").rule(1))
    made = run(problem, always, 1, 50)
    assert made.updates == 50 * len(problem.sentences)
    assert 0 < made.mistakes <= printed_bound(problem)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_first_pass_on_inseparable_data(order: int, seed: int) -> None:
    """Printed: (R + D)^2 / d^2. Proven: with R^2 + (2 / g) ln(N - 1) in the place of R^2, and twice that."""
    problem = with_noise(separable(order, seed, n=600), seed, 8)
    n, rate = 3, 1.0
    distances, R = problem.distances, radius(problem)
    assert min(distances) < 0
    wide = math.sqrt(R * R + 2 / rate * math.log(n))

    def least(size: float) -> float:
        lacks = ((d, math.sqrt(sum(max(0.0, d - x) ** 2 for x in distances))) for d in (k / 100 for k in range(1, 200)))
        return min((size + lack) ** 2 / d**2 for d, lack in lacks)

    made = run(problem, on_errors(n, rate), seed, 1)
    assert 0 < made.mistakes <= 2 * least(wide)
    assert made.mistakes <= least(R) < 600  # of 600 sentences, so that it says something


# --- margins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["PA", "PA-II"])
def test_the_squared_losses_of_pa(order: int, seed: int, kind: str) -> None:
    """sum of loss^2 <= R^2 |u|^2; for PA-II R^2 + 1 / 2C. Each wrong guess has a loss of 1 at least."""
    C = 0.1
    problem = separable(order, seed, 2)
    made = run(problem, pa(kind, C), seed, 12, losses=True)
    size = radius(problem) ** 2 + (0.5 / C if kind == "PA-II" else 0.0)
    assert 0 < made.mistakes <= made.updates
    assert made.mistakes <= made.squares <= size * comparator(problem)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("C", [0.5, 0.02])
def test_wrong_guesses_of_mira_and_pa(order: int, seed: int, C: float) -> None:
    problem = separable(order, seed, 3)
    bound = margin_bound(problem, C)
    for rule in (pa("PA-I", C), mira(1, C), mira(4, C)):
        made = run(problem, rule, seed, 60)
        assert 0 < made.mistakes <= bound
        assert made.mistakes <= made.updates
