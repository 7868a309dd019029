"""What clusters from raw text bring: tasks, sizes of training data, with and without, on development data and on test.

`python -m bench raw [--times SEEDS]` trains what its record lacks, and keeps each score as soon as it is there, so that
an interrupted run goes on where it was. Nothing is chosen here: settings are defaults, test data is scored with the
model of the first seed. Time and memory of clustering are measured on growing parts of the raw text.
"""

from __future__ import annotations

import gzip
import importlib
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.measure import HERE, keep, load, process
from bench.staleness import digest
from palmette import Beam, Parser, Tagger
from palmette.data import FormatSpec, read_treebank
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import take

NAME = "raw"
MARKS = "<!-- raw: begin -->", "<!-- raw: end -->"
SIZES = (100, 500, 2000, 0)  # sentences; 0: all
WAYS = ("none", "clusters")
PARTS = (8, 4, 2, 1)  # of the raw text: 1/8 ... all of it
ENGLISH, BIOMEDICAL = "english", "biomedical"
Score = Callable[[Path, int, int, Any], dict[str, float]]


class Task(NamedTuple):
    """How a task is trained and scored; `raw`: the text whose clusters it reads."""

    about: str
    raw: str
    score: Score


def bench_raw(data: Path, times: int) -> None:
    """Train and score every cell with `times` seeds, then test once; measure clustering."""
    found = load(NAME)
    kept: dict[str, Any] = found["result"] if found is not None and found["code"] == digest() else {}
    scores, growth = kept.setdefault("scores", {}), kept.setdefault("clustering", {})
    with tempfile.TemporaryDirectory() as name:
        clusters: dict[str, Path] = {}
        for seed, size, (task, about), way in product(range(1, times + 1), SIZES, TASKS.items(), WAYS):
            cell = f"{task}/{size}/{way}/{seed}"
            if cell in scores:
                continue
            if about.raw not in clusters:
                clusters[about.raw] = Path(name, f"{about.raw}.tsv")
                _clustered(data, about.raw, 1, clusters[about.raw])
            given = {"words": str(clusters[about.raw])} if way == "clusters" else None
            scores[cell] = about.score(data, size, seed, given)
            print(f"{cell}: {scores[cell]}", flush=True)
            keep(NAME, kept)
        for raw, part in product((ENGLISH, BIOMEDICAL), PARTS):
            if f"{raw}/{part}" not in growth:
                growth[f"{raw}/{part}"] = _clustered(data, raw, part, Path(name, "growth.tsv"))
                keep(NAME, kept)
    print(table(kept))


def _clustered(data: Path, raw: str, part: int, target: Path) -> dict[str, float]:
    """Write the clusters of a part of a raw text; what that took on one core."""
    with gzip.open(data / "raw" / f"{raw}.txt.gz", "rt", encoding="utf-8") as lines:
        text = list(lines)[::part]
    source = target.with_suffix(".txt")
    source.write_text("".join(text), encoding="utf-8")
    options = ["-o", str(target), "--classes", "1000", "--threads", "1", "-q"]
    took, cpu, megabytes = process([sys.executable, "-m", "palmette", "cluster", str(source), *options])
    n_words, clustered = sum(len(line.split()) for line in text), len(target.read_text(encoding="utf-8").splitlines())
    found = {"words": n_words, "clustered": clustered, "seconds": took, "cpu": cpu, "megabytes": megabytes}
    print(f"clusters of 1/{part} of {raw}: {found}", flush=True)
    return found


# Tasks: each gives the score on development data and, with the first seed, on test


def _tagger(parts: Iterable[Any], how: tuple[str, str], size: int, seed: int, given: Any) -> dict[str, float]:
    """The score of a tagger on development data, and on test. `how`: a named template set, and what is scored."""
    train, dev, test = parts
    tagger = Tagger(how[0], seed=seed, learner="mira", clusters=given)
    tagger.fit_corpus(_first(train, size), None)
    return {part: 100 * getattr(tagger.evaluate(gold), how[1]) for part, gold in _scored(dev, test, seed)}


def _scored(dev: Any, test: Any, seed: int) -> Iterator[tuple[str, Any]]:
    yield "dev", dev
    if seed == 1:
        yield "test", test


