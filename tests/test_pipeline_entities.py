"""Entities in pipelines: their data, the component, and where they are written and read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palmette import Pipeline
from palmette.data import read_treebank
from palmette.data.formats.conllu import parse_treebank, treebank_bytes
from palmette.data.formats.conllu_light import entity_of, with_entity
from palmette.datasets import load_trees
from palmette.errors import DataError
from palmette.pipeline.entities import Entities, entity_f1, joined, read_entities

SENTENCES = """\
Ann B-PER
Lee I-PER
met O
Bob B-PER
in O
Oslo B-LOC
. O

The O
ferry O
left O
New I-LOC
York I-LOC
. O

"""
LABELS = ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "O", "O", "O", "O", "B-LOC", "I-LOC", "O"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("entities") / "entities.txt"
    path.write_text(SENTENCES * 20)
    return path


@pytest.fixture(scope="module")
def nlp(data: Path) -> Pipeline:
    found = Pipeline(passes=3, folds=2)
    bank = read_entities([data])
    return found.fit(load_trees("train"), load_trees("test"), entities=bank, entities_dev=bank)


def test_labels_of_other_schemes_are_read_as_iob2(data: Path) -> None:
    bank = read_entities([data, data])
    assert bank.n_sentences == 2 * 40
    assert bank.entities is not None
    assert bank.entities.cells()[: len(LABELS)] == LABELS


def test_a_span_file_is_training_data(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    record = {
        "text": "Ann met Bob Ray.",
        "spans": [{"start": 0, "end": 3, "label": "PER"}, {"start": 8, "end": 15, "label": "PER"}],
    }
    path.write_text(json.dumps(record) + "\n")
    bank = read_entities([path])
    assert bank.forms.cells() == ["Ann", "met", "Bob", "Ray", "."]
    assert bank.entities is not None
    assert bank.entities.cells() == ["B-PER", "O", "B-PER", "I-PER", "O"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("Time NN\nflies VB\n", "'NN' is not of an entity"), ("Ann B\nLee I\n", "has no type")],
)
def test_other_labels_are_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_entities([path])


def test_conllu_without_entities_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plain.conllu"
    path.write_text("1\tAnn\t_\t_\t_\t_\t_\t_\t_\tEntity=(person-1)\n\n")
    with pytest.raises(DataError, match="no word has an entity"):
        read_entities([path])


def test_misc_keeps_its_other_entries() -> None:
    assert with_entity("SpaceAfter=No", "B-PER") == "Entity=B-PER|SpaceAfter=No"
    assert with_entity("Entity=B-PER|SpaceAfter=No", "O") == "SpaceAfter=No"
    assert with_entity("Entity=B-PER", "I-LOC") == "Entity=I-LOC"
    assert with_entity("Entity=B-PER", "O") == "_"
    assert entity_of("SpaceAfter=No|Entity=I-LOC") == "I-LOC"
    assert entity_of("Entity=(person-1-giv:new)") is None


def test_a_document_has_entities_with_their_characters(nlp: Pipeline) -> None:
    text = "Ann Lee met Bob.  The ferry left New York."
    doc = nlp(text)
    assert [(one.text, one.label) for one in doc.entities] == [("Ann Lee", "PER"), ("Bob", "PER"), ("New York", "LOC")]
    assert all(text[one.start : one.end] == one.text for one in doc.entities)
    assert [word.text for word in doc.entities[0].words] == ["Ann", "Lee"]
    assert doc.entities[2].start == text.index("New")


def test_entities_are_written_and_read_back(nlp: Pipeline) -> None:
    doc = nlp("Ann Lee met Bob.")
    conllu = doc.to_conllu()
    assert "\tEntity=B-PER\n" in conllu
    assert "\tEntity=B-PER|SpaceAfter=No\n" in conllu
    again = parse_treebank(conllu.encode(), "the document")
    assert again.entities is not None
    assert again.entities.cells() == ["B-PER", "I-PER", "O", "B-PER", "O"]
    (sentence,) = doc.to_dict()["sentences"]
    assert sentence["entities"][0] == {"text": "Ann Lee", "label": "PER", "start": 0, "end": 7, "words": [1, 2]}


def test_lines_get_entities_in_misc_and_keep_all_else(nlp: Pipeline) -> None:
    first = "1\tAnn\tx\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|Entity=B-LOC\n"
    lines = f"# sent_id = 1\n{first}2\tmet\t_\t_\t_\t_\t_\t_\t_\tGloss=z\n\n"
    bank = parse_treebank(lines.encode(), "lines", labelled=False)
    found = nlp.annotate(bank, components=["entities"])
    assert treebank_bytes(found, fields=["entity"]).decode() == lines.replace(
        "SpaceAfter=No|Entity=B-LOC", "Entity=B-PER|SpaceAfter=No"
    )


def test_many_texts_and_threads_find_the_same(nlp: Pipeline) -> None:
    texts = ["Ann Lee met Bob.", "", "The ferry left New York."] * 3
    alone = [[(one.text, one.label, one.start) for one in nlp(text).entities] for text in texts]
    assert [[(one.text, one.label, one.start) for one in doc.entities] for doc in nlp.pipe(texts)] == alone
    bank = [["Ann", "Lee", "met", "Bob", "."]] * 8
    one, two = nlp.annotate(bank).entities, nlp.annotate(bank, threads=2).entities
    assert one is not None
    assert two is not None
    assert one.cells() == two.cells()


def test_sentences_that_are_left_out_take_their_entities_along() -> None:
    good = "1\tAnn\t_\t_\t_\t_\t0\troot\t_\tEntity=B-PER\n\n"
    circle = "1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t1\tx\t_\tEntity=B-LOC\n\n"
    bank = parse_treebank((circle + good).encode(), "lines", skip_bad=True)
    assert bank.entities is not None
    assert bank.entities.cells() == ["B-PER"]


def test_the_file_holds_the_component_and_its_score(nlp: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "nlp.palm"
    nlp.save(path)
    again = Pipeline.load(path)
    assert again.components_ == ("tok", "tag", "lemma", "parse", "entities")
    assert again.model_.meta.components["entities"].dev["Entities"] == 100.0
    assert [one.text for one in again("Bob met Ann.").entities] == ["Bob", "Ann"]


def test_a_treebank_with_entities_needs_no_other_data(nlp: Pipeline, tmp_path: Path, data: Path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_bytes(treebank_bytes(nlp.annotate(read_entities([data]).without(["upos"])), fields=["entity"]))
    bank = read_treebank(path)
    found = Pipeline(components=("tag", "entities"), passes=2).fit(bank)
    assert found.components_ == ("tag", "entities")


def test_f1_is_over_whole_entities() -> None:
    gold = parse_treebank(
        b"1\ta\t_\t_\t_\t_\t_\t_\t_\tEntity=B-PER\n2\tb\t_\t_\t_\t_\t_\t_\t_\tEntity=I-PER\n\n", "g", labelled=False
    )
    half = parse_treebank(
        b"1\ta\t_\t_\t_\t_\t_\t_\t_\tEntity=B-PER\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "h", labelled=False
    )
    assert entity_f1(gold, gold) == 1.0
    assert entity_f1(gold, half) == 0.0
    assert entity_f1(joined([gold, gold]), joined([gold, half])) == 0.5


def test_lexicons_and_clusters_are_stored_in_the_component(tmp_path: Path, data: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("Zoe\nBob\nAnn\n")
    paths = tmp_path / "paths.txt"
    paths.write_text("0110\tZoe\t3\n1\tin\t9\n")
    bank = read_entities([data])
    made = Entities(passes=2, lexicons={"name": names}, clusters={"brown": paths}).fit(bank)
    names.unlink()
    paths.unlink()
    arrays, meta = made.parts()
    again = Entities.from_parts(arrays, meta, "parts")
    assert again.model_.encoder is not None
    assert "Zoe" in again.model_.encoder.resources.lexicons["name"].classes
    assert again.model_.encoder.resources.clusters["brown"].find("Zoe") == "0110"


def test_sentences_show_entities_and_trees(nlp: Pipeline) -> None:
    doc = nlp("Ann Lee met Bob.")
    sentence = doc.sentences[0]
    drawn = str(sentence).splitlines()
    assert drawn[-1] == "PER Ann Lee, PER Bob"
    assert [line.split()[1] for line in drawn[:-1]] == [word.form for word in sentence.words]
    shown = doc._repr_html_()
    assert shown.count("<mark") == 2
    assert "<svg" in shown
    assert "<svg" in sentence._repr_html_()
    assert doc.words[3].lemma in doc.words[3]._repr_html_()


def test_a_trained_pipeline_says_what_it_has(nlp: Pipeline) -> None:
    assert repr(nlp) == "<Pipeline: tok, tag, lemma, parse, entities>"
    assert repr(Pipeline(passes=2)) == "Pipeline(passes=2)"
    assert "entities" in nlp._repr_html_()
