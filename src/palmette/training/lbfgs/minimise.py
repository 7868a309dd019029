"""Batch learning: minimise a function of millions of weights by L-BFGS, and with an L1 term by OWL-QN.

Besides the gradient that the function itself holds, it keeps 2 * memory + 4 vectors: the curvature pairs, the point,
its gradient, the direction and the trial; OWL-QN also the pseudo-gradient. The result does not depend on the number
of threads of BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.training.lbfgs.blocks import absolute_sum, blocks, dot
from palmette.training.lbfgs.curvature import History, Place
from palmette.training.lbfgs.line_search import Trial, backtrack, strong_wolfe
from palmette.training.lbfgs.orthant import align, project, pseudo_gradient

PERIOD = 10  # iterations over which the decrease is measured, as in CRFsuite

ENDINGS = {
    "gradient": "converged: the gradient is small enough",
    "decrease": f"converged: the objective hardly decreased in the last {PERIOD} iterations",
    "iterations": "stopped: the number of iterations was reached",
    "report": "stopped on request",
    "no step": "converged: no step decreases the objective at this precision",
}

# function(w f64[n]) -> value, gradient f64[n]. It must not keep or change w; it may use its gradient's memory again.
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
# report(iteration, value, norm of the (pseudo-)gradient, evaluations so far, point) -> True to stop here.
Report = Callable[[int, float, float, int, np.ndarray], bool | None]


class Result(NamedTuple):
    """The best point found, and how it was found."""

    point: np.ndarray  # f64[n]
    value: float  # L1 term included
    norm: float  # of the (pseudo-)gradient
    iterations: int
    evaluations: int
    ending: str  # a key of ENDINGS
    values: list[float]  # at the start and after each iteration

    @property
    def converged(self) -> bool:
        """Whether one of the two tests of convergence ended it."""
        return self.ending in ("gradient", "decrease")


def minimise(
    function: Function,
    start: np.ndarray,
    *,
    l1: float = 0.0,
    memory: int = 10,
    iterations: int = 500,
    tolerance: float = 1e-5,
    gradient_tolerance: float = 1e-5,
    report: Report | None = None,
) -> Result:
    """The point where `function(w) + l1 * sum |w|` is smallest; `function` is smooth and holds any L2 term.

    It ends when one of these holds, the tests of CRFsuite (its `delta` with `period` 10, and its `epsilon`):

    - the value decreased by at most `tolerance` times its size in the last 10 iterations;
    - the norm of the (pseudo-)gradient is at most `gradient_tolerance * max(1, norm of w)`.

    With a tolerance of 0 the first means that there was no decrease at all.
    """
    _check(start, l1, memory, iterations, tolerance, gradient_tolerance)
    walk = _Walk(function, start, l1, memory)
    values = [walk.value]

    def ended() -> str | None:
        if walk.norm <= gradient_tolerance * max(1.0, math.sqrt(dot(walk.point, walk.point))):
            return "gradient"
        if len(values) > PERIOD and values[-1 - PERIOD] - values[-1] <= tolerance * abs(values[-1]):
            return "decrease"
        return "iterations" if len(values) > iterations else None

    while (ending := ended()) is None:
        if not walk.advance():
            ending = "no step"
            break
        values.append(walk.value)
        if report is not None and report(len(values) - 1, walk.value, walk.norm, walk.evaluations, walk.point):
            ending = "report"
            break
    return Result(walk.point, walk.value, walk.norm, len(values) - 1, walk.evaluations, ending, values)


class _Walk:
    """The state of the search: `point`, its `value`, `gradient` of the smooth part and `norm` of the whole."""

    def __init__(self, function: Function, start: np.ndarray, l1: float, memory: int) -> None:
        self.function, self.l1 = function, l1
        self.evaluations = 0
        self.point = np.array(start, dtype=np.float64)
        self.trial = np.empty_like(self.point)
        self.direction = np.empty_like(self.point)
        self.history = History(memory, len(self.point))
        self.value, self.found = self._evaluate(self.point)
        self.gradient = self.found.copy()
        self.pseudo = np.empty_like(self.point) if l1 else self.gradient
        self._choose_orthant(self.point)
        self.norm = math.sqrt(dot(self.pseudo, self.pseudo))
        if not (math.isfinite(self.value) and math.isfinite(self.norm)):
            raise UsageError(
                f"the objective is {self.value} and the norm of its gradient {self.norm} at the start; "
                "start from finite weights at which both are finite"
            )

    def advance(self) -> bool:
        """Run one iteration; False if no step decreases the value."""
        better = self._search()
        if better is None and self.history.slots:  # the curvature pairs are misleading: try the steepest descent
            self.history.forget()
            better = self._search()
        if better is None:
            return False
        self.value = better.value
        self._choose_orthant(self.trial)
        old, new = Place(self.point, self.gradient), Place(self.trial, self.found)
        self.history.add(old, new, self.pseudo if self.l1 else None)
        self.point, self.trial = self.trial, self.point
        self.gradient[:] = self.found
        self.norm = math.sqrt(dot(self.pseudo, self.pseudo))
        return True

    def _search(self) -> Trial | None:
        """Move `trial` to a better point, with its gradient in `found`."""
        slope = self._choose_direction()
        if not slope < 0.0:
            return None
        first = 1.0 if self.history.slots else 1.0 / self.norm
        if self.l1:
            return backtrack(self._look_in_orthant, self.value, first)
        better = strong_wolfe(self._look, self.value, slope, first)
        if better is not None and better.step != self.looked_at:  # the trials ran out: go back to the best one
            return self._look(better.step)
        return better

    def _choose_orthant(self, point: np.ndarray) -> None:
        """Fill the pseudo-gradient, from the gradient that was found last."""
        for part in blocks(len(point)) if self.l1 else ():
            self.pseudo[part] = pseudo_gradient(point[part], self.found[part], self.l1)

    def _choose_direction(self) -> float:
        """Fill `direction`; the slope along it."""
        share, of_pseudo = self.history.combination()
        slope = 0.0
        for part in blocks(len(self.point)):
            direction, pseudo = self.direction[part], self.pseudo[part]
            self.history.combine(share, part, out=direction)
            direction += of_pseudo * pseudo
            if self.l1:
                align(direction, pseudo)
            slope += float(np.einsum("i,i", direction, pseudo))
        return slope

    def _look(self, step: float) -> Trial:
        """The smooth function at a step."""
        self.looked_at = step
        for part in blocks(len(self.point)):
            trial = self.trial[part]
            np.multiply(self.direction[part], step, out=trial)
            trial += self.point[part]
        value, self.found = self._evaluate(self.trial)
        return Trial(step, value, dot(self.found, self.direction))

    def _look_in_orthant(self, step: float) -> Trial:
        """The whole function at a step, projected on the orthant, where the L1 term is linear along the move."""
        for part in blocks(len(self.point)):
            trial = self.trial[part]
            np.multiply(self.direction[part], step, out=trial)
            trial += self.point[part]
            project(trial, self.point[part])
        value, self.found = self._evaluate(self.trial)
        slope, promised = 0.0, 0.0
        for part in blocks(len(self.point)):
            trial, point = self.trial[part], self.point[part]
            move = trial - point
            promised += float(np.einsum("i,i", move, self.pseudo[part]))
            slope += float(np.einsum("i,i", move, self.found[part])) + self.l1 * float((abs(trial) - abs(point)).sum())
        return Trial(step, value if math.isfinite(slope) else math.inf, slope, promised)

    def _evaluate(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The value with the L1 term, and the gradient of the smooth part."""
        self.evaluations += 1
        value, gradient = self.function(point)
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != point.shape:
            raise UsageError(f"a gradient of shape {gradient.shape} for {len(point)} weights")
        return float(value) + (self.l1 * absolute_sum(point) if self.l1 else 0.0), gradient


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
