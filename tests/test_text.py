"""Bytes to lines: line ends of all systems, encodings, and limits that hold while a file is read."""

from __future__ import annotations

import gzip
import logging
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from cli_run import Cli
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from palmette.data import (
    FormatSpec,
    TextSpec,
    read_corpus,
    read_guesses,
    read_text,
    read_treebank,
    stream_corpus,
    stream_treebank,
    write_text,
)
from palmette.data.text import text_blocks
from palmette.errors import DataError, UsageError
from palmette.features import read_clusters, read_lexicon, read_templates
from palmette.lab.sentences import read_sentences


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


WORD = "\tdog\t_\tN\t_\t_\t0\troot\t_\t_"
SENTENCES = {
    "columns": ("a DT B\nb NN I\n\nc NN O\n", "a.txt"),
    "conllu": (f"# one\n1{WORD}\n\n1{WORD}\n", "a.conllu"),
    "attributes": ("B\tx\ty:2\nO\tz\n\nO\tx\n", "a.attr"),
    "jsonl": ('{"tokens": ["a", "b"], "tags": ["X", "Y"]}\n{"tokens": ["c"], "tags": ["X"]}\n', "a.jsonl"),
    "text": ("It is me.\n\nAnd you.\n", "a.txt"),
    "plain": ("It is me. And\nyou.\n\nBye.\n", "a.txt"),
}
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


def seen(corpus: Any) -> list[Any]:
    """Sentences, cells, labels and attributes of a corpus, and the line of each token."""
    columns = [] if corpus is None else [column.cells() for column in corpus.columns]
    labels = None if corpus.labels is None else corpus.labels.cells()
    given = None if corpus.attributes is None else (corpus.attributes.ptr.tolist(), corpus.attributes.names.cells())
    return [corpus.offset.tolist(), columns, labels, given, [corpus.line_of(i) for i in range(corpus.n_tokens)]]


def with_ends(text: str, ends: list[str]) -> bytes:
    lines = text.split("\n")
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=False)).encode()


@pytest.mark.parametrize("format", SENTENCES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_all_line_ends_give_the_same_corpus(format: str, data: st.DataObject, tmp_path: Path) -> None:
    text, name = SENTENCES[format]
    spec = FormatSpec(format=format)
    path = tmp_path / name
    path.write_text(text, newline="")
    expected = seen(read_corpus(path, spec))
    n = text.count("\n")
    ends = data.draw(st.one_of(st.lists(ENDS, min_size=n, max_size=n), st.just(["\r"] * n)))
    made = with_ends(text, ends)
    assume(len(re.findall(rb"\r\r\n|\r\n|\r|\n", made)) == n)  # CR of one line and LF of a blank one are one line end
    path.write_bytes(made)
    assert seen(read_corpus(path, spec)) == expected
    blocks = [b for b in stream_corpus(path, spec, data.draw(st.integers(1, 40))) if b.n_tokens]
    assert sum(b.n_tokens for b in blocks) == expected[0][-1]
    assert [b.line_of(i) for b in blocks for i in range(b.n_tokens)] == expected[4]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(alphabet="a\r\n", max_size=12), block=st.integers(1, 5))
def test_line_ends_by_definition(text: str, block: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(text.encode())
    lines = text.replace("\r\r\n", "\r\n").replace("\r\n", "\n").replace("\r", "\n")
    made = b"".join(text_blocks(path, TextSpec(), block))
    assert made.replace(b"\r\n", b"\n").decode() == lines
    assert b"\r" not in made.replace(b"\r\n", b"")
    assert made == read_text(path)


def test_old_files_of_every_other_kind(tmp_path: Path) -> None:
    def file(text: str) -> Path:
        path = tmp_path / "old.txt"
        path.write_bytes(text.encode())
        return path

    assert read_lexicon(file("new york\tcity\rparis\tcity\r")).classes == {"new york": "city", "paris": "city"}
    assert read_clusters(file("0\ta\t1\r10\tb\t2\r")).classes == {"a": "0", "b": "10"}
    assert len(read_templates(file("U0:%x[0,0]\rB\r")).templates) == 2
    assert read_guesses(file("a B B\rb I O\r\rc O O\r")).offset.tolist() == [0, 2, 3]
    assert read_sentences(file("a b\rc\r")).offset.tolist() == [0, 2, 3]
    assert read_treebank(file(f"1{WORD}\r\r1{WORD}\r")).n_sentences == 2


def test_an_error_in_an_old_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"a B\rb I\r\rc\r")
    with pytest.raises(DataError, match=r"x.txt:4: 1 column where 2 are expected"):
        read_corpus(path)


def test_a_cr_inside_of_a_line_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"a\nb\rc\nd\n")
    with caplog.at_level(logging.WARNING):
        assert read_corpus(path, FormatSpec(label=None, has_label=False)).columns[0].cells() == ["a", "b", "c", "d"]
    assert "x.txt:2: a lone CR ends a line here; other lines end with LF" in caplog.text
    caplog.clear()
    path.write_bytes(b"a\rb\r")
    read_corpus(path, FormatSpec(label=None, has_label=False))
    assert not caplog.text


