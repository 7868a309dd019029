"""The runtime in C, and as WebAssembly in Node, beside the Python package: the same labels on every sentence?"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import keep
from palmette import Tagger
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.runtime.export import export_model
from palmette.runtime.native import RuntimeModel

Sentence = list[tuple[str, ...]]


class Corpus(NamedTuple):
    """A model to train, and what it is used on."""

    train: str
    other: str
    options: dict[str, Any]
    reading: FormatSpec


CORPORA = {
    "CoNLL-2000 test, chunks": Corpus(
        "conll2000/train.txt", "conll2000/test.txt", {"features": "chunk", "passes": 3}, FormatSpec(format="columns")
    ),
    "EWT dev, parts of speech": Corpus(
        "ud-ewt/en_ewt-ud-train.conllu", "ud-ewt/en_ewt-ud-dev.conllu", {"features": "pos", "passes": 2},
        FormatSpec(format="conllu"),
    ),
    "JNLPBA test, entities": Corpus(
        "jnlpba/train.txt", "jnlpba/test.txt", {"features": "ner", "passes": 1}, FormatSpec(format="columns")
    ),
}  # fmt: skip


def sentences(path: Path, reading: FormatSpec) -> Iterator[Sentence]:
    """The cells of each sentence, without the label."""
    corpus = read_corpus(path, reading.labelled())
    columns = [column.cells() for column in corpus.columns]
    for start, end in zip(corpus.offset[:-1].tolist(), corpus.offset[1:].tolist(), strict=True):
        yield list(zip(*(column[start:end] for column in columns), strict=True))


def different(model: Path, given: list[Sentence]) -> tuple[int, float]:
    """In how many sentences labels differ between C and Python, and how many tokens C tags per second."""
    wanted = Tagger.load(model).predict(given)
    runtime = RuntimeModel(str(model))
    rows = [[[cell.encode() for cell in token] for token in sentence] for sentence in given]
    begun = time.perf_counter()
    found = [runtime.lists(sentence)[0][0] for sentence in rows]
    seconds = time.perf_counter() - begun
    runtime.close()
    return sum(a != b for a, b in zip(found, wanted, strict=True)), sum(map(len, given)) / seconds


SCRIPT = """
import { load } from "./palmette.mjs";
import { readFileSync } from "node:fs";
const sentences = JSON.parse(readFileSync(0, "utf8")), tagger = await load(), begun = performance.now();
const labels = sentences.map((one) => tagger.tag(one).labels);
console.log(JSON.stringify({ labels, seconds: (performance.now() - begun) / 1000 }));
"""


def different_in_node(model: Path, given: list[Sentence], folder: Path) -> tuple[int, float] | None:
    """As `different`, for the exported package; None without Node."""
    node = shutil.which("node")
    if node is None:
        return None
    export_model(str(model), str(folder))
    (folder / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run(
        [node, folder / "run.mjs"], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found = json.loads(ran.stdout)
    wanted = Tagger.load(model).predict(given)
    faults = sum(a != b for a, b in zip(found["labels"], wanted, strict=True))
    return faults, sum(map(len, given)) / found["seconds"]


def bench_runtime(data: Path, times: int) -> None:
    """Train on each corpus, and compare the labels of every sentence."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        for what, own in CORPORA.items():
            model, compact = Path(name) / "model.palm", Path(name) / "compact.palm"
            tagger = Tagger(seed=1, **own.options).fit_file(data / own.train, spec=own.reading, threads=1)
            tagger.save(model)
            tagger.compact()
            tagger.save(compact)
            given = list(sentences(data / own.other, own.reading))
            for kind, file in (("", model), (", compact", compact)):
                found[what + kind] = {"sentences": len(given)}
                sides = {"C": different(file, given)}
                node = different_in_node(file, given, Path(name) / f"{len(found)}")
                if node is not None:
                    sides["Node"] = node
                for side, (faults, speed) in sides.items():
                    found[what + kind] |= {f"different in {side}": faults, f"tokens per second, {side}": speed}
                    print(
                        f"{what + kind}: {len(given)} sentences, {faults} differ in {side}; {speed:,.0f} tokens/s",
                        flush=True,
                    )
    keep("runtime", found)
