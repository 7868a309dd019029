"""Formats by the first lines of a file, where its name does not show them; never something else of a column file."""

from __future__ import annotations

import gzip
import io
import logging
import os
import sys
import threading
from pathlib import Path

import pytest
from cli_run import Cli, leave_demo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette.classification.files import read_classified
from palmette.data import FormatSpec, read_corpus, recognised
from palmette.data.formats.recognise import UNDECIDED

REST = "\t_\tDET\t_\t_\t2\tdet\t_\t_"
NOTHING = "\t_" * 8
CONLLU = f"# sent_id = 1\n# text = The dog\n1-2\tThedog{NOTHING}\n1\tThe{REST}\n2\tdog{REST}\n2.1\tx{NOTHING}\n\n"
CONLLX = "1\tThe\t_\tD\tDT\t_\t2\tdet\t2\tdet\n2\tdog\t_\tN\tNN\t_\t0\troot\t0\troot\n\n"
JSON = '{"tokens": ["a", "b"], "tags": ["X", "Y"]}\n{"tokens": ["c"], "tags": ["X"]}\n'
ATTRIBUTES = "B\tw=a\tw[1]=b\nI\tw=b\tw[-1]=a\tlength:2\n\nO\tw=c\n\n"
OTHERS = {
    "words": "The\ndog\n\n",
    "a brace as a word": "{ -LRB-\n} -RRB-\n\n",
    "a brace alone": "{\n}\n\n",
    "an empty object as a word": "{}\na\n\n",
    "an object without a list": '{"a":1}\nb\n\n',
    "a hash as a word": "# #\n1 CD\n\n",
    "ten columns of other things": "\t".join("abcdefghij") + "\n" + "\t".join("abcdefghij") + "\n\n",
    "ten columns with numbers from 0": "0\tThe" + REST + "\n1\tdog" + REST + "\n\n",
    "ten columns, the numbers not in order": "1\tThe" + REST + "\n3\tdog" + REST + "\n\n",
    "ten columns with a chunk label at the end": "1\tThe\t_\tD\t_\t_\t2\tdet\t_\tB-NP\n\n",
    "no numbers of heads": "1\tThe\t_\tD\t_\t_\tdet\tdet\t_\t_\n\n",
    "nine columns": "1\tThe\t_\tD\t_\t_\t2\tdet\t_\n\n",
    "equations in equally many columns": "B\ta=1\tb=2\nI\ta=2\tb=3\n\n",
    "ragged lines without names": "B\ta\tb\nI\tc\n\n",
    "nothing": "",
    "blank lines": "\n\n",
}


@pytest.mark.parametrize(("text", "format"), [(CONLLU, "conllu"), (CONLLX, "conllu"), (JSON, "jsonl"),
                                              (ATTRIBUTES, "attributes")])  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_recognised(text: str, format: str, end: str, tmp_path: Path) -> None:
    data = text.replace("\n", end).encode()
    path = tmp_path / "data.txt"
    for made in (data, gzip.compress(data), data.rstrip(), b"\xef\xbb\xbf" + data, b"\n" + data):
        path.write_bytes(made)
        assert FormatSpec().resolved(path).format == format
    path.write_bytes(text.replace("\n", end).encode("utf-16"))
    assert FormatSpec(encoding="utf-16").resolved(path).format == format


@pytest.mark.parametrize("name", OTHERS)
def test_columns_stay_columns(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text(OTHERS[name])
    assert FormatSpec().resolved(path).format == "columns"


@given(st.lists(st.lists(st.text(alphabet="ab1{}\"=:_#-", min_size=1, max_size=4), min_size=1, max_size=3), max_size=6),
       st.integers(1, 12).filter(lambda width: width != 10))  # fmt: skip
@settings(max_examples=200)
def test_a_file_that_reads_as_columns_stays_columns(rows: list[list[str]], width: int) -> None:
    """Lines with equally many cells, whatever the cells, unless all of CoNLL-U fits."""
    text = "".join("\t".join((row * width)[:width]) + "\n" for row in rows)
    assert recognised(text.encode(), ended=True) in (None, UNDECIDED)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([CONLLU, CONLLX, JSON, ATTRIBUTES, *OTHERS.values()]), st.integers(0, 200))
def test_a_beginning_decides_as_the_whole_or_not_at_all(text: str, size: int) -> None:
    head = text.encode()[:size]
    found = recognised(head, ended=False)
    if found != UNDECIDED:
        assert found == recognised(text.encode(), ended=True)


