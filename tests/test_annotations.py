"""Documents to tokens with labels and back: what is kept is right, and everything else is accounted for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from documents import documents
from hypothesis import given
from strategies import few

from palmette.connect.annotations.align import Alignment, aligned, corpus_of, documents_of
from palmette.data import Corpus, Document, Notes, TextSpan, parse_plain, parse_text, token_spans
from palmette.data.analysed import ACCEPT, joined_pieces
from palmette.data.formats.labelling import Labelling, labelling_of
from palmette.data.formats.raw import character_spans
from palmette.data.notes import KINDS
from palmette.errors import UsageError

DROPPED = ("empty", "unlabelled", "duplicate", "nested", "overlapping", "between")
WORDS = Alignment(token_spans)


def wanted(document: Document) -> list[tuple[int, int, str]]:
    """Every piece of every span without white space at its edges, by definition; pieces of only that are left out."""
    text, found = document.text, []
    for span in document.spans:
        for start, end in joined_pieces(text, span.pieces):
            inside = [k for k in range(start, end) if not text[k].isspace()]
            if inside:
                found.append((inside[0], inside[-1] + 1, span.label))
    return found


def n_pieces(document: Document) -> int:
    return sum(len(joined_pieces(document.text, span.pieces)) for span in document.spans)


def found_spans(document: Document, how: Alignment, notes: Notes) -> list[tuple[int, int, str]]:
    """The spans that come back from the labels of a document's tokens."""
    corpus = corpus_of([document], how, "here", notes)
    (back,) = documents_of(labelling_of(corpus)[0], Notes(), answer=ACCEPT)
    assert back.text == document.text
    return [(span.start, span.end, span.label) for span in back.spans]


def overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


@few(6)
@given(documents(gaps=True))
def test_tokens_are_cut_at_spans_and_nothing_is_lost_without_a_note(document: Document) -> None:
    notes = Notes()
    given_spans, kept = wanted(document), found_spans(document, WORDS, notes)
    assert set(kept) <= set(given_spans)
    assert all(before[1] <= after[0] for before, after in pairwise(kept))
    for span in set(given_spans) - set(kept):  # a longer one, or one as long, is in its way
        assert any(overlap(span, other) and other[1] - other[0] >= span[1] - span[0] for other in kept)
    assert n_pieces(document) == len(kept) + sum(notes.counts.get(kind, 0) for kind in DROPPED)
    moved = [
        piece for span in document.spans for piece in joined_pieces(document.text, span.pieces)
        if document.text[slice(*piece)].strip() not in ("", document.text[slice(*piece)])
    ]  # fmt: skip
    assert notes.counts.get("trimmed", 0) == len(moved)
    assert "widened" not in notes.counts
    in_pieces = [span for span in document.spans if len(joined_pieces(document.text, span.pieces)) > 1]
    assert notes.counts.get("split", 0) == len(in_pieces)


@few(3)
@given(documents())
def test_tokens_cover_the_text_and_sentences_keep_spans_together(document: Document) -> None:
    found = aligned(document, WORDS, Notes())
    tokens = [token for sentence in found for token in sentence.tokens]
    assert "".join(document.text[a:b] for a, b in tokens) == "".join(document.text.split())
    assert all(a < b for a, b in tokens)
    assert all(before[1] <= after[0] for before, after in pairwise(tokens))
    assert all(len(sentence.labels) == len(sentence.tokens) for sentence in found)
    assert not any(sentence.labels[0].startswith("I-") for sentence in found)


@few(3)
@given(documents())
def test_without_cutting_spans_are_widened_to_tokens(document: Document) -> None:
    notes = Notes()
    kept = found_spans(document, WORDS._replace(split=False), notes)
    plain = [token for sentence in aligned(Document(document.text), WORDS, Notes()) for token in sentence.tokens]
    edges = {a for a, _ in plain}, {b for _, b in plain}
    for start, end, label in kept:
        assert start in edges[0]
        assert end in edges[1]
        assert any(a >= start and b <= end and label == name for a, b, name in wanted(document))
    assert n_pieces(document) == len(kept) + sum(notes.counts.get(kind, 0) for kind in DROPPED)
    inside = [span for span in wanted(document) if span[0] not in edges[0] or span[1] not in edges[1]]
    assert notes.counts.get("widened", 0) == len(inside)


@few(2)
@given(documents())
def test_characters_as_tokens_need_no_cutting(document: Document) -> None:
    notes = Notes()
    kept = found_spans(document, Alignment(character_spans, split=False), notes)
    assert set(kept) <= set(wanted(document))
    assert "widened" not in notes.counts


