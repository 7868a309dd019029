"""Small models of every kind that the page shows, trained once."""

from __future__ import annotations

import atexit
import os
import tempfile
from functools import cache
from typing import Any

from palmette import Beam, Classifier, Crf, Latent, Parser, Pipeline, Tagger
from palmette.data import parse_treebank
from palmette.datasets import demo_text, example_files, load_demo, load_grammaticality
from palmette.serve.page.report import beside
from palmette.serve.page.views import PageModel

WORDS = ["We", "will", "meet", "at", "the", "station", "on", "Monday", "."]
TAGS = ["PRP", "MD", "VB", "IN", "DT", "NN", "IN", "NNP", "."]
ROWS = [list(row) for row in zip(WORDS, TAGS, strict=True)]
TUPLES = [tuple(row) for row in ROWS]
TEXT = "We will meet at the station on Monday."
TEMPLATE = "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,1]/%x[0,1]\nU3:%x[0,1]/%x[1,1]\n"


@cache
def taggers() -> dict[str, Tagger]:
    """Chunkers: of a CRF, of hidden states, of a narrow beam, of order 2; and what makes their tags."""
    from palmette.features import parse

    X, y = load_demo("train")
    dev = load_demo("dev")
    plain = {"template": parse(TEMPLATE + "B\n"), "passes": 3}
    return {
        "crf": Tagger("chunk", learner=Crf(iterations=12)).fit(X, y, dev=dev),
        "latent": Tagger(states=Latent(2), **plain).fit(X, y, dev=dev),
        "beam": Tagger(learner="perceptron", search=Beam(2), **plain).fit(X, y),
        "order2": Tagger(template=parse(TEMPLATE + "B\nT\n"), order=2, passes=3).fit(X, y),
        "pos": Tagger("pos", passes=3).fit([[word for word, _ in s] for s in X], [[tag for _, tag in s] for s in X]),
    }


@cache
def parser() -> Parser:
    return Parser(passes=3, search=Beam(4)).fit(
        parse_treebank(example_files("trees")["trees.conllu"].encode(), "trees")
    )


@cache
def classifier() -> Classifier:
    X, y = load_grammaticality("train")
    return Classifier(passes=3).fit(X[:300], y[:300])


@cache
def pipeline() -> Pipeline:
    return Pipeline(passes=3).fit(parse_treebank(example_files("trees")["trees.conllu"].encode(), "trees"))


@cache
def models() -> dict[str, PageModel]:
    """All of them as the page shows them."""
    found = taggers()
    chunkers: dict[str, Any] = {
        name: PageModel(found[name], name, [found["pos"]]) for name in ("crf", "latent", "beam", "order2")
    }
    others: dict[str, Any] = {
        "parser": PageModel(parser()),
        "pos": PageModel(found["pos"]),
        "classifier": PageModel(classifier(), helpers=[found["pos"]]),
        "pipeline": PageModel(pipeline()),
    }
    made = chunkers | others
    return beside({name: model._replace(files=beginning(model.kind)) for name, model in made.items()})


@cache
def beginning(kind: str) -> dict[str, str]:
    """A file whose first sentence is TEXT, as a model of this kind reads it."""
    rows = {
        "tagger": "".join(f"{word} {tag} O\n" for word, tag in ROWS) + "\n",
        "classifier": f"0\t{TEXT}\n",
    }
    trees = "".join(f"{k}\t{w}\t_\t_\t{tag}\t_\t0\troot\t_\t_\n" for k, (w, tag) in enumerate(ROWS, 1)) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write(rows.get(kind, trees))
    atexit.register(os.unlink, file.name)
    return {"test": file.name}


def labelled_text() -> str:
    """Labelled sentences of the demo corpus."""
    return demo_text("test")


def gold_trees() -> str:
    return example_files("trees")["trees_test.conllu"]
