"""Columns and CoNLL-U against a twin made of str.split, and written back."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Corpus, FormatSpec, Writer, read_corpus
from palmette.data.formats import columns
from palmette.data.formats.columns import ColumnLayout, column_number, parse_columns
from palmette.data.formats.conllu import parse_conllu
from palmette.datasets import demo_text
from palmette.errors import DataError, UsageError

Sentences = list[list[list[str]]]


def rows_of(text: str) -> list[str]:
    rows = text.split("\n")
    return [row.removesuffix("\r") for row in (rows[:-1] if rows[-1] == "" else rows)]


def is_mark(row: str) -> bool:
    return row == "-DOCSTART-" or row.startswith(("-DOCSTART- ", "-DOCSTART-\t"))


def naive(text: str) -> tuple[Sentences, int | None]:
    """Sentences of rows of cells, and the number of the first ragged line."""
    rows = rows_of(text)
    tokens = [row for row in rows if row.strip(" \t") and not is_mark(row)]
    by_tab = bool(tokens) and "\t" in tokens[0]

    def cells(row: str) -> list[str]:
        return row.split("\t") if by_tab else [cell for cell in re.split("[ \t]+", row) if cell]

    sentences: Sentences = [[]]
    for number, row in enumerate(rows, 1):
        if not row.strip(" \t") or is_mark(row):
            sentences.append([])
            continue
        sentences[-1].append(cells(row))
        if len(cells(row)) != len(cells(tokens[0])):
            return sentences, number
    return [sentence for sentence in sentences if sentence], None


def cells_of(corpus: Corpus) -> Sentences:
    return [corpus.sentence(s) for s in range(corpus.n_sentences)]


cell = st.text("aB1-#:é漢\u00a0\x0b\x0c\x00", min_size=1, max_size=3)
space = st.sampled_from(["\t", " ", "  ", " \t"])
row = st.one_of(
    st.tuples(cell, cell).map("\t".join),
    st.tuples(st.sampled_from(["", " ", "\t"]), cell, space, cell, st.sampled_from(["", " "])).map("".join),
    st.sampled_from(["", " ", "\t ", "-DOCSTART-", "-DOCSTART- O", "-DOCSTART-x y", "\r"]),
    cell,
)
ends = st.sampled_from(["\n", "\n", "\r\n"])
texts = st.builds(
    lambda rows, last: "".join(r + end for r, end in rows) + last,
    st.lists(st.tuples(row, ends), max_size=8),
    st.one_of(st.just(""), row),
)


@settings(max_examples=400)
@given(texts)
def test_same_as_split(text: str) -> None:
    sentences, ragged = naive(text)
    if ragged is not None:
        with pytest.raises(DataError) as error:
            parse_columns(text.encode(), ColumnLayout(label=None), "f", 1)
        assert error.value.line == ragged
        return
    corpus = parse_columns(text.encode(), ColumnLayout(label=None), "f", 1)
    assert cells_of(corpus) == sentences
    labelled = parse_columns(text.encode(), ColumnLayout(), "f", 1)
    flat = [cells for sentence in sentences for cells in sentence]
    found = [] if labelled.labels is None else labelled.labels.cells()
    assert found == [cells[-1] for cells in flat]
    assert len(labelled.columns) == (len(flat[0]) - 1 if flat else 0)


@settings(max_examples=200)
@given(texts)
def test_cutting_the_added_column_gives_the_input(text: str) -> None:
    if naive(text)[1] is not None:
        return
    corpus = parse_columns(text.encode(), ColumnLayout(label=None), "f", 1)
    out = Writer("columns", None, ["TAG"]).write(corpus, np.zeros(corpus.n_tokens, np.int32)).decode()
    assert out.endswith("\n") or not out
    given_rows = rows_of(text)
    for before, after in zip(given_rows, out.split("\n")[:-1], strict=True):
        if not before.strip(" \t"):
            assert after == before
        else:
            assert re.fullmatch(r"[\t ](TAG|O)", after[len(before) :])
            assert after.startswith(before)
            assert after.endswith("O" if is_mark(before) else "TAG")
    again = parse_columns(out.encode(), ColumnLayout(), "f", 1)
    assert again.labels is None or set(again.labels.cells()) == {"TAG"}
    assert cells_of(again) == cells_of(corpus)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_files_of_all_kinds(tmp_path: Path, end: str, head: bytes, pack: type) -> None:
    path = tmp_path / "data.txt"
    text = end.join(["-DOCSTART- -X- O", "", "Ünder NN B", "way NN I", " \t", "ok UH O"])
    path.write_bytes(pack(head + text.encode()))
    corpus = read_corpus(path)
    assert cells_of(corpus) == [[["Ünder", "NN"], ["way", "NN"]], [["ok", "UH"]]]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["B", "I", "O"]
    assert [corpus.line_of(n) for n in range(3)] == [3, 4, 6]


def test_which_columns() -> None:
    data = b"a b c d\n"

    def read(**layout: object) -> tuple[list[str], list[str] | None]:
        corpus = parse_columns(data, ColumnLayout(**layout), "f")  # type: ignore[arg-type]
        return corpus.sentence(0)[0], corpus.labels and corpus.labels.cells()

    assert read() == (["a", "b", "c"], ["d"])
    assert read(label=None) == (["a", "b", "c", "d"], None)
    assert read(label=0) == (["b", "c", "d"], ["a"])
    assert read(label=-2, columns=(3, 0, -1)) == (["d", "a", "d"], ["c"])
    # Without labels the last column may or may not be the label's; another column surely is.
    assert read(labelled=False) == (["a", "b", "c", "d"], None)
    assert read(label=0, labelled=False) == (["b", "c", "d"], None)
    assert read(label=4, labelled=False) == (["a", "b", "c", "d"], None)
    for wrong in ({"label": 4}, {"columns": (4,)}, {"label": -5}):
        with pytest.raises(DataError, match="the lines have 4"):
            read(**wrong)


def test_separators() -> None:
    read = parse_columns(b"New York,B\nx\ty,O\n", ColumnLayout(separator="comma"), "f")
    assert read.sentence(0) == [["New York"], ["x\ty"]]
    assert Writer("columns", None, ["L"]).write(read, np.zeros(2, np.int32)) == b"New York,B,L\nx\ty,O,L\n"
    assert parse_columns(b"a+b\n", ColumnLayout(separator="+"), "f").sentence(0) == [["a"]]
    assert parse_columns(b"a b\tc\n", ColumnLayout(separator="tab"), "f").sentence(0) == [["a b"]]
    assert parse_columns(b"a b\tc\n", ColumnLayout(separator="space"), "f").sentence(0) == [["a", "b"]]
    assert parse_columns(b"a\t\n", ColumnLayout(), "f").labels.types == [""]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="unknown separator"):
        parse_columns(b"a b\n", ColumnLayout(separator="tabs"), "f")
    with pytest.raises(UsageError, match="no column 'upos'"):
        column_number("upos")


def test_not_utf8() -> None:
    with pytest.raises(DataError, match=r"f:3: not UTF-8: byte 0xff at byte 3"):
        parse_columns(b"a b\n\nc \xff\n", ColumnLayout(), "f")


@pytest.mark.parametrize("text", ["", "\n", " \n\n", "-DOCSTART-\n"])
def test_no_token(text: str) -> None:
    corpus = parse_columns(text.encode(), ColumnLayout(), "f")
    assert corpus.n_sentences == corpus.n_tokens == 0
    out = Writer("columns", None, ["X"]).write(corpus, np.zeros(0, np.int32)).decode()
    assert out == text.replace("-DOCSTART-", "-DOCSTART-\tO")


def test_large_things() -> None:
    word = "é" * 500_000
    corpus = parse_columns(f"{word} NN\nb\0 VB\n".encode(), ColumnLayout(), "f")
    assert corpus.sentence(0) == [[word], ["b\0"]]
    long = parse_columns(b"w\tT\n" * 100_000, ColumnLayout(), "f")
    assert (long.n_sentences, long.n_tokens) == (1, 100_000)
    words = [f"w{k}" for k in range(5000)] * 2  # more types than the first table has room for
    many = parse_columns("".join(f"{w} T\n" for w in words).encode(), ColumnLayout(), "f")
    assert many.columns[0].cells() == words


def test_label_that_would_break_the_columns() -> None:
    spaced = parse_columns(b"a b\n", ColumnLayout(label=None), "f")
    with pytest.raises(DataError, match="holds a space"):
        Writer("columns", None, ["A B"]).write(spaced, np.zeros(1, np.int32))
    with pytest.raises(UsageError, match="holds a TAB"):
        Writer("columns", None, ["A\tB"])


# CoNLL-U

CONLLU = """# sent_id = 1
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tv\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\ts\t_\t5\tcase\t_\t_
4\tel\tel\tDET\td\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tn\t_\t1\tobl\t_\tSpaceAfter=No
5.1\tx\tx\t_\t_\t_\t_\t_\t_\t_
6\t.\t.\tPUNCT\tf\t_\t1\tpunct\t_\t_

