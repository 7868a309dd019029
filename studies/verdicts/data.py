"""Figures of the studies and benchmarks as the claims need them, from the records alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from studies.common import DOCS, HERE, Cell, Record
from studies.verdicts.rule import NO, YES, Figures, Outcome, Part, missing

ROOT = HERE.parent
_Value = str | Callable[[Cell], float]


@cache
def record(name: str) -> Record:
    return Record(name, (), DOCS)


def cells(study: str, **what: Any) -> list[Cell]:
    """The cells of a study with these settings; none if it was not run."""
    return record(study).some(**what)


@cache
def bench(name: str) -> dict[str, Any]:
    """The result of a benchmark; empty if it was not run."""
    path = ROOT / "bench" / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["result"] if path.is_file() else {}


def figures(
    name: str, found: Iterable[Cell], value: _Value, typical: float | None = None, fixed: bool = False
) -> Figures:
    """A figure of each cell. typical: see `Figures`; fixed: the method has no seed."""
    read = value if callable(value) else lambda cell: cell[value]
    return Figures(name, [float(read(cell)) for cell in found], typical, fixed=fixed)


def curve_best(key: str) -> Callable[[Cell], float]:
    """The best pass of a curve."""
    return lambda cell: max(cell[key])


def typical_spread(groups: Iterable[list[float]]) -> float | None:
    """The median spread over seeds of methods that have several."""
    found = [statistics.stdev(values) for values in groups if len(values) > 1]
    return statistics.median(found) if found else None


def ratio(name: str, top: Iterable[float], bottom: Iterable[float], digits: int = 1) -> Figures:
    """Quotient of two means (of times, for instance); empty if one is missing."""
    high, low = list(top), list(bottom)
    if not high or not low:
        return Figures(name)
    return Figures(name, [statistics.mean(high) / statistics.mean(low)], digits=digits)


@cache
def _tests() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").glob("test_*.py")))


def by_test(part: str, test: str, holds: bool = True) -> Part:
    """A statement that a test of the suite checks, wherever it stands; "not run" if it is no longer there."""
    if f"def {test}(" not in _tests():
        return missing(part, test)
    told = "a test checks it" if holds else "a test shows that it fails"
    return Part(Outcome(part, YES if holds else NO, told, test=test))
