"""CRFsuite attribute files against a slow reader, and their errors."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Corpus, Writer
from palmette.data.formats.attributes import escaped, parse_attributes
from palmette.errors import DataError

Token = tuple[str, list[tuple[str, float]]]


def tokens_of(corpus: Corpus) -> list[list[Token]]:
    assert corpus.attributes is not None
    names = corpus.attributes.names.cells()
    val = corpus.attributes.val.tolist() or [1.0] * len(names)
    parts = pairwise(corpus.attributes.ptr.tolist())
    labels = corpus.labels.cells() if corpus.labels else []
    made = [(label, list(zip(names[a:b], val[a:b], strict=True))) for label, (a, b) in zip(labels, parts, strict=True)]
    return [made[a:b] for a, b in pairwise(corpus.offset.tolist())]


def naive(text: str) -> tuple[list[list[Token]], list[float]]:
    """Read character by character, as the format is defined."""
    sequences: list[list[Token]] = []
    weights = []
    for block in re.split(r"\n[ \t]*\n", text):
        tokens, weight = [], 1.0
        for row in block.split("\n"):
            if not row.strip(" \t"):
                continue
            cells = [naive_cell(cell) for cell in row.split("\t")]
            if cells[0] == ("@weight", cells[0][1]) and cells[0][1] is not None:
                weight = float(cells.pop(0)[1] or "")
            if cells:
                tokens.append((cells[0][0], [(n, np.float32(v or 1)) for n, v in cells[1:] if (n, v) != ("", None)]))
        if tokens:
            sequences.append(tokens)
            weights.append(weight)
    return sequences, weights


def naive_cell(cell: str) -> tuple[str, str | None]:
    name, at = "", 0
    while at < len(cell):
        if cell[at : at + 2] in ("\\:", "\\\\"):
            at += 1
        elif cell[at] == ":":
            return name, cell[at + 1 :]
        name += cell[at]
        at += 1
    return name, None


name = st.text("ab:\\=é #", min_size=1, max_size=5).map(escaped)
lone = st.sampled_from(["a\\b", "\\", "x\\", "\\n=1"])
number = st.one_of(
    st.floats(-1e6, 1e6, width=32).map(repr),
    st.floats(-3e38, 3e38).map(lambda v: f"{v:.17e}"),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["1", "+1", "1.", ".5", "1e3", "1E-3", "0", "-0", "1" * 30, "1e-400", "0." + "3" * 40]),
)
attribute = st.one_of(name, lone, st.tuples(name, number).map(":".join), st.just(""))
label = st.one_of(st.sampled_from(["B-NP", "O", "", "@", "#"]), name)
token = st.tuples(label, st.lists(attribute, max_size=4)).map(lambda t: "\t".join([t[0], *t[1]]))
line = st.one_of(token, token, st.sampled_from(["", " ", "\t"]))


@settings(max_examples=300)
@given(st.lists(line, max_size=8), st.sampled_from(["", "\n"]), st.sampled_from([None, "2", "0.5"]))
def test_same_as_the_slow_reader(lines: list[str], last: str, weight: str | None) -> None:
    if weight is not None:
        lines = [f"@weight:{weight}", "O\ta", *lines]
    text = "\n".join(lines) + last
    expected, weights = naive(text)
    if any(t[0].startswith("#") and " " in t[0] and not t[1] for s in expected for t in s):
        with pytest.raises(DataError, match="a comment"):
            parse_attributes(text.encode(), "f")
        return
    corpus = parse_attributes(text.encode(), "f")
    assert tokens_of(corpus) == expected
    found = [1.0] * len(expected) if corpus.weight is None else corpus.weight.tolist()
    assert found == weights


def test_the_values_are_rounded_once() -> None:
    text = "O\t" + "\t".join(f"a:{v}" for v in ("0.1", "0.30000001", "123456.789", "1e-7", "7.038531e-26"))
    corpus = parse_attributes(text.encode(), "f")
    assert corpus.attributes is not None
    exact = np.array([0.1, 0.30000001, 123456.789, 1e-7, 7.038531e-26], np.float32)
    assert corpus.attributes.val.tolist() == exact.tolist()
    assert corpus.attributes.names.types == ["a"]


def test_no_values_means_no_array() -> None:
    corpus = parse_attributes(b"O\ta\tb:1\tc:1.0\n\n-DOCSTART-\ta\n", "f")
    assert corpus.attributes is not None
    assert corpus.attributes.val.size == 0
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["O", "-DOCSTART-"]
    assert parse_attributes(b"O\ta\n", "f", labelled=False).labels is None


@pytest.mark.parametrize(
    ("row", "message", "hint"),
    [
        ("O\tw=a:b:c", "the value of 'w=a:b:c' is not a number: 'b:c'", r"w=a\:b\:c"),
        ("O\tw=:", "'w=:' has a colon but no number", r"w=\:"),
        ("O\tw=a\\:b:x", "is not a number: 'x'", r"w=a\:b\:x"),
        ("O\t:2", "has a value but no name", r"\:2"),
        ("a:b\tx", "the label 'a:b' has a value", r"a\:b"),
        ("O\tx:nan", "is not a number", r"x\:nan"),
        ("O\tx:inf", "is not a number", r"x\:inf"),
        ("O\tx:1e39", "is too large", r"x\:1e39"),
        ("O\tx:1_0", "is not a number", r"x\:1_0"),
        ("O\tx:0x1", "is not a number", r"x\:0x1"),
        ("O\tx:1e+", "is not a number", r"x\:1e+"),
        ("O\tx: 1", "is not a number", r"x\: 1"),
        ("O\tx:٣", "is not a number", r"x\:٣"),
        ("@weight:-1\tO\tx", "the weight of a sequence", "@weight:2"),
        ("@weight:nan\tO\tx", "the weight of a sequence", "@weight:2"),
        ("@weight\tO\tx", "the weight of a sequence", "@weight:2"),
        ("@wight:2\tO\tx", "the label '@wight:2' has a value", r"@wight\:2"),
        ("# a comment", "a comment", "no comments"),
    ],
)
def test_errors_show_line_and_escape(row: str, message: str, hint: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as error:
        parse_attributes(f"O\ta\n\n{row}\nO\tb:1\n".encode(), "f")
    assert error.value.line == 3
    assert hint in (error.value.hint or "")


def test_weights() -> None:
    text = "O\ta\n@weight:3\tO\tb\n\n@weight:2\nO\tc\n\nO\td\n@weight:4\n\nO\te\n"
    corpus = parse_attributes(text.encode(), "f")
    assert corpus.weight is not None
    assert corpus.weight.tolist() == [3, 2, 4, 1]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["O"] * 5
    with pytest.raises(DataError, match="a second weight") as error:
        parse_attributes(b"@weight:3\tO\tb\n@weight:2\tO\tb\n", "f")
    assert error.value.line == 2
    with pytest.raises(DataError, match="a weight without a sequence"):
        parse_attributes(b"O\ta\n\n@weight:2\n\nO\tb\n", "f")


def test_written_back() -> None:
    text = b"@weight:2\nA\\:B\tx\\:y:2\nO\n\n@weight:1\tO\tz\n"
    corpus = parse_attributes(text, "f")
    labels = ["A:B", "C\\"]
    assert Writer("attributes", None, labels).write(corpus, np.array([0, 1, 0])) == b"A:B\nC\\\n\nA:B\n\n"
    kept = Writer("attributes", "attributes", labels).write(corpus, np.array([0, 1, 0]))
    assert kept == b"@weight:2\nA\\:B\tx\\:y:2\nC\\\\\n\n@weight:1\tA\\:B\tz\n"
    again = parse_attributes(kept, "f")
    assert again.labels is not None
    assert again.labels.cells() == ["A:B", "C\\", "A:B"]
    scored = Writer("attributes", None, labels, scores=True).write(corpus, np.zeros(3), np.array([1.0, 0.25]))
    assert scored == b"# score 1\nA:B\nA:B\n\n# score 0.25\nA:B\n\n"


def test_large_things() -> None:
    word = "é" * 500_000
    corpus = parse_attributes(f"O\tw={word}\tb\0:2\r\n".encode(), "f")
    assert tokens_of(corpus) == [[("O", [(f"w={word}", 1.0), ("b\0", 2.0)])]]
    long = parse_attributes(b"O\ta\tb\n" * 100_000, "f")
    assert (long.n_sentences, long.n_tokens) == (1, 100_000)
    assert parse_attributes(b"", "f").n_sentences == 0
