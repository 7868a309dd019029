"""Documents: views of the arrays of a text and its annotations, and what is written of them."""

from __future__ import annotations

import json

import pytest

from palmette.data import parse_treebank
from palmette.pipeline import gold_split
from palmette.pipeline.document import BATCH, CHARACTERS, ParsedDocument, batches
from palmette.pipeline.output import column_lines, features, plain_sentences

GOLD = """\
# newpar
# sent_id = 1
# text = Vámonos al mar, _ .
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	ir	VERB	V	Mood=Imp|Number=Plur	0	root	_	_
2	nos	nosotros	PRON	P	Case=Acc	1	obj	_	_
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	_	_	5	case	_	_
4	el	el	DET	_	_	5	det	_	_
5	mar	mar	NOUN	N	_	1	obl	_	SpaceAfter=No
6	,	,	PUNCT	_	_	1	punct	_	_
7	_	_	SYM	_	_	1	dep	_	_
8	.	.	PUNCT	_	_	1	punct	_	_

# sent_id = 2
# text = ¡Ya!
1	¡	¡	PUNCT	_	_	2	punct	_	SpaceAfter=No
2	Ya	ya	ADV	_	_	0	root	_	SpaceAfter=No
3	!	!	PUNCT	_	_	2	punct	_	SpacesAfter=\\n

"""


@pytest.fixture
def doc() -> ParsedDocument:
    bank = parse_treebank(GOLD.encode(), "gold")
    return ParsedDocument(gold_split(bank), bank)


def test_words_tokens_and_sentences(doc: ParsedDocument) -> None:
    first, second = doc.sentences
    assert (first.text, second.text) == ("Vámonos al mar, _ .", "¡Ya!")
    assert (first.start, first.end, second.start, second.end) == (0, 19, 20, 24)
    assert doc.text[first.start : first.end] == first.text
    assert [token.text for token in first.tokens] == ["Vámonos", "al", "mar", ",", "_", "."]
    assert [token.is_multiword for token in first.tokens] == [True, True, False, False, False, False]
    assert [word.form for word in first.tokens[0].words] == ["Vamos", "nos"]
    assert [word.form for word in second] == ["¡", "Ya", "!"]
    assert first.paragraph
    assert not second.paragraph
    assert len(doc) == 2
    assert len(doc.words) == 11
    assert len(doc.tokens) == 9


def test_what_a_word_is(doc: ParsedDocument) -> None:
    verb, pronoun, adposition = doc.sentences[0].words[:3]
    assert (verb.id, verb.form, verb.lemma, verb.upos, verb.xpos) == (1, "Vamos", "ir", "VERB", "V")
    assert verb.feats == {"Mood": "Imp", "Number": "Plur"}
    assert verb.feats_text == "Mood=Imp|Number=Plur"
    assert adposition.feats == {}
    assert (verb.head, verb.deprel, verb.head_word) == (0, "root", None)
    assert (pronoun.head, pronoun.deprel) == (1, "obj")
    assert pronoun.head_word is verb
    assert doc.sentences[0].root is verb
    assert (pronoun.start, pronoun.end) == (verb.start, verb.end) == (0, 7)
    assert pronoun.token is doc.sentences[0].tokens[0]
    assert [word.space_after for word in doc.sentences[0]] == [False, True, False, True, False, True, True, True]
    assert [word.space_after for word in doc.sentences[1]] == [False, False, True]


def test_without_a_tree_there_is_no_head() -> None:
    bank = parse_treebank(GOLD.encode(), "gold", labelled=False)
    doc = ParsedDocument(gold_split(bank), bank)
    assert doc.sentences[0].words[0].head is None
    assert doc.sentences[0].root is None
    assert "head" not in doc.to_dict()["sentences"][0]["words"][0]


def test_conllu_gives_the_same_words_and_text_again(doc: ParsedDocument) -> None:
    again = parse_treebank(doc.to_conllu().encode(), "again")
    split = gold_split(again)
    assert split.text == doc.text
    assert ParsedDocument(split, again).to_dict() == doc.to_dict()


def test_plain_data(doc: ParsedDocument) -> None:
    found = json.loads(json.dumps(doc.to_dict()))
    assert found["text"] == doc.text
    first = found["sentences"][0]
    assert first == doc.sentences[0].to_dict()
    assert first["words"][0] == {
        "id": 1, "form": "Vamos", "lemma": "ir", "upos": "VERB", "xpos": "V",
        "feats": {"Mood": "Imp", "Number": "Plur"}, "head": 0, "deprel": "root", "start": 0, "end": 7,
        "space_after": False,
    }  # fmt: skip
    assert first["words"][6] == {
        "id": 7, "form": "_", "lemma": "_", "upos": "SYM", "head": 1, "deprel": "dep", "start": 16, "end": 17,
    }  # fmt: skip
    assert first["multiword"] == [{"text": "Vámonos", "words": [1, 2]}, {"text": "al", "words": [3, 4]}]
    assert "multiword" not in found["sentences"][1]
    moved = next(plain_sentences(doc.split, doc.treebank, 1, shift=1000))
    assert (moved["start"], moved["words"][1]["start"]) == (1020, 1021)
    assert features("A=x=y|B=z") == {"A": "x=y", "B": "z"}


def test_columns(doc: ParsedDocument) -> None:
    lines = list(column_lines(doc.treebank))
    assert lines[1] == "nos\tnosotros\tPRON\tP\tCase=Acc\t1\tobj"
    assert [k for k, line in enumerate(lines) if not line] == [8, 12]


def test_batches_are_bounded() -> None:
    sizes = [len(batch) for batch in batches("x" for _ in range(BATCH + 3))]
    assert sizes == [BATCH, 3]
    long = "y" * CHARACTERS
    assert [len(batch) for batch in batches([long, long, "a", "b"])] == [1, 1, 2]
    assert list(batches([])) == []


@pytest.mark.heavy("spacy")
def test_spacy_has_the_text_and_the_tree(doc: ParsedDocument) -> None:
    import spacy

    from palmette.connect.spacy import spacy_doc

    found = spacy_doc(doc, spacy.blank("es").vocab)
    assert found.text == doc.text
    assert [(token.text, token.pos_, token.lemma_, token.dep_, token.head.text) for token in found][:3] == [
        ("Vámonos", "VERB", "ir", "root", "Vámonos"), ("al", "ADP", "a", "case", "mar"),
        ("mar", "NOUN", "mar", "obl", "Vámonos"),
    ]  # fmt: skip
    assert [sent.text.strip() for sent in found.sents] == [sentence.text for sentence in doc.sentences]
    assert found[0].morph.to_dict() == {"Mood": "Imp", "Number": "Plur"}
    assert found[0].tag_ == "V"
    bank = parse_treebank(GOLD.encode(), "gold", labelled=False)
    plain = spacy_doc(ParsedDocument(gold_split(bank), bank), spacy.blank("es").vocab)
    assert [sent.text.strip() for sent in plain.sents] == [sentence.text for sentence in doc.sentences]
    assert plain.text == doc.text
