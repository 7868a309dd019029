"""Training on threads: seconds per pass with one thread and with two, and scores of batches beside one-by-one learning.

`threads` measures passes, everything included but the scoring of development data; the sides run in turn. `batches`
compares scores on data that is not learnt from, over seeds, and when a batched learner reaches what the serial one ends
with; a run is kept in `results/batches.json` as soon as it is done, and not repeated. No test data is read.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.balance import most_gain
from bench.classify import real_and_made
from bench.measure import RESULTS, keep
from bench.phases import best_phases, show
from palmette import Beam, Classifier, Crf, Mira, Parser, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.conllu import read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.data.treebank import Treebank
from palmette.options.training import automatic_batch_size

SEEDS, PASSES, SENTENCES = (1, 2, 3, 4, 5), 10, 10_000  # the sizes of batches are those for so many sentences
LEARNERS: dict[str, Any] = {"perceptron": "perceptron", "mira": Mira(nbest=5), "crf, adagrad": Crf(optimiser="adagrad")}
BATCH = automatic_batch_size(SENTENCES) or 1
SIDES = ("one by one", "batches on 1 thread", "batches on 2 threads")
TREES = 4000  # of EWT, in the measurement of passes
REAL = 6000  # sentences of the classifier, and as many made ones
Train = Callable[[int, int], list[float]]  # threads and batch size to seconds of the passes


def _tagger(corpus: Corpus, learner: Any) -> Train:
    def passes(threads: int, batch: int) -> list[float]:
        tagger = Tagger("chunk", learner=learner, passes=4, batch_size=batch)
        return [row.seconds for row in tagger.fit_corpus(corpus, None, threads=threads).outcome_.training_log]

    return passes


def _parser(treebank: Treebank) -> Train:
    def passes(threads: int, batch: int) -> list[float]:
        parser = Parser("rich", search=Beam(8), passes=3, batch_size=batch).fit(treebank, threads=threads)
        return [row.seconds for row in parser.outcome_.training_log]

    return passes


def _classifier(data: Path) -> Train:
    real, made = real_and_made(data, REAL)
    X, y = [*real, *made], [1] * len(real) + [0] * len(made)

    def passes(threads: int, batch: int) -> list[float]:
        classifier = Classifier(passes=3, batch_size=batch).fit(X, y, names=False, threads=threads)
        return [row.seconds for row in classifier.outcome_.training_log]

    return passes


def bench_threads(data: Path, times: int) -> None:
    """Seconds of all passes of a training: sums over the passes, the median of several runs."""
    corpus = read_corpus(data / "conll2000" / "train.txt", FormatSpec())
    trees = read_treebank(str(data / "ud-ewt" / "en_ewt-ud-train.conllu")).take(np.arange(TREES))
    works: dict[str, Train] = {name: _tagger(corpus, learner) for name, learner in LEARNERS.items()}
    works["parser, beam 8"] = _parser(trees)
    works["classifier"] = _classifier(data)
    found: dict[str, dict[str, float]] = {}
    spent: dict[str, dict[str, float]] = {}
    for name, work in works.items():
        took: dict[str, list[float]] = {side: [] for side in SIDES}
        for _ in range(times):
            for side, (threads, batch) in zip(SIDES, ((1, 1), (1, BATCH), (2, BATCH)), strict=True):
                took[side].append(sum(work(threads, batch)))
        found[name] = {side: statistics.median(row) for side, row in took.items()}
        one, alone, two = found[name].values()
        print(f"{name:<16} one by one {one:6.2f} s   batches {alone:6.2f} s   2 threads {two:6.2f} s   "
              f"{one / two:.2f}x and {alone / two:.2f}x")  # fmt: skip
        for threads in (1, 2):
            spent[f"{name}, {threads}"] = best_phases(work, threads, BATCH, times)
            show(name, threads, spent[f"{name}, {threads}"])
    limits = {
        f"{name}: most that batches of {BATCH} can gain": most_gain(corpus, LEARNERS[name], BATCH) for name in LEARNERS
    }
    for name, figure in limits.items():
        print(f"{name:<52} {figure:5.2f}x")
    limits |= _limits()
    keep(
        "threads",
        {"batch": BATCH, "times": times, "cores": os.cpu_count(), "seconds": found, "phases": spent, "limits": limits},
    )


def _limits() -> dict[str, float]:
    """What the cores of this machine cost each other; measured in a process whose kernels are compiled by Numba."""
    command = [sys.executable, "-m", "bench.transfer"]
    done = subprocess.run(command, env={**os.environ, "PALMETTE_KERNELS": "jit"}, capture_output=True, text=True)
    if done.returncode:
        print("what limits two threads was not measured:", done.stderr.strip().splitlines()[-1])
        return {}
    found: dict[str, float] = json.loads(done.stdout)
    for name, figure in found.items():
        print(f"{name:<52} {figure:5.1f}")
    return found


def tasks_of(data: Path) -> dict[str, tuple[Corpus, Corpus, str]]:
    """Training data, development data and features of each corpus."""
    chunks = split(read_corpus(data / "conll2000" / "train.txt", FormatSpec()), 0.1, 1)
    genes = [read_corpus(data / "jnlpba" / f"{part}.txt", FormatSpec()) for part in ("train", "dev")]
    spec = FormatSpec(label="upos", columns=("form",))
    tags = [read_corpus(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu", spec) for part in ("train", "dev")]
    return {
        "CoNLL-2000": (*chunks, "chunk"), "JNLPBA": (genes[0], genes[1], "ner"), "EWT UPOS": (tags[0], tags[1], "pos"),
    }  # fmt: skip


def bench_batches(data: Path) -> None:
    """Scores after the last pass, and the pass with which batches reach the last score of one-by-one learning."""
    path = RESULTS / "batches.json"
    cells: dict[str, list[float]] = json.loads(path.read_text())["result"]["dev"] if path.is_file() else {}
    for task, (train, dev, features) in tasks_of(data).items():
        for learner in LEARNERS:
            for seed in SEEDS:
                for batch in (1, BATCH):
                    name = f"{task} | {learner} | {batch} | {seed}"
                    if name not in cells:
                        tagger = Tagger(features, learner=LEARNERS[learner], passes=PASSES, batch_size=batch, seed=seed)
                        tagger.fit_corpus(train, dev, names=False)
                        cells[name] = [float(row.dev or 0.0) for row in tagger.outcome_.training_log]
                        keep("batches", {"passes": PASSES, "dev": cells})
                _line(task, learner, seed, cells)
            _summary(task, learner, cells)


def _line(task: str, learner: str, seed: int, cells: dict[str, list[float]]) -> None:
    serial, batched = (cells[f"{task} | {learner} | {batch} | {seed}"] for batch in (1, BATCH))
    print(f"{task}, {learner}, seed {seed}: {100 * serial[-1]:.2f} one by one, {100 * batched[-1]:.2f} in batches")


def _summary(task: str, learner: str, cells: dict[str, list[float]]) -> None:
    rows = [[cells[f"{task} | {learner} | {batch} | {seed}"] for seed in SEEDS] for batch in (1, BATCH)]
    one, many = (np.mean(side, axis=0) * 100 for side in rows)
    reached = [k + 1 for k in range(PASSES) if many[k] >= one[-1] - 0.005]
    when = f"reached with pass {reached[0]}" if reached else "not reached"
    print(f"{task}, {learner}: mean {one[-1]:.2f} one by one, {many[-1]:.2f} in batches ({when})", flush=True)
