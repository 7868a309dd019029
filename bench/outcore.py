"""Training on data that does not fit into memory: time, memory and disk against those of a small corpus in memory.

`python -m bench outcore` takes 100 million tokens; `python -m bench.outcore --tokens 5000000` others. The corpus is
made of CoNLL-2000, again and again, with rarer words exchanged for variants, so that types grow as tokens ** 0.6.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import TEMPLATES, _high_water, data_folder, keep

TOKENS, SMALL = 100_000_000, 1_000_000
GROWTH = 0.6
FREQUENT = 200  # occurrences from which on a word stays as it is
MIN_COUNT = 5
SAME_MODEL = "small, tagged by the large model"
TIMES = 3  # runs on the small corpus, of which the fastest counts

# Prints what it took without starting Python: reading, encoding and learning, one pass; then saving.
PROGRAM = """
import json, logging, sys, time
from palmette import Tagger
logging.basicConfig(level=logging.INFO, format="%(message)s")
source, template, model, mode, least, scratch = sys.argv[1:7]
begun, cpu = time.perf_counter(), time.process_time()
large = mode == "disk"
tagger = Tagger(template=template, learner="perceptron", passes=1, min_count=int(least), dev_share=0.0,
                out_of_core=large, scratch=scratch if large else None).fit_file(source)
fitted = time.perf_counter() - begun
tagger.save(model)
print("RESULT " + json.dumps({
    "fit": fitted, "save": time.perf_counter() - begun - fitted, "cpu": time.process_time() - cpu,
    "pass": tagger.outcome_.training_log[0].seconds, "accuracy": tagger.outcome_.training_log[0].train_accuracy,
    "attributes": sum(index.size for index in tagger.model_.feature_indexes.values()),
}), flush=True)
"""


def variants_of(source: Path, tokens: int, seed: int = 0) -> Iterator[str]:
    """Copies of a corpus as text until there are so many tokens: in each one some words become new ones, the others
    one of those that they have been before."""
    rows = [line.split(" ") for line in source.read_text(encoding="utf-8").split("\n")]
    words = [row[0] for row in rows if len(row) == 3]
    names, ids, counts = np.unique(np.array(words), return_inverse=True, return_counts=True)
    open_ones = np.flatnonzero(counts < FREQUENT)
    versions = np.zeros(names.size, np.int64)
    rng, types, n, done = np.random.default_rng(seed), names.size, len(words), 0
    rest = [f" {row[1]} {row[2]}\n" if len(row) == 3 else "\n" for row in rows]
    while done < tokens:
        spelt = names.astype(object)
        if done:
            wanted = int(names.size * ((done + n) / n) ** GROWTH) - types
            new = rng.choice(open_ones, min(wanted, open_ones.size), replace=False)
            types += new.size
            versions[new] += 1
            now = (rng.random(names.size) * (versions + 1)).astype(np.int64)
            now[new] = versions[new]
            for k in np.flatnonzero(now).tolist():
                spelt[k] = f"{names[k]}~{now[k]}"
        word = iter(spelt[ids].tolist())
        yield "".join(next(word) + end if end != "\n" else end for end in rest)
        done += n


def write_corpus(source: Path, tokens: int, target: Path) -> None:
    """Write whole sentences, of about so many tokens."""
    n = 0
    with target.open("w", encoding="utf-8") as out:
        for text in variants_of(source, tokens):
            own = text.count("\n") - text.count("\n\n") - 1
            if n + own > tokens:
                text = text[: int(len(text) * (tokens - n) / own)]
                text = text[: text.rindex("\n\n") + 2]
            out.write(text)
            n += own


def run(command: list[str]) -> tuple[dict[str, Any], float, str]:
    """Run a process: what it reports, its peak memory in MB, and its messages, which are shown as they come."""
    with tempfile.TemporaryFile("w+") as messages:
        child = subprocess.Popen(command, stdout=messages, stderr=subprocess.STDOUT)
        peak, shown, begun = 0.0, 0, time.monotonic()
        while child.poll() is None:
            peak = max(peak, _high_water(child.pid))
            time.sleep(0.05)
            if time.monotonic() - begun > 30:
                begun = time.monotonic()
                print(f"    {peak:.0f} MB so far", flush=True)
        messages.seek(shown)
        text = messages.read()
    if child.returncode:
        sys.exit(f"{' '.join(command[:3])} failed: {text}")
    for line in text.splitlines():
        if "lacks smaller" not in line and not line.startswith("RESULT"):
            print(f"    {line}", flush=True)
    found = re.search(r"^RESULT (.*)$", text, re.MULTILINE)
    return json.loads(found[1]) if found else {}, peak, text


def train(source: Path, mode: str, folder: Path, tokens: int) -> dict[str, Any]:
    """Train by one pass, in memory or from disk."""
    template, model = str(TEMPLATES / "crfpp.txt"), str(folder / f"{mode}.palm")
    result, peak, text = run(
        [sys.executable, "-c", PROGRAM, str(source), template, model, mode, str(MIN_COUNT), str(folder)]
    )
    result |= {"megabytes": peak, "microseconds_a_token": 1e6 * (result["fit"] + result["save"]) / tokens}
    result["cpu_microseconds_a_token"] = 1e6 * result["cpu"] / tokens
    disk = re.search(r"the scratch files take ([\d.,]+ [MG]B)", text)
    return result | ({"disk": disk[1]} if disk else {}) | {"model_megabytes": Path(model).stat().st_size / 1e6}


def fastest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run that others disturbed least."""
    return min(runs, key=lambda run: float(run["microseconds_a_token"]))


