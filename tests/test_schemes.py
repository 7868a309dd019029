"""Tag schemes: the table of the five representations, round trips, and the rules against enumeration. GROBID's labels,
other separators and bare labels are in test_notations.py."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_classify import is_wellformed
from seqeval.metrics.sequence_labeling import get_entities

from palmette.data import SCHEMES, Span, allowed_transitions, convert_labels, from_spans, recognise, spans, split_label
from palmette.data.labels import schemes
from palmette.errors import UsageError

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = list(SCHEMES)

# "In early trading in Hong Kong Monday , gold was quoted at $ 366.50 an ounce ."
FIVE_VIEWS = {
    "IOB1": "O I I O I I B O I O O O I I B I O",
    "IOB2": "O B I O B I B O B O O O B I B I O",
    "IOE1": "O I I O I E I O I O O O I E I I O",
    "IOE2": "O I E O I E E O E O O O I E I E O",
    "IOBES": "O B E O B E S O S O O O B E B E O",
}
CHUNKS = [(1, 3), (4, 6), (6, 7), (8, 9), (12, 14), (14, 16)]


def labels_of(scheme: str, kinds: tuple[str, ...] = ("X", "Y")) -> list[str]:
    return ["O"] + [f"{letter}-{kind}" for letter in SCHEMES[scheme].letters if letter != "O" for kind in kinds]


def as_ids(sentences: list[list[str]], labels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    ids = np.array([labels.index(label) for sentence in sentences for label in sentence], dtype=np.int32)
    return ids, np.cumsum([0] + [len(sentence) for sentence in sentences])


def recognised(sentences: list[list[str]]) -> str | None:
    labels = sorted({label for sentence in sentences for label in sentence})
    return recognise(labels, *as_ids(sentences, labels))


@st.composite
def chunkings(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Chunks of two types with gaps of 0 to 2 tokens, so that many touch."""
    found, at = [], 0
    for gap, length, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("XY")), max_size=5)
    ):
        found.append(Span(kind, at + gap, at + gap + length))
        at += gap + length
    return found, at + draw(st.integers(0, 2))


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("B-NP", ("B", "NP")),
        ("O", ("O", "")),
        ("I", ("I", "")),
        ("B-a-b", ("B", "a-b")),
        ("L-PER", ("E", "PER")),
        ("U-PER", ("S", "PER")),
        ("M", ("I", "")),
        ("NN", ("", "NN")),
        ("-LRB-", ("", "-LRB-")),
        ("NN-HL", ("", "NN-HL")),
        ("O-x", ("", "O-x")),
        ("", ("", "")),
    ],
)
def test_split_label(label: str, parts: tuple[str, str]) -> None:
    assert split_label(label) == parts


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_five_views_convert_into_each_other(source: str, target: str) -> None:
    assert convert_labels(FIVE_VIEWS[source].split(), target) == FIVE_VIEWS[target].split()


@pytest.mark.parametrize("scheme", NAMES)
def test_five_views_are_read_and_wellformed(scheme: str) -> None:
    labels = FIVE_VIEWS[scheme].split()
    assert spans(labels, scheme) == [Span("", *chunk) for chunk in CHUNKS]
    assert [name for name in NAMES if is_wellformed(labels, name)] == [scheme]
    assert recognised([labels]) == scheme


def test_neighbours_of_another_type_need_no_mark() -> None:
    touching = [Span("X", 0, 1), Span("Y", 1, 3), Span("Y", 3, 4)]
    assert from_spans(touching, 4, "IOB1") == ["I-X", "I-Y", "I-Y", "B-Y"]
    assert from_spans(touching, 4, "IOE1") == ["I-X", "I-Y", "E-Y", "I-Y"]
    assert from_spans(reversed(touching), 4, "BIOES") == ["S-X", "B-Y", "E-Y", "S-Y"]


@pytest.mark.parametrize("wrong", [[("X", 0, 0)], [("X", 0, 2), ("Y", 1, 3)], [("X", 2, 4)], [("X", -1, 1)]])
def test_from_spans_refuses_what_is_no_chunking(wrong: list[tuple[str, int, int]]) -> None:
    with pytest.raises(UsageError, match="empty, overlaps"):
        from_spans([Span(*chunk) for chunk in wrong], 3, "IOB2")


