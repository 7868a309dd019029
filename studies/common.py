"""What all studies share: a record of runs as JSON, pages and plots made from the record alone.

A study is a list of cells. A cell is a dictionary of what was set (method, seed, ...) and what came out. The record is
saved after every cell, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from palmette.errors import counted
from palmette.estimators.base import Estimator
from palmette.options.spelling import assemble
from studies import changes
from studies.charts import Chart, chart_svg

HERE = Path(__file__).resolve().parent
# Where records, pages and plots are: `python -m studies NAME --fresh` has a folder of its own
SHIPPED = HERE.parent / "docs" / "studies"
DOCS = Path(os.environ.get("PALMETTE_STUDIES") or SHIPPED)
Cell = dict[str, Any]


class Budget:
    """What `python -m studies NAME` may run, from the environment that it sets: all cells that are missing (`full`,
    also without that command), none (`page`), a number of seconds, by the times of the shipped record (`quick`), or
    cells with certain settings (a list of them as JSON)."""

    def __init__(self, given: str | None = None) -> None:
        text = given or os.environ.get("PALMETTE_STUDIES_RUN") or "full"
        self.page = text == "page"
        self.rows: list[Cell] | None = json.loads(text) if text.startswith("[") else None
        self.left = None if text in ("full", "page") else math.inf if self.rows else float(text)

    def allows(self, what: Cell, cost: float | None) -> bool:
        """Whether a cell is run again, and if so its seconds are used up. A row that was asked for has no limit."""
        if self.left is None:
            return True
        if self.rows is not None and not any(_is_of(row, what) for row in self.rows):
            return False
        if cost is None:
            return math.isinf(self.left)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def _is_of(row: Cell, what: Cell) -> bool:
    """Whether a cell has the settings of a row; a cell without a seed is one of all seeds."""
    return all(what.get(key, value if key == "seed" else None) == value for key, value in row.items())


def cost_of(cell: Cell) -> float | None:
    """Seconds that a cell took, from whatever its study kept of them."""
    for name in ("cpu", "seconds", "to_best", "pass_seconds"):
        if name in cell:
            value = cell[name]
            if isinstance(value, list):
                return float(sum(value))
            return float(value) * (len(cell.get("dev", [0])) if name == "pass_seconds" else 1)
    return None


# Studies of published results
PUBLISHED = (
    "synthetic", "np_latent", "bio_latent", "likelihood", "latent_gain", "collins", "inexact", "parsing",
    "grammaticality", "chunk_views", "probperc",
)  # fmt: skip
# Options in records of earlier runs -> their names now
RENAMED = {"candidates": "nbest", "share": "tied_update"}
_Made = TypeVar("_Made", bound=Estimator)


def estimator_from(kind: type[_Made], settings: Mapping[str, Any]) -> _Made:
    """An estimator from flat names of options (those of flags), as records have them: who names no learner means the
    perceptron."""
    learner = {"learner": "perceptron"} if kind.__options__["learner"].default == "auto" else {}
    made = kind(**assemble(kind, learner | {RENAMED.get(name, name): value for name, value in settings.items()}))
    # Records are of learners that take one sentence after the other, as the published ones do.
    if "batch_size" in kind.__options__ and not made._settings().chosen_learner.full_batch:
        made.batch_size = 1
    return made


class Record:
    """The cells of a study, in docs/studies/NAME.json."""

    def __init__(self, name: str, seeds: Sequence[int], folder: Path = DOCS) -> None:
        self.name, self.path = name, folder / f"{name}.json"
        self.about = {
            "command": f"python -m studies {name} --fresh",
            "seeds": list(seeds),
            "date": time.strftime("%Y-%m-%d"),
            "python": sys.version.split()[0],
            "packages": {package: version(package) for package in ("palmette", "numpy")},
        }
        self.cells: list[Cell] = []
        self.asked = self.made = 0  # cells that were asked for, and those of them that were run now
        self.budget = Budget()
        self.again: list[tuple[Cell, Cell, Cell]] = []  # run by --quick: settings, cell as shipped, cell now
        source = self.path if self.budget.left is None else SHIPPED / f"{name}.json"
        if source.is_file():
            old = json.loads(source.read_text(encoding="utf-8"))
            self.cells = old.pop("cells")
            self.about["date"] = old["date"]

    def cell(self, what: Cell, make: Callable[[], Cell]) -> Cell:
        """The cell with these settings: from the record, or made now and kept."""
        found = _first(self.cells, what)
        self.asked += 1
        if self.budget.left is not None:
            return self._quick(what, found, make)
        if found is None:
            found = self._made(what, make)
            self.cells.append(found)
            self.save()
        return found

    def _made(self, what: Cell, make: Callable[[], Cell]) -> Cell:
        self.made += 1
        begun = time.perf_counter()
        made = make()
        told = {k: round(v, 3) if isinstance(v, float) else v for k, v in made.items() if not isinstance(v, list)}
        print(f"{what} -> {told} ({time.perf_counter() - begun:.1f} s)", file=sys.stderr, flush=True)
        return what | made

    def _quick(self, what: Cell, then: Cell | None, make: Callable[[], Cell]) -> Cell:
        """A cell of the shipped record: run again if there is time for it. What that record lacks is run only if its
        row was asked for."""
        done = any(what == earlier for earlier, _, _ in self.again)
        if not done and self.budget.allows(what, None if then is None else cost_of(then)):
            self.again.append((what, then or {}, self._made(what, make)))
        return then or what

    def save(self) -> None:
        first, today = self.about["date"].split(" to ")[0], time.strftime("%Y-%m-%d")
        self.about["date"] = first if first == today else f"{first} to {today}"
        beside = self.path.with_suffix(".tmp")
        rows = ",\n".join(" " + json.dumps(cell, sort_keys=True) for cell in self.cells)
        head = json.dumps(self.about, indent=1)[:-2]
        beside.write_text(f'{head},\n "cells": [\n{rows}\n]}}\n', encoding="utf-8")
        os.replace(beside, self.path)

    def told(self) -> str:
        """Where the figures of this run come from."""
        if self.budget.page:
            return f"made from the record of {self.about['date']}; nothing was run. --fresh runs the study on your data"
        known = self.asked - self.made
        return f"{self.made} of {self.asked} figures were run now, {known} are from the record of {self.about['date']}"

    def some(self, **what: Any) -> list[Cell]:
        """The cells with these settings."""
        return [cell for cell in self.cells if what.items() <= cell.items()]

    def origin(self) -> str:
        """A sentence about how the figures came about."""
        seeds = ", ".join(map(str, self.about["seeds"]))
        text = (
            f"Made by `{self.about['command']}` on {self.about['date']}, seeds {seeds} (fixed in advance);\n"
            "figures are the mean over them and their standard deviation."
        )
        return f"{text} {self.decides()}" if self.name in PUBLISHED else text

    def decides(self) -> str:
        """A link to what the study decides."""
        return "Which published results\nhold: [findings](findings.md)."


def _first(cells: Sequence[Cell], what: Cell) -> Cell | None:
    return next((cell for cell in cells if what.items() <= cell.items()), None)


# Figures of cells that --quick and rows of tables compare
FIGURES = (
    "f1", "score", "best", "accuracy", "error", "test_las", "uas", "las", "scores", "brown", "reviews", "dev",
)  # fmt: skip


def figure_of(cell: Cell) -> float | None:
    """The figure of a cell: of scores by seed their mean (of the first of two methods), of a curve its best pass."""
    name = next((name for name in FIGURES if name in cell), None)
    if name is None:
        return None
    value = cell[name]
    if name == "scores":
        return statistics.mean(value[0] if isinstance(value[0], list) else value)
    return float(max(value) if isinstance(value, list) else value)


def quick_page(record: Record) -> str:
    """What --quick ran, beside the figures of the shipped record."""
    rows = []
    for what, then, now in record.again:
        name = next((name for name in FIGURES if name in now), None)
        before, value = figure_of(then), figure_of(now)
        if name is not None and value is not None:
            said = ", ".join(f"{key} {own}" for key, own in what.items())
            both = ("not run", "") if before is None else (f"{before:.2f}", f"{value - before:+.2f}")
            rows.append([said, name, both[0], f"{value:.2f}", both[1]])
    return markdown(["cell", "figure", "record", "now", "difference"], rows) + "\n"


def probabilistic(data: str, method: str) -> list[str]:
    """Score, passes and time of CRF or DPLVM on a data set, from the study of likelihoods; dashes for nothing."""
    cells = Record("likelihood", ()).some(stage="test", data=data, method=method)
    if not cells:
        return ["—", "—", "—"]
    passes = statistics.median(c["passes"] for c in cells)
    return [mean(c["score"] for c in cells), f"{passes:.0f}", f"{cells[0]['seconds']:.0f} s"]


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


def run_study(
    name: str,
    seeds: Sequence[int],
    run: Callable[[Record], None],
    page: Callable[[Record], str],
    chart: Callable[[Record], Chart] | None = None,
) -> None:
    """Run what is to be run, and write the page of a study and its picture from the record, or, of a quick run, a
    table of what was run beside the record."""
    record = Record(name, seeds)
    if record.budget.left is not None:
        _run_some(record, run)
        return
    if not record.budget.page:
        run(record)
    text = page(record) + changes.told(name)
    (DOCS / f"{name}.md").write_text(text, encoding="utf-8")
    if chart is not None:
        (DOCS / f"{name}.svg").write_text(chart_svg(chart(record)), encoding="utf-8")
    print(text)
    print(f"{DOCS / name}.md: {record.told()}", file=sys.stderr)


def _run_some(record: Record, run: Callable[[Record], None]) -> None:
    """Run a row, or as much as the budget allows: first the cells of published tables. The table of what was run is
    printed at the end, and when the run is stopped."""
    from studies.tables import headlines

    def work() -> None:
        if record.budget.rows is None and (first := headlines(record.name)):
            record.budget.rows = [dict(what) for what in first]
            run(record)
            record.budget.rows = None
        run(record)

    stopped = _stopped(work)
    (DOCS / f"{record.name}-quick.md").write_text(quick_page(record), encoding="utf-8")
    print(quick_page(record))
    told = "stopped" if stopped else "the row is complete" if record.budget.rows else "the others need more time"
    print(f"{counted(len(record.again), 'figure')} run again; {told}", file=sys.stderr)
    if stopped:
        sys.stdout.flush()
        os._exit(130)  # the thread is in the middle of a training


def _stopped(work: Callable[[], None]) -> bool:
    """Do something until it ends or until Ctrl-C or SIGTERM. In a thread: a training takes the first Ctrl-C as a wish
    to keep what it has, which would pass for the figure of a whole training."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    thread = threading.Thread(target=guarded, daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.2)
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGTERM, before)
    if failed:
        raise failed[0]
    return False


