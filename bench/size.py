"""Sizes of models with their scores: full and compact ones, beside those of python-crfsuite with the same features
where it can have them; and the memory that training takes, and tagging one sentence in a process of its own.

A compact model is made with development data (the corpus's own, or a held-out tenth of the training sentences, which no
side trains on); the test file is read once for each model.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from bench.measure import TEMPLATES, keep, process
from bench.rival import attributes
from palmette import Crf, Tagger
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import split
from palmette.evaluation.scores import LabelScores, score
from palmette.structures.chain.compact import compact_on

ROUNDS = 60
LABELS = (  # further tasks, with more labels
    ("EWT FEATS", "ud-ewt/en_ewt-ud-{}.conllu", "feats"),
    ("Turkish FEATS", "ud-tr/tr_imst-ud-{}.conllu", "feats"),
    ("Armenian FEATS", "ud-hy/hy_bsut-ud-{}.conllu", "feats"),
)


def bench_size(data: Path, times: int) -> None:
    """CoNLL-2000 (perceptron and CRF), EWT XPOS, JNLPBA."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = read_corpus(data / "conll2000" / "train.txt", FormatSpec())
        test = read_corpus(data / "conll2000" / "test.txt", FormatSpec())
        rest, dev = split(train, 0.1, 1)
        perceptron = Tagger(template=TEMPLATES / "crfpp.txt", learner="perceptron", passes=10, seed=1)
        found["CoNLL-2000, perceptron"] = _mine(perceptron, rest, dev, test, folder) | _theirs(
            {"algorithm": "ap", "max_iterations": 10}, rest, test, folder
        )
        seen: dict[str, Any] = {
            "state_features": "seen"
        }  # weights for attributes and labels seen together, as CRFsuite
        crf = Tagger(template=TEMPLATES / "crfpp.txt", learner=Crf(l2=1.0, iterations=ROUNDS), **seen)
        found["CoNLL-2000, CRF with L2, seen features"] = _mine(crf, rest, dev, test, folder) | _theirs(
            {"algorithm": "lbfgs", "c1": 0.0, "c2": 1.0, "max_iterations": ROUNDS}, rest, test, folder
        )
        ewt = [read_corpus(data / "ud-ewt" / f"en_ewt-ud-{part}.conllu", FormatSpec(label="xpos"))
               for part in ("train", "dev", "test")]  # fmt: skip
        found["EWT XPOS"] = _mine(Tagger("pos", order=2, learner="perceptron", passes=8, seed=1), *ewt, folder)
        for name, where, label in LABELS:
            parts = [
                read_corpus(data / where.format(part), FormatSpec(label=label)) for part in ("train", "dev", "test")
            ]
            found[name] = _mine(Tagger("pos", learner="perceptron", passes=8, seed=1), *parts, folder)
            found[name]["training"] = {"memory": _training_memory(data / where.format("train"), label, folder)}
        jnlpba = [read_corpus(data / "jnlpba" / f"{part}.txt", FormatSpec()) for part in ("train", "dev", "test")]
        found["JNLPBA"] = _mine(Tagger("ner", learner="perceptron", passes=8, seed=1), *jnlpba, folder)
    keep("size", found)
    _print(found)


def _mine(tagger: Tagger, train: Corpus, dev: Corpus, test: Corpus, folder: Path) -> dict[str, Any]:
    """A full and a compact model: megabytes and the score on test."""
    tagger.fit_corpus(train, None)
    rows = {}
    for name in ("full", "compact"):
        if name == "compact":
            tagger.model_, _ = compact_on(tagger.model_, dev)
        file = folder / f"{name}.palm"
        tagger.save(file)
        rows[name] = {
            "megabytes": os.path.getsize(file) / 1e6, "score": _figure(Tagger.load(file).evaluate(test)),
            "memory": _tagging_memory(file, test, folder),
        }  # fmt: skip
    return rows


def _tagging_memory(model: Path, test: Corpus, folder: Path) -> float:
    """The peak memory of a process that tags the first sentence, in MB."""
    sentence = folder / "sentence.txt"
    sentence.write_text("".join("\t".join(row) + "\n" for row in test.sentence(0)) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "palmette", "tag", str(model), str(sentence), "-o", str(folder / "tagged.txt"),
               "--format", "columns", "--separator", "tab", "-q"]  # fmt: skip
    return process(command)[2]


def _training_memory(train: Path, label: str, folder: Path) -> float:
    """The peak memory of a training with one thread, in MB."""
    command = [sys.executable, "-m", "palmette", "train", str(train), "-o", str(folder / "t.palm"), "--label", label,
               "--passes", "3", "--learner", "perceptron", "--threads", "1", "-q"]  # fmt: skip
    return process(command)[2]


def _theirs(params: dict[str, Any], train: Corpus, test: Corpus, folder: Path) -> dict[str, Any]:
    trainer = pycrfsuite.Trainer(algorithm=params.pop("algorithm"), verbose=False)
    trainer.set_params(params)
    for x, y in _sentences(train):
        trainer.append(attributes(x), y)
    file = folder / "m.crfsuite"
    trainer.train(str(file))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(file))
    guess = [label for x, _ in _sentences(test) for label in tagger.tag(attributes(x))]
    return {"python-crfsuite": {"megabytes": os.path.getsize(file) / 1e6, "score": _scored(test, guess)}}


def _sentences(corpus: Corpus) -> list[tuple[list[list[str]], list[str]]]:
    assert corpus.labels is not None
    labels = [corpus.labels.types[k] for k in corpus.labels.ids]
    cuts = zip(corpus.offset[:-1].tolist(), corpus.offset[1:].tolist(), strict=True)
    return [([list(row) for row in corpus.sentence(s)], labels[a:b]) for s, (a, b) in enumerate(cuts)]


def _scored(corpus: Corpus, guess: list[str]) -> float:
    assert corpus.labels is not None
    names = sorted({*corpus.labels.types, *guess})
    number = {name: k for k, name in enumerate(names)}
    gold = np.array([number[name] for name in corpus.labels.types], np.int32)[corpus.labels.ids]
    return _figure(score(gold, np.array([number[one] for one in guess], np.int32), corpus.offset, names))


def _figure(scores: LabelScores) -> float:
    return 100 * (scores.f1 if scores.f1 is not None else scores.accuracy)


def _print(found: dict[str, Any]) -> None:
    print(f"{'':26}{'':18}{'MB':>8}{'score on test':>16}{'MB of memory':>16}")
    for what, rows in found.items():
        for name, row in rows.items():
            size, score = (f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "score"))
            memory = f"{row['memory']:.0f}" if "memory" in row else ""
            print(f"{what:26}{name:18}{size:>8}{score:>16}{memory:>16}")