def tag(model: Path, source: Path, folder: Path, tokens: int) -> dict[str, Any]:
    """Tag the file with two threads."""
    begun = time.perf_counter()
    out = folder / "tagged.txt"
    command = [sys.executable, "-m", "palmette", "tag", str(model), str(source), "-o", str(out), "--threads", "2", "-q"]
    _, peak, _ = run(command)
    out.unlink()
    return {"megabytes": peak, "microseconds_a_token": 1e6 * (time.perf_counter() - begun) / tokens}


def bench_outcore(data: Path, tokens: int = TOKENS, small: int = SMALL) -> None:
    """One pass over a large corpus from disk, beside a small one in memory and from disk; then tagging both."""
    found: dict[str, Any] = {"tokens": tokens, "small": small, "min_count": MIN_COUNT}
    with tempfile.TemporaryDirectory() as name:
        folder, source = Path(name), data / "conll2000" / "train.txt"
        few, many = folder / "small.txt", folder / "large.txt"
        write_corpus(source, small, few)
        found["small, in memory"] = fastest([train(few, "memory", folder, small) for _ in range(TIMES)])
        found["small, from disk"] = fastest([train(few, "disk", folder, small) for _ in range(TIMES)])
        found["small, tagged"] = tag(folder / "disk.palm", few, folder, small)
        print(f"writing {tokens:,} tokens", flush=True)
        write_corpus(source, tokens, many)
        found["text_megabytes"] = many.stat().st_size / 1e6
        found["large, from disk"] = train(many, "disk", folder, tokens)
        found["large, tagged"] = tag(folder / "disk.palm", many, folder, tokens)
        found[SAME_MODEL] = tag(folder / "disk.palm", few, folder, small)
    for row in (
        "small, in memory", "small, from disk", "large, from disk", "small, tagged", "large, tagged", SAME_MODEL,
    ):  # fmt: skip
        own = found[row]
        print(f"{row:<32} {own['microseconds_a_token']:6.2f} us a token, {own['megabytes']:6.0f} MB")
    ratio = found["large, from disk"]["microseconds_a_token"] / found["small, in memory"]["microseconds_a_token"]
    print(f"a token of the large corpus takes {ratio:.2f} times as long; disk: {found['large, from disk']['disk']}")
    cpu = [found[row]["cpu_microseconds_a_token"] for row in ("small, in memory", "large, from disk")]
    print(f"CPU: {cpu[0]:.2f} and {cpu[1]:.2f} us a token, {cpu[1] / cpu[0]:.2f} times as much")
    if tokens == TOKENS:
        keep("outcore", found | {"ratio": ratio, "cpu_ratio": cpu[1] / cpu[0]})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.outcore", description=__doc__)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--small", type=int, default=SMALL)
    parser.add_argument("--data", help="folder of the corpora (default ../shared/data)")
    given = parser.parse_args()
    bench_outcore(data_folder(given.data), given.tokens, given.small)
