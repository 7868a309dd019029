"""Training in shards and bulk tagging, on threads and on a local Ray cluster of two workers; and a simulation of larger
clusters from measured costs: of a pass, of finding and mixing changed weights, and of transfer.

The corpus is CoNLL-2000, several times over with words of their own, so that a pass is long enough to be measured.
"""

from __future__ import annotations

import hashlib
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import keep, median, seconds
from palmette import Tagger
from palmette.connect.bulk import tag_files
from palmette.data.formats.registry import read_corpus
from palmette.training.chain import mixing
from palmette.training.chain.file_shard import FileShard

COPIES, PASSES, FILES = 4, 5, 200
SHARDS = (1, 2, 4, 8, 16, 32, 64)
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
PROBED, WARM = (2, 4, 8, 16), 3  # shards that costs are measured with; passes before and after memory is touched
NETWORK = 1.25e9  # bytes per second between two machines: 10 Gbit, assumed
CORPORA = {"CoNLL-2000": 2.12e5, "10 million tokens": 1e7, "1,000 million tokens": 1e9}


def bench_cluster(data: Path, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = _copies(data / "conll2000" / "train.txt", Path(folder))
        costs = _costs(data)
        record = {
            "training": _training(files, min(times, 3)),
            "tagging": _tagging(data, Path(folder), files),
            "costs": costs,
            "simulation": simulated(costs),
        }
    keep("cluster", record)


def bench_mixing(data: Path) -> None:
    """Quality by the number of shards."""
    keep("mixing", _quality(data))


def _copies(train: Path, folder: Path) -> list[str]:
    """Copies of a corpus, each with a letter behind its words."""
    lines = train.read_text(encoding="utf-8").splitlines()
    found = []
    for k in range(COPIES):
        rows = (line.split(" ", 1) for line in lines)
        text = "\n".join(f"{row[0]}{'_' * k} {row[1]}" if len(row) == 2 else "" for row in rows)
        path = folder / f"part{k}.txt"
        path.write_text(text + "\n", encoding="utf-8")
        found.append(str(path))
    return found


class DiesOnce(FileShard):
    """A worker that is killed in pass 3, once."""

    def learn_pass(self, number: int, clock: float, news: Any) -> Any:
        mark = Path(self.pieces[0].path).with_suffix(".died")
        if self.shard == 1 and number == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().learn_pass(number, clock, news)


def _fit(files: list[str], **options: Any) -> Tagger:
    return Tagger("chunk", learner="perceptron", shards=2, passes=PASSES).fit_files(files, names=False, **options)


def _checksum(tagger: Tagger) -> str:
    chain = tagger.model_.chain
    return hashlib.sha256(b"".join(t.w.tobytes() for t in (*chain.transitions, *chain.weights))).hexdigest()[:12]


def _training(files: list[str], times: int) -> dict[str, Any]:
    """Two threads, two workers, and two workers of which one is killed, in turn."""
    from palmette.connect.ray_cluster import Connection, RayCluster
    from palmette.training.chain import fit as chain_files

    connection = Connection("local", 2)
    sides: dict[str, Callable[[], Tagger]] = {
        "one thread": lambda: _fit(files, threads=1), "two threads": lambda: _fit(files, threads=2),
        "two workers": lambda: _fit(files, cluster="local"), "one of two killed": lambda: _fit(files, cluster="local"),
    }  # fmt: skip
    usual = chain_files.ray_cluster
    found: dict[str, Any] = {name: {"seconds": [], "passes": []} for name in sides}
    for turn in range(times):
        for name, work in sides.items():
            killed = name == "one of two killed"
            chain_files.ray_cluster = (  # type: ignore[assignment]
                (lambda make, arguments, address: RayCluster(DiesOnce, arguments, address)) if killed else usual
            )
            for mark in Path(files[0]).parent.glob("*.died"):
                mark.unlink()
            begun = time.perf_counter()
            tagger = work()
            found[name]["seconds"].append(time.perf_counter() - begun)
            found[name]["passes"].append(sum(row.seconds for row in tagger.outcome_.training_log))
            found[name]["weights"] = _checksum(tagger)
            print(f"  {name:<18} run {turn + 1}: {found[name]['seconds'][-1]:.2f} s", file=sys.stderr, flush=True)
    chain_files.ray_cluster = usual
    connection.close()
    assert len({side["weights"] for side in found.values()}) == 1, "the models differ"
    return {name: side | {key: median(side[key]) for key in ("seconds", "passes")} for name, side in found.items()}


def _tagging(data: Path, folder: Path, files: list[str]) -> dict[str, Any]:
    """A folder of many files, on threads and on Ray."""
    from palmette.connect.ray_cluster import Connection

    model = folder / "chunk.palm"
    Tagger("chunk", learner="perceptron", passes=3).fit_file(data / "conll2000" / "train.txt").save(model)
    lines = (data / "conll2000" / "test.txt").read_text(encoding="utf-8")
    inputs = folder / "inputs"
    inputs.mkdir()
    for k in range(FILES):
        (inputs / f"f{k}.txt").write_text(lines, encoding="utf-8")
    connection = Connection("local", 2)
    warm = inputs / "f0.txt"
    tag_files(model, [warm], folder / "warm", cluster="local")
    found: dict[str, Any] = {"files": FILES}
    for name, options in (("one thread", {}), ("two threads", {"threads": 2}), ("two workers", {"cluster": "local"})):
        out = folder / f"out {name}"
        found[name] = seconds(lambda out=out, options=options: tag_files(model, [f"{inputs}/*"], out, **options))
        found[f"{name}, again"] = seconds(
            lambda out=out, options=options: tag_files(model, [f"{inputs}/*"], out, **options)
        )
        print(f"  {name:<18} {found[name]:.2f} s", file=sys.stderr, flush=True)
    connection.close()
    same = {path.read_bytes() for path in folder.glob("out */*.txt")}
    assert len(same) == 1, "the outputs differ"
    return found


def _quality(data: Path) -> dict[str, Any]:
    """F1 on test after ten passes by the number of shards, mean of three seeds."""
    train, test = (read_corpus(data / "conll2000" / f"{name}.txt") for name in ("train", "test"))
    found = {}
    for shards in SHARDS:
        scores = []
        for seed in (1, 2, 3):
            tagger = Tagger("chunk", learner="perceptron", shards=shards, seed=seed, dev_share=0.0)
            scores.append(float(tagger.fit_corpus(train, None, threads=2).evaluate(test).f1 or 0.0))
        found[str(shards)] = {
            "f1": 100 * float(np.mean(scores)),
            "lowest": 100 * min(scores),
            "highest": 100 * max(scores),
        }
        print(f"  {shards:>3} shards  F1 {found[str(shards)]['f1']:.2f}", file=sys.stderr, flush=True)
    return found


def _costs(data: Path) -> dict[str, Any]:
    """Seconds per token of a pass, per changed weight of finding, mixing and putting; and how many weights change in a
    pass over a shard of n tokens: a * n^b, fitted to shards of different sizes, in pass 3."""
    spent: dict[str, float] = {}
    sizes: list[tuple[float, float]] = []

    def timed(owner: Any, name: str) -> Callable[[], None]:
        real = getattr(owner, name)

        def with_clock(*arguments: Any) -> Any:
            begun = time.perf_counter()
            result = real(*arguments)
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - begun
            return result

        setattr(owner, name, with_clock)
        return lambda: setattr(owner, name, real)

    undo = [timed(mixing.Base, "changes"), timed(mixing.Base, "put"), timed(mixing.Mixer, "mix"),
            timed(mixing.ShardWorker, "learn_pass")]  # fmt: skip
    corpus = read_corpus(data / "conll2000" / "train.txt")
    real = mixing.Mixer.mix
    counts = {"cells": 0.0, "put": 0.0}  # of the passes that count: changed by shards; put, by all shards together

    def counting(self: Any, chain: Any, parts: Any, *rest: Any) -> Any:
        news = real(self, chain, parts, *rest)
        own = [sum(part.cells.size for part in shard) for shard in parts]
        mixed = sum(new.cells.size for new in news)
        sizes.append((corpus.n_tokens / len(parts), float(np.mean(own))))
        if len(sizes) % (2 * WARM) == WARM:  # memory is touched for the first time in the passes before
            spent.clear()
        elif len(sizes) % (2 * WARM) > WARM or not len(sizes) % (2 * WARM):
            counts["cells"] += sum(own)
        counts["put"] += mixed * len(parts) if WARM <= len(sizes) % (2 * WARM) < 2 * WARM else 0
        return news

    mixing.Mixer.mix = counting  # type: ignore[method-assign]
    totals: dict[str, float] = {}
    for shards in PROBED:
        Tagger("chunk", learner="perceptron", shards=shards, passes=2 * WARM, dev_share=0.0).fit_corpus(corpus, None)
        for name, value in spent.items():
            totals[name] = totals.get(name, 0.0) + value
        spent.clear()
    mixing.Mixer.mix = real  # type: ignore[method-assign]
    for back in undo:
        back()
    third = np.log(np.array(sizes[2 :: 2 * WARM]))
    slope, start = np.polyfit(third[:, 0], third[:, 1], 1)
    learnt = totals["learn_pass"] - totals["changes"] - totals["put"]
    return {
        "pass_per_token": learnt / (WARM * len(PROBED) * corpus.n_tokens),
        "find_per_cell": totals["changes"] / counts["cells"], "mix_per_cell": totals["mix"] / counts["cells"],
        "put_per_cell": totals["put"] / counts["put"], "cells_factor": float(np.exp(start)),
        "cells_power": float(slope), "bytes_up": 20, "bytes_down": 12, "network": NETWORK,
    }  # fmt: skip


def simulated(costs: dict[str, Any]) -> dict[str, Any]:
    """Seconds per pass, and of what, by the number of workers, for corpora of different sizes.

    Workers learn at the same time; the driver receives the changes of all over one link, mixes them one after the
    other, and the mixture reaches all workers in log2(K) rounds. The mixture is as large as what one shard of the whole
    corpus would change, at most the sum of all shards."""
    found: dict[str, Any] = {}
    for name, tokens in CORPORA.items():
        whole = _cells(costs, tokens)
        rows = []
        for workers in WORKERS:
            own = _cells(costs, tokens / workers)
            union = min(whole, own * workers)
            learn = tokens / workers * costs["pass_per_token"]
            ends = own * costs["find_per_cell"] + union * costs["put_per_cell"]
            mix = 0.0 if workers == 1 else workers * own * costs["mix_per_cell"]
            up = workers * own * costs["bytes_up"] / costs["network"]
            down = union * costs["bytes_down"] / costs["network"] * max(1.0, math.log2(workers))
            others = 0.0 if workers == 1 else ends + up + down
            total = learn + mix + others
            rows.append({"workers": workers, "learn": learn, "mix": mix, "transfer": others, "pass": total})
        best = min(rows, key=lambda row: row["pass"])
        found[name] = {"rows": rows, "best": best["workers"], "speed-up": rows[0]["pass"] / best["pass"]}
    return found


def _cells(costs: dict[str, Any], tokens: float) -> float:
    return float(costs["cells_factor"] * tokens ** costs["cells_power"])
