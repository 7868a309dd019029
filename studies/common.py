"""What all studies share: a record of runs as JSON, pages and plots made from the record alone.

A study is a list of cells. A cell is a dictionary of what was set (method, seed, ...) and what came out. The record is
saved after every cell, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from palmette.estimators.base import Estimator
from palmette.options.assemble import assemble
from palmette.reports.chart_svg import Chart, chart_svg

HERE = Path(__file__).resolve().parent
# Where records, pages and plots are: `python -m studies NAME --fresh` has a folder of its own
DOCS = Path(os.environ.get("PALMETTE_STUDIES") or HERE.parent / "docs" / "studies")
Cell = dict[str, Any]


# Options in records of earlier runs -> their names now
RENAMED = {"candidates": "nbest", "share": "tied_update"}
_Made = TypeVar("_Made", bound=Estimator)


def estimator_from(kind: type[_Made], settings: Mapping[str, Any]) -> _Made:
    """An estimator from flat names of options (those of flags), as records have them: who names no learner means the
    perceptron."""
    learner = {"learner": "perceptron"} if kind.__options__["learner"].default == "auto" else {}
    made = kind(**assemble(kind, learner | {RENAMED.get(name, name): value for name, value in settings.items()}))
    # Records are of learners that take one sentence after the other, as the published ones do.
    if "batch_size" in kind.__options__ and not made.settings().chosen_learner.full_batch:
        made.batch_size = 1
    return made


class Record:
    """The cells of a study, in docs/studies/NAME.json."""

    def __init__(self, name: str, seeds: Sequence[int], folder: Path = DOCS) -> None:
        self.path = folder / f"{name}.json"
        self.about = {
            "command": f"python -m studies.{name}",
            "seeds": list(seeds),
            "date": time.strftime("%Y-%m-%d"),
            "python": sys.version.split()[0],
            "packages": {package: version(package) for package in ("palmette", "numpy")},
        }
        self.cells: list[Cell] = []
        self.asked = self.made = 0  # cells that were asked for, and those of them that were run now
        if self.path.is_file():
            old = json.loads(self.path.read_text(encoding="utf-8"))
            self.cells = old.pop("cells")
            self.about["date"] = old["date"]

    def cell(self, what: Cell, make: Callable[[], Cell]) -> Cell:
        """The cell with these settings: from the record, or made now and kept."""
        found = next((cell for cell in self.cells if what.items() <= cell.items()), None)
        self.asked += 1
        if found is None:
            self.made += 1
            begun = time.perf_counter()
            made = make()
            found = what | made
            self.cells.append(found)
            self.save()
            told = {k: round(v, 3) if isinstance(v, float) else v for k, v in made.items() if not isinstance(v, list)}
            print(f"{what} -> {told} ({time.perf_counter() - begun:.1f} s)", file=sys.stderr, flush=True)
        return found

    def save(self) -> None:
        beside = self.path.with_suffix(".tmp")
        rows = ",\n".join(" " + json.dumps(cell, sort_keys=True) for cell in self.cells)
        head = json.dumps(self.about, indent=1)[:-2]
        beside.write_text(f'{head},\n "cells": [\n{rows}\n]}}\n', encoding="utf-8")
        os.replace(beside, self.path)

    def told(self) -> str:
        """Where the figures of this run come from."""
        known = self.asked - self.made
        return f"{self.made} of {self.asked} figures were run now, {known} are from the record of {self.about['date']}"

    def some(self, **what: Any) -> list[Cell]:
        """The cells with these settings."""
        return [cell for cell in self.cells if what.items() <= cell.items()]

    def origin(self) -> str:
        """A sentence about how the figures came about."""
        seeds = ", ".join(map(str, self.about["seeds"]))
        return (
            f"Made by `{self.about['command']}` on {self.about['date']}, seeds {seeds} (fixed in advance);\n"
            "figures are the mean over them and their standard deviation."
        )


def probabilistic(data: str, method: str) -> list[str]:
    """Score, passes and time of CRF or DPLVM on a data set, from the study of likelihoods; dashes for nothing."""
    cells = Record("likelihood", ()).some(stage="test", data=data, method=method)
    if not cells:
        return ["—", "—", "—"]
    seconds = statistics.mean(c["seconds"] for c in cells)
    passes = statistics.median(c["passes"] for c in cells)
    return [mean(c["score"] for c in cells), f"{passes:.0f}", f"{seconds:.0f} s"]


def mean(values: Iterable[float], digits: int = 2) -> str:
    """`mean ± spread`, or a dash for nothing."""
    found = list(values)
    if not found:
        return "—"
    spread = f" ± {statistics.stdev(found):.{digits}f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.{digits}f}{spread}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def publish(name: str, page: str, record: Record, chart: Chart | None = None) -> None:
    """Write the page of a study and its picture, show the page, and say where its figures come from."""
    (DOCS / f"{name}.md").write_text(page, encoding="utf-8")
    if chart is not None:
        (DOCS / f"{name}.svg").write_text(chart_svg(chart), encoding="utf-8")
    print(page)
    print(f"{DOCS / name}.md: {record.told()}; --fresh runs all of them", file=sys.stderr)


def numbered(values: Sequence[float]) -> list[float]:
    """1, 2, 3, ...: the passes of a curve."""
    return [float(k) for k in range(1, len(values) + 1)]


# Random starts of latent models: which weights (`--init`) and their size, with the seeds of START_SEEDS
STARTS = [(init, size) for init in ("bare", "all") for size in (0.001, 0.01, 0.1, 1.0)]
START_SEEDS = (1, 2, 3, 4, 5)


def run_starts(record: Record, make: Callable[[dict[str, Any], int], Cell], **what: Any) -> None:
    """A cell for each start and seed. make: from settings and a seed to a cell."""
    for init, size in STARTS:
        for seed in START_SEEDS:
            settings = {"init": init, "init_size": size}
            record.cell({"stage": "start", "seed": seed} | settings | what, lambda s=settings, n=seed: make(s, n))


def start_rows(record: Record, figure: str, columns: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Kind and size of each start, and the mean of a figure over its seeds for each column (cells that have these
    values); starts that were not run are listed as such."""
    rows = []
    for init, size in STARTS:
        cells = [record.some(stage="start", init=init, init_size=size, **own) for own in columns]
        rows.append([init, f"{size:g}", *(mean(c[figure] for c in own) if own else "not run" for own in cells)])
    return rows
