"""The runtime in C and in WebAssembly beside the Python package: the same labels on every sentence?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import keep
from palmette import Tagger
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
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


def bench_runtime(data: Path, times: int) -> None:
    """Train on each corpus, and compare the labels of every sentence."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        for what, own in CORPORA.items():
            model, compact = Path(name) / "model.palm", Path(name) / "compact.palm"
            tagger = Tagger(seed=1, threads=1, **own.options).fit_file(data / own.train, spec=own.reading)
            tagger.save(model)
            tagger.compact().save(compact)
            given = list(sentences(data / own.other, own.reading))
            for kind, file in (("", model), (", compact", compact)):
                faults, speed = different(file, given)
                found[what + kind] = {
                    "sentences": len(given),
                    "different in C": faults,
                    "tokens per second in C": speed,
                }
                print(
                    f"{what + kind}: {len(given)} sentences, {faults} differ in C; {speed:,.0f} tokens per second",
                    flush=True,
                )
    keep("runtime", found)
