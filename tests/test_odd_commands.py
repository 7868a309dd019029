"""Commands with files that they do not expect: a message, never a traceback, and nothing lost in silence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cli_run import COMMAND, Cli


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def test_check_reads_brat(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "Ann Lee left. Ann stayed.\n")
    write(tmp_path, "a.ann", "T1\tPER 0 7\tAnn Lee\nT2\tNAME 0 3\tAnn\n")
    for name in ("a.ann", "."):
        ran = cli("check", name)
        assert ran.code == 0
        assert "brat, 2 sentences, 7 tokens, 3 labels (IOB2)" in ran.out
        assert "1 span dropped: inside a longer one" in ran.out


def test_check_tells_what_readers_of_annotations_drop(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", '{"text": "Ann left.", "spans": [{"start": 0, "end": 99, "label": "PER"}]}\n')
    ran = cli("check a.jsonl --format prodigy")
    assert ran.code == 0
    assert "1 span dropped" in ran.out


@pytest.mark.parametrize("verb", ["check a.txt", "train a.txt -o m.palm", "convert a.txt --to-scheme iobes"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_encoding_that_the_file_does_not_have(cli: Cli, tmp_path: Path, verb: str, encoding: str) -> None:
    write(tmp_path, "a.txt", "ab\tB-X\ncd\tO\n")
    ran = cli(f"{verb} --encoding {encoding}")
    assert ran.code == 1
    assert f"a.txt: not {encoding}" in ran.err or f"a.txt:1: not {encoding}" in ran.err


@pytest.mark.parametrize("output", ["conllu", "jsonl"])
def test_labels_without_words_are_not_converted(cli: Cli, tmp_path: Path, output: str) -> None:
    write(tmp_path, "a.txt", "B-X\nI-X\nO\n")
    ran = cli(f"convert a.txt --format columns --to {output}")
    assert (ran.code, ran.out) == (1, "")
    assert "a.txt: there are only labels" in ran.err


def test_a_model_without_attributes_is_made_small(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "a\tX\n")
    assert cli("train a.txt -o m.palm -q").code == 0
    ran = cli("compact m.palm -o small.palm")
    assert ran.code == 0
    assert "attributes 0 -> 0" in ran.err
    assert cli("tag small.palm a.txt -q").out.split() == ["a", "X", "X"]


@pytest.mark.parametrize("command", ["check a.txt", "convert a.txt --to-scheme iobes", "--version"])
def test_output_that_is_closed(tmp_path: Path, command: str) -> None:
    write(tmp_path, "a.txt", "ab\tB-X\ncd\tO\n")
    line = ["bash", "-c", f'"$@" {command} >&-', "bash", *COMMAND]
    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == "palmette: cannot write: standard output is closed"
    assert "Traceback" not in ran.stderr


def test_messages_do_not_go_to_the_output_if_theirs_is_closed(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "ab\tI-X\ncd\tO\n")
    line = ["bash", "-c", '"$@" convert a.txt --to-scheme iobes 2>&-', "bash", *COMMAND]
    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "ab\tS-X\ncd\tO\n")
