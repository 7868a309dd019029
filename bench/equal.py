"""Seconds to the same score: how many passes learning one by one and learning in batches need, by the curves that
`python -m bench batches` has recorded, times the seconds of a pass with one thread and with two.

The score is that of learning one by one after its last pass, mean of the seeds, or the best of batches if they stay
below it. Passes are counted until a mean first reaches it, with fractions, on straight lines between passes.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import RESULTS, keep
from bench.threads import BATCH, LEARNERS, SEEDS, tasks_of
from palmette import Tagger

TIMED = 3  # passes


def passes_to(curve: np.ndarray, score: float) -> float:
    """The passes after which a curve, one number per pass, first reaches a score that it does reach."""
    k = int(np.argmax(curve >= score))
    if k == 0:
        return 1.0
    return float(k + (score - curve[k - 1]) / (curve[k] - curve[k - 1]))


def same_score(one: np.ndarray, many: np.ndarray) -> tuple[float, float, float]:
    """The score that `one` ends with, or the best of `many` if it stays below, and the passes that each needs."""
    score = min(one[-1], many.max())
    return float(score), passes_to(one, score), passes_to(many, score)


def _mean_curve(cells: dict[str, list[float]], task: str, learner: str, batch: int) -> np.ndarray:
    return 100 * np.mean([cells[f"{task} | {learner} | {batch} | {seed}"] for seed in SEEDS], axis=0)


def bench_equal(data: Path, times: int) -> None:
    """A row per corpus and learner."""
    cells = json.loads((RESULTS / "batches.json").read_text())["result"]["dev"]
    found: dict[str, dict[str, float]] = {}
    for task, (train, _, features) in tasks_of(data).items():
        for name, learner in LEARNERS.items():
            took: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(times):
                for threads, batch in ((1, 1), (2, BATCH)):
                    made: Any = Tagger(features, learner=learner, passes=TIMED, batch_size=batch)
                    log = made.fit_corpus(train, None, names=False, threads=threads).outcome_.training_log
                    took[threads].append(sum(row.seconds for row in log) / TIMED)
            one, many = (_mean_curve(cells, task, name, batch) for batch in (1, BATCH))
            score, few, more = same_score(one, many)
            first, second = few * statistics.median(took[1]), more * statistics.median(took[2])
            row = {"one by one": float(one[-1]), "score": score, "passes one by one": few,
                   "passes in batches": more, "seconds one by one": first, "seconds on 2 threads": second}  # fmt: skip
            found[f"{task}, {name}"] = row
            print(
                f"{task + ', ' + name:<28} {score:.2f} (one by one {row['one by one']:.2f}): {few:.1f} and {more:.1f} "
                f"passes, {first:.2f} and {second:.2f} s, {first / second:.2f}x",
                flush=True,
            )
    keep("equal", {"batch": BATCH, "times": times, "rows": found})
