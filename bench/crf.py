"""CRF: one gradient over CoNLL-2000 beside an L-BFGS iteration of python-crfsuite, and both objectives after a while.

Features are equal (`feature.possible_states`, `feature.possible_transitions`) unless told otherwise; the 19 templates,
no end weights, no constraints, c2 = l2 = 1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pycrfsuite

from bench.measure import TEMPLATES, keep, median
from bench.rival import attributes, read
from palmette import Tagger

ITERATIONS = 12


def _rival(sentences: list[Any], model: Path, equal: bool) -> tuple[list[float], float]:
    """Seconds of each iteration, and the loss after the last one."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    everything = {"feature.possible_states": equal, "feature.possible_transitions": equal}
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": ITERATIONS, "delta": 0.0, "epsilon": 0.0, **everything})
    for x, y in sentences:
        trainer.append(x, y)
    trainer.train(str(model))
    steps = trainer.logparser.iterations
    return [float(step["time"]) for step in steps], float(steps[-1]["loss"])


def _mine(train: Path) -> tuple[list[float], list[float], float]:
    """Seconds of each gradient and of each iteration, and the objective after the last one."""
    from palmette.chain import objective

    gradients: list[float] = []
    real = objective.ChainObjective.__call__

    def timed(self: Any, vector: Any) -> Any:
        begun = time.perf_counter()
        found = real(self, vector)
        gradients.append(time.perf_counter() - begun)
        return found

    objective.ChainObjective.__call__ = timed  # type: ignore[method-assign]
    try:
        tagger = Tagger(
            template=TEMPLATES / "crfpp.txt", learner="crf", l2=1.0, passes=ITERATIONS, tolerance=0.0,
            constraints="none", ends=False,
        ).fit_file(train)  # fmt: skip
    finally:
        objective.ChainObjective.__call__ = real  # type: ignore[method-assign]
    last = tagger.history_[-1]
    return gradients, [row["seconds"] for row in tagger.history_], float(last["figures"]["objective"])


def bench_crf(data: Path, times: int) -> None:
    """Both sides in turn; medians over all their iterations."""
    train = data / "conll2000" / "train.txt"
    sentences = [(attributes(s), [row[2] for row in s]) for s in read(train)]
    _mine(train)  # compile
    found: dict[str, list[float]] = {"gradient": [], "iteration": [], "rival": [], "rival, seen features": []}
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(max(1, times // 2)):
            gradients, iterations, values["palmette"] = _mine(train)
            found["gradient"] += gradients
            found["iteration"] += iterations
            for name, equal in (("rival", True), ("rival, seen features", False)):
                steps, loss = _rival(sentences, Path(folder, "m"), equal)
                found[name] += steps
                values[name] = loss
            medians = {name: round(median(all_), 3) for name, all_ in found.items()}
            print(f"  turn {turn + 1}: {medians}", file=sys.stderr)
    keep("crf", {"seconds": found, "objective": values})
    mine, step, theirs, seen = (median(found[name]) for name in found)
    print(
        f"one gradient {mine:.3f} s (an iteration {step:.3f} s), python-crfsuite's iteration {theirs:.3f} s with equal "
        f"features ({theirs / mine:.1f}x), {seen:.3f} s with seen features only ({seen / mine:.1f}x)"
    )
    print(f"objective after {ITERATIONS} iterations: {values['palmette']:.1f} against {values['rival']:.1f}")