1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_
"""


def conllu(text: str = CONLLU, **reading: object) -> Corpus:
    return parse_conllu(text.encode(), ColumnLayout(columns=(1,), label=3, **reading), "f")  # type: ignore[arg-type]


def test_conllu_words() -> None:
    corpus = conllu()
    assert cells_of(corpus) == [[["Vamos"], ["nos"], ["a"], ["el"], ["mar"], ["."]], [["#"]]]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT", "SYM"]


@pytest.mark.parametrize("labelled", [True, False])
def test_conllu_written_back(labelled: bool) -> None:
    corpus = conllu(labelled=labelled)
    labels = ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT", "SYM"]
    same = Writer("conllu", None, labels).write(corpus, np.arange(7))
    assert same.decode() == CONLLU
    rows = Writer("conllu", "conllu", ["X"], scores=True).write(corpus, np.zeros(7, int), np.array([1.5, -2.0]))
    out = rows.decode().split("\n")
    assert out[2] == "# score = 1.5"
    assert out[13] == "# score = -2"
    assert out[4] == "1\tVamos\tir\tX\tv\t_\t0\troot\t_\t_"
    assert Writer("conllu", "columns", ["X"]).write(corpus, np.zeros(7, int)).startswith(b"Vamos\tX\nnos\tX\n")


def test_conllu_without_a_field_for_the_label() -> None:
    corpus = parse_conllu(CONLLU.encode(), ColumnLayout(columns=(1,), label=None), "f")
    with pytest.raises(UsageError, match="name the CoNLL-U field"):
        Writer("conllu", None, ["X"]).write(corpus, np.zeros(7, np.int32))


@pytest.mark.parametrize(
    ("broken", "line", "message"),
    [
        (CONLLU.replace("2\tnos\t", "nos\t"), 5, "9 columns"),
        (CONLLU.replace("1-2\tVámonos\t", "1-2\t"), 3, "9 columns"),
        (CONLLU.replace("\n3\ta\ta", "\n7\ta\ta"), 7, "word number '7' where 3"),
        (CONLLU.replace("\n\n1\t#", "\n1\t#"), 12, "word number '1' where 7"),
        (CONLLU.replace("5.1\tx", "x.1\tx"), 10, "word number 'x.1'"),
        (CONLLU.replace("6\t.\t.", f"{'6' * 5000}\t.\t."), 11, "word number '666"),
        (CONLLU.replace("\n6\t", "\nnonsense\n6\t"), 11, "1 column where"),
        (CONLLU.replace("\t", "    "), 3, "1 column where"),
    ],
)
def test_malformed_conllu(broken: str, line: int, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as error:
        conllu(broken)
    assert error.value.line == line


@pytest.mark.corpus
def test_ewt_is_written_back_whole(corpora: Path) -> None:
    path = corpora / "ud-ewt" / "en_ewt-ud-dev.conllu"
    corpus = read_corpus(path, FormatSpec(label="xpos"))
    assert corpus.labels is not None
    assert corpus.n_tokens == sum(
        bool(re.match(r"\d+\t", line)) for line in path.read_text(encoding="utf-8").split("\n")
    )
    out = Writer("conllu", None, corpus.labels.types).write(corpus, corpus.labels.ids)
    assert out == path.read_bytes()


def test_columns_of_large_files_are_interned_on_threads(tmp_path, monkeypatch):
    path = tmp_path / "train.txt"
    path.write_text(demo_text("train"))
    whole = read_corpus(path)
    monkeypatch.setattr(columns, "MANY_TOKENS", 1)
    parts = read_corpus(path)
    for mine, theirs in zip((*parts.columns, parts.labels), (*whole.columns, whole.labels), strict=True):
        assert np.array_equal(mine.ids, theirs.ids)
        assert mine.types == theirs.types