@given(chunkings(), st.sampled_from(NAMES))
def test_round_trip(chunking: tuple[list[Span], int], scheme: str) -> None:
    chunks, n = chunking
    labels = from_spans(chunks, n, scheme)
    assert len(labels) == n
    assert spans(labels) == chunks
    assert is_wellformed(labels, scheme)


@pytest.mark.parametrize("scheme", NAMES)
def test_wellformed_is_what_conversion_leaves_alone(scheme: str) -> None:
    """By enumeration: the transitions of the table allow exactly the sequences that chunkings give."""
    labels = labels_of(scheme)
    start, pair, end = allowed_transitions(labels, scheme)
    for n in (1, 2, 3, 4):
        for path in itertools.product(range(len(labels)), repeat=n):
            names = [labels[y] for y in path]
            allowed = start[path[0]] and end[path[-1]] and all(pair[a, b] for a, b in itertools.pairwise(path))
            assert allowed == (convert_labels(names, scheme) == names), names


def test_is_wellformed_agrees_with_the_transitions() -> None:
    assert is_wellformed([], "IOB2")
    assert is_wellformed(["B-X", "I-X", "B-Y"], "IOB2")
    assert not is_wellformed(["B-X", "I-Y"], "IOB2")
    assert not is_wellformed(["I-X"], "IOB2")
    assert not is_wellformed(["B-X"], "IOB1")
    assert not is_wellformed(["B-X", "E-X"], "IOB2")
    assert not is_wellformed(["NN"], "IOB2")
    assert is_wellformed(["B-X", "L-X", "U-Y", "O"], "BILOU")
    assert not is_wellformed(["B-X", "U-Y"], "BILOU")


@given(st.lists(st.sampled_from(["O"] + [f"{c}-{t}" for c in "BIES" for t in "XY"]), max_size=8))
def test_spans_equal_seqeval_also_on_illformed_labels(labels: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [Span(kind, first, last + 1) for kind, first, last in get_entities(labels)]
    assert spans(labels) == expected


def test_spans_of_illformed_labels_by_hand() -> None:
    assert spans(["O", "I-X", "I-Y", "I-Y", "B-Y"]) == [Span("X", 1, 2), Span("Y", 2, 4), Span("Y", 4, 5)]
    assert spans(["B", "I", "O", "I"]) == [Span("", 0, 2), Span("", 3, 4)]
    with pytest.raises(UsageError, match="'NN' of token 1"):
        spans(["O", "NN"])
    with pytest.raises(UsageError, match="'E-X' of token 0"):
        spans(["E-X"], "IOB2")


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (["B-NP", "I-NP", "O"], "IOB2"),
        (["B", "I", "O"], "IOB2"),
        (["B-X", "O"], "IOB2"),
        (["B-X", "I-X", "I-Y", "O"], "IOB1"),  # Y has no B, so that I-Y must be able to open
        (["I-X", "O"], "IOB1"),
        (["I-X", "E-X", "O"], "IOE2"),
        (["B-X", "I-X", "E-X", "S-X", "O"], "IOBES"),
        (["B-X", "I-X", "L-X", "U-X", "O"], "IOBES"),
        (["B", "M", "E", "S"], "IOBES"),
        (["S-X", "O"], "IOBES"),
        (["O"], None),
        ([], None),
        (["NN", "VB", "DT"], None),
        (["S", "E", "O"], None),  # one-letter word classes
        (["B-X", "I-X", "O", "NN"], None),
        (["N", "V", "I", "O"], None),
    ],
)
def test_recognise_by_letters(labels: list[str], scheme: str | None) -> None:
    assert recognise(labels) == scheme


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        ("B-X I-X O / O B-Y", "IOB2"),
        ("I-X I-X B-X / O I-Y", "IOB1"),
        ("B-X I-X O / O I-Y", None),  # one ill-formed sentence in IOB2 data
        ("I-X E-X O / E-Y", "IOE2"),
        ("I-X E-X I-X O / I-Y", "IOE1"),
        ("I-X E-X O / I-Y O", None),
        ("B-X E-X S-Y / O", "IOBES"),
        ("B-X E-X S-Y / B-X", None),
        ("B-X E-X / E-X", None),
        ("B-X L-X U-X / O", "IOBES"),
        ("O O / O", None),
    ],
)
def test_recognise_by_sequences(sentences: str, scheme: str | None) -> None:
    assert recognised([sentence.split() for sentence in sentences.split(" / ")]) == scheme


