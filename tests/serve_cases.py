"""Small models for the tests of the server, trained once per run, and a client of it."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pycrfsuite
from starlette.testclient import TestClient

from palmette import Classifier, Parser, Pipeline, Tagger
from palmette.datasets import demo_text, load_demo, load_trees
from palmette.serve import Source, create_app

PLAIN = {"content-type": "text/plain"}


@functools.cache
def folder() -> Path:
    """A folder with models of every kind and data, until the process ends."""
    made = Path(tempfile.mkdtemp(prefix="palmette-serve-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    for part in ("train", "dev", "test"):
        text = demo_text(part)
        (made / f"{part}.txt").write_text(text, encoding="utf-8")
    small = "\n\n".join((made / "train.txt").read_text(encoding="utf-8").split("\n\n")[:150]) + "\n\n"
    (made / "small.txt").write_text(small, encoding="utf-8")
    Tagger(learner="perceptron", passes=3).fit_file(made / "small.txt").save(made / "chunk.palm")
    sentences, _ = load_demo("train")
    words = [[word for word, _ in sentence] for sentence in sentences[:150]]
    tags = [[tag for _, tag in sentence] for sentence in sentences[:150]]
    Tagger("pos", learner="perceptron", passes=3).fit(words, tags).save(made / "pos.palm")
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False, params={"max_iterations": 3})
    for sentence, labels in zip(words, tags, strict=True):
        trainer.append([[f"w={word}"] for word in sentence], labels)
    trainer.train(str(made / "theirs.crfsuite"))
    trees = load_trees("train")
    Parser(passes=2).fit(trees).save(made / "parser.palm")
    y = ["long" if len(s) > 20 else "short" for s in words]
    Classifier(passes=2).fit(words, y, positive="long").save(made / "class.palm")
    Pipeline(passes=1).fit(trees, threads=1).save(made / "en.palm")
    return made


@contextmanager
def client(source: Source | None = None, **options: Any) -> Iterator[TestClient]:
    """A client of a server; by default with a chunker and a tagger that makes its column."""
    home = folder()
    source = source or Source(
        {"chunk": str(home / "chunk.palm"), "pos": str(home / "pos.palm")}, {"pos": str(home / "pos.palm")}
    )
    with TestClient(create_app(source=source, **options), base_url="http://localhost") as made:
        yield made