def numbered(values: Sequence[float]) -> list[float]:
    """1, 2, 3, ...: the passes of a curve."""
    return [float(k) for k in range(1, len(values) + 1)]


# Random starts of latent models: which weights (`--latent-init`) and their size
STARTS = [(init, size) for init in ("bare", "all") for size in (0.001, 0.01, 0.1, 1.0)]


def run_starts(record: Record, make: Callable[[dict[str, Any], int], Cell], seeds: Sequence[int], **what: Any) -> None:
    """A cell for each start and seed. make: from settings and a seed to a cell."""
    for init, size in STARTS:
        for seed in seeds:
            settings = {"init": init, "init_size": size}
            record.cell({"stage": "start", "seed": seed} | settings | what, lambda s=settings, n=seed: make(s, n))


def start_table(record: Record, figure: str, seeds: Sequence[int], columns: Mapping[str, dict[str, Any]]) -> str:
    """Kind and size of each start, and the mean of a figure over its seeds for each column (cells that have these
    values); a sentence if none was run, and one on seeds that are missing."""
    rows, fewest = [], len(seeds)
    for init, size in STARTS:
        cells = [record.some(stage="start", init=init, init_size=size, **own) for own in columns.values()]
        fewest = min(fewest, *map(len, cells))
        rows.append([init, f"{size:g}", *(mean(c[figure] for c in own) if own else "not run" for own in cells)])
    if not record.some(stage="start"):
        return "Not run, for want of time."
    table = markdown(["start", "size", *columns], rows)
    return table if fewest == len(seeds) else f"{table}\n\nSome rows have fewer seeds, for want of time."