def _first(corpus: Any, size: int) -> Any:
    """Sentences from all of the data, as many as are asked for."""
    if not size or size >= corpus.n_sentences:
        return corpus
    return _taken(corpus, np.arange(size) * corpus.n_sentences // size)


def _taken(corpus: Any, sentences: np.ndarray) -> Any:
    return take(corpus, sentences) if isinstance(corpus, Corpus) else corpus.take(sentences)


def entities(data: Path, size: int, seed: int, given: Any) -> dict[str, float]:
    sys.path.insert(0, str(HERE.parent / "models"))  # the recipe of the English model knows the corpora and labels
    recipe = importlib.import_module("entities")
    dev, folder = recipe.IN_DOMAIN, data / "ner-en"
    names = {"train": recipe.FILES, "dev": (dev,), "test": (dev.replace("dev", "test"),)}
    sentences = {
        part: [recipe.mapped(one) for name in files for one in recipe.read_labelled(folder / name)]
        for part, files in names.items()
    }
    made = {}
    with tempfile.TemporaryDirectory() as name:
        for part, some in sentences.items():
            path = Path(name, part)
            rows = ("".join(f"{word}\t{label}\n" for word, label in one) for one in some)
            path.write_text("\n".join(rows), encoding="utf-8")
            made[part] = read_corpus(path, FormatSpec())
    return _tagger(made.values(), ("ner", "f1"), size, seed, given)


def jnlpba(data: Path, size: int, seed: int, given: Any) -> dict[str, float]:
    files = (read_corpus(data / "jnlpba" / f"{part}.txt", FormatSpec()) for part in ("train", "dev", "test"))
    return _tagger(files, ("ner", "f1"), size, seed, given)


def chunks(data: Path, size: int, seed: int, given: Any) -> dict[str, float]:
    """The last tenth of the training sentences is development data."""
    every, test = (read_corpus(data / "conll2000" / f"{part}.txt", FormatSpec()) for part in ("train", "test"))
    cut = every.n_sentences * 9 // 10
    train, dev = take(every, np.arange(cut)), take(every, np.arange(cut, every.n_sentences))
    return _tagger((train, dev, test), ("chunk", "f1"), size, seed, given)


def upos(data: Path, size: int, seed: int, given: Any) -> dict[str, float]:
    spec = FormatSpec(label="upos")
    files = (read_corpus(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu", spec) for part in ("train", "dev", "test"))
    return _tagger(files, ("pos", "accuracy"), size, seed, given)


def trees(data: Path, size: int, seed: int, given: Any) -> dict[str, float]:
    """LAS with gold UPOS, a beam of 4 and 6 passes."""
    banks = (read_treebank(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu") for part in ("train", "dev", "test"))
    train, dev, test = (bank.without(("xpos", "feats", "lemma")) for bank in banks)
    parser = Parser("rich", search=Beam(4), passes=6, seed=seed, clusters=given).fit(_first(train, size))
    return {part: 100 * parser.evaluate(gold).las for part, gold in _scored(dev, test, seed)}


TASKS = {
    "entities": Task("English entities (PER, LOC, ORG), F1", ENGLISH, entities),
    "jnlpba": Task("JNLPBA, F1", BIOMEDICAL, jnlpba),
    "chunks": Task("CoNLL-2000 chunks, F1", ENGLISH, chunks),
    "upos": Task("EWT UPOS, accuracy", ENGLISH, upos),
    "trees": Task("EWT trees, LAS", ENGLISH, trees),
}


# The page


def table(kept: Mapping[str, Any]) -> str:
    """Scores without and with clusters, and the cost of clustering, for docs/raw_text.md."""
    heads = [f"{size:,}" if size else "all" for size in SIZES]
    lines = [
        f"| sentences to learn from: without → with clusters | {' | '.join(heads)} |", "|---|" + "--:|" * len(SIZES),
    ]  # fmt: skip
    for part in ("dev", "test"):
        for task, about in TASKS.items():
            cells = (_cell(kept["scores"], task, size, part) for size in SIZES)
            lines.append(f"| {about.about}, {part} | {' | '.join(cells)} |")
    lines += ["", "| clusters of raw text | words read | words clustered | CPU | memory |", "|---|--:|--:|--:|--:|"]
    for name, row in kept["clustering"].items():
        counts = f"{row['words'] / 1e6:.1f} million | {row['clustered']:,}"
        lines.append(f"| {name.partition('/')[0]} | {counts} | {row['cpu']:.0f} s | {row['megabytes']:.0f} MB |")
    return "\n".join(lines)


def _cell(scores: Mapping[str, Mapping[str, float]], task: str, size: int, part: str) -> str:
    """Means over the seeds that both ways have."""
    pairs = []
    for cell, found in scores.items():
        own, n, way, seed = cell.split("/")
        other = scores.get(f"{task}/{size}/clusters/{seed}")
        if (own, n, way) == (task, str(size), "none") and other is not None and part in found and part in other:
            pairs.append((found[part], other[part]))
    if not pairs:
        return ""
    without, with_ = (statistics.mean(side) for side in zip(*pairs, strict=True))
    return f"{without:.1f} → {with_:.1f}"