def test_recognise_without_a_chunk_in_the_sequences_looks_at_the_letters() -> None:
    # IOBES would hold for the sequences (they are all O), but would leave B and I unusable.
    assert recognise(["B", "I", "O"], np.array([2, 2]), np.array([0, 2])) == "IOB2"


@given(st.lists(chunkings(), min_size=1, max_size=4), st.sampled_from(NAMES))
def test_recognise_finds_the_scheme_or_a_stricter_one(corpus: list[tuple[list[Span], int]], scheme: str) -> None:
    sentences = [from_spans(chunks, n, scheme) for chunks, n in corpus]
    found = recognised(sentences)
    if all(not chunks for chunks, _ in corpus):
        assert found is None
    else:
        assert found is not None
        assert NAMES.index(found) <= NAMES.index(scheme)
        assert all(is_wellformed(sentence, found) for sentence in sentences)


@settings(max_examples=200)
@given(st.lists(st.lists(st.sampled_from(labels_of("IOBES")), min_size=1, max_size=4), min_size=1, max_size=3))
def test_recognise_never_forbids_gold(sentences: list[list[str]]) -> None:
    found = recognised(sentences)
    fitting = [name for name in NAMES if all(is_wellformed(sentence, name) for sentence in sentences)]
    chunks = any(label != "O" for sentence in sentences for label in sentence)
    assert found == (fitting[0] if fitting and chunks else None)


def test_unknown_schemes_and_foreign_labels_are_errors() -> None:
    with pytest.raises(UsageError, match="unknown tag scheme 'IOB3'"):
        allowed_transitions(["O"], "IOB3")
    with pytest.raises(UsageError, match="'E-X' does not belong to IOB2"):
        allowed_transitions(["B-X", "E-X", "O"], "IOB2")
    assert schemes.scheme_named("bio") is SCHEMES["IOB2"]


def test_recognise_wants_sequences_whole() -> None:
    with pytest.raises(UsageError, match="both `ids` and `offset`"):
        recognise(["B", "O"], np.array([0, 1]))


def test_with_boundaries_marks_every_edge() -> None:
    marked = schemes.with_boundaries(np.array([0, 1, 2]), np.array([0, 2, 2, 3]), 9)
    assert marked.tolist() == [9, 0, 1, 9, 9, 2, 9]
    assert schemes.with_boundaries(np.array([], dtype=np.int32), np.array([0]), 9).tolist() == [9]
    for wrong in ([0, 2], [1, 3], [0, 3, 2, 3], []):
        with pytest.raises(UsageError, match="offsets"):
            schemes.with_boundaries(np.array([0, 1, 2]), np.array(wrong, dtype=np.int64), 9)
    for ids in ([0, -1], [0, 9]):
        with pytest.raises(UsageError, match="label ids"):
            schemes.with_boundaries(np.array(ids), np.array([0, 2]), 9)


@pytest.mark.corpus
def test_conll2000_is_iob2() -> None:
    file = DATA / "conll2000" / "test.txt"
    if not file.exists():
        pytest.skip(f"no corpus at {file}")
    text = file.read_text(encoding="utf-8").strip()
    sentences = [[line.split()[2] for line in block.splitlines()] for block in text.split("\n\n")]
    assert recognised(sentences) == "IOB2"
    phrases = [[{"B-NP": "B", "I-NP": "I"}.get(label, "O") for label in sentence] for sentence in sentences]
    assert recognised(phrases) == "IOB2"
    assert sum(len(spans(sentence)) for sentence in sentences) == 23852
    for scheme in NAMES:
        there = [convert_labels(sentence, scheme) for sentence in sentences[:200]]
        assert recognised(there) == scheme
        assert [convert_labels(sentence, "IOB2") for sentence in there] == sentences[:200]
