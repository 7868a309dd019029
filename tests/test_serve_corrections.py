"""Correction sessions: what was confirmed stays, sentences are picked as the library picks them, files can be read as
training data, and a training in the background replaces the model."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
import pytest
from serve_cases import client, folder
from starlette.testclient import TestClient

from palmette import Tagger
from palmette.data import Corpus, FormatSpec, column_of_strings, label_names, read_corpus, training_mask
from palmette.data.files import lock_file
from palmette.errors import UsageError
from palmette.estimators import pick
from palmette.serve import Source
from palmette.serve.correction_data import corpus_of, file_bytes, written_format
from palmette.serve.journal import Journal
from palmette.serve.merge import merged
from palmette.serve.types import Correction

TOKENS = [["On", "IN"], ["Monday", "NNP"], ["we", "PRP"]]
ONE: dict[str, Any] = {"id": "a", "tokens": TOKENS, "labels": ["B-PP", None, ["B-NP", "O"]]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A model with its data, to be corrected and replaced."""
    for name in ("chunk.palm", "small.txt", "dev.txt", "test.txt"):
        shutil.copy(folder() / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def c(home: Path) -> Iterator[TestClient]:
    with client(source(home)) as made:
        yield made


def source(home: Path, **more: str) -> Source:
    files = {"train": "small.txt", "dev": "dev.txt", "pool": "test.txt"}
    return Source({"chunk": str(home / "chunk.palm")}, {}, {name: str(home / file) for name, file in files.items()})


# Spans


def test_spans_are_kept_as_labels(c: TestClient, home: Path) -> None:
    tokens = [["They", "PRP"], ["left", "VBD"], ["the", "DT"], ["house", "NN"]]
    spans = [{"start": 2, "end": 4, "label": "NP"}, {"start": 0, "end": 1, "label": "NP"}]
    c.post("/models/chunk/corrections", json={"corrections": [{"tokens": tokens, "spans": spans}]})
    (kept,) = c.get("/models/chunk/corrections").json()["corrections"]
    assert kept["labels"] == ["B-NP", "O", "B-NP", "I-NP"]
    assert "spans" not in kept


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"spans": [{"start": 0, "end": 2, "label": "NP"}, {"start": 1, "end": 2, "label": "VP"}]}, "overlaps"),
        ({"spans": [{"start": 0, "end": 3, "label": "NP"}]}, "leaves the 2 tokens"),
        ({"spans": [{"start": 0, "end": 1, "label": "XX"}]}, "no label 'B-XX'"),
        ({"spans": [], "labels": ["O", "O"]}, "labels and spans"),
    ],
)
def test_spans_that_cannot_be_kept(c: TestClient, more: dict[str, Any], told: str) -> None:
    tokens = [["They", "PRP"], ["left", "VBD"]]
    answer = c.post("/models/chunk/corrections", json={"corrections": [{"tokens": tokens, **more}]})
    assert answer.status_code == 422
    assert told in answer.json()["error"]


# The journal


def test_corrections_are_kept_listed_replaced_and_taken_back(c: TestClient, home: Path) -> None:
    answer = c.post("/models/chunk/corrections", json={"corrections": [ONE, {**ONE, "id": None}]})
    assert answer.status_code == 201, answer.text
    first, second = answer.json()["ids"]
    assert first == "a"
    changed = {**ONE, "labels": ["B-PP", "B-NP", "B-NP"], "source": "line 7"}
    assert c.post("/models/chunk/corrections", json={"corrections": [changed]}).json()["corrections"] == 2
    found = c.get("/models/chunk/corrections").json()
    assert found["total"] == 2
    assert found["corrections"][0]["labels"] == ["B-PP", "B-NP", "B-NP"]
    assert found["corrections"][0]["source"] == "line 7"
    assert c.get("/models/chunk/corrections?after=1&limit=5").json()["corrections"][0]["id"] == second
    assert c.delete(f"/models/chunk/corrections/{second}").json() == {"corrections": 1}
    assert c.delete(f"/models/chunk/corrections/{second}").status_code == 404
    with client(source(home)) as again:  # another server of the same files
        assert [one["id"] for one in again.get("/models/chunk/corrections").json()["corrections"]] == ["a"]
        assert again.get("/models/chunk").json()["corrections"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["B-PP"]},
        {"labels": [None, None, None]},
        {"labels": ["B-PP", "X", None]},
        {"labels": ["B-PP", [], None]},
        {"tokens": ["On", "Monday", "we"]},
        {"tokens": [["On", "IN"], ["Mon\tday", "NNP"], ["we", ""]]},
    ],
)
def test_corrections_that_do_not_fit_are_refused(c: TestClient, home: Path, change: dict[str, Any]) -> None:
    answer = c.post("/models/chunk/corrections", json={"corrections": [ONE | change]})
    assert answer.status_code == 422
    assert not (home / "chunk.corrections.jsonl").exists()


