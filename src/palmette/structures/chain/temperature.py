"""One number that all scores are divided by, so that confidences become as large as they deserve to be.

Scores that were not learnt as logarithms of probabilities have a scale of their own: twice the weights of a perceptron
are as good a perceptron, and much surer of itself. A temperature above 1 makes all shares of paths more even, one below
1 less so; the best path stays the best. It is fitted on labelled data that was not trained on: the one that makes the
gold label sequences most probable. That is the likelihood which a CRF is trained by, restricted to one free weight; in
1/temperature it is concave where all gold labels are known and states are labels, so there is one answer to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from palmette.display import html_by, printed_by

if TYPE_CHECKING:
    from palmette.kernels.chain.forms import Chain, Data, FeatureWeights
    from palmette.structures.chain.scoring import Scoring

GOLDEN = (math.sqrt(5) - 1) / 2
PRECISION = 5e-4  # of the temperature's logarithm
COLDEST, HOTTEST = 2.0**-20, 2.0**40


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What fitting found, saved in the model. Figures are those before and after, on the data that it was fitted on."""

    temperature: Annotated[float, msgspec.Meta(ge=COLDEST, le=HOTTEST)]
    bias: dict[str, float] = {}  # of the scores that it was fitted for
    data: str = ""
    sentences: int = 0
    tokens: int = 0
    before: dict[str, float] = {}
    after: dict[str, float] = {}

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and numbers, ready for JSON."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    __str__ = printed_by("reports.reliability:print_calibration")
    _repr_html_ = html_by("reports.reliability:print_calibration")


def with_temperature(chain: Chain, temperature: float) -> Chain:
    """The chain with every score divided by the temperature; itself at 1."""
    if temperature == 1.0:
        return chain
    by = np.float32(1.0 / temperature)
    one, two, three = (_scaled(rows, by) for rows in chain.weights)
    ends, pairs, triples = (t._replace(w=t.w * by) for t in chain.transitions)
    first, second, third = (rows._replace(times=float(rows.times * by)) for rows in chain.stored)
    return chain._replace(
        bias=chain.bias * by, transitions=(ends, pairs, triples), weights=(one, two, three),
        stored=(first, second, third),
    )  # fmt: skip


def _scaled(rows: FeatureWeights, by: np.floating) -> FeatureWeights:
    return rows._replace(w=rows.w * by)


def gold_likelihood(scoring: Scoring, data: Data) -> np.ndarray:
    """log of the share of what `data` knows about its labels among all paths, f64[S]; -inf where it is impossible."""
    every, known = scoring.log_partitions(data, False), scoring.log_partitions(data, True)
    with np.errstate(invalid="ignore"):
        return np.minimum(np.where(np.isneginf(known), -np.inf, known - every), 0.0)


def lowest(value: Callable[[float], float], start: float = 1.0, precision: float = PRECISION) -> float:
    """The positive number with the lowest value of a function that falls and then rises, to a relative precision.

    Doubling or halving goes on until the value rises; then the golden section of logarithms. COLDEST or HOTTEST, when
    it falls for ever on that side."""
    low, middle, high = start / 2, start, start * 2
    at_low, at_middle, at_high = value(low), value(middle), value(high)
    while at_low < at_middle and low > COLDEST:
        high, middle, at_middle, low = middle, low, at_low, low / 2
        at_low = value(low)
    while at_high < at_middle and high < HOTTEST:
        low, middle, at_middle, high = middle, high, at_high, high * 2
        at_high = value(high)
    if low <= COLDEST or high >= HOTTEST:
        return COLDEST if low <= COLDEST else HOTTEST
    return _golden_section(value, math.log(low), math.log(high), precision)


def _golden_section(value: Callable[[float], float], a: float, b: float, precision: float) -> float:
    """The lowest point between exp(a) and exp(b)."""
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = value(math.exp(c)), value(math.exp(d))
    while b - a > precision:
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = value(math.exp(c))
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = value(math.exp(d))
    return math.exp((a + b) / 2)
