"""Data of the English entities: corpora mapped to PER, LOC and ORG, lexicons, and silver sentences.

Everything here was chosen by three-fold cross-validation on the documents of the development part of Universal NER:

    wikigold, Broad Twitter Corpus, other folds                      65.5
    lexicons of places and names                                     68.6
    order 2, WNUT-17, user names outside of entities, weight 3       70.5
    silver sentences, the training part of EWT, and a bias           72.2
    word clusters, lexicons of WordNet, companies and lower case     73.4
    MIRA in place of AROW, with a smaller bias                       74.6

Tried without gain: groups of WNUT-17 as organisations, XPOS in place of UPOS, a lexicon of the silver entities, labels
with observations on transitions, a CRF.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import words

from palmette.data import Treebank, read_treebank
from palmette.data.convert import convert_labels
from palmette.data.corpus import column_of_strings
from palmette.data.treebank import treebank_from_sentences
from palmette.pipeline.entities import Entities, joined
from palmette.pipeline.output import entity_spans

FILES = (
    "wikigold.txt", "btc-a.txt", "btc-b.txt", "btc-e.txt", "btc-f.txt", "btc-g.txt", "btc-h.txt",
    "wnut17-train.txt", "wnut17-dev.txt", "wnut17-test.txt",
)  # fmt: skip
IN_DOMAIN = "uner-ewt-dev.iob2"
COPIES = 3  # of the sentences of the same kind as the treebank
BIAS = {"O": -0.1}  # more entities: the learner prefers precision
TYPES = {
    "PER": "PER", "LOC": "LOC", "ORG": "ORG", "person": "PER", "location": "LOC", "corporation": "ORG",
}  # fmt: skip
Sentences = list[list[tuple[str, str]]]  # of words with labels


# Corpora


def read_labelled(path: Path) -> Sentences:
    """The words and labels of a file of columns, or of one of Universal NER."""
    sentences: Sentences = [[]]
    numbered = path.suffix == ".iob2"
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            sentences.append([])
        elif not (numbered and line.startswith("#")):
            cells = line.split()
            sentences[-1].append((cells[1], cells[2]) if numbered else (cells[0], cells[-1]))
    return [sentence for sentence in sentences if sentence]


def mapped(sentence: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A sentence with the labels of TYPES, in IOB2. Names of users are not entities; they are in one corpus."""
    labels = convert_labels([label for _, label in sentence], "iob2")
    made: list[tuple[str, str]] = []
    for i, ((word, _), label) in enumerate(zip(sentence, labels, strict=True)):
        kind = TYPES.get(label[2:])
        user = word.startswith("@") or (i and sentence[i - 1][0] == "@")
        label = "O" if kind is None or user else f"{label[0]}-{kind}"
        if label[0] == "I" and (not made or made[-1][1] == "O"):
            label = f"B{label[1:]}"
        made.append((word, label))
    return made


def as_treebank(sentences: Sentences, source: str) -> Treebank:
    """Sentences as a treebank whose words have nothing but entities."""
    bank = treebank_from_sentences([[word for word, _ in sentence] for sentence in sentences], source=source)
    return bank.with_entities(column_of_strings(label for sentence in sentences for _, label in sentence))


# Training


def train(tags: Any, data: Path, treebank: Path, scratch: Path, folder: Path) -> tuple[Entities, Treebank]:
    """The component, and the development data that it was also trained on, with the tags of the pipeline."""
    words.fetch(folder)
    lexicons, clusters = words.lexicons(folder, scratch), words.clusters(folder, scratch)
    others = [as_treebank([mapped(one) for one in read_labelled(data / name)], name) for name in FILES]
    near = tags.apply(as_treebank([mapped(one) for one in read_labelled(data / IN_DOMAIN)], IN_DOMAIN))
    gold = [*(tags.apply(bank) for bank in others), *[near] * COPIES]
    teacher = Entities(lexicons=lexicons, clusters=clusters).fit(joined(gold))
    silver = named(teacher.apply(read_treebank(treebank)))
    made = Entities(lexicons=lexicons, clusters=clusters).fit(joined([*gold, silver]))
    made.model_ = made.model_.changed(bias=BIAS)
    return made, near


def named(treebank: Treebank) -> Treebank:
    """The treebank with those of its entities that have a proper noun by its own tags."""
    assert treebank.entities is not None
    labels, upos = treebank.entities.cells(), treebank.column("upos").cells()
    for lo, hi in pairwise(treebank.offset.tolist()):
        for span in entity_spans(treebank, lo, hi):
            places = range(lo + span.start, lo + span.end)
            if not any(upos[i] == "PROPN" for i in places):
                for i in places:
                    labels[i] = "O"
    return treebank.with_entities(column_of_strings(labels))
