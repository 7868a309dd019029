"""Step sizes along a direction: strong Wolfe conditions for a smooth function, backtracking for one with kinks.

Both see the function only as numbers along a line, and treat a value that is not finite as too high. They accept
a step with a sufficient decrease of the value; or one whose value differs by no more than rounding, if the slope has
become small enough. Near the optimum of a sum over millions of terms only the second test is informative: slopes are
then much more precise than differences of values (Hager & Zhang 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

SUFFICIENT = 1e-4  # fraction of the decrease that the slope predicts; as in Nocedal & Wright, CRFsuite and SciPy
CURVATURE = 0.9  # the slope must shrink to this fraction, else the step is too short
MOST_TRIALS = 20  # evaluations of one search, unless the caller says another number
EXPAND = 4.0
BACK_OFF = 0.1  # where the function overflows, a half would take too many trials
HALVE = 0.5
UNSEEN = 2.2e-16  # a decrease below this fraction of the value is lost in rounding: the search ends
NOISE = 1e-7  # values that differ by less than this fraction are equal but for rounding; scores are float32 sums
MARGIN = 0.1  # least distance of an interpolated step from both ends of the bracket, as a fraction of it


class Trial(NamedTuple):
    """A step, with the value and the slope at its end."""

    step: float
    value: float
    slope: float  # along the direction
    promised: float = 0.0  # change of the value by the slope at the start, where the search is not along a line


def strong_wolfe(
    look: Callable[[float], Trial], value: float, slope: float, first: float, trials: int = MOST_TRIALS
) -> Trial | None:
    """A step with enough decrease and a flat enough slope (Nocedal & Wright 2006, algorithms 3.5 and 3.6).

    `low` is the best step so far and `high` the other end of the bracket, if there is one. When the trials run out
    the best step is returned; None if no step was better than the start.
    """
    low, high = Trial(0.0, value, slope), None
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


def backtrack(look: Callable[[float], Trial], value: float, first: float, trials: int = MOST_TRIALS) -> Trial | None:
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


def _levels(here: Trial, value: float, slope: float) -> bool:
    """Whether the value is unchanged but for rounding, and the slope has become small enough."""
    return abs(here.value - value) <= NOISE * abs(value) and abs(here.slope) <= -CURVATURE * slope


def _descends(here: Trial, low: Trial, limit: float) -> bool:
    return math.isfinite(here.value) and math.isfinite(here.slope) and here.value <= limit and here.value < low.value


def _inside(low: Trial, high: Trial) -> float:
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
