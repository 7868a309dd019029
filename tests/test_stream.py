"""Streams: blocks of any size give what one read gives; and bytes of any kind give a corpus or a DataError."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from palmette.data import Corpus, FormatSpec, Writer, format_by_name, read_corpus, stream_corpus
from palmette.data.formats.registry import load_format
from palmette.data.subset import joined_blocks, without_text
from palmette.errors import DataError, ModelError, UsageError

WORD = "\t_\t_\tX\t_\t_\t_\t_\t_\t_"
SAMPLES = {
    "columns": "\n-DOCSTART- -X- O\n\nÜn a B\nb\tb I\n \t\r\n-DOCSTART- O\n\nc c O\r\n\n\n\nd d B\ne e I",
    "conllu": f"# one\n\n# two\n1-2{WORD}\n1{WORD}\n2{WORD}\n\n1{WORD}\n1.1{WORD}\n\n# end\n",
    "attributes": "@weight:2\nB\ta:2\tb\\:c\n\n\nO\tn\n \nO\tx:0.25\tn\n@weight:3\n",
    "jsonl": '{"tokens":["a","é"],"tags":["X","Y"]}\n\n{"tokens":[],"tags":[]}\r\n{"tokens":["b"],"tags":["X"]}',
    "text": "It's me.\n\n \nÜ 漢 ok.\nlast",
    "plain": "It's me. Dr. Ü went\nhome. Then\n\nshe left! 漢字。好\nBye. And\nso on",
}


def cells(corpus: Corpus) -> list[tuple[Any, ...]]:
    """Each token with all that is known of it."""
    n = corpus.n_tokens
    columns = [column.cells() for column in corpus.columns]
    labels = corpus.labels.cells() if corpus.labels else [None] * n
    found: list[Any] = [None] * n
    if corpus.attributes is not None:
        names, ptr = corpus.attributes.names.cells(), corpus.attributes.ptr.tolist()
        val = corpus.attributes.val.tolist() or [1.0] * len(names)
        pairs = list(zip(names, val, strict=True))
        found = [pairs[a:b] for a, b in pairwise(ptr)]
    sentence = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.offset))
    weight = np.ones(corpus.n_sentences) if corpus.weight is None else corpus.weight
    first = np.repeat(corpus.offset[:-1], np.diff(corpus.offset))
    return [
        (n - first[n], weight[sentence[n]], labels[n], corpus.line_of(n), found[n], *(c[n] for c in columns))
        for n in range(n)
    ]


def same(path: Path, spec: FormatSpec, block: int) -> None:
    """A stream of blocks of that size has the same tokens, and writes the same text, as one read."""
    whole = read_corpus(path, spec)
    parts = list(stream_corpus(path, spec, block))
    assert [token for part in parts for token in cells(part)] == cells(whole)
    for output in load_format(spec.format).outputs:
        writer = Writer(spec.format, output, ["A", "B"], scores=True)
        pieces = [writer.write(p, np.ones(p.n_tokens), np.ones(p.n_sentences)) for p in parts]
        assert b"".join(pieces) == writer.write(whole, np.ones(whole.n_tokens), np.ones(whole.n_sentences))


@pytest.mark.parametrize("block", [1, 2, 3, 7, 20, 64, 1 << 20])
@pytest.mark.parametrize("format", SAMPLES)
def test_blocks_make_no_difference(tmp_path: Path, format: str, block: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\xef\xbb\xbf" + SAMPLES[format].encode())
    same(path, FormatSpec(format=format), block)
    path.write_bytes(gzip.compress(SAMPLES[format].encode()))
    same(path, FormatSpec(format=format), block)


PIECES = {
    "columns": ["a b\n", "é é\n", "\n", " \r\n", "-DOCSTART-\n", "\t", "x y", "\n\n"],
    "plain": ["Aa b", ". ", "\n", "\n\n", "! C", "U.S.", " The", "漢。", "x", "\r\n", '"', "…"],
    "text": ["Aa b", ". ", "\n", "é", "\r\n"],
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("format", PIECES)
@given(data=st.data(), block=st.integers(1, 30))
def test_random_text_in_blocks(tmp_path: Path, format: str, data: st.DataObject, block: int) -> None:
    path = tmp_path / "data"
    path.write_bytes("".join(data.draw(st.lists(st.sampled_from(PIECES[format]), max_size=20))).encode())
    expected = complaint(path, format, None)
    assert complaint(path, format, block) == expected
    if expected is None:
        same(path, FormatSpec(format=format), block)


def complaint(path: Path, format: str, block: int | None) -> str | None:
    """The error that reading gives."""
    try:
        for _ in (
            stream_corpus(path, FormatSpec(format=format), block)
            if block
            else [read_corpus(path, FormatSpec(format=format))]
        ):
            pass
    except DataError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("format", "text", "line"),
    [
        ("columns", "a b\n\nc d\n\nd\n", 5),
        ("columns", "a\tb\n\nc d\n", 3),  # the separator of the first block holds
        ("conllu", f"1{WORD}\n\n2{WORD}\n", 3),
        ("attributes", "O\ta\n\nO\ta:b:c\n", 3),
        ("jsonl", '{"tokens":["a"],"tags":["X"]}\n{"tokens":["a"]}\n', 2),
        ("text", "a\n\n\udcff\n", 3),
        ("plain", "A.\n\n\udcff\n", 3),
    ],
)
@pytest.mark.parametrize("block", [1, 5, 100])
def test_lines_in_errors(tmp_path: Path, format: str, text: str, line: int, block: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError) as error:
        list(stream_corpus(path, FormatSpec(format=format), block))
    assert error.value.line == line
    assert error.value.file == str(path)


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_a_pipe_is_answered_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    answered = threading.Event()
    waited = []

    def feed() -> None:
        with open(path, "wb", buffering=0) as pipe:
            pipe.write(b"a X\n\nb")
            waited.append(answered.wait(20))
            pipe.write(b" Y\n")

    feeder = threading.Thread(target=feed)
    feeder.start()
    parts = stream_corpus(path)
    assert next(parts).sentence(0) == [["a"]]
    answered.set()
    assert [part.sentence(0) for part in parts] == [[["b"]]]
    feeder.join()
    assert waited == [True]


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"word TAG\nother TAG\n\n" * 400_000)
    list(stream_corpus(path, block=1 << 24))  # compile first
    tracemalloc.start()
    try:
        n = sum(corpus.n_tokens for corpus in stream_corpus(path, block=1 << 15))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n == 800_000
    assert peak < 3 << 20


def test_long_sentences_are_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"w T\n" * 100_000 + b"\n" + b"x" * 10**6 + b" T\n")
    assert [part.n_tokens for part in stream_corpus(path, block=1 << 12)] == [100_000, 1]
    # A megabyte without a blank line: sentences come out all the same, and not all at the end.
    path.write_bytes(b"It is so.\nThus it is. Or\nnot. " * 4000)
    sizes = [part.n_sentences for part in stream_corpus(path, FormatSpec(format="plain"), 1 << 12)]
    assert len(sizes) > 10
    assert sum(sizes) == read_corpus(path, FormatSpec(format="plain")).n_sentences


# Bytes of any kind

PARTS = [
    *b'a \t\n\r\0:\\1-.#"{}[],_',
    b"@weight", b'{"tokens":["a"]}', b"-DOCSTART-", WORD.encode(), b"1e999", b"nan", b"e9",
    "é".encode(), b"\xe9", b"\xf0\x9f", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x85", "\u2028".encode(),
]  # fmt: skip
junk = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([bytes([part]) if isinstance(part, int) else part for part in PARTS]), max_size=25).map(
        b"".join
    ),
)


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("format", SAMPLES)
@given(data=junk, block=st.integers(1, 40), has_label=st.sampled_from([None, False]))
@example(data=b"ARROW1", block=1, has_label=None)
def test_any_bytes(tmp_path: Path, format: str, data: bytes, block: int, has_label: bool | None) -> None:
    path = tmp_path / "data"
    path.write_bytes(data)
    spec = FormatSpec(format=format, has_label=has_label)
    try:
        whole = read_corpus(path, spec)
    except DataError:
        with pytest.raises(DataError):
            list(stream_corpus(path, spec, block))
        return
    assert np.all(np.diff(whole.offset) > 0)
    same(path, spec, block)


@pytest.mark.parametrize("format", SAMPLES)
def test_nul_and_long_words(tmp_path: Path, format: str) -> None:
    if format == "jsonl":
        return  # a NUL is no JSON; see test_jsonl
    path = tmp_path / "data"
    text = SAMPLES[format].replace("a", "\0").replace("X", "x" * 10**6)
    path.write_bytes(text.encode())
    same(path, FormatSpec(format=format), 1 << 10)


# Readings


def _typed(monkeypatch: pytest.MonkeyPatch, data: bytes = b"") -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_format_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch)
    names = ["a.conllu", "a.CONLLU.gz", "b.jsonl", "b.ndjson.gz", "c.crfsuite", "c.attr", "d.txt", "-", "e.gz"]
    known = ["conllu", "conllu", "jsonl", "jsonl", "attributes", "attributes", None, None, None]
    assert [format_by_name(name) for name in names] == known
    assert FormatSpec().resolved("-").format == "columns"


def test_resolved() -> None:
    assert FormatSpec().resolved("a.conllu") == FormatSpec(format="conllu", label="upos", columns=("form",))
    assert FormatSpec(label="xpos").resolved("a.conllu").label == "xpos"
    assert FormatSpec().resolved("a.txt") == FormatSpec(format="columns", label="-1")
    assert FormatSpec().resolved("a.jsonl") == FormatSpec(format="jsonl", columns=("tokens",))
    with pytest.raises(UsageError, match="format: there is no 'xml'; choose one of auto, columns"):
        FormatSpec(format="xml")
    with pytest.raises(UsageError, match="columns: '0' is not a tuple"):
        FormatSpec(columns="0")  # type: ignore[arg-type]


def test_like_and_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch)
    trained = FormatSpec(label="xpos", columns=("form", "lemma")).resolved("train.conllu")
    saved = json.loads(json.dumps(trained.values()))
    assert FormatSpec().like(saved, "-") == trained.replace(has_label=False)
    assert FormatSpec().like(saved, "x.jsonl") == FormatSpec(format="jsonl", has_label=False)
    assert FormatSpec(format="text").like(saved, "x.conllu") == FormatSpec(format="text", has_label=False)
    labelled = FormatSpec().like(saved, "dev.conllu").labelled()
    assert labelled.has_label
    assert labelled.overridden(FormatSpec(label="upos")).label == "upos"
    assert labelled.overridden(FormatSpec()) == labelled
    assert labelled.overridden(FormatSpec(format="columns")) == FormatSpec(format="columns", has_label=True)
    for bad in ({"format": 5}, {"columns": [1]}, {"colour": "red"}, {"unit": None}):
        with pytest.raises(ModelError, match="damaged model"):
            FormatSpec().like(bad, "-")


def test_options_of_other_formats() -> None:
    for spec in (
        FormatSpec(format="text", columns=("0",)),
        FormatSpec(format="attributes", label="0"),
        FormatSpec(format="conllu", separator="space"),
        FormatSpec(format="columns", tag_names=("O",)),
    ):
        with pytest.raises(UsageError, match="does not apply"):
            list(stream_corpus("-", spec))
    with pytest.raises(UsageError, match="unit: there is no 'line'"):
        FormatSpec(format="text", unit="line")
    with pytest.raises(UsageError, match="unknown format"):
        Writer("xml", None, [])


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a X\n\nb Y\n")

    def parts() -> Iterator[Corpus]:
        with open(path) as file:
            monkeypatch.setattr(sys, "stdin", file)
            yield from stream_corpus("-")

    assert [cell for part in parts() for s in range(part.n_sentences) for cell in part.sentence(s)] == [["a"], ["b"]]


@pytest.mark.parametrize("format", ["columns", "conllu", "attributes", "jsonl"])
@pytest.mark.parametrize("block", [1, 20, 10_000])
def test_blocks_without_text_are_joined_to_the_corpus(tmp_path: Path, format: str, block: int) -> None:
    path = tmp_path / "sample"
    path.write_text(SAMPLES[format], encoding="utf-8", newline="")
    spec = FormatSpec(format=format, label="upos") if format == "conllu" else FormatSpec(format=format)
    whole = read_corpus(path, spec)
    joined = joined_blocks([without_text(own) for own in stream_corpus(path, spec, block)])
    assert cells(joined) == cells(whole)
    assert joined.offset.tolist() == whole.offset.tolist()
    assert [joined.place(i) for i in range(whole.n_tokens)] == [whole.place(i) for i in range(whole.n_tokens)]
    assert all(column.data.size <= path.stat().st_size + 1 for column in joined.columns)
