"""Records of curves: passes, iterations, penalties."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from palmette import Crf, Tagger
from palmette.datasets import load_demo
from palmette.reports.inspection import inspect_chain
from studies.charts import Chart, Line, Note, Panel

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"
SEEDS = range(1, 11)
PASSES = 10
PENALTIES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def tagging_data(part: str) -> tuple[list[list[str]], list[list[str]]]:
    """Words and parts of speech of the demo corpus."""
    X, _ = load_demo(part)
    return [[word for word, _ in sentence] for sentence in X], [[tag for _, tag in sentence] for sentence in X]


def _to(row: list[float], length: int) -> list[float]:
    """Training ends after a pass without an error: the weights, and so the scores, stay."""
    return [*row, *[row[-1]] * (length - len(row))]


def averaged() -> dict[str, Any]:
    """Accuracy on development data by pass, of the mean of all weights and of the last ones, over ten seeds."""
    train, dev = tagging_data("train"), tagging_data("dev")
    lines = []
    for estimator, name, colour in (("avg", "average of all weights", "blue"), ("last", "last weights", "orange")):
        runs = []
        for seed in SEEDS:
            tagger = Tagger("pos", learner="perceptron", estimator=estimator, passes=PASSES, seed=seed).fit(
                *train, dev=dev
            )
            runs.append(_to([100 * row["dev"] for row in tagger.training_log_], PASSES))
        by_pass = list(zip(*runs, strict=True))
        lines.append(
            Line(
                name, list(map(float, range(1, PASSES + 1))), [statistics.mean(row) for row in by_pass], colour,
                points=True, low=[min(row) for row in by_pass], high=[max(row) for row in by_pass],
            )
        )  # fmt: skip
    panel = Panel(lines, "pass over the training data", "accuracy on new text, %: mean and range of ten seeds")
    return Chart("The average of all weights is better from the first pass on", [panel]).as_dict()


def objective() -> dict[str, Any]:
    """A CRF by L-BFGS: how far the objective is above its last value, and the score on development data."""
    tagger = Tagger("chunk", learner=Crf()).fit(*load_demo("train"), dev=load_demo("dev"))
    log = tagger.training_log_
    numbers = [float(row["number"]) for row in log]
    scores = [100 * row["dev"] for row in log]
    fall = [row["figures"]["objective"] for row in log]
    above = [value - fall[-1] for value in fall[:-1]]
    best = tagger.model_.meta["best_pass"]
    minimised = Panel(
        [Line("", numbers[:-1], above, "blue")], "iteration", "objective above its minimum",
        title="what is minimised", log_y=True,
    )  # fmt: skip
    kept = Note(best, scores[best - 1], f"kept: iteration {best}, {scores[best - 1]:.1f}", "teal", "se")
    wanted = Panel(
        [Line("", numbers, scores, "teal")], "iteration", "F on development data, %", title="what is wanted",
        y_range=(60.0, 100.0), notes=[kept],
    )  # fmt: skip
    title = "The objective falls to the end; new text has all its gain long before"
    return Chart(title, [minimised, wanted], 2, (376.0, 290.0)).as_dict()


def l1_path() -> dict[str, Any]:
    """Weights of one label against the L1 penalty; how many weights of all labels are left, and what they score."""
    X, y = load_demo("train")
    dev = load_demo("dev")
    paths: dict[str, list[float]] = {}
    left, scores = [], []
    for k, l1 in enumerate(PENALTIES):
        tagger = Tagger("chunk", learner=Crf(l1=l1, l2=0.0, iterations=400, tolerance=5e-5)).fit(X, y)
        rows = inspect_chain(tagger.model_, 10**6, None).about["top"]
        for row in rows["B-VP"]:
            paths.setdefault(row["name"], [0.0] * len(PENALTIES))[k] = row["weight"]
        left.append(float(sum(row["weight"] != 0 for each in rows.values() for row in each)))
        scores.append(100 * tagger.score(*dev))
    penalties = list(PENALTIES)
    lines = [
        Line(name, penalties[::-1], paths[name][::-1], colour, points=True)
        for name, colour in zip(_dying(paths), ("blue", "orange", "teal", "pink", "amber", "grey"), strict=False)
    ]
    weights = Panel(lines, "L1 penalty", "weight for B-VP", title="weights become exactly zero", log_x=True,
                    falling_x=True)  # fmt: skip
    notes = [
        Note(left[k], scores[k], f"{penalties[k]:g}", "ink", side)
        for k, side in ((0, "n"), (PENALTIES.index(0.5), "s"), (PENALTIES.index(1.0), "s"), (len(left) - 1, "e"))
    ]
    costs = Panel(
        [Line("", left, scores, "teal", points=True)], "weights of attributes that are left",
        "accuracy on development data, % (marked: penalties)", title="what fewer weights cost", log_x=True, notes=notes,
    )  # fmt: skip
    return Chart("A larger L1 penalty leaves fewer weights", [weights, costs], 1, (680.0, 270.0)).as_dict()


def _dying(paths: dict[str, list[float]]) -> list[str]:
    """For each penalty the attribute with the largest weight that it makes zero, the last ones first; before them the
    largest that none does."""
    lasts = {name: max(k for k, weight in enumerate(row) if weight) for name, row in paths.items()}
    found = []
    for last in range(len(PENALTIES) - 1, -1, -1):
        own = [name for name, k in lasts.items() if k == last]
        found += sorted(own, key=lambda name: -abs(paths[name][0]))[:1]
    return found


def cluster() -> dict[str, Any]:
    """Seconds per pass by the number of workers, from the costs that `python -m bench cluster` has measured."""
    kept = json.loads((RESULTS / "cluster.json").read_text(encoding="utf-8"))["result"]["simulation"]
    panels = []
    for name, found in kept.items():
        rows = found["rows"]
        workers = [float(row["workers"]) for row in rows]
        best = min(rows, key=lambda row: row["pass"])
        lines = [
            Line("pass", workers, [row["pass"] for row in rows], "blue", points=True),
            Line("learning", workers, [row["learn"] for row in rows], "teal", "dashed"),
            Line("mixing", workers[1:], [row["mix"] for row in rows[1:]], "orange", "dashed"),
        ]
        note = Note(float(best["workers"]), best["pass"], f"{best['workers']} workers", "ink", "n")
        panels.append(
            Panel(
                lines, "workers", "seconds", name, log_x=True, log_y=True, notes=[note],
                x_ticks=[1.0, 8.0, 64.0, 512.0],
            )
        )  # fmt: skip
    title = "More workers pay until the driver mixes longer than they learn"
    return Chart(title, panels, len(panels), (330.0, 290.0)).as_dict()
