"""Small models of every kind that the page shows, trained once."""

from __future__ import annotations

from functools import cache
from typing import Any

from palmette import Beam, Classifier, Crf, Latent, Parser, Pipeline, Tagger, load_demo, load_grammaticality
from palmette.data import parse_treebank
from palmette.datasets import demo_text, example_files
from palmette.serve.page.report import beside
from palmette.serve.page.views import PageModel

WORDS = ["We", "will", "meet", "at", "the", "station", "on", "Monday", "."]
TAGS = ["PRP", "MD", "VB", "IN", "DT", "NN", "IN", "NNP", "."]
ROWS = [list(row) for row in zip(WORDS, TAGS, strict=True)]
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
        "beam": Tagger(search=Beam(2), **plain).fit(X, y),
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
        "parser": parser(),
        "pos": found["pos"],
        "classifier": PageModel(classifier(), helpers=[found["pos"]]),
        "pipeline": pipeline(),
    }
    return beside(chunkers | others)


def labelled_text() -> str:
    """Labelled sentences of the demo corpus."""
    return demo_text("test")


def gold_trees() -> str:
    return example_files("trees")["trees_test.conllu"]
