"""The default of a tagger beside the default before it and other settings, one setting for all tasks.

Choices are made on development data: every corpus has a part to learn from and one to score on. On small tasks all
settings run with two seeds, on large ones those of `LARGE`; those of `FINAL` run with five seeds. These and, task by
task, the setting that is best on development data are then scored on test data. A run is a process of its own
(`python -m bench.defaults TASK SETTING SEED dev|test FOLDER`), so that its memory is known; it is kept in
`results/defaults.json` as soon as it is done, and not repeated.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.corpora import TASKS
from bench.measure import HERE, RESULTS, keep
from bench.report import fill
from palmette import Arow, Mira, PassiveAggressive, ProbPerc, Tagger
from palmette.structures.chain.calibrate import reliability_on

Settings = dict[str, Any]
Cell = dict[str, float | None]
Cells = dict[str, dict[str, dict[str, Cell]]]  # task -> setting -> seed -> figures
DEFAULT, BEFORE = "default", "before"
SEEDS, FINAL_SEEDS = 2, 5
FEW = 5_000  # sentences, from which on the default before learnt from batches of four

ORDER_2: Settings = {"order": 2, "passes": 15}
TRIED: dict[str, Settings] = {
    BEFORE: {"learner": Mira(nbest=5), "passes": 10},  # and its batches
    DEFAULT: {},
    "10 passes": {"passes": 10},
    "20 passes": {"passes": 20},
    "order 1": {"order": 1},
    "batches of 4": {"batch_size": 4},
    "mira, 3-best": {"learner": Mira(nbest=3), **ORDER_2},
    "arow, 5-best, C 0.1": {"learner": Arow(nbest=5, aggressiveness=0.1), **ORDER_2},
    "pa": {"learner": PassiveAggressive(), **ORDER_2},
    "probperc": {"learner": ProbPerc(), **ORDER_2},
    "perceptron": {"learner": "perceptron", **ORDER_2},
}
LARGE = (BEFORE, DEFAULT, "20 passes", "order 1", "batches of 4")
FINAL = (BEFORE, DEFAULT)


def bench_defaults(data: Path) -> None:
    path = RESULTS / "defaults.json"
    found: dict[str, Cells] = json.loads(path.read_text())["result"] if path.exists() else {}
    for part, wanted in (("dev", _on_dev), ("test", _on_test)):
        for task, setting, seed in wanted(found.setdefault("dev", {})):
            own = found.setdefault(part, {}).setdefault(task, {}).setdefault(setting, {})
            if str(seed) not in own:
                own[str(seed)] = cell = _process(task, setting, seed, part, data)
                print(f"  {part:<5}{task:<14}{setting:<22}{seed}  {cell}", flush=True)
                keep("defaults", found)
    fill(HERE.parent / "docs" / "learners.md", "\n".join(table(found)))
    print("\n".join(table(found)))


def _on_dev(found: Cells) -> Iterator[tuple[str, str, int]]:
    """Task, setting and seed of every run on development data: small tasks and the first seeds first."""
    for small in (True, False):
        for seed in range(1, FINAL_SEEDS + 1):
            for task in (name for name, own in TASKS.items() if own.small == small):
                settings = FINAL if seed > SEEDS else tuple(TRIED) if small else LARGE
                yield from ((task, setting, seed) for setting in settings)


def _on_test(dev: Cells) -> Iterator[tuple[str, str, int]]:
    for task in (name for name, own in TASKS.items() if own.has_test):
        for setting in dict.fromkeys((*FINAL, best_known(dev[task]))):
            yield from ((task, setting, seed) for seed in range(1, FINAL_SEEDS + 1))


def _process(task: str, setting: str, seed: int, part: str, data: Path) -> Cell:
    command = [sys.executable, "-m", "bench.defaults", task, setting, str(seed), part, str(data)]
    cell: Cell = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return cell


def run(task: str, setting: str, seed: int, part: str, data: Path) -> Cell:
    """F1 of spans, or else accuracy, in percent; seconds of CPU of the training, peak memory in MB, and the calibration
    errors of tokens and spans where confidences are calibrated."""
    parts = TASKS[task].read(data)
    train, gold = (parts.train, parts.dev) if part == "dev" else (parts.whole, parts.test)
    assert gold is not None
    params = TRIED[setting] | {"seed": seed}
    if setting == BEFORE and train.n_sentences >= FEW:
        params["batch_size"] = 4
    begun = time.process_time()
    tagger = Tagger(**params).fit_corpus(train, None, threads=1)
    cpu, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scores = tagger.evaluate(gold)
    cell: Cell = {
        "score": round(100 * (scores.accuracy if scores.f1 is None else scores.f1), 2), "cpu": round(cpu, 2),
        "memory": round(memory),
    }  # fmt: skip
    if tagger.calibrated_:
        found = reliability_on(tagger.model_, gold)
        cell |= {"tokens": round(100 * found.tokens.ece, 2)}
        cell |= {} if found.spans is None else {"spans": round(100 * found.spans.ece, 2)}
    return cell


def mean(own: dict[str, Cell], figure: str) -> float:
    """The mean of a figure over seeds."""
    return fmean(float(cell[figure] or 0.0) for cell in own.values())


def best_known(own: dict[str, dict[str, Cell]]) -> str:
    """The setting with the best mean score on development data; of equal ones the quickest."""
    return max(own, key=lambda setting: (mean(own[setting], "score"), -mean(own[setting], "cpu")))


def table(found: dict[str, Cells]) -> Iterator[str]:
    """For docs/learners.md: tasks and their scores on development data, then all settings."""
    dev = found["dev"]
    yield "| on development data | before | default | best | which is | CPU, s | memory, MB | ECE tokens | spans |"
    yield "|---|--:|--:|--:|---|--:|--:|--:|--:|"
    for task, own in ((task, dev[task]) for task in TASKS if task in dev and {*FINAL} <= dev[task].keys()):
        best, new = best_known(own), own[DEFAULT]
        ece = " | ".join(
            f"{mean(new, kind):.1f}" if all(kind in cell for cell in new.values()) else ""
            for kind in ("tokens", "spans")
        )
        costs = " | ".join(f"{mean(own[BEFORE], figure):.{n}f}, {mean(new, figure):.{n}f}" for figure, n in COSTS)
        scores = " | ".join(f"{mean(own[setting], 'score'):.2f}" for setting in (BEFORE, DEFAULT, best))
        yield f"| {task} | {scores} | {best} | {costs} | {ece} |"
    yield ""
    yield f"| against {BEFORE} | tasks | mean | lowest to highest | CPU |"
    yield "|---|--:|--:|--:|--:|"
    for setting in (setting for setting in TRIED if setting != BEFORE):
        ran = {task: own for task, own in dev.items() if setting in own and BEFORE in own}
        if ran:
            gains = [mean(own[setting], "score") - mean(own[BEFORE], "score") for own in ran.values()]
            times = sum(mean(own[setting], "cpu") for own in ran.values())
            times /= sum(mean(own[BEFORE], "cpu") for own in ran.values())
            span = f"{min(gains):+.2f} to {max(gains):+.2f}"
            yield f"| {setting} | {len(ran)} | {fmean(gains):+.2f} | {span} | {times:.1f}x |"


COSTS: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 0))


if __name__ == "__main__":
    task, setting, seed, part, folder = sys.argv[1:]
    print(json.dumps(run(task, setting, int(seed), part, Path(folder))))
