"""`python -m bench downstream`: all cases, a table, and the record."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.downstream import dates, tutorial, usaddress
from bench.downstream.side import missing
from bench.measure import keep

CASES: dict[str, Any] = {
    "usaddress, trained by parserator": usaddress,
    "sklearn-crfsuite's usual program": tutorial,
    "GROBID's dates": dates,
}
PACKAGES = ("usaddress", "parserator", "sklearn-crfsuite", "scikit-learn")  # whose versions the record has


def bench_downstream(data: Path, times: int) -> None:
    found: dict[str, Any] = {}
    for name, case in CASES.items():
        lost = missing(case.PACKAGES, case.files(data))
        if lost:
            print(f"{name}: {lost}")
            continue
        found[name] = case.compare(data, max(1, times // 2))
        print("\n".join(table(name, case.rows(found[name]))), flush=True)
    if len(found) == len(CASES):
        keep("downstream", {**found, "packages": {name: version(name) for name in PACKAGES}})
    else:
        print("not all cases ran: bench/results/downstream.json is left as it was")


def table(name: str, rows: list[tuple[str, ...]]) -> list[str]:
    """A table of one case, in Markdown."""
    lines = [f"| {name} | palmette | original | |", "|---|--:|--:|--:|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def page(found: dict[str, Any]) -> str:
    """The tables of all cases, for the docs."""
    return "\n".join(line for name, case in CASES.items() for line in table(name, case.rows(found[name]))).rstrip()
