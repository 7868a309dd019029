"""Student's t by numerical integration, and from it: a test of two means, an interval, the power of a test.

The figures of a study are means over a few seeds, so that normal quantiles would be too narrow. Nothing but NumPy is
needed; tests compare with SciPy.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

LEVEL = 0.05  # of every test
_STEPS = 1001


class Spread(NamedTuple):
    """A difference of two means with its standard error and degrees of freedom (inf: the error is taken as known)."""

    difference: float
    error: float
    freedom: float


def normal_below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def t_below(t: float, freedom: float) -> float:
    """P(T < t) of Student's t; of the normal distribution for infinite freedom."""
    if math.isinf(freedom):
        return normal_below(t)
    # t = sqrt(freedom) tan(angle) turns the density into a power of the cosine on a finite range
    angle = math.atan(t / math.sqrt(freedom))
    steps = np.linspace(0.0, angle, _STEPS)
    area = float(np.trapezoid(np.cos(steps) ** (freedom - 1), steps))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return 0.5 + scale * area


@cache
def t_quantile(share: float, freedom: float) -> float:
    """The t below which a share of at least one half lies, by bisection."""
    low, high = 0.0, 1.0
    while t_below(high, freedom) < share:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if t_below(middle, freedom) < share else (low, middle)
    return (low + high) / 2


class Sample(NamedTuple):
    """Figures of one method, one per run; fixed: training has no seed, so that it gives this figure every time."""

    values: Sequence[float]
    fixed: bool = False


def spread_of(first: Sample, second: Sample, typical: float | None = None) -> Spread | None:
    """First mean minus second mean. Both with several runs: Welch's standard error. One with a single run: it is taken
    to vary as much as the other's, or not at all if it is fixed. No side with several runs: `typical`, the spread over
    seeds of other methods on the same data, is taken as known; None without it."""
    several = [own for own in (first, second) if len(own.values) > 1]
    single = [own for own in (first, second) if len(own.values) == 1]
    difference = statistics.mean(first.values) - statistics.mean(second.values)
    if not several:
        moving = sum(not own.fixed for own in single) or len(single)
        return None if typical is None else Spread(difference, typical * math.sqrt(moving), math.inf)
    parts = [statistics.variance(own.values) / len(own.values) for own in several]
    if single:
        freedom = len(several[0].values) - 1
        more = 0.0 if single[0].fixed else statistics.variance(several[0].values)
        return Spread(difference, math.sqrt(parts[0] + more), freedom)
    degrees = [len(own.values) - 1 for own in several]
    total = sum(parts)
    if total == 0:
        return Spread(difference, 0.0, sum(degrees))
    return Spread(difference, math.sqrt(total), total**2 / sum(v**2 / n for v, n in zip(parts, degrees, strict=True)))


def spread_of_p(difference: float, p: float) -> Spread:
    """The standard error that a recorded two-sided p-value of a difference implies, under a normal distribution. Of
    p = 1 nothing follows but that the error is not below the difference."""
    z = normal_quantile(1 - max(p, 1e-9) / 2)
    return Spread(difference, abs(difference) / z if z > 0.01 else max(abs(difference), 1e-9) * 100, math.inf)


def normal_quantile(share: float) -> float:
    return t_quantile(share, math.inf) if share > 0.5 else 0.0


def p_value(spread: Spread) -> float:
    """Two-sided p of no difference."""
    if spread.error == 0:
        return 1.0 if spread.difference == 0 else 0.0
    return min(1.0, 2 * (1 - t_below(abs(spread.difference) / spread.error, spread.freedom)))


def half_interval(spread: Spread, level: float = LEVEL) -> float:
    """Half the width of the interval of 1 - 2 level, that of two one-sided tests at `level`."""
    return spread.error * t_quantile(1 - level, spread.freedom)


def power(spread: Spread, effect: float) -> float:
    """The probability that the two-sided test finds a true difference of `effect` in its direction (an approximation
    to the non-central t that is good to a hundredth)."""
    if spread.error == 0:
        return 1.0
    away, limit = abs(effect) / spread.error, t_quantile(1 - LEVEL / 2, spread.freedom)
    if math.isinf(spread.freedom):
        return normal_below(away - limit)
    shrunk = limit * (1 - 1 / (4 * spread.freedom))
    return normal_below((away - shrunk) / math.sqrt(1 + limit**2 / (2 * spread.freedom)))


def power_of_equality(spread: Spread, margin: float) -> float:
    """The probability that two equal methods are found to be within the margin."""
    if spread.error == 0:
        return 1.0
    room = margin / spread.error - t_quantile(1 - LEVEL, spread.freedom)
    return max(0.0, 2 * normal_below(room) - 1)
