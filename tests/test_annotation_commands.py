"""Annotators' files through the commands: train, eval, tag, compare; streams; recognition by content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_run import Cli
from documents import TARGETS, label_studio_task, write_lines

from palmette import Tagger
from palmette.connect import read_documents, write_documents
from palmette.data import Document, FormatSpec, TextSpan, read_corpus, recognised, spans, stream_corpus

TASKS = [
    {"text": "Anna Smith met Bob. They saw Berlin-Mitte 😀", "answer": "accept", "spans": [
        {"start": 0, "end": 10, "label": "PER"}, {"start": 15, "end": 18, "label": "PER"},
        {"start": 29, "end": 35, "label": "LOC"}]},
    {"text": "Bob left Berlin", "answer": "accept", "spans": [
        {"start": 0, "end": 3, "label": "PER"}, {"start": 9, "end": 15, "label": "LOC"}]},
]  # fmt: skip


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.fixture
def trained(cli: Cli) -> Cli:
    write_lines(cli.folder, "ann.jsonl", *TASKS)
    cli.fine("train ann.jsonl --format prodigy -o ner.palm --features ner --passes 10 -q")
    return cli


def spans_in(folder: Path, name: str, format: str) -> list[list[tuple[str, str]]]:
    return [[(s.label, d.text[s.start : s.end]) for s in d.spans] for d in read_documents(folder / name, format)]


@pytest.mark.parametrize("format", TARGETS)
def test_train_eval_and_tag(trained: Cli, format: str) -> None:
    cli, target = trained, "folder" if format == "brat" else "data"
    write_documents(read_documents(cli.folder / "ann.jsonl"), cli.folder / target, format)
    scores = json.loads(cli.fine(f"eval ner.palm {target} --format {format} --json"))
    assert (scores["tokens"], scores["accuracy"]) == (13, 1.0)
    cli.fine(f"train {target} --format {format} -o other.palm --features ner --passes 10 -q")
    assert Tagger.load(cli.folder / "other.palm").labels_ == Tagger.load(cli.folder / "ner.palm").labels_
    out = "out" if format == "brat" else "tagged"
    cli.write("text.txt", "Anna Smith met Bob.\n\nBob left Berlin")
    cli.fine(f"tag ner.palm text.txt --format text --to {format} -o {out} -q")
    lines = [[("PER", "Anna Smith"), ("PER", "Bob")], [("PER", "Bob"), ("LOC", "Berlin")]]
    assert spans_in(cli.folder, out, format) == ([[*lines[0], *lines[1]]] if format == "brat" else lines)
    if format == "brat":
        assert (cli.folder / "out" / "text.txt").read_text(encoding="utf-8") == cli.read("text.txt")


def test_tagging_tasks_replaces_spans_with_a_report_and_keeps_the_rest(trained: Cli) -> None:
    cli = trained
    write_lines(cli.folder, "new.jsonl", {"text": "Bob saw 😀 Anna Smith", "meta": {"k": 1}, "_task_hash": 3},
                {"text": "Berlin", "spans": [{"start": 0, "end": 6, "label": "OLD"}]})  # fmt: skip
    ran = cli("tag ner.palm new.jsonl -o tagged.jsonl --confidence")
    assert "1 span of the input replaced by what the model predicts (new.jsonl:2)" in ran.err
    one, two = [json.loads(line) for line in cli.read("tagged.jsonl").splitlines()]
    assert one["meta"] == {"k": 1}
    assert "_task_hash" not in one
    (tags,) = Tagger.load("ner.palm").predict([["Bob", "saw", "😀", "Anna", "Smith"]])
    places = [(0, 3), (4, 7), (8, 9), (10, 14), (15, 20)]
    expected = [(places[a][0], places[b - 1][1], kind) for kind, a, b in spans(tags)]
    assert expected
    assert [(s["start"], s["end"], s["label"]) for s in one["spans"]] == expected
    assert all(0.0 < span["score"] <= 1.0 for span in one["spans"] + two["spans"])
    assert [t["text"] for t in one["tokens"]] == ["Bob", "saw", "😀", "Anna", "Smith"]
    cli.fine("tag ner.palm new.jsonl --to labelstudio -o p.json -q")
    first = json.loads(cli.read("p.json"))[0]
    assert first["predictions"][0]["model_version"] == "palmette"
    task = label_studio_task(annotations=[{"result": []}], predictions=[{"result": [], "model_version": "old"}])
    cli.write("t.json", json.dumps([task]))
    cli.fine("tag ner.palm t.json -o q.json -q")
    (made,) = json.loads(cli.read("q.json"))
    assert made["annotations"] == [{"result": []}]
    assert [p["model_version"] for p in made["predictions"]] == ["palmette", "old"]
    values = [region["value"] for region in made["predictions"][0]["result"]]
    assert all("Bob left"[value["start"] : value["end"]] == value["text"] for value in values)
    assert {region["from_name"] for region in made["predictions"][0]["result"]} <= {"label"}


def test_what_annotators_have_no_place_for(trained: Cli) -> None:
    cli = trained
    cli.write("t.txt", "Bob")
    for flags, message in {
        "--to doccano --confidence": "doccano has no place for confidences",
        "--to prodigy --scores": "--scores: formats of annotators have no place",
        "--to brat --marginals -o x": "--marginals: formats of annotators have no place",
        "--to brat": "give -o NAME.ann, or a new folder",
        "--to spacy": "from text one can write columns, jsonl, prodigy, labelstudio, doccano, brat, not spacy",
    }.items():  # fmt: skip
        ran = cli(f"tag ner.palm t.txt --format text {flags}")
        assert ran.code == 2
        assert message in ran.err


def test_compare_with_a_tagged_file(trained: Cli) -> None:
    cli = trained
    cli.fine("tag ner.palm ann.jsonl -o tagged.jsonl -q")
    told = cli.fine("compare ner.palm tagged.jsonl --gold ann.jsonl --no-split-at-spans --json")
    assert json.loads(told)


@pytest.mark.parametrize("block", [1, 40, 1 << 20])
@pytest.mark.parametrize("format", TARGETS)
def test_blocks_make_no_difference(format: str, block: int, tmp_path: Path) -> None:
    made = [Document(f"Bob {k} left. 😀", [TextSpan(0, 3, "P"), TextSpan(4, 5, "N")], name=str(k)) for k in range(9)]
    target = tmp_path / "data"
    write_documents(made, target, format)
    spec = FormatSpec(format=format)
    whole = read_corpus(target, spec)
    parts = list(stream_corpus(target, spec, block))
    assert [cell for part in parts for cell in (part.labels.cells() if part.labels else [])] == whole.labels.cells()
    assert sum(part.n_sentences for part in parts) == whole.n_sentences == 18


RECOGNISED = [
    ('{"text": "a", "spans": [{"start": 0, "end": 1, "label": "X"}]}', "prodigy"),
    ('{"text": "a", "tokens": [{"text": "a", "start": 0, "end": 1}]}', "prodigy"),
    ('{"text": "a", "spans": []}', "prodigy"),
    ('{"text": "a", "tokens": ["a"], "tags": ["O"]}', "jsonl"), ('{"text": "a", "labels": ["x"]}', "jsonl"),
    ('{"text": "a"}', None), ('{"text": "a", "label": [[0, 1, "X"]]}', "doccano"),
    ('{"id": 1, "text": "a", "entities": [{"id": 1, "start_offset": 0}], "relations": []}', "doccano"),
    ('[{"id": 1, "data": {"text": "a"}, "annotations": []}]', "labelstudio"),
    ('[\n {\n "data": {\n "text": "a"}, "predictions": []}]', "labelstudio"),
    ('[{"text": "a", "annotation_id": 4}]', "labelstudio"), ('[{"text": "a"}]', None), ("[ -LRB- B-X", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "format"), RECOGNISED)
def test_recognised_by_content(text: str, format: str | None, tmp_path: Path) -> None:
    assert recognised(text.encode() + b"\n", ended=True) == format
    path = tmp_path / "x.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    assert FormatSpec().resolved(path).format == (format or "jsonl")
    assert FormatSpec(format="columns").resolved(path).format == "columns"
    assert FormatSpec().like(FormatSpec(format="prodigy"), path).format == (format or "prodigy")
