"""Corpora to choose defaults on, each with a part to learn from and one to score on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.addresses import address_features, read_addresses
from palmette.data import FormatSpec
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.formats.registry import read_corpus
from palmette.data.items import corpus_from_items
from palmette.data.subset import take
from palmette.datasets import load_demo


class Parts(NamedTuple):
    """Of a corpus; `whole` is what is learnt from before test data is scored."""

    train: Corpus
    dev: Corpus
    whole: Corpus
    test: Corpus | None


class Task(NamedTuple):
    """A task, and how its parts are read."""

    read: Callable[[Path], Parts]
    small: bool = False
    has_test: bool = True


def _halves(corpus: Corpus, test: Corpus | None = None) -> Parts:
    """Every tenth sentence to score on."""
    numbers = np.arange(corpus.n_sentences)
    return Parts(take(corpus, numbers[numbers % 10 != 9]), take(corpus, numbers[numbers % 10 == 9]), corpus, test)


def _noun_phrases(corpus: Corpus) -> Corpus:
    """The labels of noun phrases alone."""
    assert corpus.labels is not None
    types = [label if label in ("B-NP", "I-NP") else "O" for label in corpus.labels.types]
    names = ["B-NP", "I-NP", "O"]
    ids = np.array([names.index(label) for label in types], np.int32)[corpus.labels.ids]
    corpus.labels = column_of_types(ids, names)
    return corpus


def _conll(data: Path, change: Callable[[Corpus], Corpus]) -> Parts:
    train, test = (change(read_corpus(data / "conll2000" / f"{part}.txt", FormatSpec())) for part in ("train", "test"))
    return _halves(train, test)


def _three(read: Callable[[str], Corpus]) -> Parts:
    train, dev, test = (read(part) for part in ("train", "dev", "test"))
    return Parts(train, dev, train, test)


def _conllu(stem: Path, label: str) -> Parts:
    return _three(lambda part: read_corpus(stem.with_name(f"{stem.name}-ud-{part}.conllu"), FormatSpec(label=label)))


def _demo(part: str, tags: bool) -> Corpus:
    """The demo corpus: chunks, or parts of speech from words."""
    X, y = load_demo(part)
    if tags:
        y = [[tag for _, tag in sentence] for sentence in X]
        X = [[word for word, _ in sentence] for sentence in X]
    return corpus_from_items(X, y).corpus


def _addresses(data: Path) -> Parts:
    """Ready-made attributes."""
    pairs = read_addresses(data / "downstream" / "usaddress-labeled.xml")
    return _halves(corpus_from_items([address_features(tokens) for tokens, _ in pairs], [y for _, y in pairs]).corpus)


# Entities of several corpora: what is learnt from and what is scored on are of different texts


def _columns(
    path: Path, word: int, label: int, labels: Callable[[str], str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Words and labels of a file with an empty line after each sentence; lines of comments have no tab."""
    X: list[list[str]] = [[]]
    y: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t") if "\t" in line else [] if line.startswith("# ") else line.split()
        if cells:
            X[-1].append(cells[word])
            y[-1].append(labels(cells[label]))
        elif X[-1]:
            X.append([])
            y.append([])
    return ([x for x in X if x], [own for own in y if own])


def _three_types(label: str) -> str:
    return label if label[2:] in ("PER", "LOC", "ORG") else "O"


def _begun(y: list[list[str]]) -> list[list[str]]:
    """IOB2 of labels that have I alone: a span begins where its type does."""
    return [
        ["B" + now[1:] if now != "O" and now[2:] != before[2:] else now for before, now in pairwise(["O", *own])]
        for own in y
    ]


def _entities(data: Path) -> Parts:
    """Wikipedia and tweets to learn from, the web to score on."""
    folder = data / "ner-en"
    X, y = _columns(folder / "wikigold.txt", 0, 1, _three_types)
    y = _begun(y)
    for path in sorted(folder.glob("btc-*.txt")):
        more = _columns(path, 0, 1, _three_types)
        X, y = X + more[0], y + more[1]
    train = corpus_from_items(X, y).corpus
    dev, test = (
        corpus_from_items(*_columns(folder / f"uner-ewt-{part}.iob2", 1, 2, _three_types)).corpus
        for part in ("dev", "test")
    )
    return Parts(train, dev, train, test)


def _wikigold(data: Path) -> Parts:
    X, y = _columns(data / "ner-en" / "wikigold.txt", 0, 1, str)
    return _halves(corpus_from_items(X, _begun(y)).corpus)


def _wnut(part: str, data: Path) -> Corpus:
    return corpus_from_items(*_columns(data / "ner-en" / f"wnut17-{part}.txt", 0, 1, str)).corpus


TASKS: dict[str, Task] = {
    "demo chunks": Task(lambda data: _three(lambda part: _demo(part, tags=False)), small=True),
    "demo tags": Task(lambda data: _three(lambda part: _demo(part, tags=True)), small=True),
    "dates": Task(
        lambda data: _halves(read_corpus(data / "downstream" / "grobid-date.txt")), small=True, has_test=False
    ),
    "addresses": Task(_addresses, small=True, has_test=False),
    "wikigold": Task(_wikigold, small=True, has_test=False),
    "vi upos": Task(lambda data: _conllu(data / "ud-vi" / "vi_vtb", "upos"), small=True),
    "hy upos": Task(lambda data: _conllu(data / "ud-hy" / "hy_bsut", "upos"), small=True),
    "tr upos": Task(lambda data: _conllu(data / "ud-tr" / "tr_imst", "upos"), small=True),
    "wnut": Task(lambda data: _three(lambda part: _wnut(part, data)), small=True),
    "entities": Task(_entities),
    "noun phrases": Task(lambda data: _conll(data, _noun_phrases)),
    "chunks": Task(lambda data: _conll(data, lambda corpus: corpus)),
    "en upos": Task(lambda data: _conllu(data / "ud-ewt" / "en_ewt", "upos")),
    "en xpos": Task(lambda data: _conllu(data / "ud-ewt" / "en_ewt", "xpos")),
    "hy feats": Task(lambda data: _conllu(data / "ud-hy" / "hy_bsut", "feats")),
    "bio entities": Task(lambda data: _three(lambda part: read_corpus(data / "jnlpba" / f"{part}.txt"))),
}
