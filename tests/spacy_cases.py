"""Small models and a pipeline of them, for the tests of the spaCy components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

import palmette.connect.spacy  # noqa: F401  (registers the components where palmette is not installed)
from palmette import Beam, Parser, Tagger
from palmette.datasets import load_demo, load_trees

TEXTS = ["The function takes a list.", "", "  \n ", "It returns the  last element. \n", "Nobody reads it"]


def train(folder: Path) -> Path:
    """Models in a folder: tags of words; chunks of words and tags; trees of words and tags."""
    X, y = load_demo("train")
    words, tags = [[word for word, _ in s] for s in X], [[tag for _, tag in s] for s in X]
    Tagger("pos", passes=3).fit(words, tags).save(folder / "pos.palm")
    Tagger("chunk", passes=3).fit(X, y).save(folder / "chunk.palm")
    Parser("basic", passes=2, search=Beam(1)).fit(load_trees("train")).save(folder / "tree.palm")
    return folder


def pipeline(models: Path) -> Language:
    made = spacy.blank("en")
    made.add_pipe("palmette_tagger", config={"model": str(models / "pos.palm")})
    made.add_pipe("palmette_ner", config={"model": str(models / "chunk.palm")})
    made.add_pipe("palmette_spans", config={"model": str(models / "chunk.palm"), "key": "chunks"})
    made.add_pipe("palmette_parser", config={"model": str(models / "tree.palm")})
    return made


def told(doc: Doc) -> list[Any]:
    """All that the components say about a document."""
    groups = [(span.start, span.end, span.label_) for span in doc.spans["chunks"]]
    ents = [(span.start, span.end, span.label_) for span in doc.ents]
    return [[(t.text, t.tag_, t.dep_, t.head.i, t.is_sent_start) for t in doc], ents, groups]
