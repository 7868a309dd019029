"""The dependency parser on UD English-EWT: words a second by beam, with merging and without, and what a pass of
training costs. Files and tags are read before the clock starts; the models are trained in the same run."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.measure import alternating, keep
from palmette import Parser, Treebank, read_treebank

BEAMS = (1, 2, 4, 8, 16)
PASSES = 2


def bench_parse(data: Path, times: int) -> None:
    train, dev = (read_treebank(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu") for part in ("train", "dev"))
    result: dict[str, dict[str, float]] = {"words_per_second": {}, "pass_seconds": {}}
    for features in ("rich", "basic"):
        parser = Parser(features, passes=PASSES).fit(train)
        result["pass_seconds"][f"{features}, beam 8"] = min(row.seconds for row in parser.outcome_.training_log)
        speeds = _speeds(parser, dev, features, times)
        result["words_per_second"] |= speeds
        for name, speed in speeds.items():
            print(f"{name:<28} {speed:10,.0f} words a second")
        if features == "rich":
            with tempfile.NamedTemporaryFile(suffix=".palm") as file:
                parser.save(file.name)
                result["model_megabytes"] = {"rich": Path(file.name).stat().st_size / 1e6}
    for name, seconds in result["pass_seconds"].items():
        print(f"a pass over {train.n_tokens:,} words, {name}: {seconds:.1f} s")
    result["peak_megabytes"] = {"training and parsing": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
    print(f"peak memory {result['peak_megabytes']['training and parsing']:,.0f} MB")
    keep("parse", result)


def _speeds(parser: Parser, dev: Treebank, features: str, times: int) -> dict[str, float]:
    """Words a second, the best of all runs."""
    sides: dict[str, Callable[[], object]] = {}
    for beam in BEAMS:
        sides[f"{features}, beam {beam}"] = lambda beam=beam: parser.model_.parse(dev, beam, False)
    if features == "basic":
        sides["basic, beam 8, merging"] = lambda: parser.model_.parse(dev, 8, True)
    for work in sides.values():  # compile
        work()
    return {name: dev.n_tokens / min(found) for name, found in alternating(sides, times).items()}
