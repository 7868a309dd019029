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
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError, counted
from palmette.kernels.core.types import aligned_zeros
from palmette.kernels.learning.lbfgs import LINE, Place, absorb, combine, measure, move, n_blocks, squares, survey
from palmette.training.team import Workers

FEWEST = 32  # blocks that are worth a thread


def over_blocks(workers: Workers, n: int, work: Callable[[np.ndarray, int, int], None], columns: int) -> np.ndarray:
    """work(sums f64[blocks, columns], first, last) on ranges of the blocks of a vector of n numbers. Returns the
    totals: every block leaves its own sums, and they are added in one order."""
    blocks = n_blocks(n)
    pieces = max(1, min(workers.threads, blocks // FEWEST))
    cuts = list(pairwise(int(cut) for cut in np.linspace(0, blocks, pieces + 1)))
    sums = np.zeros((blocks, columns))
    workers.each(lambda k: work(sums, *cuts[k]), pieces)
    with np.errstate(all="ignore"):  # a line search may try a point where a sum is not finite
        return np.asarray(sums.sum(axis=0))


def squared_norm(workers: Workers, vector: np.ndarray) -> float:
    """|vector|^2 of f32[n], in float64."""
    return float(over_blocks(workers, vector.size, lambda sums, a, b: squares(vector, sums, a, b), 1)[0])


# The curvature pairs of L-BFGS, and the two loops over them done on a small matrix of dot products.
#
# The textbook loops read and write the direction once per pair. All they need are dot products between the pairs and
# the gradient, and their result is a linear combination of these vectors (Chen, Wang & Zhou 2014). So one pass over
# memory computes the new dot products, the loops run on scalars, and a second pass sums up the direction.

FLAT = 1e-16  # a pair with s.y below this fraction of y.y has no usable curvature: none, or a negative one


class History:
    """Up to `memory` pairs: the moves `s` of the point and the changes `y` of the gradient of the smooth part.

    Slot k is the rows 2k (s) and 2k+1 (y). The rows of the open slot hold the trial and its gradient during a search;
    the pass that makes the trial the point turns them into the pair (see `kernels/learning/lbfgs.py`).
    """

    def __init__(self, memory: int, n: int) -> None:
        self.n = n
        self.rows = aligned_zeros((2 * memory, -(-n // LINE) * LINE), np.float32)  # no memory until they are used
        self.dots = np.zeros((2 * memory, 2 * memory))  # rows with rows; see `close`
        self.lead = np.zeros(2 * memory)  # rows with the leading vector
        self.slots: list[int] = []  # oldest first
        self.used = 0  # slots that ever held a pair
        self.slot = -1  # the open one

    def forget(self) -> None:
        """Start again without pairs."""
        self.slots.clear()
        self.dots[:] = 0.0

    def open(self) -> None:
        """Make room for the next pair, in place of the oldest one if there is no other."""
        free = set(range(self.used)).difference(self.slots)
        if free:
            self.slot = min(free)
        elif 2 * self.used == len(self.rows):
            self.slot = self.slots.pop(0)
        else:
            self.used += 1
            self.slot = self.used - 1

    @property
    def trial(self) -> np.ndarray:
        return self.rows[2 * self.slot, : self.n]

    @property
    def found(self) -> np.ndarray:
        """The gradient at the trial."""
        return self.rows[2 * self.slot + 1, : self.n]

    def close(self, with_y: np.ndarray, lead: np.ndarray, lead_is_gradient: bool) -> None:
        """Keep the pair of the open slot, if it shows curvature, given the products of all used rows with its y and
        with the leading vector.

        The loops over the pairs need only the products of a `y` with itself and with older rows; the others are not
        updated, and their coefficients are zero. If the gradient leads, `with_y` holds the products of the open slot
        alone: those with the other rows are the changes of their products with the gradient."""
        rows = 2 * self.used
        s, y = 2 * self.slot, 2 * self.slot + 1
        if lead_is_gradient:
            own = with_y[s], with_y[y]
            with_y = lead - self.lead[:rows]
            with_y[s], with_y[y] = own
        self.lead[:rows] = lead
        self.dots[y, :rows] = self.dots[:rows, y] = with_y
        if with_y[s] > FLAT * with_y[y]:
            self.slots.append(self.slot)

    def combination(self) -> tuple[np.ndarray, float]:
        """Coefficients of the rows f64[2 used], none without pairs, and of the leading vector in the quasi-Newton
        direction."""
        if not self.slots:
            return np.zeros(0), -1.0
        share = np.zeros(2 * self.used)
        dots, lead = self.dots[: 2 * self.used, : 2 * self.used], self.lead
        alpha = {}
        for slot in reversed(self.slots):
            s, y = 2 * slot, 2 * slot + 1
            alpha[slot] = (lead[s] + dots[s] @ share) / dots[s, y]
            share[y] -= alpha[slot]
        s, y = 2 * self.slots[-1], 2 * self.slots[-1] + 1
        scale = float(dots[s, y] / dots[y, y])
        share *= scale
        for slot in self.slots:
            s, y = 2 * slot, 2 * slot + 1
            share[s] += alpha[slot] - (scale * lead[y] + dots[y] @ share) / dots[s, y]
        return -share, -scale


# Step sizes along a direction: strong Wolfe conditions for a smooth function, backtracking for one with kinks.
#
# Both see the function only as numbers along a line, and treat a value that is not finite as too high. They accept
# a step with a sufficient decrease of the value; or one whose value differs by no more than rounding, if the slope has
# become small enough. Near the optimum of a sum over millions of terms only the second test is informative: slopes are
# then much more precise than differences of values (Hager & Zhang 2005).

SUFFICIENT = 1e-4  # fraction of the decrease that the slope predicts; as in Nocedal & Wright, CRFsuite and SciPy
CURVATURE = 0.9  # the slope must shrink to this fraction, else the step is too short
MOST_TRIALS = 20  # default number of evaluations of one search
EXPAND = 4.0
BACK_OFF = 0.1  # where the function overflows, a half would take too many trials
HALVE = 0.5
UNSEEN = 2.2e-16  # a decrease below this fraction of the value is lost in rounding: the search ends
NOISE = 1e-7  # values that differ by less than this fraction are equal but for rounding; scores are float32 sums
MARGIN = 0.1  # least distance of an interpolated step from both ends of the bracket, as a fraction of it


class StepTrial(NamedTuple):
    """A step, with the value and the slope at its end."""

    step: float
    value: float
    slope: float  # along the direction
    promised: float = 0.0  # change of the value by the slope at the start, where the search is not along a line


def strong_wolfe(
    look: Callable[[float], StepTrial], value: float, slope: float, first: float, trials: int = MOST_TRIALS
) -> StepTrial | None:
    """A step with enough decrease and a flat enough slope (Nocedal & Wright 2006, algorithms 3.5 and 3.6).

    `low` is the best step so far and `high` the other end of the bracket, if there is one. When the trials run out
    the best step is returned; None if no step was better than the start.
    """
    low, high = StepTrial(0.0, value, slope), None
    step = first
    for _ in range(trials):
        here = look(step)
        if _levels(here, value, slope):
            return here
        if not _descends(here, low, value + SUFFICIENT * step * slope):
            high = here
        elif abs(here.slope) <= -CURVATURE * slope:
            return here
        else:
            uphill_to_high = here.slope * (math.inf if high is None else high.step - low.step) >= 0.0
            low, high = here, (low if uphill_to_high else high)
        step = EXPAND * low.step if high is None else _inside(low, high)
        if -step * slope <= UNSEEN * abs(value):
            break
    return low if low.step > 0.0 else None


def backtrack(
    look: Callable[[float], StepTrial], value: float, first: float, trials: int = MOST_TRIALS
) -> StepTrial | None:
    """The first step, halved until the decrease is enough; here `slope` is that along the whole move to the trial."""
    step = first
    for _ in range(trials):
        here = look(step)
        finite = math.isfinite(here.value)
        if finite and here.value < value and here.value <= value + SUFFICIENT * here.promised:
            return here
        if _levels(here, value, here.promised):
            return here
        if -here.promised <= UNSEEN * abs(value):
            break
        step *= HALVE if finite else BACK_OFF
    return None


def _levels(here: StepTrial, value: float, slope: float) -> bool:
    """Whether the value is unchanged but for rounding, and the slope has become small enough."""
    return abs(here.value - value) <= NOISE * abs(value) and abs(here.slope) <= -CURVATURE * slope


def _descends(here: StepTrial, low: StepTrial, limit: float) -> bool:
    return math.isfinite(here.value) and math.isfinite(here.slope) and here.value <= limit and here.value < low.value


def _inside(low: StepTrial, high: StepTrial) -> float:
    """The minimum of the cubic through both ends, kept away from them."""
    width = high.step - low.step
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.step + BACK_OFF * width
    # With x = (step - low) / width: value = low.value + a x + b x^2 + c x^3, by values and slopes at 0 and 1.
    rise, a, end = high.value - low.value, low.slope * width, high.slope * width
    b, c = 3.0 * rise - 2.0 * a - end, a + end - 2.0 * rise
    root = b * b - 3.0 * a * c
    below = b + math.sqrt(root) if root >= 0.0 else 0.0
    x = -a / below if below > 0.0 else HALVE
    return low.step + width * min(max(x, MARGIN), 1.0 - MARGIN)


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
    del start  # frees its memory if nothing else refers to it
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

    def _search(self) -> StepTrial | None:
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

    def _look(self, step: float) -> StepTrial:
        """The smooth function at a step."""
        value, sums = self._try(step)
        self.looked_at = _Looked(step, 0.0)
        return StepTrial(step, value, float(sums[0]))

    def _look_in_orthant(self, step: float) -> StepTrial:
        """The whole function at a step, projected on the orthant, where the L1 term is linear along the move."""
        value, (along, promised, absolute) = self._try(step)
        self.looked_at = _Looked(step, float(absolute))
        slope = float(along + self.l1 * (absolute - self.absolute))
        whole = value + self.l1 * float(absolute)
        return StepTrial(step, whole if math.isfinite(slope) else math.inf, slope, float(promised))

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
