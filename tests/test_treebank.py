"""Treebanks read, checked, cut and written back, against twins made of str.split and walks up the tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette.data import (
    bytes_of,
    column_of_strings,
    read_treebank,
    stream_treebank,
    treebank_bytes,
    treebank_from_sentences,
    write_treebank,
)
from palmette.data.formats.conllu_light import BROKEN, PROBLEMS, UNKNOWN, faults
from palmette.data.treebank import FIELDS
from palmette.errors import DataError, UsageError
from palmette.kernels.io.columns import splice

SAMPLE = (
    "# newdoc\n"
    "# text = vámonos al mar\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\t_\tMood=Imp\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "3\ta\ta\tADP\tIN\t_\t5\tcase\t5:case\t_\n"
    "4\tel\tel\tDET\tDT\t_\t5\tdet\t5:det\t_\n"
    "5\tmar\tmar\tNOUN\tNN\t_\t1\tobl\t1:obl\t_\n"
    "5.1\tfue\tir\tVERB\t_\t_\t_\t_\t0:root\t_\n"
    "\n"
    "\n"
    "# a circle\r\n"
    "1\tWe\t_\t_\t_\t_\t2\tx\t_\t_\r\n"
    "2\tturn\t_\t_\t_\t_\t1\tx\t_\t_\r\n"
    "3\tround\t_\t_\t_\t_\t0\tx\t_\t_\r\n"
    "3.1\tand\t_\t_\t_\t_\t_\t_\t_\t_\r\n"
    "\r\n"
    "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\tLast=Yes"
)


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.conllu"
    path.write_bytes(text.encode())
    return path


def test_the_cells_heads_and_relations_of_a_file(tmp_path: Path) -> None:
    bank = read_treebank(saved(tmp_path, SAMPLE.replace("2\tx", "3\tx")))
    assert bank.n_sentences == 3
    assert bank.column("form").cells()[:5] == ["vamos", "nos", "a", "el", "mar"]
    assert bank.corpus.sentence(0)[0] == ["vamos", "ir", "VERB", "_", "Mood=Imp"]
    assert bank.heads[:5].tolist() == [0, 1, 5, 5, 1]
    assert bank.relations.cells()[-1] == "root"
    assert bank.corpus.line_of(4) == 9


def test_unlabelled_input_is_not_looked_at_for_trees(tmp_path: Path) -> None:
    bank = read_treebank(saved(tmp_path, SAMPLE), labelled=False)
    assert set(bank.heads.tolist()) == {UNKNOWN}
    assert set(bank.relations.cells()) == {"_"}
    assert bank.n_sentences == 3


def test_lines_come_back_with_nothing_else_changed(tmp_path: Path) -> None:
    bank = read_treebank(saved(tmp_path, SAMPLE), labelled=False)
    emptied = treebank_bytes(bank).decode()
    expected = []
    for row in SAMPLE.split("\n"):
        cells = row.split("\t")
        if len(cells) == 10 and cells[0].isdigit():
            cells[6:8] = ["_", "_"]
        expected.append("\t".join(cells))
    assert emptied == "\n".join(expected)
    tagged = bank.with_column("upos", column_of_strings(f"T{i}" for i in range(bank.n_tokens)))
    rows = treebank_bytes(tagged, fields=("upos",)).decode().split("\n")
    assert rows[3] == SAMPLE.split("\n")[3].replace("VERB", "T0")
    assert treebank_bytes(tagged, fields=()).decode() == SAMPLE


def test_a_bad_sentence_is_an_error_or_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = saved(tmp_path, SAMPLE)
    with pytest.raises(DataError, match=r"some.conllu:14: sentence 2: the heads form a cycle") as caught:
        read_treebank(path)
    assert caught.value.hint is not None
    assert "skip_bad=True" in caught.value.hint
    bank = read_treebank(path, skip_bad=True)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("1 of 3 sentences left out")
    assert bank.corpus.line_of(5) == 19
    before, _, rest = SAMPLE.partition("# a circle\r\n")
    assert treebank_bytes(bank).decode() == before + rest.partition("\r\n\r\n")[2]


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_a_stream_is_the_file_in_parts(tmp_path: Path, block: int, caplog: pytest.LogCaptureFixture) -> None:
    path = saved(tmp_path, SAMPLE)
    parts = list(stream_treebank(path, skip_bad=True, block=block))
    whole = read_treebank(path, skip_bad=True)
    assert caplog.messages[0] == caplog.messages[1]  # sentences and lines are counted through
    assert np.concatenate([part.heads for part in parts]).tolist() == whole.heads.tolist()
    write_treebank(tmp_path / "out.conllu", parts)
    assert (tmp_path / "out.conllu").read_bytes() == treebank_bytes(whole)


def test_files_without_a_sentence(tmp_path: Path) -> None:
    for text in ("", "\n\n", "# only this\n"):
        bank = read_treebank(saved(tmp_path, text))
        assert (bank.n_sentences, bank.n_tokens) == (0, 0)
        assert treebank_bytes(bank).decode() == text


heads_of_a_sentence = st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(BROKEN, n + 1), min_size=n, max_size=n))


def naive_problem(heads: list[int]) -> tuple[int, int] | None:
    """The first problem of a sentence and its token, by the definition of a tree."""
    n = len(heads)
    for problem, wrong in enumerate((lambda h: h == BROKEN, lambda h: h == UNKNOWN, lambda h: h > n)):
        for i, head in enumerate(heads):
            if wrong(head):
                return problem, i
    roots = [i for i, head in enumerate(heads) if head == 0]
    if not roots:
        return 3, 0
    if len(roots) > 1:
        return 4, roots[1]
    for i in range(n):
        at, steps = i + 1, 0
        while at and steps <= n:
            at, steps = heads[at - 1], steps + 1
        if at:
            return 5, i
    return None


@few(3)
@given(st.lists(heads_of_a_sentence, max_size=4))
def test_what_is_no_tree(sentences: list[list[int]]) -> None:
    offset = np.concatenate(([0], np.cumsum([len(s) for s in sentences]))).astype(np.int64)
    flat = np.array([head for sentence in sentences for head in sentence], np.int32)
    found = {
        fault.sentence: (fault.problem, fault.token - int(offset[fault.sentence])) for fault in faults(flat, offset)
    }
    expected = {s: problem for s, heads in enumerate(sentences) if (problem := naive_problem(heads))}
    assert found == expected
    assert all(0 <= problem < len(PROBLEMS) for problem, _ in found.values())


@few()
@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4), st.integers(0, 2)), max_size=5))
def test_splicing_bytes(parts: list[tuple[bytes, bytes, int]]) -> None:
    """Each part: what stays, what is replaced, by which string."""
    strings = ["", "ab", "é"]
    data, expected, start, end = b"", b"", [], []
    for kept, replaced, k in parts:
        start.append(len(data) + len(kept))
        data += kept + replaced
        end.append(len(data))
        expected += kept + strings[k].encode()
    text, offset = bytes_of(strings)
    pieces = np.array([k for *_, k in parts], np.int64)
    raw = np.frombuffer(data + b"!", np.uint8)
    made = splice(raw, np.array(start, np.int64), np.array(end, np.int64), pieces, text, offset)
    assert made.tobytes() == expected + b"!"


def test_sentences_of_python() -> None:
    bank = treebank_from_sentences(
        [
            [("the", "DET"), ("sea", "NOUN", "NN")],
            [{"form": "Go", "head": 0, "deprel": "root", "feats": "A=B"}, "!"][:1],
        ]
    )
    assert bank.column("upos").cells() == ["DET", "NOUN", "_"]
    assert bank.heads.tolist() == [UNKNOWN, UNKNOWN, 0]
    rows = treebank_bytes(bank).decode().split("\n")
    assert rows[1] == "2\tsea\t_\tNOUN\tNN\t_\t_\t_\t_\t_"
    assert rows[3] == "1\tGo\t_\t_\t_\tA=B\t0\troot\t_\t_"
    again = bank.take(np.array([1, 0]))
    assert again.column("form").cells() == ["Go", "the", "sea"]
    assert again.relations.cells() == ["root", "_", "_"]
    assert treebank_from_sentences([]).n_sentences == 0


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[]], "sentence 1 has no words"),
        ([[("a", "b", "c", "d")]], "4 cells"),
        ([[{"upos": "X"}]], "no form"),
        ([[{"form": "a", "haed": 1}]], "no field 'haed'"),
        ([["a\tb"]], "cannot be written"),
        ([[{"form": "a", "head": 1}]], "no root"),
        ([[{"form": "a", "head": 0}, "b"]], "the head is missing"),
        ([[{"form": "a", "head": 9}]], "outside the sentence"),
    ],
)
def test_bad_sentences_of_python(sentences: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        treebank_from_sentences(sentences)


def test_what_cannot_be_written() -> None:
    bank = treebank_from_sentences([["a"]])
    with pytest.raises(UsageError, match="misc"):
        treebank_bytes(bank, fields=("misc",))
    with pytest.raises(DataError, match="deprel"):
        treebank_bytes(bank.with_trees(np.zeros(1, np.int32), column_of_strings(["a\nb"])))
    assert FIELDS[0] == "form"


@pytest.mark.corpus
def test_a_whole_treebank_comes_back_byte_for_byte(corpora: Path) -> None:
    path = corpora / "ud-ewt" / "en_ewt-ud-dev.conllu"
    bank = read_treebank(path)
    assert (bank.n_sentences, bank.n_tokens) == (2001, 25147)
    assert treebank_bytes(bank, fields=(*FIELDS, "head", "deprel")) == path.read_bytes()
