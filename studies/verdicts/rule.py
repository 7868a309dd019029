"""How a claim is judged: parts that compare figures, each with an outcome, and the verdict that follows from them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from palmette.evaluation.significance import holm
from studies.verdicts.tests_of_means import (
    LEVEL,
    Sample,
    Spread,
    half_interval,
    p_value,
    power,
    power_of_equality,
    spread_of,
    spread_of_p,
)

YES, NO, OPEN, MISSING, TASTE = "reproduced", "not reproduced", "undecidable", "not run", "no measure"
VERDICTS = (YES, NO, OPEN, MISSING, TASTE)
ENOUGH = 0.8  # power from which on "not found" counts as "not there"
RELEVANT = 0.2  # the difference that a test should find where the paper prints none, in points
CLOSE = 0.2  # how far below the published figure a level may be, in points


class Figures(NamedTuple):
    """A method in one setting: its figures, one per seed, in words; empty if it was not run."""

    name: str
    values: Sequence[float] = ()
    typical: float | None = None  # spread over seeds of other methods on the same data, for single runs
    digits: int = 2
    fixed: bool = False  # training has no seed

    def told(self) -> str:
        """Mean and spread."""
        if not self.values:
            return MISSING
        spread = f" ± {statistics.stdev(self.values):.{self.digits}f}" if len(self.values) > 1 else ""
        return f"{statistics.mean(self.values):.{self.digits}f}{spread}"

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    @property
    def sample(self) -> Sample:
        return Sample(self.values, self.fixed)


def unbroken(text: str) -> str:
    """Figures with what belongs to them on one line: no-break spaces."""
    return re.sub(r" ([±<=]) ", "\u00a0\\1\u00a0", re.sub(r"(\d) %", "\\1\u00a0%", text))


def p_words(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


class Outcome(NamedTuple):
    """What came out of one part of a claim."""

    part: str
    verdict: str
    figures: str
    difference: float | None = None
    p: float | None = None  # before Holm's correction
    corrected: float | None = None
    power: float | None = None
    test: str = ""  # how p came about

    def told(self) -> str:
        """In one line, with the test."""
        found = [self.figures]
        if self.p is not None:
            found.append(p_words(self.p if self.corrected is None else self.corrected))
        if self.verdict == OPEN and self.power is not None:
            found.append(f"power {100 * self.power:.0f} %")
        inside = unbroken("; ".join(found))
        return f"*{self.part.replace('*', '&#42;')}*: {inside}" if self.part else inside


class Part(NamedTuple):
    """One comparison of a claim, as a spread to be judged or as an outcome that needs no test."""

    outcome: Outcome
    spread: Spread | None = None
    effect: float = RELEVANT


# --- parts --------------------------------------------------------------------------------------------------


def above(
    part: str, first: Figures, second: Figures, gap: float | None = None, p: float | None = None, lower: bool = False
) -> Part:
    """The first is better than the second. gap: the published difference, whose size a test should be able to find; p:
    a recorded p-value (over sentences); lower: lower figures are better."""
    missing = _missing(part, first, second)
    if missing:
        return missing
    sign = -1.0 if lower else 1.0
    spread = _spread(first, second, p)
    figures = f"{first.told()} against {second.told()}"
    if spread is None:
        return Part(Outcome(part, OPEN, figures + ", one run each", first.mean - second.mean))
    spread = spread._replace(difference=sign * spread.difference)
    known = p_value(spread) if p is None else p
    test = "sentences" if p is not None else "seeds" if len(first.values) + len(second.values) > 2 else "typical spread"
    return Part(Outcome(part, "", figures, sign * spread.difference, known, test=test), spread, abs(gap or RELEVANT))


def same(part: str, first: Figures, second: Figures, margin: float, p: float | None = None) -> Part:
    """The two are within a margin of each other: two one-sided tests."""
    missing = _missing(part, first, second)
    if missing:
        return missing
    spread = _spread(first, second, p)
    figures = f"{first.told()} and {second.told()}"
    if spread is None:
        return Part(Outcome(part, OPEN, figures + ", one run each", first.mean - second.mean))
    half, off = half_interval(spread), abs(spread.difference)
    verdict = YES if off + half <= margin else NO if off - half > margin else OPEN
    told = f"{figures}, difference {spread.difference:+.2f} ± {half:.2f} (margin {margin:g})"
    return Part(
        Outcome(part, verdict, told, spread.difference, power=power_of_equality(spread, margin), test="equality")
    )


def _spread(first: Figures, second: Figures, p: float | None) -> Spread | None:
    if p is not None:
        return spread_of_p(first.mean - second.mean, p)
    return spread_of(first.sample, second.sample, first.typical or second.typical)


def at_least(part: str, figures: Figures, bound: float, unit: str = "") -> Part:
    """The figure is at least the bound, by its mean over seeds."""
    return _bounded(part, figures, figures.values and figures.mean >= bound, unit)


def at_most(part: str, figures: Figures, bound: float, unit: str = "") -> Part:
    """The figure is at most the bound, by its mean over seeds."""
    return _bounded(part, figures, figures.values and figures.mean <= bound, unit)


def between(part: str, figures: Figures, low: float, high: float, unit: str = "") -> Part:
    """The mean over seeds lies in a range."""
    return _bounded(part, figures, figures.values and low <= figures.mean <= high, unit)


def level(part: str, figures: Figures, published: float) -> Part:
    """The published figure is reached: the mean is at most CLOSE below it."""
    found = at_least(part, figures, published - CLOSE)
    if not figures.values:
        return found
    return found._replace(outcome=found.outcome._replace(figures=f"{figures.told()}, published {published:g}"))


def holds(part: str, told: str, verdict: bool) -> Part:
    """A fact that needs no test: an index of the best, a sign, a count."""
    return Part(Outcome(part, YES if verdict else NO, told))


def missing(part: str, what: str = "") -> Part:
    """Cells that were not run, by name."""
    return Part(Outcome(part, MISSING, f"not run: {what}" if what else MISSING))


def _bounded(part: str, figures: Figures, good: object, unit: str) -> Part:
    missing = _missing(part, figures)
    return missing or Part(Outcome(part, YES if good else NO, f"{figures.told()}{unit}"))


def _missing(part: str, *sides: Figures) -> Part | None:
    absent = list(dict.fromkeys(side.name for side in sides if not side.values))
    return Part(Outcome(part, MISSING, "not run: " + ", ".join(absent))) if absent else None


# --- claims -------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A published claim in our words. why: a sentence for the verdict `why_if`; without one it says how the claim was
    measured and nothing of what came out, so that it fits any verdict (tests/test_claims.py looks at its words). how:
    such a sentence beside a `why` that has its verdict; pages: names of pages in docs/studies, or paths from there."""

    claim: str
    published: str
    parts: Sequence[Part]
    why: str
    pages: Sequence[str]
    why_if: str = ""  # the verdict to which `why` belongs; "" for any
    how: str = ""


