"""GROBID's labels, separators other than a hyphen, and bare labels: found, read, converted, and constrained, against
twins written from the definitions."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import is_wellformed
from test_schemes import NAMES, chunkings, recognised

from palmette.data import (
    Span,
    allowed_transitions,
    are_chunk_labels,
    convert_labels,
    from_spans,
    recognise,
    scheme_shown,
    spans,
)
from palmette.data.convert import convert_sentences
from palmette.errors import UsageError


def naive_fields(labels: list[str]) -> set[tuple[str, int, int]]:
    """GROBID's definition: a field begins at I-, and where the label changes; <other> is none."""
    plain = [label.removeprefix("I-") for label in labels]
    begins = [i for i, label in enumerate(labels) if label != plain[i] or i == 0 or plain[i] != plain[i - 1]]
    fields = [(plain[a], a, b) for a, b in itertools.pairwise([*begins, len(labels)])]
    return {(name[1:-1], a, b) for name, a, b in fields if name != "<other>"}


def naive_runs(labels: list[str]) -> set[tuple[str, int, int]]:
    """Maximal runs of equal labels, those of O left out."""
    found, at = set(), 0
    for label, run in itertools.groupby(labels):
        size = len(list(run))
        if label != "O":
            found.add((label, at, at + size))
        at += size
    return found


FIELDS = st.lists(st.sampled_from([p + f"<{t}>" for p in ("", "I-") for t in ("a", "b", "other")]), max_size=8)


@given(FIELDS)
def test_grobid_fields_equal_the_twin_also_on_illformed_labels(labels: list[str]) -> None:
    assert set(spans(labels, "grobid")) == naive_fields(labels)
    if are_chunk_labels(labels):
        assert spans(labels) == spans(labels, "GROBID")


@given(st.lists(st.sampled_from(["O", "Street", "Name", "B-X"]), max_size=8))
def test_bare_spans_equal_the_twin(labels: list[str]) -> None:
    assert set(spans(labels, "bare")) == naive_runs(labels)
    assert is_wellformed(labels, "bare")


@given(chunkings())
def test_grobid_round_trips(chunking: tuple[list[Span], int]) -> None:
    chunks, n = chunking
    labels = from_spans(chunks, n, "GROBID")
    assert len(labels) == n
    assert spans(labels, "GROBID") == chunks
    assert is_wellformed(labels, "GROBID")
    assert all(label.strip("I-").startswith("<") for label in labels)
    if n:
        assert recognised([labels]) == "GROBID"
        assert convert_labels(labels, "iob2") == from_spans(chunks, n, "IOB2")
        assert convert_labels(from_spans(chunks, n, "IOB2"), "grobid") == labels


@given(chunkings(), st.sampled_from([*NAMES, "GROBID"]))
def test_bare_labels_lose_neighbours_of_equal_type_and_report_them(
    chunking: tuple[list[Span], int], source: str
) -> None:
    chunks, n = chunking
    touching = {
        chunk
        for left, right in itertools.pairwise(chunks)
        if left.end == right.start and left.type == right.type
        for chunk in (left, right)
    }
    labels = from_spans(chunks, n, source)
    (made,), lost = convert_sentences([labels], "bare", source)
    assert {chunk for _, chunk in lost} == touching
    assert set(spans(made, "bare")) == naive_runs(made)
    back = convert_labels(made, "IOB2", source="bare")
    assert set(spans(back)) == naive_runs(made)
    if not touching:
        assert back == from_spans(chunks, n, "IOB2")


def test_conversion_by_hand() -> None:
    fields = ["I-<other>", "<other>", "I-<year>", "I-<day>", "<day>", "I-<day>"]
    assert convert_labels(fields, "iob2") == ["O", "O", "B-year", "B-day", "I-day", "B-day"]
    assert convert_labels(fields, "bilou") == ["O", "O", "U-year", "B-day", "L-day", "U-day"]
    assert convert_labels([["O", "B-PER"], ["S-LOC"]], "grobid") == [["I-<other>", "I-<PER>"], ["I-<LOC>"]]
    assert convert_labels(["B_W", "I_W", "B_W", "O"], "iobes") == ["B-W", "E-W", "S-W", "O"]
    assert convert_labels(["Street", "Street", "City"], "grobid", "bare") == ["I-<Street>", "<Street>", "I-<City>"]
    # All sentences show the notation, not each alone
    assert convert_labels([["<a>"], ["I-<a>", "<a>"]], "iob2") == [["B-a"], ["B-a", "I-a"]]


