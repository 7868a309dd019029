"""The dependency parser on UD English-EWT: words a second by beam, full and compact, with merging and without; time and
memory of training; sizes of models and what a compact one loses. Models are trained in processes of their own, in the
same run; files and tags are read before the clock of parsing starts."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import keep, process
from palmette import Parser
from palmette.data import Treebank, read_treebank

BEAMS = (1, 2, 4, 8, 16)
PASSES = {"rich": 10, "basic": 2}
Figures = dict[str, dict[str, float]]


def bench_parse(data: Path, times: int) -> None:
    names = {part: str(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu") for part in ("train", "dev", "test")}
    dev, test = read_treebank(names["dev"]), read_treebank(names["test"])
    result: Figures = {"words_per_second": {}, "training_seconds": {}, "peak_megabytes": {}}
    with tempfile.TemporaryDirectory() as folder:
        parsers = {}
        for features, passes in PASSES.items():
            model = f"{folder}/{features}.palm"
            parsers[features] = _trained(names, model, features, passes, result)
        result["model_megabytes"], result["las"] = _compacted(folder, parsers, dev, test)
        for name, speed in _speeds(parsers, dev, times).items():
            result["words_per_second"][name] = speed
            print(f"{name:<28} {speed:10,.0f} words a second")
    keep("parse", result)


def _trained(names: dict[str, str], model: str, features: str, passes: int, result: Figures) -> Parser:
    """A parser trained by the command, with development data; its time and memory go into the result."""
    command = [sys.executable, "-m", "palmette", "parser", "train", names["train"], "--dev", names["dev"], "-q"]
    took, cpu, peak = process([*command, "-o", model, "--features", features, "--passes", str(passes)])
    name = f"{features}, beam 8, {passes} passes"
    result["training_seconds"][name], result["peak_megabytes"][name] = cpu, peak
    print(f"{name}: {cpu:.0f} s of CPU ({took:.0f} s), {peak:,.0f} MB")
    return Parser.load(model)


def _compacted(
    folder: str, parsers: dict[str, Parser], dev: Treebank, test: Treebank
) -> tuple[dict[str, float], dict[str, float]]:
    """Sizes in MB and LAS on dev and test of the rich parser, full and compact; the compact one is chosen on dev."""
    small = parsers["rich, compact"] = Parser.load(f"{folder}/rich.palm")
    small.compact(dev)
    small.save(f"{folder}/rich, compact.palm")
    sizes = {name: Path(f"{folder}/{name}.palm").stat().st_size / 1e6 for name in parsers}
    las = {
        f"{name}, {part}": 100 * parsers[name].evaluate(gold).las
        for name in ("rich", "rich, compact")
        for part, gold in (("dev", dev), ("test", test))
    }
    for name, figure in (sizes | las).items():
        print(f"{name:<28} {figure:8.2f} {'MB' if name in sizes else 'LAS'}")
    return sizes, las


def _speeds(parsers: dict[str, Parser], dev: Treebank, times: int) -> dict[str, float]:
    """Words per second of CPU, the best of all runs, which take turns."""
    sides: dict[str, Callable[[], object]] = {}
    for name, parser in parsers.items():
        for beam in BEAMS:
            sides[f"{name}, beam {beam}"] = lambda parser=parser, beam=beam: parser.model_.parse(dev, beam, False)
    sides["basic, beam 8, merging"] = lambda: parsers["basic"].model_.parse(dev, 8, True)
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(times):
        for name, work in sides.items():
            begun = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begun)
    return {name: dev.n_tokens / seconds for name, seconds in best.items()}
