"""Training data from spaCy documents: sentences with labels, offsets of entities, trees."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy", reason="needs spacy: pip install '.[test-heavy]'")

from spacy.tokens import Doc, DocBin, Span  # noqa: E402

from palmette import Parser, Tagger  # noqa: E402
from palmette.connect.spacy import docs_from_offsets, sentences, trees  # noqa: E402
from palmette.data import spans  # noqa: E402
from palmette.datasets import load_trees  # noqa: E402
from palmette.errors import DataError, UsageError  # noqa: E402

pytestmark = pytest.mark.heavy("spacy")

NLP = spacy.blank("en")
few = settings(max_examples=40, deadline=None)


def doc_of(words: list[str], **annotation: Any) -> Doc:
    return Doc(NLP.vocab, words=words, **annotation)


def test_labels_are_attributes_of_words() -> None:
    tags = ["PRP", "_SP", "VBZ", ".", "_SP", "RB"]
    first = doc_of(["It", " ", "is", ".", "\n", "So"], tags=tags, sent_starts=[1, 0, 0, 0, 1, 0])
    docs = [first, doc_of([" "]), doc_of([]), doc_of(["NOUN"], tags=["NN"])]
    X, y = sentences(docs, "tag_")
    assert (X, y) == ([["It", "is", "."], ["So"], ["NOUN"]], [["PRP", "VBZ", "."], ["RB"], ["NN"]])
    X, y = sentences(docs, "shape_", columns=("text", "tag_"))
    assert X[0] == [("It", "PRP"), ("is", "VBZ"), (".", ".")]
    assert y[0] == ["Xx", "xx", "."]
    with pytest.raises(DataError, match=r"token 0 \('It'\) .* has no pos_"):
        sentences(docs, "pos_")
    with pytest.raises(UsageError, match="no token attribute 'tags'"):
        sentences(docs, "tags")


words = st.lists(st.sampled_from(["a", "Ö", "👩‍🔬", " ", "\n"]), min_size=1, max_size=10)


@st.composite
def annotated(draw: st.DrawFn) -> Doc:
    """A document with entities that begin and end with a word, and may have whitespace inside."""
    doc = doc_of(draw(words))
    places = [token.i for token in doc if not token.is_space]
    ents, at = [], 0
    while at < len(places):
        size, label = draw(st.integers(1, 3)), draw(st.sampled_from(["", "PER", "B-x"]))
        last = min(at + size, len(places)) - 1
        if label:
            ents.append(Span(doc, places[at], places[last] + 1, label=label))
        at = last + 1
    doc.ents = ents
    return doc


@few
@given(st.lists(annotated(), max_size=4), st.sampled_from(["iob1", "IOB2", "ioe1", "ioe2", "iobes", "bilou"]))
def test_entities_come_back_from_labels(docs: list[Doc], scheme: str) -> None:
    X, y = sentences(docs, scheme=scheme)
    with_words = [doc for doc in docs if any(not token.is_space for token in doc)]
    assert len(X) == len(y) == len(with_words)
    for doc, tokens, labels in zip(with_words, X, y, strict=True):
        places = [token.i for token in doc if not token.is_space]
        assert tokens == [doc[i].text for i in places]
        found = [(kind, places[start], places[end - 1] + 1) for kind, start, end in spans(labels)]
        assert found == [(ent.label_, ent.start, ent.end) for ent in doc.ents]


def test_what_labels_cannot_tell_is_reported(logged: list[str]) -> None:
    across = doc_of(["in", "New", "York", "now"], sent_starts=[1, 0, 1, 0])
    across.ents = [Span(across, 1, 3, label="GPE")]
    assert sentences([across])[1] == [["O", None], [None, "O"]]
    assert logged == ["1 span: in two sentences, its labels are unknown: 'New York' (GPE)"]
    logged.clear()
    blank = doc_of(["a", " ", "b"])
    blank.spans["x"] = [Span(blank, 1, 2, label="L"), Span(blank, 0, 1, label="L"), Span(blank, 0, 3, label="M")]
    assert sentences([blank], "spans.x")[1] == [["B-M", "I-M"]]
    assert logged == ["2 spans: overlaps with a longer one, left out: ' ' (L), 'a' (L)"]
    logged.clear()
    blank.spans["x"] = [Span(blank, 1, 2, label="L")]
    assert sentences([blank], "spans.x")[1] == [["O", "O"]]
    assert logged == ["1 span: no word in it, left out: ' ' (L)"]
    with pytest.raises(DataError, match=r"no group 'y' in the document 'a   b.*; it has x"):
        sentences([blank], "spans.y")
    with pytest.raises(DataError, match=r"no entities are annotated.*\n.*doc.ents = \[\]"):
        sentences([doc_of(["a", "b"])])


def test_a_file_of_documents(tmp_path: Path) -> None:
    doc = doc_of(["Ann", "\n", "sleeps"])
    doc.ents = [Span(doc, 0, 1, label="PER")]
    made = DocBin(docs=[doc])
    made.to_disk(tmp_path / "train.spacy")
    expected = ([["Ann", "sleeps"]], [["B-PER", "O"]])
    assert sentences(str(tmp_path / "train.spacy")) == sentences(tmp_path / "train.spacy") == expected
    assert sentences(made, vocab=NLP.vocab) == expected
    (tmp_path / "bad.spacy").write_bytes(b"something else")
    for name in ("bad.spacy", "nowhere.spacy"):
        with pytest.raises(DataError, match=f"{name}: cannot be read as a DocBin"):
            sentences(tmp_path / name)


def test_offsets_that_do_not_fit_tokens_are_reported(logged: list[str]) -> None:

    assert [token.text for token in NLP.make_doc("xAnny New York")] == ["xAnny", "New", "York"]
    data = [("xAnny New York", [(1, 4, "PER"), (6, 14, "GPE"), (10, 14, "X")]), ("Rome", {"entities": [(0, 4, "GPE")]})]
    docs, misaligned = docs_from_offsets(NLP, data)
    assert [(ent.text, ent.label_) for doc in docs for ent in doc.ents] == [("New York", "GPE"), ("Rome", "GPE")]
    assert [tuple(one) for one in misaligned] == [
        (0, 1, 4, "PER", "Ann", "its edges are inside of 'xAnny', left out"),
        (0, 10, 14, "X", "York", "overlaps with 'New York', left out"),
    ]
    assert len(logged) == 1
    assert "2 entities not as annotated" in logged[0]
    assert sentences(docs)[1] == [[None, "B-GPE", "I-GPE"], ["B-GPE"]]  # nobody knows about xAnny
    docs, misaligned = docs_from_offsets(NLP, data[:1], alignment_mode="expand")
    assert [(ent.text, ent.label_) for ent in docs[0].ents] == [("xAnny", "PER"), ("New York", "GPE")]
    assert misaligned[0].reason == "moved to 'xAnny'"
    docs, misaligned = docs_from_offsets(NLP, [("Rome", [(0, 9, "GPE"), (2, 2, "GPE")])])
    assert [one.reason for one in misaligned] == [
        f"characters {a} to {b} are not in the text, which has 4" for a, b in ((0, 9), (2, 2))
    ]
    with pytest.raises(UsageError, match="alignment_mode: 'near' is none of"):
        docs_from_offsets(NLP, [], alignment_mode="near")


@few
@given(st.text(alphabet="aÖ👩‍🔬é .\n", max_size=12), st.data())
def test_no_offset_is_lost(text: str, data: st.DataObject) -> None:
    """An entity is in the document exactly as annotated, or it is reported."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    given = [(a, b, "E") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    [doc], misaligned = docs_from_offsets(NLP, [(text, given)])
    told = {(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents}
    reported = {(one.start, one.end, one.label) for one in misaligned}
    assert told.isdisjoint(reported)
    assert told | reported == set(given)


def test_labels_train_a_tagger_where_some_are_unknown() -> None:
    docs, _ = docs_from_offsets(NLP, [("xAnn sleeps in Rome", [(1, 4, "PER"), (15, 19, "GPE")])] * 3)
    tagger = Tagger("ner", passes=5).fit(*sentences(docs))
    assert tagger.predict([["xAnn", "sleeps", "in", "Rome"]])[0][1:] == ["O", "O", "B-GPE"]


def test_trees_come_back() -> None:
    """A treebank as documents, with whitespace between words, is the treebank again."""
    treebank = load_trees("test")
    expected, docs = [], []
    cuts = treebank.offset.tolist()
    columns = {field: treebank.column(field).cells() for field in ("form", "lemma", "upos", "xpos", "feats")}
    relations, heads = treebank.relations.cells(), treebank.heads.tolist()
    for a, b in pairwise(cuts):
        own = {field: cells[a:b] for field, cells in columns.items()}
        # A newline before each word but the first, which hangs on the word before it
        tokens = [text for form in own["form"] for text in ("\n", form)][1:]
        place = [2 * (head - 1) if head else 2 * i for i, head in enumerate(heads[a:b])]
        arcs = [(2 * (i // 2) if i % 2 else place[i // 2]) for i in range(len(tokens))]
        rows = {
            name: [own[field][i // 2] if i % 2 == 0 else "" for i in range(len(tokens))]
            for name, field in (("lemmas", "lemma"), ("pos", "upos"), ("tags", "xpos"), ("morphs", "feats"))
        }  # fmt: skip
        deps = [relations[a + i // 2] if i % 2 == 0 else "dep" for i in range(len(tokens))]
        docs.append(doc_of(tokens, heads=arcs, deps=deps, **rows))
        expected.append(list(zip(heads[a:b], relations[a:b], strict=True)))
    found, arcs_found = trees(docs)
    assert arcs_found == expected
    assert [word["form"] for sentence in found for word in sentence] == columns["form"]
    assert [word["upos"] for sentence in found for word in sentence] == columns["upos"]
    Parser(passes=1).fit(found, arcs_found)
    with pytest.raises(DataError, match="no tree is annotated in the document 'a b"):
        trees([doc_of(["a", "b"])])
