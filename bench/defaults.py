"""Which learner should be the default: candidates with one setting for all tasks, scored on development data.

Every corpus has a part to learn from and one to score on; test data is not read. A run is kept in
`results/defaults.json` as soon as it is done, and not repeated. `share 0.1` holds a tenth of the training sentences out
and keeps the pass that is best on it. Templates are those that the labels choose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import RESULTS, keep
from palmette import Arow, Crf, FormatSpec, Mira, ProbPerc, Tagger, load_demo
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.formats.registry import read_corpus
from palmette.data.items import corpus_from_items
from palmette.data.subset import take

Parts = tuple[Corpus, Corpus]
SETTINGS: dict[str, dict[str, Any]] = {
    "perceptron, 10 passes": {"passes": 10},
    "perceptron, share 0.1": {"passes": 30, "patience": 5, "dev_share": 0.1},
    "5-best mira, C 0.1": {"learner": Mira(nbest=5), "passes": 10},
    "5-best mira, C 0.03": {"learner": Mira(nbest=5, aggressiveness=0.03), "passes": 10},
    "5-best mira, C 0.01": {"learner": Mira(nbest=5, aggressiveness=0.01), "passes": 10},
    "5-best mira, C 0.03, share 0.1": {
        "learner": Mira(nbest=5, aggressiveness=0.03), "passes": 30, "patience": 5, "dev_share": 0.1,
    },
    "crf, adagrad, 10 passes": {"learner": Crf(optimiser="adagrad"), "passes": 10},
    "crf, lbfgs, l2 1": {"learner": Crf(l2=1.0)},
    "crf, lbfgs, l2 0.3": {"learner": Crf(l2=0.3)},
    "probperc, 10 passes": {"learner": ProbPerc(), "passes": 10},
    "5-best arow, 10 passes": {"learner": Arow(nbest=5), "passes": 10},
}  # fmt: skip


def _halves(corpus: Corpus) -> Parts:
    """Every tenth sentence to score on."""
    numbers = np.arange(corpus.n_sentences)
    return take(corpus, numbers[numbers % 10 != 9]), take(corpus, numbers[numbers % 10 == 9])


def _noun_phrases(corpus: Corpus) -> Corpus:
    """The labels of noun phrases alone."""
    assert corpus.labels is not None
    types = [label if label in ("B-NP", "I-NP") else "O" for label in corpus.labels.types]
    names = ["B-NP", "I-NP", "O"]
    ids = np.array([names.index(label) for label in types], np.int32)[corpus.labels.ids]
    corpus.labels = column_of_types(ids, names)
    return corpus


def _conllu(folder: Path, name: str, label: str) -> Parts:
    spec = FormatSpec(label=label)
    train, dev = (read_corpus(folder / f"{name}-ud-{part}.conllu", spec) for part in ("train", "dev"))
    return train, dev


def _demo(column: int | None) -> Parts:
    """The demo corpus: chunks, or parts of speech from words."""
    made = []
    for part in ("train", "dev"):
        X, y = load_demo(part)
        if column is not None:
            y = [[token[column] for token in sentence] for sentence in X]
            X = [[token[0] for token in sentence] for sentence in X]
        made.append(corpus_from_items(X, y).corpus)
    return made[0], made[1]


TASKS: dict[str, Callable[[Path], Parts]] = {
    "demo chunks": lambda data: _demo(None),
    "demo tags": lambda data: _demo(1),
    "vi upos": lambda data: _conllu(data / "ud-vi", "vi_vtb", "upos"),
    "tr upos": lambda data: _conllu(data / "ud-tr", "tr_imst", "upos"),
    "en upos": lambda data: _conllu(data / "ud-ewt", "en_ewt", "upos"),
    "en xpos": lambda data: _conllu(data / "ud-ewt", "en_ewt", "xpos"),
    "chunks": lambda data: _halves(read_corpus(data / "conll2000" / "train.txt", FormatSpec())),
    "noun phrases": lambda data: _halves(_noun_phrases(read_corpus(data / "conll2000" / "train.txt", FormatSpec()))),
    "bio entities": lambda data: (read_corpus(data / "jnlpba" / "train.txt"), read_corpus(data / "jnlpba" / "dev.txt")),
    "dates": lambda data: _halves(read_corpus(data / "downstream" / "grobid-date.txt", FormatSpec())),
}  # fmt: skip


def bench_defaults(data: Path) -> None:
    path = RESULTS / "defaults.json"
    found: dict[str, dict[str, dict[str, float]]] = json.loads(path.read_text())["result"] if path.exists() else {}
    for task, read in TASKS.items():
        own = found.setdefault(task, {})
        missing = [name for name in SETTINGS if name not in own]
        if not missing:
            continue
        train, dev = read(data)
        for name in missing:
            begun = time.process_time()
            tagger = Tagger(**SETTINGS[name]).fit_corpus(train, None)
            cpu = time.process_time() - begun
            scores = tagger.evaluate(dev)
            figure = scores.accuracy if scores.f1 is None else scores.f1
            own[name] = {"score": round(100 * figure, 2), "cpu": round(cpu, 2)}
            print(f"  {task:<14} {name:<32} {own[name]['score']:.2f}  {cpu:.1f} s", flush=True)
            keep("defaults", found)
    _table(found)


def _table(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Mean over tasks of the difference to the perceptron, and of the time as a multiple of its time."""
    base = "perceptron, 10 passes"
    for name in SETTINGS:
        gains = [own[name]["score"] - own[base]["score"] for own in found.values()]
        times = [own[name]["cpu"] / max(0.01, own[base]["cpu"]) for own in found.values()]
        print(
            f"{name:<32} {np.mean(gains):+.2f} (from {min(gains):+.2f} to {max(gains):+.2f}), {np.median(times):.1f}x"
        )
