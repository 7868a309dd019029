"""Whole processes, from start to exit, beside python-crfsuite: one sentence, a test file, ten of them, training.

Cold is a first run after installation, when Python has not kept its compiled sources yet; warm is any later one."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import rival
from bench.measure import TEMPLATES, keep, median, processes
from palmette import Tagger
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace

CRFPP = TEMPLATES / "crfpp.txt"
SENTENCE = "Time NN O\nflies VBZ O\nlike IN O\nan DT O\narrow NN O\n\n"
CALLS = 20_000


def bench_start(data: Path, times: int) -> None:
    """Seconds of CPU and of the clock, and peak memory."""
    train, test = data / "conll2000" / "train.txt", data / "conll2000" / "test.txt"
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mine, theirs = folder / "mine.palm", folder / "theirs.crfsuite"
        Tagger(template=CRFPP, learner="perceptron", passes=10, seed=1).fit_file(train).save(mine)
        rival.train(train, theirs)
        files = {"one sentence": folder / "one.txt", "the test file": test, "ten test files": folder / "ten.txt"}
        files["one sentence"].write_text(SENTENCE, encoding="utf-8")
        files["ten test files"].write_bytes((test.read_bytes().rstrip(b"\n") + b"\n\n") * 10)
        for what, file in files.items():
            found[what] = _sides(
                ["tag", str(mine), str(file), "-o", str(folder / "o.txt"), "--threads", "1", "-q"],
                ["tag", str(theirs), str(file), str(folder / "p.txt")], times,
            )  # fmt: skip
        found["training"] = _sides(
            ["train", str(train), "-o", str(folder / "again.palm"), "--template", str(CRFPP), "--learner", "perceptron",
             "--passes", "10", "--seed", "1", "--threads", "1", "-q"],
            ["train", str(train), str(theirs)], times,
        )  # fmt: skip
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "none")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        words = ["tag", str(mine), str(files["one sentence"]), "-o", str(folder / "o.txt"), "--threads", "1", "-q"]
        cold = ["tag", str(theirs), str(files["one sentence"]), str(folder / "p.txt")]
        found["one sentence, cold"] = _sides(words, cold, times, keep_bytecode=False)
        del os.environ["PYTHONPYCACHEPREFIX"], os.environ["PYTHONDONTWRITEBYTECODE"]
    found["microseconds of a call on bound arguments"] = _call()
    keep("start", found)
    _print(found)


def _sides(mine: list[str], theirs: list[str], times: int, keep_bytecode: bool = True) -> dict[str, Any]:
    commands = {
        "palmette": [sys.executable, "-m", "palmette", *mine],
        "python-crfsuite": [sys.executable, "-m", "bench.rival", *theirs],
    }
    return processes(commands, times, keep_bytecode)


def _call() -> float:
    """A kernel with almost no work, on a model and a corpus that it has seen before."""
    tagger = Tagger("pos", learner="perceptron", passes=1).fit([["a"]], [["X"]])
    model: Any = tagger.model_
    from palmette.data.items import corpus_from_items

    encoded = model.encode(corpus_from_items([["a"]]).corpus)
    workspace, out = make_sum_workspace(model.chain, encoded, False), np.zeros(1)
    call: Callable[[], Any] = lambda: log_partitions(model.chain, encoded, workspace, out, False)  # noqa: E731
    call()
    best = 1e9
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter() - begun) / CALLS)
    return 1e6 * best


def _print(found: dict[str, Any]) -> None:
    print(f"{'':22}{'CPU s':>18}{'clock s':>18}{'MB':>14}   ratio (CPU)")
    for what, sides in found.items():
        if not isinstance(sides, dict):
            print(f"{what}: {sides:.2f}")
            continue
        mine, theirs = sides["palmette"], sides["python-crfsuite"]
        cells = [f"{median(mine[k]):.2f} / {median(theirs[k]):.2f}" for k in ("cpu", "seconds")]
        memory = f"{max(mine['megabytes']):.0f} / {max(theirs['megabytes']):.0f}"
        ratio = median(theirs["cpu"]) / median(mine["cpu"])
        print(f"{what:22}{cells[0]:>18}{cells[1]:>18}{memory:>14}   {ratio:.1f}x")
