"""The files of data of a server: which model each is for, and what is said about wrong ones at start."""

from __future__ import annotations

from pathlib import Path

import pytest
from serve_cases import client, folder

from palmette.errors import UsageError
from palmette.serve.model_files import files_given, is_running_text
from palmette.serve.registry import Registry, Source

PLAIN = "They left the house.\nTime flies.\n"


def source(**files: str) -> Source:
    home = folder()
    names = ("chunk", "pos", "parser", "class")
    return Source({name: str(home / f"{name}.palm") for name in names}, {"pos": str(home / "pos.palm")}, files)


def test_a_file_is_for_every_model_that_reads_it_or_for_one(tmp_path: Path) -> None:
    test = str(folder() / "test.txt")
    found = Registry(source(test=test)).files
    assert found["chunk"] == {"test": test}
    assert found["parser"] == {}
    assert found["pos"] == {}  # the last column is chunks, of which it knows none
    (tmp_path / "plain.txt").write_text(PLAIN)
    plain = str(tmp_path / "plain.txt")
    found = Registry(source(**{"pos:pool": plain, "pool": test})).files
    assert found["pos"]["pool"] == plain
    assert found["chunk"]["pool"] == test


@pytest.mark.parametrize(
    ("key", "file", "told"),
    [
        ("test", "chunk.palm", "is a model, not data"),
        ("parser:test", "test.txt", "--test .*test.txt is not for parser"),
        ("pos:test", "test.txt", "its labels are B-NP"),
        ("pool", "empty.txt", "no sentence"),
    ],
)
def test_a_wrong_file_is_reported_at_start(tmp_path: Path, key: str, file: str, told: str) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    path = tmp_path / file if (tmp_path / file).exists() else folder() / file
    with pytest.raises(UsageError, match=told):
        assert Registry(source(**{key: str(path)})).files


def test_options_name_a_model_or_not(tmp_path: Path) -> None:
    (tmp_path / "a=b.txt").write_text(PLAIN)
    (tmp_path / "c.txt").write_text(PLAIN)
    odd, usual = str(tmp_path / "a=b.txt"), str(tmp_path / "c.txt")
    assert files_given({"pool": [odd, f"ner={usual}"], "test": None}, ["ner"]) == {"pool": odd, "ner:pool": usual}
    for given, told in (
        ([f"pos={usual}"], "no model 'pos'"), ([str(tmp_path)], "a folder"), (["x.txt"], "no such file"),
        ([usual, usual], "given twice"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=told):
            files_given({"pool": given}, ["ner"])


@pytest.mark.parametrize(
    ("text", "running"),
    [
        (PLAIN, True),
        ("They\nleft\n\nTime\n", False),
        ("They PRP\nleft VBD\n", False),
        ("1\tThey\n2\n", False),
        ("", False),
    ],
)
def test_plain_sentences_are_recognised(tmp_path: Path, text: str, running: bool) -> None:
    (tmp_path / "x.txt").write_text(text)
    assert is_running_text(str(tmp_path / "x.txt")) is running


def test_a_pool_of_plain_sentences_is_cut_into_words(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text(PLAIN)
    made = source(pool=str(tmp_path / "pool.txt"))._replace(corrections=str(tmp_path))
    with client(made) as c:
        for name in ("chunk", "pos", "parser"):
            picked = c.post(f"/models/{name}/pick", json={"n": 5}).json()["sentences"]
            assert sorted(one["tokens"] for one in picked) == [
                ["They", "left", "the", "house", "."], ["Time", "flies", "."],
            ], name  # fmt: skip
        assert c.post("/models/chunk/pick", json={}).json()["sentences"][0]["columns"][0][1]
