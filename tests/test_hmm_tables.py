"""The tables of hidden Markov models as dictionaries and JSON files, and taggers made from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli

from palmette import HMM, Tagger
from palmette.datasets import load_demo
from palmette.errors import DataError


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def words(part: str) -> tuple[list[list[str]], list[list[str]]]:
    X, _ = load_demo(part)
    return [[word for word, _ in s] for s in X], [[pos for _, pos in s] for s in X]


@pytest.mark.parametrize("options", [{"order": 1}, {"order": 2}, {"order": 2, "ends": False}, {"rare": 0}])
def test_tables_give_the_same_model_again(tmp_path: Path, options: dict) -> None:
    X, y = words("train")
    hmm = HMM(**options).fit(X, y)
    hmm.save_tables(tmp_path / "hmm.json")
    for again in (HMM.from_tables(**hmm.to_tables()), HMM.load_tables(tmp_path / "hmm.json")):
        assert again.labels_ == hmm.labels_
        assert again.vocabulary_.names == hmm.vocabulary_.names
        assert again.vocabulary_.classes == hmm.vocabulary_.classes
        for one, other in zip(hmm.tables_, again.tables_, strict=True):
            assert np.array_equal(one, other)
        assert again.predict(X[:20]) == hmm.predict(X[:20])


def test_a_short_model_of_order_2_keeps_its_order() -> None:
    hmm = HMM(2, smoothing=0.0, interpolate=False, rare=0).fit([["a", "b"], ["a"]], [["X", "Y"], ["X"]])
    assert HMM.from_tables(**hmm.to_tables()).tables_.order == 2


def test_tables_by_hand_become_a_model_file(tmp_path: Path) -> None:
    stored = {
        "start": {"D": 1}, "transition": {"D": {"N": 1.0}, "N": {"</s>": 1.0}},
        "emission": {"D": {"the": 1.0}, "N": {"dog": 0.5, "<lower>": 0.25, "<unknown>": 0.25}},
        "classes": ["<lower>", "<unknown>"],
    }  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(stored), encoding="utf-8")
    HMM.load_tables(tmp_path / "t.json").save(tmp_path / "hmm.palm")
    tagger = Tagger.load(tmp_path / "hmm.palm")
    assert tagger.predict([["the", "dog"], ["the", "moon"]]) == [["D", "N"]] * 2
    assert tagger.nbest([["the", "dog"]], 1)[0][0].probability == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a file of HMM tables"),
        ('{"start": {}}', "missing required field `transition`"),
        ('{"start": {"A": 2}, "transition": {}, "emission": {"A": {"a": 1}}}', "is not a probability"),
        ('{"start": {"B": 1}, "transition": {}, "emission": {"A": {"a": 1}}}', "'B' is not a label"),
        ('{"start": {}, "transition": {}, "emission": {}, "colour": 1}', "unknown field"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.json: .*" + message):
        HMM.load_tables(tmp_path / "t.json")


def test_tables_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b'{"start": {"\xff": 1}, "transition": {}, "emission": {}}')
    with pytest.raises(DataError, match=r"t\.json:1: not UTF-8"):
        HMM.load_tables(tmp_path / "t.json")


def test_the_commands(cli: Cli) -> None:
    cli.write("train.txt", "the D\ndog N\nbarks V\n\na D\ncat N\nsleeps V\n\n")
    cli.fine("hmm count train.txt -o t.json --rare-words 0 --no-interpolate --smoothing 0 -q")
    assert json.loads(cli.read("t.json"))["emission"]["D"] == {"a": 0.5, "the": 0.5}
    cli.fine("hmm model t.json -o m.palm -q")
    cli.write("in.txt", "a\ndog\nsleeps\n\n")
    assert cli.fine("tag m.palm in.txt -q") == "a\tD\ndog\tN\nsleeps\tV\n\n"
    ran = cli("hmm model train.txt -o m.palm -q")
    assert (ran.code, "not a file of HMM tables" in ran.err) == (1, True)
