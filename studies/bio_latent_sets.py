"""Settings of the study of bio-entities (studies/bio_latent.py), published figures, and what the search chose."""

from __future__ import annotations

import statistics
from typing import Any

from studies.bio_long import FOUR, FOUR_AT, Row
from studies.common import Cell, Record

NAME = "bio_latent"
EARLIER = (1, 2, 3)  # seeds of the search at cut-off 2, of MIRA, and of the first runs of all rows
PASSES = 20  # of the search and of the first runs; half of it at order 2
START = (1,)  # seeds of the kinds of start
CURVE = {0: (2, 3, 4, 6, 8), 1: (2, 3, 4)}  # states a label on dev, by share
MAVG = {"estimator": "mavg", "mavg_every": 4}
OURS, THEIRS = MAVG | {"share": 1}, MAVG | {"share": 0}  # all states of a label share an update, or not (published)
# What the search tries around two states a label, random start of 0.01, mavg every 4 passes, observations on pairs
AROUND: list[dict[str, Any]] = [
    shared | changes
    for shared in ({"share": 1}, {"share": 0})
    for changes in (
        {"estimator": "avg"}, {"estimator": "mavg", "mavg_every": 2}, {"estimator": "mavg", "mavg_every": 8},
        MAVG | {"init_size": 0.001}, MAVG | {"init_size": 0.1}, MAVG | {"split_after": 5}, MAVG | {"pairs": False},
    )
]  # fmt: skip
SPLIT = {"estimator": "mavg", "mavg_every": 8, "split_after": 5}
AROUND += [{"share": share} | SPLIT for share in (0, 1, 3)]
# The second search, at cut-off 2: states and settings
AT_TWO: list[tuple[int, dict[str, Any]]] = [
    (1, {}), *((n, {"share": share} | SPLIT) for n in (2, 3) for share in (3, 5)),
    (2, {"share": 3, "estimator": "mavg", "mavg_every": 8}), (2, {"share": 3, "split_after": 5} | MAVG),
]  # fmt: skip
TUNED = "latent, shared, chosen here"
CELLS = ((15, 1), (5, 1), (2, 1), (2, 2))  # cut-off, order
LATENT = ("latent", "latent, shared")
# A plain model again, with margins for the spans of the five best paths (aggressiveness as it comes)
MIRA = "MIRA, 5 best, span cost"
MARGINS = {"learner": "mira", "candidates": 5, "cost": "span"}
MORE = {(15, 1): (MIRA,), (5, 1): (MIRA,), (2, 1): (TUNED, MIRA)}
UNPUBLISHED = {(2, 1): ("CRF, L-BFGS",)}  # of the study of likelihoods
# (cut-off, order) -> method -> F, passes, time
PUBLISHED: dict[tuple[int, int], dict[str, tuple[float, int, str]]] = {
    (15, 1): {
        "perceptron": (65.83, 20, "<1 h"), "latent": (67.33, 45, "1 h"), "DPLVM, L-BFGS": (67.41, 300, "160 h"),
        "DPLVM, SGD": (65.96, 100, "30 h"), "CRF, L-BFGS": (64.17, 300, "20 h"),
    },
    (5, 1): {
        "perceptron": (65.61, 22, "<1 h"), "latent": (68.49, 60, "3 h"), "DPLVM, SGD": (66.01, 90, "60 h"),
        "CRF, L-BFGS": (66.12, 200, "40 h"),
    },
    (2, 1): {"perceptron": (68.93, 20, "1 h"), "latent": (70.13, 24, "3 h"), "DPLVM, SGD": (68.74, 100, "120 h")},
    (2, 2): {"perceptron": (70.07, 24, "6 h"), "latent": (70.51, 20, "30 h")},
}  # fmt: skip


def chosen(record: Record, share: int) -> Cell:
    """The best cell of the search with shared updates or without (observations on pairs stay, as published)."""
    cells = [c for c in record.some(stage="search") if min(1, c["settings"].get("share", -1)) == share]
    return max((c for c in cells if c["settings"].get("pairs", True)), key=lambda c: float(c["best"]))


def methods(record: Record) -> list[tuple[str, int, dict[str, Any]]]:
    """The rows of the test table: name, states, settings."""
    theirs, ours = chosen(record, 0), chosen(record, 1)
    return [
        ("perceptron", 1, {}), ("latent", theirs["states"], theirs["settings"]),
        ("latent, shared", ours["states"], ours["settings"]),
    ]  # fmt: skip


def chosen_at_two(record: Record) -> tuple[int, dict[str, Any]]:
    """The states and settings with the best mean at cut-off 2."""
    return max((choice for choice in AT_TWO if choice[0] > 1), key=lambda choice: _mean_at_two(record, choice))


def _mean_at_two(record: Record, choice: tuple[int, dict[str, Any]]) -> float:
    return statistics.mean(c["best"] for c in record.some(stage="search2", states=choice[0], settings=choice[1]))


def long_rows(record: Record) -> list[Row]:
    """The rows of the table with as many passes as published."""
    return [
        Row(method, states, settings, cut, order)
        for cut, order in CELLS
        for method, states, settings in [*methods(record), (FOUR, 4, THEIRS)]
        if method != FOUR or (cut, order) in FOUR_AT
    ]
