"""Corrections of parsers and classifiers: picked, checked, kept, written as training data, learnt from. And what cannot
be corrected says why."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serve_cases import client, folder
from starlette.testclient import TestClient

from palmette import Classifier, Parser
from palmette.classification.files import read_classified
from palmette.data import read_treebank
from palmette.datasets import example_files, load_demo
from palmette.serve import Source

TREE: dict[str, Any] = {
    "id": "t",
    "tokens": [{"form": "Zork", "upos": "PROPN"}, {"form": "sleeps", "upos": "VERB"}],
    "heads": [2, 0],
    "relations": ["nsubj", "root"],
}


def of_trees(home: Path) -> Source:
    shutil.copy(folder() / "parser.palm", home / "parser.palm")
    for name, text in example_files("trees").items():
        (home / name).write_text(text, encoding="utf-8")
    files = {"train": "trees.conllu", "dev": "trees_test.conllu", "pool": "trees_test.conllu"}
    return Source({"parser": str(home / "parser.palm")}, {}, {name: str(home / file) for name, file in files.items()})


def of_classes(home: Path) -> Source:
    shutil.copy(folder() / "class.palm", home / "class.palm")
    words = [[word for word, _ in sentence] for sentence in load_demo("train")[0][:150]]
    lines = [f"{'long' if len(s) > 20 else 'short'}\t{' '.join(s)}\n" for s in words]
    (home / "train.tsv").write_text("".join(lines[:100]), encoding="utf-8")
    (home / "dev.tsv").write_text("".join(lines[100:]), encoding="utf-8")
    (home / "pool.txt").write_text("".join(line.split("\t")[1] for line in lines[100:]), encoding="utf-8")
    files = {"train": "train.tsv", "dev": "dev.tsv", "pool": "pool.txt"}
    return Source({"class": str(home / "class.palm")}, {}, {name: str(home / file) for name, file in files.items()})


def finished(c: TestClient, model: str) -> dict[str, Any]:
    until = time.monotonic() + 120
    while (state := c.get(f"/models/{model}/retrain").json())["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
    found: dict[str, Any] = state
    return found


def test_trees_are_picked_by_the_margin_of_the_two_best(tmp_path: Path) -> None:
    with client(of_trees(tmp_path)) as c:
        answer = c.post("/models/parser/pick", json={"n": 4, "diversity": 0})
        assert answer.status_code == 200, answer.text
        assert c.post("/models/parser/pick", json={"by": "entropy"}).status_code == 422
        typed = c.post("/models/parser/pick", json={"sentences": [["Time", "flies"]]}).json()["sentences"]
    parser, bank = Parser.load(tmp_path / "parser.palm"), read_treebank(tmp_path / "trees_test.conllu", labelled=False)
    two = parser.nbest(bank, 2)
    unsure = [1 / (1 + best[0].score - best[1].score) for best in two]
    found = answer.json()["sentences"]
    assert [one["uncertainty"] for one in found] == pytest.approx(sorted(unsure, reverse=True)[:4])
    first = found[0]
    s = int(first["id"].split("-")[1]) - 1
    expected = parser.parse(bank.take(np.array([s])))
    assert first["heads"] == expected.heads.tolist()
    assert first["relations"] == expected.relations.cells()
    assert [word["form"] for word in first["words"]] == first["tokens"]
    assert typed[0]["tokens"] == ["Time", "flies"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"heads": [2]}, "whole trees"),
        ({"heads": [2, 1]}, "no root"),
        ({"heads": [0, 0]}, "one root"),
        ({"heads": [2, 7]}, "outside the sentence"),
        ({"relations": ["nsubj", "xyz"]}, "no relation 'xyz'"),
        ({"tokens": [{"form": "a\tb"}, {"form": "c"}]}, "TAB"),
    ],
)
def test_what_is_no_tree_is_not_kept(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with client(of_trees(tmp_path)) as c:
        answer = c.post("/models/parser/corrections", json={"corrections": [TREE | change]})
    assert answer.status_code == 422
    assert told in answer.json()["error"]
    assert not list(tmp_path.glob("*.jsonl"))


def test_trees_are_kept_written_and_learnt_from(tmp_path: Path) -> None:
    with client(of_trees(tmp_path)) as c:
        assert c.post("/models/parser/corrections", json={"corrections": [TREE]}).status_code == 201
        kept = c.get("/models/parser/corrections").json()["corrections"][0]
        assert {name: kept[name] for name in TREE} == TREE
        saved = c.post("/models/parser/corrections/save", json={}).json()
        c.post("/models/parser/retrain", json={"replace": "always", "weight": 2})
        state = finished(c, "parser")
        assert state["state"] == "done", state
    assert saved["file"] == "parser.corrections.conllu"
    bank = read_treebank(tmp_path / saved["file"])
    assert (bank.forms.cells(), bank.heads.tolist(), bank.relations.cells()) == (
        ["Zork", "sleeps"], TREE["heads"], TREE["relations"],
    )  # fmt: skip
    assert state["measure"] == "LAS"
    assert state["replaced"] is True
    new, dev = Parser.load(tmp_path / "parser.palm"), read_treebank(tmp_path / "trees_test.conllu")
    assert state["after"] == pytest.approx(new.evaluate(dev).las)
    assert state["before"] == pytest.approx(Parser.load(tmp_path / "parser.before.palm").evaluate(dev).las)
    both = Parser.load(tmp_path / "parser.before.palm")
    again = Parser(**both.get_params(deep=False)).fit(
        _plus(read_treebank(tmp_path / "trees.conllu"), bank, 2), dev=dev, resume=both.model_
    )  # what the definition says: the training data and the corrections, twice, from the weights of before
    assert new.predict(dev) == again.predict(dev)


def _plus(bank: Any, more: Any, times: int) -> Any:
    rows = [_rows(one) for one in (bank, *[more] * times)]
    from palmette.data import treebank_from_sentences

    return treebank_from_sentences([sentence for part in rows for sentence in part])


def _rows(bank: Any) -> list[list[dict[str, Any]]]:
    made, names, heads, relations = [], ("form", "lemma", "upos", "xpos", "feats"), bank.heads, bank.relations.cells()
    for s in range(bank.n_sentences):
        lo = int(bank.offset[s])
        made.append([
            dict(zip(names, row, strict=True)) | {"head": int(heads[lo + i]), "deprel": relations[lo + i]}
            for i, row in enumerate(bank.corpus.sentence(s))
        ])  # fmt: skip
    return made


def test_classes_are_picked_kept_written_and_learnt_from(tmp_path: Path) -> None:
    with client(of_classes(tmp_path)) as c:
        found = c.post("/models/class/pick", json={"n": 3, "diversity": 0}).json()["sentences"]
        old = Classifier.load(tmp_path / "class.palm")
        scores = old.decision_function([one.words for one in read_classified(tmp_path / "pool.txt", labelled=False)])
        assert [one["uncertainty"] for one in found] == pytest.approx(sorted(1 / (1 + abs(scores)), reverse=True)[:3])
        assert found[0]["class"] == str(old.predict([found[0]["tokens"]])[0])
        one = {"id": found[0]["id"], "tokens": found[0]["tokens"], "class": "long"}
        for bad in ({"class": "other"}, {"tokens": ["a b", "c"]}, {"tokens": [["a", "b", "c"]]}):
            assert c.post("/models/class/corrections", json={"corrections": [one | bad]}).status_code == 422
        assert c.post("/models/class/corrections", json={"corrections": [one]}).json()["corrections"] == 1
        again = c.post("/models/class/pick", json={"n": 3, "diversity": 0}).json()["sentences"]
        assert one["id"] not in [each["id"] for each in again]
        saved = c.post("/models/class/corrections/save", json={}).json()["file"]
        c.post("/models/class/retrain", json={"replace": "always"})
        state = finished(c, "class")
        assert state["state"] == "done", state
    (kept,) = read_classified(tmp_path / saved, labelled=True)
    assert (kept.words, kept.label) == (one["tokens"], "long")
    dev = read_classified(tmp_path / "dev.tsv", labelled=True)
    X, y = [each.words for each in dev], [each.label for each in dev]
    assert state["measure"] == "accuracy"
    assert state["after"] == pytest.approx(Classifier.load(tmp_path / "class.palm").score(X, y))
    assert state["before"] == pytest.approx(old.score(X, y))


def test_what_cannot_be_corrected_or_trained(tmp_path: Path) -> None:
    home = folder()
    (tmp_path / "train.crfsuite").write_text("DT\tw=The\nNN\tw=house\n\n")
    models = {"en": str(home / "en.palm"), "theirs": str(home / "theirs.crfsuite")}
    with client(Source(models, {}, {"theirs:train": str(tmp_path / "train.crfsuite")})) as c:
        answer = c.post("/models/en/corrections", json={"corrections": [TREE]})
        assert answer.status_code == 409
        assert "palmette pipeline train" in answer.json()["error"]
        about = c.get("/models/en").json()
        assert about["uncorrectable"] == answer.json()["error"]
        assert c.get("/models/theirs").json()["uncorrectable"] is None
        answer = c.post("/models/theirs/retrain", json={})
        assert answer.status_code == 409
        assert answer.json()["error"] == c.get("/models/theirs").json()["untrainable"]
        assert c.post("/models/theirs/pick", json={}).status_code == 409
        assert json.loads(c.get("/models/theirs/retrain").content)["state"] == "idle"


def test_attributes_are_picked_and_corrected() -> None:
    home = folder()
    with client(Source({"theirs": str(home / "theirs.crfsuite")})) as c:
        items = [["w=The"], ["w=house"]]
        (one,) = c.post("/models/theirs/pick", json={"sentences": [items]}).json()["sentences"]
        assert one["columns"] == items
        assert one["tokens"] == ["w=The", "w=house"]