class Judged(NamedTuple):
    """A claim with the outcomes of its parts and its verdict."""

    claim: Claim
    outcomes: list[Outcome]
    verdict: str


def judged(claim: Claim) -> Judged:
    """All parts must hold. One that fails decides; otherwise one that cannot be decided, then one that was not run."""
    outcomes = _tested(claim.parts)
    found = {outcome.verdict for outcome in outcomes}
    verdict = next((v for v in (NO, OPEN, MISSING, YES) if v in found), TASTE)
    return Judged(claim, outcomes, verdict)


def _tested(parts: Sequence[Part]) -> list[Outcome]:
    """Outcomes, those of comparisons after Holm's correction for their number in the claim."""
    compared = [k for k, part in enumerate(parts) if part.spread is not None]
    corrected = dict(zip(compared, holm([parts[k].outcome.p or 0.0 for k in compared]), strict=True))
    found = []
    for k, part in enumerate(parts):
        outcome = part.outcome
        if part.spread is not None:
            strength = power(part.spread, part.effect)
            outcome = outcome._replace(corrected=corrected[k], power=strength)
            if corrected[k] < LEVEL:
                verdict = YES if part.spread.difference > 0 else NO
            else:
                verdict = NO if strength >= ENOUGH else OPEN
            outcome = outcome._replace(verdict=verdict)
        found.append(outcome)
    return found
