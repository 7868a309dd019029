"""Published tables row by row: `python -m studies LP.table4 --row "latent, mavg" --seed 1 --data FOLDER`.

A row names the study that has it and the settings of its cells in the record. Without --row a table lists its rows with
published and recorded figures and the time that the record says a run takes.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from studies.common import SHIPPED, Cell, Record, cost_of, figure_of, markdown, mean

FROM = {"LP": "Sun et al. 2009", "PP": "Sun n. d.", "MV": "Clifton et al. 2013", "IS": "Huang 2013", "SL": "Wu 2013"}


class Row(NamedTuple):
    """A row of a published table: where its cells are, and the published figure in words."""

    study: str
    what: Mapping[str, Any]
    published: str = ""

    def cells(self, seed: int | None = None) -> list[Cell]:
        """The recorded cells, of one seed if it is named."""
        found = Record(self.study, (), SHIPPED).some(**self.what)
        return [cell for cell in found if seed is None or cell.get("seed", seed) == seed]


Table = dict[str, Row]


def _np() -> Table:
    from studies.np_latent_sets import PUBLISHED

    rows = {}
    for (method, way), (f1, _, _) in PUBLISHED.items():
        by_likelihood = method in ("CRF", "DPLVM")
        what = {"data": "np", "method": f"{method}, {way}"} if by_likelihood else {"method": method, "estimator": way}
        rows[f"{method}, {way}"] = Row(
            "likelihood" if by_likelihood else "np_latent", {"stage": "test"} | what, f"{f1}"
        )
    return rows


def _bio() -> Table:
    from studies.bio_latent_sets import PUBLISHED

    rows = {}
    for (cut, order), methods in PUBLISHED.items():
        for method, (f1, _, _) in methods.items():
            online = method in ("latent", "perceptron")
            what = {"stage": "long test", "method": method, "cut": cut, "order": order}
            if not online:
                what = {"stage": "test", "data": f"bio{cut}", "method": method}
            rows[f"{method}, cut-off {cut}, order {order}"] = Row(
                "bio_latent" if online else "likelihood", what, f"{f1}"
            )
    return rows


def _ring() -> Table:
    published = {"perceptron": "57.3", "latent, mavg": "84.9", "CRF": "63.4", "DPLVM": "84.9"}
    what = {"p": 0.9, "length": 20, "states": None}
    return {method: Row("synthetic", what | {"method": method}, f) for method, f in published.items()}


def _collins(task: str) -> Table:
    from studies.verdicts.inexact import PUBLISHED

    return {
        f"{way}, cut-off {cut}": Row("collins", {"task": task, "estimator": way, "cut": cut}, f"{f}")
        for (way, cut), f in PUBLISHED[task].items()
    }


def _beam() -> Table:
    return {
        f"{update}, beam {b}": Row("inexact", {"task": "tagging", "update": update, "beam": b, "weights": "avg",
                                               "recombine": b > 1}, "figure")
        for b in (1, 2, 4) for update in ("standard", "early", "max-violation")
    }  # fmt: skip


def _parsing() -> Table:
    published = {"early": "92.24", "max-violation": "92.25 to 92.32", "standard": "figure"}
    return {update: Row("parsing", {"stage": "unlabelled", "update": update}, f) for update, f in published.items()}


def _views() -> Table:
    from studies.verdicts.views import NAMES, PUBLISHED

    names = NAMES | {"online": "online, one view"}
    what = {"stage": "test", "kind": "mv", "start": "zero"}
    return {names[m]: Row("grammaticality", what | {"method": m}, f"{f:.2f}") for m, f in PUBLISHED.items()}


def _tasks() -> Table:
    cells = Record("probperc", (), SHIPPED).some(stage="test")
    return {
        f"{c['task']}: {c['method']}": Row("probperc", {k: c[k] for k in ("stage", "task", "method")}) for c in cells
    }


def _pairs() -> Table:
    cells = Record("notes", (), SHIPPED).cells
    return {f"{c['pair']}: {c['task']}": Row("notes", {k: c[k] for k in ("pair", "task")}) for c in cells}


TABLES = {
    "LP.figure3": (_ring, "synthetic sequences at P = 0.9, accuracy"),
    "LP.table2": (_bio, "Bio-NER, F"),
    "LP.table4": (_np, "NP chunking, F"),
    "PP.tasks": (_tasks, "probPerc and its rivals on four tasks (no published figures)"),
    "MV.table2": (_views, "grammaticality in the published setting, accuracy"),
    "IS.tagging": (lambda: _collins("tagging"), "part-of-speech tagging, error"),
    "IS.chunking": (lambda: _collins("chunking"), "NP chunking, F"),
    "IS.beam": (_beam, "trigram tagging with a beam, best accuracy on development data"),
    "IS.parsing": (_parsing, "incremental parsing, best UAS on development data"),
    "SL.pairs": (_pairs, "one change at a time"),
}


def rows_of(table: str) -> Table:
    return TABLES[table][0]()


def headlines(study: str) -> list[Mapping[str, Any]]:
    """The cells of a study that published tables have: those that a quick run begins with."""
    return [row.what for table in TABLES for row in rows_of(table).values() if row.study == study]


def _cost(row: Row, seed: int | None) -> float | None:
    """Seconds that the record says; if it has none for this cell, from passes of the search with the same settings."""
    cells = row.cells(seed) or row.cells()
    # a cell without a seed has the scores of all of them, and the time of one
    costs = [
        cost * (len(cell.get("scores", [0])) if "seed" not in cell else 1)
        for cell in cells if (cost := cost_of(cell)) is not None
    ]  # fmt: skip
    if costs:
        return statistics.median(costs)
    alike = ("states", "share", "split_after", "estimator")
    searched = [c for c in Record(row.study, (), SHIPPED).cells if "pass_seconds" in c]
    guesses = [
        other["pass_seconds"] * cell["passes"] for cell in cells[:1] for other in searched
        if "passes" in cell and all(other.get(key) == cell.get(key) for key in alike if key in cell)
    ]  # fmt: skip
    return statistics.median(guesses) if guesses else None


def time_words(seconds: float | None) -> str:
    """About how long something takes."""
    if seconds is None:
        return "unknown"
    units = ((3600, "h"), (60, "min"), (1, "s"))
    size, unit = next((own for own in units if seconds >= own[0]), units[-1])
    return f"{max(1, round(seconds / size))} {unit}"


def listing(table: str) -> str:
    """The rows of a table: published, recorded, and the time of one run."""
    lines = []
    for name, row in rows_of(table).items():
        found = [value for cell in row.cells() if (value := figure_of(cell)) is not None]
        lines.append([name, row.published or "—", mean(found) if found else "not run", time_words(_cost(row, None))])
    paper, about = FROM[table.partition(".")[0]], TABLES[table][1]
    return f"{table} ({paper}): {about}\n\n" + markdown(["row", "published", "record", "time of a run"], lines)


def start(table: str, name: str, seed: int | None) -> str:
    """Announce a row and its time, and leave in the environment what studies/common.py runs; returns the study."""
    row = rows_of(table)[name]
    what = dict(row.what) if seed is None else dict(row.what) | {"seed": seed}
    seconds = _cost(row, seed)
    runs = 1 if seed is not None else max(1, len(row.cells()))
    told = f"{table}, {name}" + ("" if seed is None else f", seed {seed}")
    total = None if seconds is None else runs * seconds
    print(f"{told}: about {time_words(total)}, by the record of docs/studies/{row.study}.json", flush=True)
    print(f"published: {row.published or 'no figure'}; record: "
          f"{mean(v for cell in row.cells() if (v := figure_of(cell)) is not None)}", flush=True)  # fmt: skip
    os.environ["PALMETTE_STUDIES_RUN"] = json.dumps([what])
    return row.study
