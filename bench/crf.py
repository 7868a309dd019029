"""CRF: one gradient over CoNLL-2000 beside an L-BFGS iteration of python-crfsuite, and both objectives after a while;
then the time to the same quality on held-out sentences, and the peak memory of whole trainings.

Features are equal (`feature.possible_states`, `feature.possible_transitions`) unless told otherwise; the 19 templates,
no end weights, no constraints, c2 = l2 = 1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from bench.measure import TEMPLATES, keep, median, process
from bench.rival import attributes, read
from palmette import Crf, FormatSpec, Tagger
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.evaluation.scores import score

ITERATIONS = 12
ROUNDS, PASSES = 60, 10


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
    from palmette.training.chain import objective

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
            template=TEMPLATES / "crfpp.txt", learner=Crf(l2=1.0, tolerance=0.0), passes=ITERATIONS,
            constraints="none", ends=False,
        ).fit_file(train)  # fmt: skip
    finally:
        objective.ChainObjective.__call__ = real  # type: ignore[method-assign]
    last = tagger.training_log_[-1]
    return gradients, [row["seconds"] for row in tagger.training_log_], float(last["figures"]["objective"])


def bench_crf(data: Path, times: int) -> None:
    """Both sides in turn; medians over all their iterations."""
    train = data / "conll2000" / "train.txt"
    sentences = [(attributes(s), [row[2] for row in s]) for s in read(train)]
    _mine(train)  # compile
    found: dict[str, list[float]] = {"gradient": [], "iteration": [], "rival": [], "rival, seen features": []}
    values: dict[str, Any] = {}
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
    mine, step, theirs, seen = (median(found[name]) for name in found)
    print(
        f"one gradient {mine:.3f} s (an iteration {step:.3f} s), python-crfsuite's iteration {theirs:.3f} s with equal "
        f"features ({theirs / mine:.1f}x), {seen:.3f} s with seen features only ({seen / mine:.1f}x)"
    )
    print(f"objective after {ITERATIONS} iterations: {values['palmette']:.1f} against {values['rival']:.1f}")
    values["held out"] = _to_equal_quality(data)
    values["megabytes"] = _memory(data)
    keep("crf", {"seconds": found, "objective": values})


def _to_equal_quality(data: Path) -> dict[str, float]:
    """python-crfsuite's L-BFGS as it comes, to its end of ROUNDS iterations, on nine tenths of the sentences; then how
    long palmette takes to be as good on the last tenth, by L-BFGS and by AdaGrad."""
    corpus = read_corpus(data / "conll2000" / "train.txt", FormatSpec())
    rest, held_out = split(corpus, 0.1, 1)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": ROUNDS})
    with tempfile.TemporaryDirectory() as folder:
        for s in range(rest.n_sentences):
            trainer.append(attributes(_rows(rest, s)), [row[-1] for row in _rows(rest, s)])
        begun = time.perf_counter()
        trainer.train(str(Path(folder, "m")))
        took = time.perf_counter() - begun
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder, "m")))
        guess = [tagger.tag(attributes(_rows(held_out, s))) for s in range(held_out.n_sentences)]
    f1 = 100 * _f1(held_out, [label for labels in guess for label in labels])
    found = {"python-crfsuite": took, "python-crfsuite, F": f1}
    print(f"held out: python-crfsuite, {ROUNDS} iterations: F {f1:.2f} after {took:.1f} s")
    for name, own in (("lbfgs", {"l2": 1.0}), ("lbfgs", {"l2": 0.3}), ("adagrad", {"l2": 0.3, "rate": 0.2})):
        rounds = ROUNDS if name == "lbfgs" else PASSES
        warm = Tagger(template=TEMPLATES / "crfpp.txt", learner=Crf(optimiser=name, **own), passes=1)
        warm.fit_corpus(held_out, held_out)  # compiles what the clock must not see, the search of the held-out part too
        mine = Tagger(template=TEMPLATES / "crfpp.txt", learner=Crf(optimiser=name, **own), passes=rounds)
        mine.fit_corpus(rest, held_out)
        after = 0.0
        for row in mine.training_log_:
            after += row["seconds"]
            if 100 * row["dev"] >= f1:
                title = f"palmette, {name}, l2 {own['l2']}"
                found[title] = after
                print(f"held out: {title}: as good after {row['number']} and {after:.2f} s ({took / after:.0f}x)")
                break
        else:
            best = max(100 * row["dev"] for row in mine.training_log_)
            print(f"held out: palmette, {name}, l2 {own['l2']}: at most {best:.2f}, after {after:.1f} s")
    return found


def _f1(corpus: Corpus, guess: list[str]) -> float:
    assert corpus.labels is not None
    names = sorted({*corpus.labels.types, *guess})
    number = {name: k for k, name in enumerate(names)}
    gold = np.array([number[name] for name in corpus.labels.types], np.int32)[corpus.labels.ids]
    found = score(gold, np.array([number[name] for name in guess], np.int32), corpus.offset, names).f1
    assert found is not None
    return found


def _rows(corpus: Corpus, s: int) -> list[list[str]]:
    """The cells of sentence s with its labels."""
    assert corpus.labels is not None
    lo, hi = int(corpus.offset[s]), int(corpus.offset[s + 1])
    labels = [corpus.labels.types[k] for k in corpus.labels.ids[lo:hi]]
    return [[*cells, label] for cells, label in zip(corpus.sentence(s), labels, strict=True)]


def _memory(data: Path) -> dict[str, float]:
    """Peak memory of whole trainings of ITERATIONS iterations, in MB."""
    train = data / "conll2000" / "train.txt"
    with tempfile.TemporaryDirectory() as folder:
        common = ["-o", str(Path(folder, "m")), "-t", str(TEMPLATES / "crfpp.txt"), "-q", "--learner", "crf"]
        ours = [sys.executable, "-m", "palmette", "train", str(train), *common, "--passes", str(ITERATIONS)]
        theirs = [sys.executable, "-m", "bench.rival", "crf", str(train), str(Path(folder, "r")), str(ITERATIONS)]
        found = {name: process(command)[2] for name, command in (("palmette", ours), ("python-crfsuite", theirs))}
    print(f"peak memory: {found['palmette']:.0f} MB against {found['python-crfsuite']:.0f} MB")
    return found
