"""Settings of the study of NP chunking (studies/np_latent.py), published figures, and what the search chose."""

from __future__ import annotations

from typing import Any

from studies.common import Cell, Record

NAME = "np_latent"
SEEDS = (1, 2, 3, 4, 5)
START = (1,)  # seeds of the kinds of start
PASSES = 30  # of the search
MORE = 200  # passes of the steadiness
AVG, LAST = {"estimator": "avg"}, {"estimator": "last"}
MAVG: list[dict[str, Any]] = [{"estimator": "mavg", "mavg_every": k} for k in (2, 4, 8)]
SPLIT = 10
LONG, LONG_STATES = 80, 5  # passes as published, for as many states
LIKE, LIKE_PASSES = "latent, as in the study of likelihoods", 20
# What is searched: states, share of an update that all states of a label get (0: as published), plain passes before the
# labels are split, estimators
GRID: list[tuple[int, float, int, list[dict[str, Any]]]] = [
    (1, 0, 0, [AVG, *MAVG, LAST]),
    (2, 0, 0, [AVG, *MAVG]),
    (3, 0, 0, [AVG, *MAVG]),
    (5, 0, 0, [AVG, MAVG[0], MAVG[1], LAST]),
    (2, 0, SPLIT, [AVG, *MAVG]),
    (2, 1, 0, [AVG, *MAVG]),
    (3, 1, 0, [AVG, MAVG[1]]),
    (5, 1, 0, [AVG, MAVG[1]]),
    (2, 1, SPLIT, [AVG, *MAVG]),
]
# F, passes and time as published
PUBLISHED = {
    ("latent", "mavg"): (94.37, 80, "2 h"),
    ("latent", "avg"): (94.13, 70, "2 h"),
    ("latent", "last"): (92.06, 25, "0.2 h"),
    ("perceptron", "mavg"): (94.25, 65, "<1 h"),
    ("perceptron", "avg"): (94.27, 68, "<1 h"),
    ("perceptron", "last"): (91.33, 12, "0.1 h"),
    ("DPLVM", "L-BFGS"): (94.29, 300, "120 h"),
    ("DPLVM", "SGD"): (94.03, 100, "20 h"),
    ("CRF", "L-BFGS"): (94.25, 280, "30 h"),
}
PLAIN = "perceptron"


def choices(record: Record, estimator: str, **what: Any) -> Cell:
    """The best cell of the search with these settings."""
    return max(record.some(stage="search", estimator=estimator, **what), key=lambda c: (c["best"], -c["passes"]))


def rows_of(record: Record) -> dict[tuple[str, str], Cell]:
    """The rows of the test table and the settings that the search gave them."""
    rows = {("perceptron", e): choices(record, e, states=1) for e in ("mavg", "avg", "last")}
    rows |= {("latent", e): choices(record, e, states=5, share=0, split_after=0) for e in ("mavg", "avg", "last")}
    rows |= {("latent, shared", e): choices(record, e, states=5, share=1, split_after=0) for e in ("mavg", "avg")}
    latent = [c for c in record.some(stage="search") if c["states"] > 1]
    best = max(latent, key=lambda c: c["best"])
    return rows | {("latent, best of the search", best["estimator"]): best}


def compared_rows(record: Record) -> list[tuple[str, str]]:
    """Latent rows of averaged weights, the quickest to train first: each is tested against the plain row that has the
    same estimator."""
    rows = [(key, cell) for key, cell in rows_of(record).items() if key[0] != PLAIN and key[1] != "last"]
    return [key for key, _ in sorted(rows, key=lambda row: (row[1]["states"], row[0][1] != "mavg"))]
