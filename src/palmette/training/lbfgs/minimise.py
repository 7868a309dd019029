"""Batch learning: minimise a function of millions of weights by L-BFGS, and with an L1 term by OWL-QN (Andrew & Gao
2007).

`l1 * sum |w|` has a kink at zero. Inside an orthant (fixed signs) it is linear, so each iteration of OWL-QN picks an
orthant by the pseudo-gradient, moves as if the function were smooth, and sets coordinates that would leave the orthant
to zero.

Vectors are float32, of which it keeps 2 * memory + 3: the curvature pairs, the point, its gradient and the direction.
A trial and its gradient are in the place of the next pair. Sums are float64, and do not depend on the number of
threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError, counted
from palmette.kernels.lbfgs.vectors import Place, absorb, combine, measure, move, survey
from palmette.training.lbfgs.curvature import History
from palmette.training.lbfgs.line_search import MOST_TRIALS, Trial, backtrack, strong_wolfe
from palmette.training.lbfgs.passes import over_blocks
from palmette.training.workers import Workers

MEMORY = 6  # curvature pairs, as in CRFsuite
PERIOD = 10  # iterations over which the decrease is measured, as in CRFsuite

ENDINGS = {
    "gradient": "converged: the gradient is small enough",
    "decrease": f"converged: the objective hardly decreased in the last {PERIOD} iterations",
    "iterations": "stopped without convergence: the number of iterations was reached",
    "report": "stopped on request",
    "no step": "converged: no step decreases the objective at this precision",
}

# function(w f32[n], gradient f32[n]) -> value; it fills the gradient, and must not keep or change w.
Function = Callable[[np.ndarray, np.ndarray], float]


class Iteration(NamedTuple):
    """The search after an iteration."""

    number: int
    value: float  # L1 term included
    norm: float  # of the (pseudo-)gradient
    evaluations: int  # so far
    point: np.ndarray  # f32[n]  the one that the function was called with last
    step: float  # along the direction
    length: float  # of the point


Report = Callable[[Iteration], bool | None]  # True to stop here


def bytes_needed(n: int, memory: int = MEMORY) -> int:
    """Memory that the search takes for n weights."""
    return 4 * n * (2 * memory + 3)


class Result(NamedTuple):
    """The best point found, and how it was found."""

    point: np.ndarray  # f32[n]
    value: float  # L1 term included
    norm: float  # of the (pseudo-)gradient
    iterations: int
    evaluations: int
    ending: str  # a key of ENDINGS
    values: list[float]  # at the start and after each iteration
    first_norm: float  # of the gradient at the start

    @property
    def converged(self) -> bool:
        """Whether one of the two tests of convergence ended it."""
        return self.ending in ("gradient", "decrease")

    def ended(self) -> str:
        """How it ended, in words."""
        if self.ending != "iterations" or not self.iterations:
            return ENDINGS[self.ending]
        last = min(PERIOD, self.iterations)
        before, now = self.values[-1 - last], self.values[-1]
        fell = 100.0 * (before - now) / max(abs(before), 1e-300)
        share = "less than 0.0001" if fell < 1e-4 else f"{fell:.2g}" if fell < 99.5 else f"{fell:.0f}"
        done, over = counted(self.iterations, "iteration"), "iteration" if last == 1 else f"{last} iterations"
        return f"stopped after {done} without convergence (the objective still fell by {share}% in the last {over})"


def minimise(
    function: Function,
    start: np.ndarray,
    *,
    l1: float = 0.0,
    memory: int = MEMORY,
    iterations: int = 500,
    tolerance: float = 1e-5,
    gradient_tolerance: float = 1e-5,
    period: int = PERIOD,
    trials: int = MOST_TRIALS,
    report: Report | None = None,
    workers: Workers | None = None,
) -> Result:
    """The point where `function(w) + l1 * sum |w|` is smallest; `function` is smooth and holds any L2 term.

    It ends when one of these holds, the tests of CRFsuite (its `delta` with `period`, and its `epsilon`):

    - the value decreased by at most `tolerance` times its size in the last `period` iterations (0: no such test);
    - the norm of the (pseudo-)gradient is at most `gradient_tolerance * max(1, norm of w)`.

    With a tolerance of 0 the first means that there was no decrease at all. A line search has at most `trials`.
    """
    _check(start, l1, memory, iterations, tolerance, gradient_tolerance)
    walk = _Walk(function, start, l1, memory, workers or Workers(), trials)
    del start  # if nobody else has it, its memory is free
    values, first_norm = [walk.value], walk.norm

    def ended() -> str | None:
        if walk.norm <= gradient_tolerance * max(1.0, walk.length):
            return "gradient"
        if 0 < period < len(values) and values[-1 - period] - values[-1] <= tolerance * abs(values[-1]):
            return "decrease"
        return "iterations" if len(values) > iterations else None

    while (ending := ended()) is None:
        if not walk.advance():
            ending = "no step"
            break
        values.append(walk.value)
        if report is not None and report(walk.after(len(values) - 1)):
            ending = "report"
            break
    return Result(walk.point, walk.value, walk.norm, len(values) - 1, walk.evaluations, ending, values, first_norm)


class _Walk:
    """The state of the search: `point`, its `value`, `gradient` of the smooth part, `norm` of the whole gradient,
    `length` and L1 norm (`absolute`) of the point."""

    def __init__(
        self, function: Function, start: np.ndarray, l1: float, memory: int, workers: Workers, trials: int
    ) -> None:
        self.function, self.l1, self.workers, self.trials = function, l1, workers, trials
        self.evaluations = 0
        self.point = np.array(start, dtype=np.float32)
        self.gradient = np.zeros_like(self.point)
        self.direction = np.zeros_like(self.point)
        self.at = Place(self.point, self.gradient, float(l1))
        self.history = History(memory, self.point.size)
        self.absolute = float(np.abs(self.point, dtype=np.float64).sum()) if l1 else 0.0
        self.value = self._evaluate(self.point, self.gradient) + l1 * self.absolute
        self._note(self._over(lambda sums, a, b: survey(self.at, sums, a, b), 2))
        if not (math.isfinite(self.value) and math.isfinite(self.norm)):
            raise UsageError(
                f"the objective is {self.value} and the norm of its gradient {self.norm} at the start; "
                "scale the values of attributes down, or start from other weights"
            )

    def advance(self) -> bool:
        """Run one iteration; False if no step decreases the value."""
        better = self._search()
        if better is None and self.history.slots:  # the curvature pairs are misleading: try the steepest descent
            self.history.forget()
            better = self._search()
        if better is None:
            return False
        history = self.history
        used = history.used
        sums = self._over(
            lambda sums, a, b: absorb(self.at, history.rows, used, history.slot, sums, a, b), 4 * used + 2
        )
        history.close(sums[: 2 * used], sums[2 * used : 4 * used], self.l1 == 0.0)
        self.value, self.absolute = better.value, self.looked_at.absolute
        self._note(sums[4 * used :])
        return True

    def after(self, number: int) -> Iteration:
        """The state for a report."""
        return Iteration(number, self.value, self.norm, self.evaluations, self.point, self.looked_at.step, self.length)

    def _search(self) -> Trial | None:
        """Move the trial of the history to a better point, with its gradient."""
        slope, first = self._choose_direction(), 1.0 if self.history.slots else 1.0 / self.norm
        if not slope < 0.0:
            return None
        self.history.open()
        if self.l1:
            return backtrack(self._look_in_orthant, self.value, first, self.trials)
        better = strong_wolfe(self._look, self.value, slope, first, self.trials)
        if better is not None and better.step != self.looked_at.step:  # the trials ran out: go back to the best one
            return self._look(better.step)
        return better

    def _choose_direction(self) -> float:
        """Fill `direction`; the slope along it."""
        share, of_lead = self.history.combination()
        rows, direction = self.history.rows, self.direction
        return float(self._over(lambda sums, a, b: combine(self.at, rows, share, of_lead, direction, sums, a, b), 1)[0])

    def _look(self, step: float) -> Trial:
        """The smooth function at a step."""
        value, sums = self._try(step)
        self.looked_at = _Looked(step, 0.0)
        return Trial(step, value, float(sums[0]))

    def _look_in_orthant(self, step: float) -> Trial:
        """The whole function at a step, projected on the orthant, where the L1 term is linear along the move."""
        value, (along, promised, absolute) = self._try(step)
        self.looked_at = _Looked(step, float(absolute))
        slope = float(along + self.l1 * (absolute - self.absolute))
        whole = value + self.l1 * float(absolute)
        return Trial(step, whole if math.isfinite(slope) else math.inf, slope, float(promised))

    def _try(self, step: float) -> tuple[float, np.ndarray]:
        """Move the trial: the smooth part there, and the sums of `measure`."""
        trial, found = self.history.trial, self.history.found
        self._over(lambda sums, a, b: move(self.at, self.direction, step, trial, a, b), 0)
        value = self._evaluate(trial, found)
        sums = self._over(lambda sums, a, b: measure(self.at, self.direction, trial, found, sums, a, b), 3)
        return value, sums

    def _evaluate(self, point: np.ndarray, gradient: np.ndarray) -> float:
        self.evaluations += 1
        return float(self.function(point, gradient))

    def _note(self, squares: np.ndarray) -> None:
        self.norm, self.length = (math.sqrt(square) for square in squares)

    def _over(self, work: Callable[[np.ndarray, int, int], None], columns: int) -> np.ndarray:
        return over_blocks(self.workers, self.point.size, work, columns)


class _Looked(NamedTuple):
    """The last trial of a search."""

    step: float
    absolute: float  # its L1 norm, if there is an L1 term


def _check(
    start: np.ndarray, l1: float, memory: int, iterations: int, tolerance: float, gradient_tolerance: float
) -> None:
    if np.ndim(start) != 1:
        raise UsageError(f"start: an array of {np.ndim(start)} dimensions; expected one")
    for name, size in (("l1", l1), ("tolerance", tolerance), ("gradient-tolerance", gradient_tolerance)):
        if not (math.isfinite(size) and size >= 0.0):
            raise UsageError(f"{name}: {size} is not a finite number of at least 0")
    for name, count, least in (("memory", memory, 1), ("iterations", iterations, 0)):
        if count < least:
            raise UsageError(f"{name}: {count}; at least {least}")