def test_an_incomplete_last_line_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.corrections.jsonl"
    journal = Journal(path)
    journal.add([Correction(tokens=["a"], labels=["A"], id=name) for name in ("1", "2", "3")])
    whole = path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    places = {*range(0, len(whole), 7), *(end + k for end in ends for k in (-2, -1, 0, 1))}
    for cut in sorted(place for place in places if place <= len(whole)):  # where a process may have died
        path.write_bytes(whole[:cut])
        found = Journal(path)
        kept = [one.id for one in found.all()]
        complete = sum(end <= cut for end in ends) + (cut + 1 in ends)  # a line without its end is whole, too
        assert kept == ["1", "2", "3"][:complete]
        found.add([Correction(tokens=["b"], labels=[None, "B"][1:], id="new")])
        assert [one.id for one in Journal(path).all()] == [*kept, "new"]


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_batch_that_does_not_fit_on_the_disk_leaves_nothing_behind(
    c: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    c.post("/models/chunk/corrections", json={"corrections": [ONE]})
    path = home / "chunk.corrections.jsonl"
    before, write = path.read_bytes(), os.write

    def full(fd: int, *data: Any) -> int:
        if fails == "write" and path.stat().st_size == len(before):
            return write(fd, bytes(data[0])[:200])  # a part of the batch still fits
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(f"os.{fails}", full)
        answer = c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": x} for x in "bcd"]})
    assert answer.status_code == 507
    assert "No space left" in answer.json()["error"]
    assert path.read_bytes() == before
    assert [one["id"] for one in c.get("/models/chunk/corrections").json()["corrections"]] == ["a"]
    assert c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": "e"}]}).status_code == 201
    assert [one.id for one in Journal(path).all()] == ["a", "e"]


def test_a_journal_that_is_replaced_or_deleted_is_followed(c: TestClient, home: Path) -> None:
    """As editors, `git checkout` and `mv` do."""
    path = home / "chunk.corrections.jsonl"
    c.post("/models/chunk/corrections", json={"corrections": [ONE, {**ONE, "id": "b"}]})
    (home / "edited").write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    os.replace(home / "edited", path)
    assert [one["id"] for one in c.get("/models/chunk/corrections").json()["corrections"]] == ["b"]
    assert c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": "c"}]}).json()["corrections"] == 2
    assert [one.id for one in Journal(path).all()] == ["b", "c"]
    path.unlink()
    assert c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": "d"}]}).json()["corrections"] == 1
    assert [one.id for one in Journal(path).all()] == ["d"]


def test_two_servers_of_one_journal_see_each_other(c: TestClient, home: Path) -> None:
    with client(source(home)) as other:
        c.post("/models/chunk/corrections", json={"corrections": [ONE]})
        assert other.get("/models/chunk/corrections").json()["total"] == 1
        assert other.delete("/models/chunk/corrections/a").json() == {"corrections": 0}
        assert c.get("/models/chunk").json()["corrections"] == 0


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "x.corrections.jsonl"
    journals = [Journal(path) for _ in range(3)]

    def write(k: int) -> None:
        for n in range(20):
            journals[k].add([Correction(tokens=["a" * 5000], labels=["A"], id=f"{k}-{n}-{m}") for m in range(3)])

    threads = [threading.Thread(target=write, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [msgspec.json.decode(line)["id"] for line in path.read_bytes().splitlines()]
    assert len(ids) == 180
    assert [one.id for one in journals[0].all()] == ids
    assert all(ids[k].endswith("-0") for k in range(0, 180, 3))  # batches are not mixed


def test_a_file_that_is_replaced_while_a_writer_waits_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "x.corrections.jsonl"
    journal = Journal(path)
    journal.add([Correction(tokens=["a"], labels=["A"], id="1")])
    with open(path, "ab") as held:
        lock_file(held.fileno())
        writer = threading.Thread(target=journal.add, args=([Correction(tokens=["a"], labels=["A"], id="2")],))
        writer.start()
        time.sleep(0.1)
        (tmp_path / "new").write_bytes(path.read_bytes())
        os.replace(tmp_path / "new", path)
    writer.join()
    assert [one.id for one in Journal(path).all()] == ["1", "2"]


@pytest.mark.parametrize("name", ["a/b", "/", "file", "save", "a//b/", "x\ny", "ü ?#%"])
def test_any_id_can_be_taken_back(c: TestClient, name: str) -> None:
    c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": name}]})
    answer = c.delete(f"/models/chunk/corrections/{quote(name, safe='')}")
    assert (answer.status_code, answer.json()) == (200, {"corrections": 0})


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_ids_that_no_address_can_have_are_refused(c: TestClient, name: str) -> None:
    answer = c.post("/models/chunk/corrections", json={"corrections": [{**ONE, "id": name}]})
    assert answer.status_code == 400, answer.text
    assert c.get("/models/chunk/corrections").json()["total"] == 0


@pytest.mark.parametrize("name", ["chunk.corrections.txt", "chunk.corrections.jsonl"])
def test_corrections_are_not_written_over_data_of_the_server(home: Path, name: str) -> None:
    shutil.copy(home / "small.txt", home / name)
    if name.endswith(".jsonl"):  # as the model reads it: a label per token, and a word with its tag
        (home / name).write_text('{"tokens": ["On", "Monday"], "pos": ["IN", "NNP"], "tags": ["B-PP", "B-NP"]}\n')
    before = (home / name).read_bytes()
    with (
        pytest.raises(UsageError, match="--corrections"),
        client(source(home)._replace(files={"train": str(home / name)})),
    ):
        pass
    assert (home / name).read_bytes() == before
    (home / "other").mkdir()
    with client(source(home)._replace(files={"train": str(home / name)}, corrections=str(home / "other"))) as c:
        c.post("/models/chunk/corrections", json={"corrections": [ONE]})
        assert c.post("/models/chunk/corrections/save", json={}).status_code == 200
    assert (home / name).read_bytes() == before


# Picking


def number(id: str) -> int:
    """The place of a picked sentence in the pool."""
    return int(id.split("-")[1])


def test_picked_sentences_are_those_that_the_library_picks(c: TestClient, home: Path) -> None:
    tagger = Tagger.load(home / "chunk.palm")
    spec = FormatSpec(has_label=False)
    pool, train = (read_corpus(home / name, spec) for name in ("test.txt", "small.txt"))
    rows = [[tuple(row[:2]) for row in pool.sentence(s)] for s in range(pool.n_sentences)]
    known = [[tuple(row[:2]) for row in train.sentence(s)] for s in range(train.n_sentences)]
    assert c.post("/models/chunk/pick", json={"n": 5, "by": "entropy"}).status_code == 200
    answer = c.post("/models/chunk/pick", json={"n": 5, "by": "margin"}).json()
    assert answer["pool"] == len(rows)
    expected = pick(tagger, rows, 5, by="margin", exclude=known)
    assert [number(one["id"]) for one in answer["sentences"]] == [one.sentence + 1 for one in expected]
    first = answer["sentences"][0]
    assert first["uncertainty"] == pytest.approx(expected[0].uncertainty)
    assert first["labels"] == tagger.predict([[row[:2] for row in first["columns"]]])[0]
    c.post("/models/chunk/corrections", json={"corrections": [
        {"id": first["id"], "tokens": [row[:2] for row in first["columns"]], "labels": first["labels"]}
    ]})  # fmt: skip
    again = c.post("/models/chunk/pick", json={"n": 5, "by": "margin"}).json()["sentences"]
    assert first["id"] not in [one["id"] for one in again]
    sent = c.post("/models/chunk/pick", json={"n": 1, "sentences": [TOKENS, TOKENS]}).json()
    assert (sent["pool"], len(sent["sentences"])) == (2, 1)


def test_a_pool_that_has_all_columns_needs_no_helper(home: Path) -> None:
    """Columns of the pool are taken as they are; helpers make those that it lacks."""
    models, helpers = {"chunk": str(home / "chunk.palm")}, {"pos": str(folder() / "pos.palm")}
    words = home / "words.txt"
    words.write_text("".join(f"{line.split(' ')[0]}\n" for line in (home / "test.txt").read_text().splitlines()))
    rows = {}
    for name, file in (("complete", "test.txt"), ("words", "words.txt")):
        with client(Source(models, helpers, {"pool": str(home / file)})) as c:
            answer = c.post("/models/chunk/pick", json={"n": 3})
        assert answer.status_code == 200, answer.text
        rows[name] = [row for one in answer.json()["sentences"] for row in one["columns"]]
    gold = {tuple(line.split(" ")[:2]) for line in (home / "test.txt").read_text().splitlines() if line}
    assert all(tuple(row) in gold for row in rows["complete"])  # the tags of the file, without its labels
    tagger = Tagger.load(folder() / "pos.palm")
    assert all(len(row) == 2 and row[1] in tagger.labels_ for row in rows["words"])


def test_sentences_of_two_requests_are_not_taken_for_each_other(c: TestClient) -> None:
    ids = [
        c.post("/models/chunk/pick", json={"n": 1, "sentences": [TOKENS[k:]]}).json()["sentences"][0]["id"]
        for k in (0, 1)
    ]
    assert ids[0] != ids[1]


# Files


def corrections() -> list[Correction]:
    return [Correction(tokens=TOKENS, labels=ONE["labels"]), Correction(tokens=TOKENS[:1], labels=["B-PP"])]


@pytest.mark.parametrize(
    ("reading", "ending"),
    [
        (None, ".txt"),
        ({"format": "columns", "separator": "space"}, ".txt"),
        ({"format": "columns", "separator": "comma", "columns": ["1", "3"], "label": "0"}, ".txt"),
        ({"format": "conllu", "columns": ["form", "xpos"], "label": "misc"}, ".conllu"),
        ({"format": "jsonl", "columns": ["words", "pos"], "label": "chunks"}, ".jsonl"),
    ],
)
def test_files_of_corrections_are_read_as_training_data(tmp_path: Path, reading: Any, ending: str) -> None:
    spec = written_format(reading, attributes=False)
    path = tmp_path / f"x{ending}"
    path.write_bytes(file_bytes(corrections(), spec))
    corpus = read_corpus(path, spec.labelled().resolved(path))
    assert [corpus.sentence(s) for s in range(2)] == [TOKENS, TOKENS[:1]]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["B-PP", "?", "B-NP|O", "B-PP"]


def test_attributes_are_written_as_crfsuite_reads_them(tmp_path: Path) -> None:
    tokens: list[Any] = [{"w": "a:b", "long": True, "no": False, "size": 0.5}, ["w=c", "x"]]
    path = tmp_path / "x.crfsuite"
    path.write_bytes(file_bytes([Correction(tokens=tokens, labels=["A", "B"])], written_format(None, attributes=True)))
    corpus = read_corpus(path, FormatSpec(format="attributes"))
    assert corpus.attributes is not None
    assert corpus.attributes.names.cells() == ["w:a:b", "long", "size", "w=c", "x"]
    assert corpus.attributes.val.tolist() == [1, 1, 0.5, 1, 1]


def test_the_file_can_be_fetched_and_saved(c: TestClient, home: Path) -> None:
    c.post("/models/chunk/corrections", json={"corrections": [ONE]})
    fetched = c.get("/models/chunk/corrections/file")
    assert fetched.headers["content-disposition"] == 'attachment; filename="chunk.corrections.txt"'
    saved = c.post("/models/chunk/corrections/save", json={}).json()
    assert saved == {"file": "chunk.corrections.txt", "sentences": 1}
    assert (home / saved["file"]).read_bytes() == fetched.content
    corpus = read_corpus(home / saved["file"])
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["B-PP", "?", "B-NP|O"]


# Learning again


def test_what_is_partly_known_allows_its_labels() -> None:
    """The mask of merged data by its definition: one label, several, or all."""
    gold = Corpus(np.array([0, 2]), [column_of_strings("ab"), column_of_strings("xy")], column_of_strings(["O", "?"]))
    both = merged(gold, corpus_of(corrections(), "columns", "it", ["O", "?", "B-PP", "B-NP"]))
    assert both.n_sentences == 3
    assert [row[0] for row in both.sentence(1)] == ["On", "Monday", "we"]
    labels = list(label_names(both))
    mask = training_mask(both, labels)
    allowed = []
    for row in mask.rows.tolist():
        every = [*[{k} for k in range(len(labels))], set(range(len(labels)))]
        every += [set(np.flatnonzero(one).tolist()) for one in mask.sets]
        allowed.append({labels[k] for k in every[row]})
    assert allowed == [{"O"}, {"?"}, {"B-PP"}, set(labels), {"B-NP", "O"}, {"B-PP"}]


def finished(c: TestClient) -> dict[str, Any]:
    until = time.monotonic() + 60
    while (state := c.get("/models/chunk/retrain").json())["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    found: dict[str, Any] = state
    return found


def test_a_training_replaces_the_model_and_keeps_the_old_one(c: TestClient, home: Path) -> None:
    old = (home / "chunk.palm").read_bytes()
    strange = {"id": "s", "tokens": [["Zork", "NNP"], ["blorb", "VBZ"]], "labels": ["B-PP", None]}
    c.post("/models/chunk/corrections", json={"corrections": [strange]})
    begun = c.post("/models/chunk/retrain", json={"replace": "always", "weight": 20})
    assert begun.status_code == 202, begun.text
    assert c.post("/models/chunk/retrain", json={}).status_code == 409
    state = finished(c)
    assert state["state"] == "done", state
    assert state["replaced"] is True
    assert state["corrections"] == 1
    assert [row["pass"] for row in state["log"]] == [4, 5, 6]  # they go on from those of the first training
    tagger, dev = Tagger.load(home / "chunk.palm"), read_corpus(home / "dev.txt")
    assert state["measure"] == "F1"
    assert state["after"] == pytest.approx(tagger.evaluate(dev).f1)
    assert state["before"] == pytest.approx(Tagger.load(home / "chunk.before.palm").evaluate(dev).f1)
    assert (home / "chunk.before.palm").read_bytes() == old
    assert state["continued"] is True
    assert "fewer than 20" in state["warning"]
    for name in ("before", "after"):
        low, high = state[f"{name}_interval"]
        assert low <= state[name] <= high
    low, high = state["difference_interval"]
    assert state["within_noise"] is (low <= 0 <= high)
    found = c.post("/models/chunk", json={"tokens": strange["tokens"]}).json()["sentences"][0]["labels"]
    assert found[0] == "B-PP"
    assert c.get("/models/chunk").json()["generation"] == 2
    assert not list(home.glob(".retrain*"))


def test_a_training_may_only_report_or_be_stopped(c: TestClient, home: Path) -> None:
    old = (home / "chunk.palm").read_bytes()
    c.post("/models/chunk/retrain", json={"replace": "never"})
    assert finished(c)["replaced"] is False
    c.post("/models/chunk/retrain", json={"replace": "always"})
    assert c.delete("/models/chunk/retrain").json()["state"] == "stopped"
    assert (home / "chunk.palm").read_bytes() == old
    assert not list(home.glob(".retrain*"))


def test_a_training_that_fails_says_why(c: TestClient, home: Path) -> None:
    (home / "small.txt").write_text("broken NN B-NP\nline\n")
    c.post("/models/chunk/retrain", json={})
    state = finished(c)
    assert state["state"] == "failed"
    assert "small.txt:2" in state["error"]


def test_the_traceback_of_a_training_is_logged_and_its_last_line_is_in_the_state(
    c: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that the process of the training does not expect."""
    (home / "sitecustomize.py").write_text(
        "import palmette.serve.kinds as kinds\nkinds.CORRECTED.clear()\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(home), prepend=os.pathsep)
    c.post("/models/chunk/retrain", json={})
    state = finished(c)
    assert state["state"] == "failed"
    assert "exit code 1: KeyError: 'tagger'" in state["error"]
    assert "Traceback" in caplog.text


def test_an_error_of_the_server_ends_a_training(
    c: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(new: str, path: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("palmette.serve.retrain._replace", broken)
    c.post("/models/chunk/retrain", json={"replace": "always"})
    state = finished(c)
    assert state["state"] == "failed"
    assert "ZeroDivisionError" in state["error"]
    assert "Traceback" in caplog.text


def test_folders_of_killed_trainings_are_removed_and_others_stay(home: Path) -> None:
    for name in ("killed", "used", "foreign"):
        (home / f".retrain-{name}").mkdir()
        (home / f".retrain-{name}" / "model.palm").write_bytes(b"x")
    for name in ("killed", "used"):
        (home / f".retrain-{name}" / "lock").touch()
    with open(home / ".retrain-used" / "lock", "ab") as held:
        lock_file(held.fileno())
        with client(source(home)):
            assert {path.name for path in home.glob(".retrain-*")} == {".retrain-used", ".retrain-foreign"}


def test_a_model_of_another_kind_in_its_place_is_not_corrected(c: TestClient, home: Path) -> None:
    c.post("/models/chunk/corrections", json={"corrections": [ONE]})
    shutil.copy(folder() / "parser.palm", home / "new.palm")
    os.replace(home / "new.palm", home / "chunk.palm")
    c.app.service.registry.refresh()  # type: ignore[attr-defined]
    for answer in (
        c.post("/models/chunk/pick", json={}),
        c.post("/models/chunk/corrections/save", json={}),
        c.get("/models/chunk/corrections/file"),
        c.post("/models/chunk/corrections", json={"corrections": [ONE]}),
        c.post("/models/chunk/retrain", json={}),
    ):
        assert answer.status_code == 409, answer.text
        assert "is a parser now" in answer.json()["error"]
    assert "is a parser now" in c.get("/models/chunk").json()["uncorrectable"]
    assert c.get("/models/chunk/corrections").json()["total"] == 1