def test_each_case_by_hand() -> None:
    text = "Dr. Anna lives in Berlin-Mitte.  She left. Bye"
    spans = [
        TextSpan(4, 8, "PER"), TextSpan(18, 24, "LOC"), TextSpan(0, 8, "TITLE"), TextSpan(6, 14, "ODD"),
        TextSpan(31, 33, "GAP"), TextSpan(9, 9, "NONE"), TextSpan(33, 46, "END"), TextSpan(33, 46, "END"),
        TextSpan(14, 18, "IN"),
    ]  # fmt: skip
    notes = Notes()
    sentences = aligned(Document(text, spans, place="f:7"), WORDS, notes)
    shown = [[(text[a:b], label) for (a, b), label in zip(s.tokens, s.labels, strict=True)] for s in sentences]
    assert shown == [
        [("Dr.", "B-TITLE"), ("Anna", "I-TITLE"), ("lives", "O"), ("in", "B-IN"), ("Berlin", "B-LOC"),
         ("-Mitte", "O"), (".", "O")],
        [("She", "B-END"), ("left", "I-END"), (".", "I-END"), ("Bye", "I-END")],
    ]  # fmt: skip
    assert notes.counts == {"nested": 1, "overlapping": 1, "empty": 2, "duplicate": 1, "trimmed": 1, "joined": 1}
    assert all(places == ["f:7"] for places in notes.places.values())
    assert "1 span dropped: overlapping a longer one (f:7)" in [message for _, message in notes.messages()]


def test_tokens_of_the_file_are_used() -> None:
    text = "ab cd"
    document = Document(text, [TextSpan(0, 1, "X"), TextSpan(3, 5, "Y")], tokens=[(0, 1), (1, 2), (2, 3), (3, 5)])
    (sentence,) = aligned(document, WORDS, Notes())
    assert (sentence.tokens, sentence.labels) == ([(0, 1), (1, 2), (3, 5)], ["B-X", "O", "B-Y"])
    notes = Notes()
    partial = Document(text, [TextSpan(3, 5, "Y"), TextSpan(0, 2, "X")], tokens=[(0, 1)])
    (sentence,) = aligned(partial, WORDS, notes)
    assert (sentence.tokens, sentence.labels) == ([(0, 1)], ["B-X"])
    assert notes.counts == {"between": 1, "widened": 1}


def test_documents_without_reliable_spans_are_left_out() -> None:
    answers = [None, "reject", "ignore", "predicted", "accept"]
    given_documents = [Document("a b", [TextSpan(0, 1, "X")], answer=a, place=str(a)) for a in answers]
    notes = Notes()
    corpus = corpus_of(given_documents, WORDS, "here", notes)
    assert (corpus.n_sentences, corpus.n_tokens) == (1, 2)
    assert notes.counts == dict.fromkeys(("unannotated", "rejected", "ignored", "predicted"), 1)
    unlabelled = corpus_of(given_documents, WORDS._replace(labelled=False), "here", Notes())
    assert (unlabelled.n_sentences, unlabelled.labels) == (5, None)


def test_notes_count_and_name_the_first_places() -> None:
    notes, more = Notes(), Notes()
    for k in range(5):
        notes.add("empty", f"f:{k}")
    more.add("empty", "g:1", 2)
    more.add("joined", "g:2")
    more.take(notes)
    assert more.to_dict() == {
        "empty": {"effect": "lost", "count": 7, "places": ["g:1", "f:0", "f:1"]},
        "joined": {"effect": "kept", "count": 1, "places": ["g:2"]},
    }
    assert (more.total("lost"), more.total("lost", "kept")) == (7, 8)
    assert {row.effect for row in KINDS.values()} == {"lost", "moved", "kept"}


# Back from labels


def labelled(corpus: Corpus, *tags: str) -> Labelling:
    names = sorted(set(tags))
    return Labelling(corpus, np.array([names.index(tag) for tag in tags], np.int32), names)


def test_raw_text_becomes_documents_with_offsets_into_it() -> None:
    data = "Ann 😀 left.\r\n\r\n  Bob, too\n".encode()
    tags = ["B-P", "O", "O", "O", "B-P", "O", "B-Q"]
    made = documents_of(labelled(parse_text(data, "x"), *tags), Notes())
    assert [(d.text, [(s.start, s.end, s.label) for s in d.spans]) for d in made] == [
        ("Ann 😀 left.", [(0, 3, "P")]), ("  Bob, too", [(2, 5, "P"), (7, 10, "Q")]),
    ]  # fmt: skip
    for parse in (parse_text, parse_plain):
        (whole,) = documents_of(labelled(parse(data, "x"), *tags), Notes(), whole=True)
        assert whole.text == data.decode()
        assert [(whole.text[s.start : s.end], s.label) for s in whole.spans] == [
            ("Ann", "P"),
            ("Bob", "P"),
            ("too", "Q"),
        ]


def test_paragraphs_of_running_text_are_documents() -> None:
    corpus = parse_plain(b"One. Two\nis here.\n\n\nThree. Four.", "x")
    made = documents_of(labelled(corpus, *["B-N"] + ["O"] * (corpus.n_tokens - 2) + ["B-N"]), Notes())
    assert [document.text for document in made] == ["One. Two\nis here.", "Three. Four."]
    assert [[d.text[s.start : s.end] for s in d.spans] for d in made] == [["One"], ["."]]


def test_word_classes_are_no_spans() -> None:
    with pytest.raises(UsageError, match="the label 'NN' is none of a span"):
        documents_of(labelled(parse_text(b"a", "x"), "NN"), Notes())