def test_one_line_of_columns_decides() -> None:
    """A tagger that is typed to answers at once."""
    for line in (b"Hello NNP\n", b"Hello\tNNP\n", b"Hello\n"):
        assert recognised(line, ended=False) is None


def test_the_name_and_options_come_first(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(CONLLU)
    assert FormatSpec().resolved(path).format == "jsonl"
    path = tmp_path / "data.txt"
    path.write_text(CONLLU)
    assert FormatSpec(format="columns").resolved(path).format == "columns"
    assert FormatSpec(separator="tab").resolved(path).format == "columns"
    assert FormatSpec().resolved(tmp_path / "missing.txt").format == "columns"


def test_standard_input_and_pipes_are_read_from_their_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = ["The", "dog"]
    for data in (CONLLU.encode(), gzip.compress(CONLLU.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with caplog.at_level(logging.INFO):
            assert read_corpus("-").columns[0].cells() == expected
    assert (
        "<stdin> is read as conllu, by its first lines (spec=FormatSpec(format='columns') if it is not)" in caplog.text
    )
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(CONLLU * 3000))
    writer.start()
    assert read_corpus(pipe).columns[0].cells() == expected * 3000
    writer.join()


def test_an_input_that_was_looked_at_and_not_read_is_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONLLU.encode())))
    assert [FormatSpec().resolved("-").format for _ in range(3)] == ["conllu"] * 3
    assert read_corpus("-").columns[0].cells() == ["The", "dog"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONLLU.encode())))
    FormatSpec().resolved("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a B\n")))
    assert read_corpus("-", FormatSpec(format="columns")).columns[0].cells() == ["a"]


def test_sentences_with_classes(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text('{"tokens": ["a", "b"], "label": "yes"}\n')
    assert [(s.words, s.label) for s in read_classified(path, labelled=True)] == [(["a", "b"], "yes")]
    path.write_text("yes\ta b\n")
    assert [(s.words, s.label) for s in read_classified(path, labelled=True)] == [(["a", "b"], "yes")]


def test_commands_recognise_what_they_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model from CoNLL-U under another name is that from CoNLL-U; it tags and scores what has another name, too."""
    cli = Cli(tmp_path, capsys, monkeypatch)
    leave_demo(tmp_path)
    cli.fine("demo --dataset trees -q")
    trees = cli.read("trees_test.conllu")
    cli.write("data.txt", trees)
    cli.write("data.conllu", trees)
    assert "data.txt is read as conllu" in cli("train data.txt -o a.palm -f pos --passes 1").err
    cli.fine("train data.conllu -o b.palm -f pos --passes 1 -q")
    assert cli.folder.joinpath("a.palm").read_bytes() == cli.folder.joinpath("b.palm").read_bytes()
    cli.fine("tag a.palm data.txt -o a.txt -q")
    cli.fine("tag b.palm data.conllu -o b.txt -q")
    assert cli.read("a.txt") == cli.read("b.txt")
    assert cli.fine("eval a.palm data.txt") == cli.fine("eval b.palm data.conllu")
    cli.fine("train train.txt -o c.palm --columns 0 --label 1 -f pos --passes 1 -q")  # a model of columns
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trees.encode())))
    ran = cli("tag c.palm - -o c.txt")
    assert "<stdin> is read as conllu" in ran.err
    assert [line.count("\t") for line in cli.read("c.txt").split("\n") if line[:1].isdigit()] != []
    assert all(line.count("\t") == 9 for line in cli.read("c.txt").split("\n") if line[:1].isdigit())


def test_columns_are_not_taken_for_labels_without_attributes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("train.attr", "D\tw=the\nN\tw=cat\n\nD\tw=a\nN\tw=dog\n")
    cli.fine("train train.attr -o m.palm -q")
    cli.write("columns.txt", "the DT D\ncat NN N\n\n; : N\n")
    for line in ("tag m.palm columns.txt", "eval m.palm columns.txt", "explain m.palm --data columns.txt"):
        ran = cli(line)
        assert ran.code == 1
        assert "the model was trained on ready-made attributes, and this input has columns" in ran.err
    cli.write("labels.txt", "D\tw=the\nthe N\n\nD\n")  # a token without attributes, with a space in its label
    cli.write("spaces.txt", "D D\nN N\n")
    assert len(cli.fine("tag m.palm labels.txt -q").split()) == 3
    assert len(cli.fine("tag m.palm spaces.txt --format attributes -q").split()) == 2