# Limits


def test_a_line_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for text in ("a B\n" + "b" * 90 + " I\n\n", "a B\n" + "b" * 90 + " I"):
        path.write_text(text)
        for read in (read_corpus, lambda path, spec: list(stream_corpus(path, spec, 8))):
            read(path, FormatSpec(max_line=92))
            with pytest.raises(DataError, match=r"x.txt:2: a line of more than 91 bytes: 'b+.*\n.*max_line"):
                read(path, FormatSpec(max_line=91))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(alphabet="aé\n", max_size=30), most=st.integers(1, 12), block=st.integers(1, 9))
def test_the_longest_line_by_definition(text: str, most: int, block: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(text.encode())
    lines = [line.encode() for line in text.split("\n")]
    bad = next((k for k, line in enumerate(lines, 1) if len(line) > most), None)
    if bad is None:
        assert b"".join(text_blocks(path, TextSpec(max_line=most), block)) == text.encode()
    else:
        with pytest.raises(DataError, match=f"x:{bad}: a line of more than {most} bytes"):
            list(text_blocks(path, TextSpec(max_line=most), block))


def bomb(path: Path, line: bytes, size: int) -> None:
    """A gzip file of many equal pieces."""
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(size // (len(line) << 12)):
            out.write(line * (1 << 12))


def most_memory(work: Any) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x.txt.gz", "x.conllu.gz", "x.jsonl.gz", "x.attr.gz"])
def test_one_endless_line_takes_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    bomb(path, b"a" * 256, 160 << 20)
    assert path.stat().st_size < 2 << 20

    def fails() -> None:
        for read in (read_corpus, lambda path: list(stream_corpus(path))):
            with pytest.raises(DataError, match="1: a line of more than 16,777,216 bytes"):
                read(path)

    assert most_memory(fails) < 60 << 20


def test_many_lines_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    bomb(path, b"a B\nb I\n\n", 64 << 20)
    n = 0

    def reads() -> None:
        nonlocal n
        n = sum(block.n_tokens for block in stream_corpus(path))

    assert most_memory(reads) < 60 << 20
    assert n > 10_000_000


def test_a_sentence_without_end_is_an_error_of_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a B\n\n" + "b I\n" * 10_000)
    spec = FormatSpec(max_line=1000)
    assert read_corpus(path, spec).n_sentences == 2
    with pytest.raises(DataError, match=r"x.txt:3: a sentence that begins here has no end within 4,000 bytes"):
        list(stream_corpus(path, spec, 256))
    assert sum(b.n_tokens for b in stream_corpus(path, FormatSpec(max_line=10_000), 256)) == 10_001


@pytest.mark.parametrize(("name", "text", "what"), [
    ("x.txt", "a B\nccccccccccc B\n", "cell"),
    ("x.txt", "a B\nb BBBBBBBBBBB\n", "label"),
    ("x.conllu", f"1{WORD}\n2\tccccccccccc\t_\tN\t_\t_\t1\tx\t_\t_\n", "cell"),
    ("x.attr", "B\tx\nB\ty\tccccccccccc\n", "attribute"),
    ("x.jsonl", '{"tokens": ["a"], "tags": ["B"]}\n{"tokens": ["b", "ccccccccccc"], "tags": ["B", "B"]}\n', "cell"),
])  # fmt: skip
def test_a_cell_that_is_too_long_is_an_error(name: str, text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    read_corpus(path, FormatSpec(max_cell=11))
    for read in (read_corpus, lambda path, spec: list(stream_corpus(path, spec))):
        with pytest.raises(DataError, match=rf"{name}:2: a {what} of 11 bytes, and at most 10 .*\n.*max_cell"):
            read(path, FormatSpec(max_cell=10))
    if name == "x.conllu":
        with pytest.raises(DataError, match=r"x.conllu:2: a cell of 11 bytes"):
            list(stream_treebank(path, spec=TextSpec(max_cell=10)))


# Encodings


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "iso8859-15", "shift_jis"])
@pytest.mark.parametrize("block", [1, 3, 7, 1 << 20])
def test_every_encoding_gives_the_same_corpus(encoding: str, block: int, tmp_path: Path) -> None:
    text = "ソニー NN\nがabc P\n\n" if encoding == "shift_jis" else "Größe NN\nà P\n\nñ NN\n"
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode("utf-8"))
    expected = seen(read_corpus(path))
    path.write_bytes(text.encode(encoding))
    spec = FormatSpec(encoding=encoding)
    assert seen(read_corpus(path, spec)) == expected
    cells = [
        cell for corpus in stream_corpus(path, spec, block) if corpus.n_tokens for cell in corpus.columns[0].cells()
    ]
    assert cells == expected[1][0]
    out = tmp_path / "out"
    with write_text(out, encoding) as file:
        for line in text.splitlines(keepends=True):
            file.write(line.encode())
    assert out.read_bytes() == text.encode(encoding)


