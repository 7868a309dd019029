"""Pipelines in spaCy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palmette import Pipeline
from palmette.data.corpus import column_of_strings
from palmette.datasets import load_trees
from palmette.errors import UsageError

pytestmark = pytest.mark.heavy("spacy")
TEXTS = ["She baked bread.  It rains in Rome.", "", " \n", "Nobody reads it"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    bank = load_trees("train")
    labels = column_of_strings("B-X" if cell == "PROPN" else "O" for cell in bank.column("upos").cells())
    path = tmp_path_factory.mktemp("spacy") / "nlp.palm"
    Pipeline(passes=3, folds=2).fit(bank.with_entities(labels)).save(path)
    return str(path)


def told(doc: Any) -> list[Any]:
    ents = [(span.start, span.end, span.label_) for span in doc.ents]
    rows = [(t.text, t.tag_, t.pos_, str(t.morph), t.lemma_, t.dep_, t.head.i, t.is_sent_start) for t in doc]
    return [rows, ents]


def test_a_language_gives_what_the_pipeline_gives(model: str) -> None:
    from palmette.connect.spacy import load, spacy_doc

    nlp, pipeline = load(model), Pipeline.load(model)
    for text in TEXTS:
        doc = nlp(text)
        assert doc.text == text
        assert told(doc) == told(spacy_doc(pipeline(text), nlp.vocab))
    assert [told(doc) for doc in nlp.pipe(TEXTS)] == [told(nlp(text)) for text in TEXTS]


def test_tokens_of_spacy_are_words(model: str) -> None:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("palmette_pipeline", config={"model": model})
    doc = nlp("She did not bake bread   today")
    found = Pipeline.load(model).annotate([["She", "did", "not", "bake", "bread", "today"]])
    words = [token for token in doc if not token.is_space]
    assert [token.pos_ for token in words] == found.column("upos").cells()
    assert [token.lemma_ for token in words] == found.column("lemma").cells()
    assert [token.dep_ for token in words] == found.relations.cells()
    assert len(list(doc.sents)) == 1


def test_a_saved_language_brings_its_model(model: str, tmp_path: Path) -> None:
    import spacy

    from palmette.connect.spacy import load

    nlp = load(model)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert told(again(TEXTS[0])) == told(nlp(TEXTS[0]))


def test_scores_of_spacy_are_of_all_that_is_set(model: str) -> None:
    from spacy.training import Example

    from palmette.connect.spacy import load

    nlp = load(model)
    gold = [nlp("It rains in Rome."), nlp("Nobody reads it")]
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc) for doc in gold])
    assert scores["pos_acc"] == scores["dep_las"] == scores["lemma_acc"] == 1.0


def test_a_pipeline_is_no_parser(model: str) -> None:
    import spacy

    nlp = spacy.blank("en")
    with pytest.raises(UsageError, match="is a pipeline, not a parser: add palmette_pipeline"):
        nlp.add_pipe("palmette_parser", config={"model": model})