def test_what_a_scheme_cannot_express_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert convert_labels(["B-X", "B-X", "O"], "bare") == ["X", "X", "O"]
    assert "2 chunks cannot be expressed by bare labels" in caplog.text
    caplog.clear()
    assert convert_labels(["B-other", "O"], "grobid") == ["I-<other>", "I-<other>"]
    assert "1 chunk cannot be expressed by grobid labels" in caplog.text
    caplog.clear()
    convert_labels(["B-X", "B-Y", "O"], "bare")
    assert not caplog.text
    for to in ("grobid", "bare"):
        with pytest.raises(UsageError, match="this chunk has none"):
            convert_labels(["B", "I"], to)
    with pytest.raises(UsageError, match="'Street' of token 0 is not a chunk label"):
        convert_labels(["Street"], "iob2")


def test_grobid_transitions_are_those_of_its_chunkings() -> None:
    """By enumeration: a sequence is allowed if each <x> continues an x."""
    labels = [prefix + f"<{kind}>" for prefix in ("I-", "") for kind in ("a", "other")]
    start, pair, end = allowed_transitions(labels, "GROBID")
    assert end.all()
    for n in (1, 2, 3, 4):
        for path in itertools.product(range(len(labels)), repeat=n):
            names = [labels[y] for y in path]
            before = [None, *(name.removeprefix("I-") for name in names)]
            right = all(name.startswith("I-") or name == last for name, last in zip(names, before, strict=False))
            allowed = start[path[0]] and all(pair[a, b] for a, b in itertools.pairwise(path))
            assert allowed == right == is_wellformed(names, "GROBID"), names


@pytest.mark.parametrize(
    ("labels", "scheme", "shown"),
    [
        (["I-<a>", "<a>", "I-<other>"], "GROBID", "GROBID"),
        (["I-<a>", "I-<b>"], "GROBID", "GROBID"),
        (["I-<a>", "<b>"], None, ""),  # no I-<b> begins what <b> continues
        (["I-<a>", "O"], "IOB1", "IOB1"),  # in GROBID's every token is in a field
        (["B-<a>", "I-<a>", "O"], "IOB2", "IOB2"),
        (["<a>", "<b>"], None, ""),
        (["I-<>", "<>"], None, ""),
        (["B_X", "I_X", "O"], "IOB2", "IOB2, written B_X"),
        (["B/X", "E/X", "S/Y", "I/X", "O"], "IOBES", "IOBES, written B/X"),
        (["B:X", "I:X"], "IOB2", "IOB2, written B:X"),
        (["B.X-1", "I.X-1"], "IOB2", "IOB2, written B.X"),
        (["B-X_1", "I-X_1"], "IOB2", "IOB2"),
        (["B_X", "I-X"], None, ""),
        (["S_X", "E_Y"], None, ""),  # word classes
        (["B_X", "NN"], None, ""),
        (["NN", "VB", "IN", "O"], None, ""),
        (["StreetName", "AddressNumber"], None, ""),
    ],
)
def test_notations_are_seen_in_the_labels_and_word_classes_are_none(
    labels: list[str], scheme: str | None, shown: str
) -> None:
    assert recognise(labels) == scheme
    if scheme is not None:
        assert are_chunk_labels(labels)
        assert scheme_shown(labels, scheme) == shown


def test_labels_of_another_notation_are_errors() -> None:
    with pytest.raises(UsageError, match="'O' does not belong to GROBID, whose labels are I-<x> and <x>"):
        allowed_transitions(["I-<a>", "O"], "GROBID")
    with pytest.raises(UsageError, match="'<a>' does not belong to IOB2"):
        allowed_transitions(["I-<a>", "<a>"], "IOB2")
    assert allowed_transitions(["A", "O"], "bare").pair.all()


@pytest.mark.corpus
def test_grobid_dates_are_read_as_grobid_reads_them(corpora: Path) -> None:
    file = corpora / "downstream" / "grobid-date.txt"
    if not file.exists():
        pytest.skip(f"no corpus at {file}")
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    sentences = [[cells[-1] for cells in own] for some, own in itertools.groupby(lines, bool) if some]
    assert len(sentences) == 637
    assert recognised(sentences) == "GROBID"
    for sentence in sentences:
        assert set(spans(sentence)) == naive_fields(sentence)
    there = [convert_labels(sentence, "iob2") for sentence in sentences]
    assert recognised(there) == "IOB2"
    # One sentence has two fields <other> side by side, which are one outside of fields
    assert sum(convert_labels(own, "grobid") != sentence for own, sentence in zip(there, sentences, strict=True)) == 1