def test_undecodable_bytes_name_the_option(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("a B\nà B\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"x.txt:2: not UTF-8: byte 0xe0 at byte 1.*\n.*encoding='latin-1'"):
        read_corpus(path)
    with pytest.raises(DataError, match=r"x.txt:2: not ascii: byte 0xe0.*\n.*encoding="):
        read_corpus(path, FormatSpec(encoding="ascii"))
    path.write_bytes("a B\n".encode("utf-16"))
    with pytest.raises(DataError, match="encoding='utf-16'"):
        read_corpus(path)
    path.write_bytes("a B\n".encode("utf-16")[:-1])
    with pytest.raises(DataError, match="not utf-16"):
        read_corpus(path, FormatSpec(encoding="utf-16"))


@pytest.mark.parametrize("name", ["latin-77", "rot13", "hex", "punycode", "idna", "zlib", "a\0b", ""])
def test_what_is_no_text_encoding_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="encoding: there is no text encoding"):
        FormatSpec(encoding=name)


def test_an_unencodable_label_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    message = r"'ł' \(U\+0142\) cannot be written in latin-1: 'à B-ł'.*\n.*output_encoding='utf-8'"
    with pytest.raises(DataError, match=message), write_text(out, "latin-1") as file:
        file.write("x y\nà B-ł\nc d\n".encode())
    assert not out.exists()


def test_tagging_and_scoring_in_latin_1(cli: Cli) -> None:
    """Training, tagging and scoring in Latin-1 give what they give in UTF-8."""
    train = "große A\nHäuser N\n\nkleine A\nMäuse N\n\n" * 4
    test = "kleine A\nHäuser N\n\n"
    for encoding in ("utf-8", "latin-1"):
        cli.write(f"train.{encoding}", train.encode(encoding))
        cli.write(f"test.{encoding}", test.encode(encoding))
        cli.fine(f"train train.{encoding} -o {encoding}.palm -f pos --passes 3 --encoding {encoding} -q")
        cli.fine(f"tag {encoding}.palm test.{encoding} -o out.{encoding} --encoding {encoding} -q")
    made = (cli.folder / "out.latin-1").read_bytes()
    assert made.decode("latin-1") == (cli.folder / "out.utf-8").read_text()
    assert "kleine A A\nHäuser N N" in made.decode("latin-1")
    cli.fine("tag latin-1.palm test.latin-1 -o out.8 --encoding latin-1 --output-encoding utf-8 -q")
    assert (cli.folder / "out.8").read_bytes() == (cli.folder / "out.utf-8").read_bytes()
    assert "100.00" in cli.fine("eval --guess out.latin-1 --encoding latin-1")
    assert "100.00" in cli.fine("eval latin-1.palm test.latin-1 --encoding latin-1")
    ran = cli("tag latin-1.palm test.latin-1")  # a model does not remember the encoding
    assert ran.code == 1
    assert "--encoding latin-1" in ran.err
    cli.fine("tag latin-1.palm test.utf-8 -q")


def test_a_typed_sentence_has_no_encoding(cli: Cli) -> None:
    for command in ("tag m.palm --text x", "explain m.palm x", "parser parse m.palm --text x"):
        for option in ("--encoding latin-1", "--max-line 9", "--max-cell 9"):
            ran = cli(f"{command} {option}")
            assert ran.code == 2
            assert "file" in ran.err
    assert cli("classifier classify m.palm --text x --encoding latin-1").code == 2


def test_parsing_classifying_and_modelling_in_latin_1(cli: Cli) -> None:
    cli.fine("demo --dataset trees -q")
    tree = "1\tDäs\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tHaus\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    cli.write("t.conllu", (tree * 8).encode("latin-1"))
    cli.fine("parser train t.conllu -o p.palm --encoding latin-1 --passes 2 -q")
    cli.fine("parser parse p.palm t.conllu -o parsed.conllu --encoding latin-1 -q")
    assert cli.folder.joinpath("parsed.conllu").read_bytes().startswith("1\tDäs\t_\tDET".encode("latin-1"))
    assert "100.00" in cli.fine("parser eval t.conllu parsed.conllu --encoding latin-1")
    cli.write("c.txt", "yes\tdäs ist so\nno\tso ist däs\n".encode("latin-1") * 4)
    cli.fine("classifier train c.txt -o c.palm --encoding latin-1 --passes 2 -q")
    cli.write("s.txt", "däs ist so\n".encode("latin-1"))
    cli.fine("classifier classify c.palm s.txt -o s.out --encoding latin-1 -q")
    assert cli.folder.joinpath("s.out").read_bytes().endswith("däs ist so\n".encode("latin-1"))
    cli.fine("lm train s.txt -o lm.palm --order 1 --encoding latin-1 -q")
    assert re.search(r"^unknown +0 ", cli.fine("lm score lm.palm s.txt --encoding latin-1"), re.M)
    cli.write("b.txt", "ä B-X\nb I-X\n\n".encode("cp1252"))
    cli.fine("convert b.txt -o b.out --encoding cp1252 -q")
    assert cli.folder.joinpath("b.out").read_bytes() == "ä B-X\nb E-X\n\n".encode("cp1252")
