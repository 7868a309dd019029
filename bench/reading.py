"""Tagging, listing, scoring and parsing with one thread and with two: the commands, file to file, in this process."""

from __future__ import annotations

import contextlib
import io
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import alternating, keep
from palmette import Beam, Parser, Tagger
from palmette.cli import main
from palmette.data.formats.conllu import read_treebank

COPIES = 60  # of CoNLL-2000's test file: three million tokens
TREES = 4000  # of EWT, to learn from


def _commands(data: Path, folder: Path) -> dict[str, list[str]]:
    """What is measured; models are made for it."""
    chunks, large = data / "conll2000", folder / "large.txt"
    large.write_bytes((chunks / "test.txt").read_bytes() * COPIES)
    Tagger("chunk", learner="perceptron").fit_file(chunks / "train.txt").save(folder / "c.palm")
    trees = data / "ud-ewt" / "en_ewt-ud-train.conllu"
    parser = Parser("rich", search=Beam(8), passes=2)
    parser.fit(read_treebank(str(trees)).take(np.arange(TREES))).save(folder / "p.palm")
    tagger, out = str(folder / "c.palm"), ["-o", str(folder / "out"), "-q"]
    return {
        "tag": ["tag", tagger, str(large), *out],
        "tag, 5 best": ["tag", tagger, str(chunks / "train.txt"), "--nbest", "5", *out],
        "eval": ["eval", tagger, str(large), "-q"],
        "parser parse, beam of 8": ["parser", "parse", str(folder / "p.palm"), str(trees), *out],
        "parser parse, greedy": ["parser", "parse", str(folder / "p.palm"), str(trees), "--beam", "1", *out],
    }


def _run(command: list[str], threads: int) -> Callable[[], Any]:
    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            main([*command, "--threads", str(threads)])

    return run


def bench_reading(data: Path, times: int) -> None:
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        for what, command in _commands(data, Path(name)).items():
            took = alternating({f"{n} threads": _run(command, n) for n in (1, 2)}, times)
            one, two = (statistics.median(row) for row in took.values())
            found[what] = {"one": one, "two": two}
            print(f"{what:<24} one thread {one:6.2f} s   two {two:6.2f} s   {one / two:.2f}x", flush=True)
    keep("reading", found)
