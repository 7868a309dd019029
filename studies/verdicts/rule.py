"""How a claim is judged: parts that compare figures, each with an outcome, and the verdict that follows from them.

A claim that says "all" holds if every part holds at the level of a single test: that is an intersection-union test,
which needs no correction for the number of parts. A claim about several tasks (`pooled`) is one question, whose answers
are put together by Stouffer's sum; parts on the same corpus count as one. Where a paper prints no difference none is
assumed: a test that finds nothing leaves the question open.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from studies.verdicts.tests_of_means import (
    LEVEL,
    Sample,
    Spread,
    half_interval,
    normal_below,
    normal_quantile,
    p_value,
    power,
    power_of_equality,
    spread_of,
    spread_of_p,
)

YES, NO, OPEN, TASTE = "holds", "does not hold", "open", "no measure"
BETTER = "better here"  # a weakness or a limit that the paper reports is absent
SHORT = "not run as published"  # a shortcut of ours would decide: fewer iterations, fewer states
MISSING = "not run"
VERDICTS = (YES, BETTER, NO, OPEN, SHORT, MISSING, TASTE)
ENOUGH = 0.8  # power from which on "not found" counts as "not there", for a published difference
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
    p: float | None = None
    power: float | None = None
    test: str = ""  # how p came about

    def told(self) -> str:
        """In one line, with p."""
        inside = unbroken("; ".join([self.figures, *([] if self.p is None else [p_words(self.p)])]))
        return f"*{self.part.replace('*', '&#42;')}*: {inside}" if self.part else inside


class Part(NamedTuple):
    """One comparison of a claim. Of a claim over several tasks: its corpus, and with what the comparison is."""

    outcome: Outcome
    corpus: str = ""
    rival: str = ""


# --- parts --------------------------------------------------------------------------------------------------


def above(
    part: str, first: Figures, second: Figures, gap: float | None = None, p: float | None = None, lower: bool = False
) -> Part:
    """The first is better than the second. gap: the published difference: a test that would find it with ENOUGH power
    and finds nothing decides against the claim; p: a recorded p-value (over sentences); lower: lower figures are
    better."""
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
    strength = power(spread, abs(gap)) if gap else None
    if known < LEVEL:
        verdict = YES if spread.difference > 0 else NO
    else:
        verdict = NO if strength is not None and strength >= ENOUGH else OPEN
    return Part(Outcome(part, verdict, figures, sign * spread.difference, known, strength, test))


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
    """A published claim in our words. note: how it was measured; pooled: a statement about tasks in general, not about
    each of them; shortcut: what of ours would decide instead of the method; obstacle: a weakness or a limit, whose
    absence is no failure."""

    claim: str
    published: str
    parts: Sequence[Part]
    note: str = ""
    pooled: bool = False
    shortcut: str = ""
    obstacle: bool = False


class Answer(NamedTuple):
    """What the pooled tasks say of a claim about one rival."""

    verdict: str
    p: float | None


class Judged(NamedTuple):
    """A claim with its verdict, and the answers of pooled tasks by rival."""

    claim: Claim
    verdict: str
    pooled: dict[str, Answer]

    @property
    def outcomes(self) -> list[Outcome]:
        return [part.outcome for part in self.claim.parts]


def judged(claim: Claim) -> Judged:
    """The verdict of a claim: of all parts, or of all rivals over the pooled tasks."""
    rivals = dict.fromkeys(part.rival for part in claim.parts) if claim.pooled else {}
    answers = {rival: pooled([part for part in claim.parts if part.rival == rival]) for rival in rivals}
    found = {answer.verdict for answer in answers.values()} or {part.outcome.verdict for part in claim.parts}
    verdict = next((v for v in (NO, OPEN, MISSING, YES) if v in found), TASTE)
    if claim.shortcut and verdict in (NO, OPEN):
        verdict = SHORT
    if claim.obstacle and verdict == NO:
        verdict = BETTER
    return Judged(claim, verdict, answers)


def pooled(parts: Sequence[Part]) -> Answer:
    """Verdict and p of Stouffer's sum of the signed z-values of comparisons. Those on one corpus are averaged first, as
    if they were one measurement."""
    by_corpus: dict[str, list[float]] = {}
    for part in parts:
        p, difference = part.outcome.p, part.outcome.difference
        if p is not None and difference is not None:
            z = normal_quantile(1 - max(p, 1e-9) / 2)
            by_corpus.setdefault(part.corpus, []).append(z if difference > 0 else -z)
    if not by_corpus:
        return Answer(MISSING, None)
    means = [statistics.mean(values) for values in by_corpus.values()]
    total = sum(means) / len(means) ** 0.5
    p = 2 * (1 - normal_below(abs(total)))
    return Answer(OPEN if p >= LEVEL else YES if total > 0 else NO, p)
