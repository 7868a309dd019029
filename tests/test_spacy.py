"""The spaCy components: each against a slow version that walks over tokens and asks the estimator sentence by
sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy", reason="needs spacy: pip install '.[test-heavy]'")

from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc, Span, Token  # noqa: E402
from spacy.training import Example  # noqa: E402
from spacy_cases import TEXTS, pipeline, told, train  # noqa: E402

from palmette import Parser, Tagger  # noqa: E402
from palmette.connect.spacy import PalmetteNER, PalmetteParser, PalmetteSpans, PalmetteTagger  # noqa: E402
from palmette.data import (  # noqa: E402
    convert_labels,
    spans,
)
from palmette.datasets import load_demo  # noqa: E402
from palmette.errors import DataError, UsageError  # noqa: E402

pytestmark = pytest.mark.heavy("spacy")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("models"))


@pytest.fixture
def nlp(models: Path) -> Language:
    return pipeline(models)


# Against slow versions


def sentences_of(doc: Doc) -> list[list[Token]]:
    """The words of each sentence, token by token."""
    cut = doc.has_annotation("SENT_START") and len(doc) > 0
    parts = list(doc.sents) if cut else [doc[:]]
    words = [[token for token in part if not token.text.isspace()] for part in parts]
    return [part for part in words if part]


VOCAB = spacy.blank("en").vocab
VOCABULARY = ["The", "a", "function", "list", "takes", "returns", "it", "not", ".", "reads", "Ürün", "é", "🙂", "NOUN"]
SPACES = [" ", "\n", "\n\n", "\t "]
tokens = st.lists(
    st.tuples(st.sampled_from(VOCABULARY + 2 * SPACES), st.booleans(), st.sampled_from([True, False, False])),
    max_size=14,
)
batches = st.lists(st.tuples(tokens, st.booleans()), max_size=4)
slow = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def drawn(vocab: Any, batch: list[Any]) -> list[Doc]:
    """Documents with whitespace tokens anywhere, some of them cut into sentences."""
    docs = []
    for rows, cut in batch:
        starts = [row[2] for row in rows] if cut else None
        words, spaces = [row[0] for row in rows], [row[1] for row in rows]
        docs.append(Doc(vocab, words=words, spaces=spaces, sent_starts=starts))
    return docs


@slow
@given(batch=batches)
def test_tags_and_spans_are_those_of_the_tagger(models: Path, batch: list[Any]) -> None:
    tagger, chunker = (Tagger.load(models / f"{name}.palm") for name in ("pos", "chunk"))
    components = [
        PalmetteTagger("tagger", str(models / "pos.palm")),
        PalmetteSpans("spans", str(models / "chunk.palm"), confidence=True),
        PalmetteNER("ner", str(models / "chunk.palm")),
    ]
    docs = drawn(VOCAB, batch)
    cuts = [sentences_of(doc) for doc in docs]
    stream: Iterator[Doc] = iter(docs)
    for component in components:
        stream = component.pipe(stream, batch_size=3)
    assert list(stream) == docs
    for doc, sentences in zip(docs, cuts, strict=True):
        found, scores = [], []
        for sentence in sentences:
            words = [token.text for token in sentence]
            tags = tagger.predict([words])[0]
            assert [token.tag_ for token in sentence] == tags
            [guess] = chunker.predict_confidence([list(zip(words, tags, strict=True))])
            for span in guess["span_confidence"]:
                found.append((sentence[span["start"]].i, sentence[span["end"] - 1].i + 1, span["type"]))
                scores.append(span["confidence"])
        assert all(token.tag_ == "" for token in doc if token.is_space)
        group = doc.spans["palmette"]
        assert [(span.start, span.end, span.label_) for span in group] == found
        assert group.attrs["scores"].tolist() == pytest.approx(scores, abs=1e-6)
        assert group.attrs["calibrated"] is chunker.calibrated_
        assert [(span.start, span.end, span.label_) for span in doc.ents] == found


@slow
@given(batch=batches)
def test_trees_are_those_of_the_parser(models: Path, batch: list[Any]) -> None:
    parser = Parser.load(models / "tree.palm")
    component = PalmetteParser("parser", str(models / "tree.palm"))
    docs = drawn(VOCAB, batch)
    for doc in docs:
        for token in doc:
            token.tag_ = "NN" if len(token.text) > 3 else "DT"
    cuts = [sentences_of(doc) for doc in docs]
    before = [[sent.start for sent in doc.sents] if doc.has_annotation("SENT_START") else [0] for doc in docs]
    for doc, sentences, starts in zip(component.pipe(docs, batch_size=3), cuts, before, strict=True):
        for sentence in sentences:
            words = [{"form": token.text, "xpos": token.tag_} for token in sentence]
            for token, (head, relation) in zip(sentence, parser.predict([words])[0], strict=True):
                assert token.dep_ == relation
                assert token.head.i == (sentence[head - 1].i if head else token.i)
        if sentences:  # whitespace hangs on a neighbour: no sentence is added
            assert [[t.i for t in part] for part in sentences_of(doc)] == [[t.i for t in part] for part in sentences]
            assert len(list(doc.sents)) == len(sentences)
            if len(sentences) == len(starts):  # each has a word
                assert [sent.start for sent in doc.sents] == starts
        else:
            assert not doc.has_annotation("DEP") or not len(doc)


def test_whitespace_hangs_on_a_word_of_its_sentence(models: Path) -> None:
    component = PalmetteParser("parser", str(models / "tree.palm"))
    words, starts = [" ", "It", "\n", ".", "\n", "So", " ", "\n"], [1, 0, 0, 0, 1, 0, 0, 1]
    doc = component(Doc(VOCAB, words=words, tags=["NN"] * 8, sent_starts=starts))
    heads = {token.i: token.head.i for token in doc if token.is_space}
    assert heads == {0: 1, 2: 1, 4: 5, 6: 5, 7: 5}  # the last one is a sentence without a word
    assert [sent.start for sent in doc.sents] == [0, 4]
    assert {token.dep_ for token in doc if token.is_space} == {"dep"}
    assert doc.has_annotation("DEP", require_complete=True)


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "ioe2", "iobes", "bilou"])
def test_entities_of_any_tag_scheme(scheme: str) -> None:
    X, y = (part[:40] for part in load_demo("train"))
    labels = [convert_labels(sentence, scheme) for sentence in y]
    tagger = Tagger("chunk", passes=3).fit(X, labels)
    nlp = spacy.blank("en")
    component = nlp.add_pipe("palmette_ner")
    component.use(tagger)
    for sentence, guess in zip(X, tagger.predict(X), strict=True):
        doc = component(Doc(nlp.vocab, words=[w for w, _ in sentence], tags=[tag for _, tag in sentence]))
        assert [(ent.label_, ent.start, ent.end) for ent in doc.ents] == spans(guess)


def test_entities_of_bare_labels_and_of_grobid() -> None:
    X, bare = [["12", "Main", "St", "Rome"]], [["Number", "Street", "Street", "City"]]
    grobid = [["I-<Number>", "I-<Street>", "<Street>", "I-<City>"]]
    component = spacy.blank("en").add_pipe("palmette_ner")
    for labels, options in [(bare, {"constraints": "bare"}), (grobid, {})]:
        component.use(Tagger("pos", passes=5, **options).fit(X * 3, labels * 3))
        doc = component(Doc(VOCAB, words=X[0]))
        found = {ent.text: ent.label_ for ent in doc.ents}
        assert found == {"12": "Number", "Main St": "Street", "Rome": "City"}


# What is read


def test_sentences_of_a_hook_and_documents_of_several_vocabularies(models: Path) -> None:
    tagger = Tagger.load(models / "pos.palm")
    docs = [Doc(spacy.blank(name).vocab, words=["The", "list", "returns", "it"]) for name in ("en", "xx")]
    docs[1].user_hooks["sents"] = lambda doc: iter([doc[:2], doc[2:]])
    list(PalmetteTagger("tagger", str(models / "pos.palm")).pipe(docs))
    assert [token.tag_ for token in docs[0]] == tagger.predict([["The", "list", "returns", "it"]])[0]
    first, second = tagger.predict([["The", "list"], ["returns", "it"]])
    assert [token.tag_ for token in docs[1]] == first + second


def test_a_word_without_a_column_is_an_error(models: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("palmette_ner", config={"model": str(models / "chunk.palm")})
    with pytest.raises(DataError, match=r"token 1 \('Time'\) of the document ' Time flies' has no tag_"):
        nlp(" Time flies")
    nlp.remove_pipe("palmette_ner")
    nlp.add_pipe("palmette_parser", config={"model": str(models / "tree.palm")})
    with pytest.raises(DataError, match="has no pos_ or tag_, which the model reads"):
        nlp("Time flies")


def test_columns_by_name_and_by_extension(models: Path) -> None:
    Token.set_extension("own_tag", default=None, force=True)
    nlp = spacy.blank("en")
    config = {"model": str(models / "chunk.palm"), "columns": ["text", "_.own_tag"]}
    component = nlp.add_pipe("palmette_spans", config=config)
    doc = nlp.make_doc("Time flies")
    with pytest.raises(DataError, match=r"token 0 \('Time'\).* has no _\.own_tag"):
        component(doc)
    doc[0]._.own_tag, doc[1]._.own_tag = "NN", 3
    with pytest.raises(DataError, match=r"_\.own_tag is 3, and a column holds strings"):
        component(doc)
    doc[1]._.own_tag = "VBZ"
    expected = spans(Tagger.load(models / "chunk.palm").predict([[("Time", "NN"), ("flies", "VBZ")]])[0])
    assert [(s.label_, s.start, s.end) for s in component(doc).spans["palmette"]] == expected


def test_columns_that_do_not_fit_are_told(models: Path) -> None:
    nlp = spacy.blank("en")
    for columns, message in [(["tag"], "no token attribute 'tag'"), (["_.nowhere"], "no extension 'nowhere'")]:
        with pytest.raises(UsageError, match=message):
            nlp.create_pipe("palmette_ner", config={"model": str(models / "chunk.palm"), "columns": columns})
    nlp.add_pipe("palmette_ner", config={"model": str(models / "chunk.palm"), "columns": ["text"]})
    with pytest.raises(UsageError, match="palmette_ner: its model reads 2 columns, and `columns` has 1"):
        nlp("Time")
    component = nlp.create_pipe("palmette_tagger")
    with pytest.raises(UsageError, match="ready-made attributes"):
        component.use(Tagger(passes=1).fit([[{"w": "a"}, {"w": "b"}]], [["X", "Y"]]))
    templates = "U:%x[0,0]/%x[0,2]\n"
    (models / "three.tpl").write_text(templates)
    wide = Tagger(template=str(models / "three.tpl"), passes=1).fit([[("a", "b", "c"), ("c", "d", "e")]], [["X", "Y"]])
    with pytest.raises(UsageError, match="reads 3 columns; name the token attributes"):
        component.use(wide)


def test_columns_of_a_model_trained_on_conllu(tmp_path: Path) -> None:
    rows = ["1\tTime\ttime\tNOUN\tNN\t_\t2\tnsubj\t_\t_", "2\tflies\tfly\tVERB\tVBZ\t_\t0\troot\t_\t_", ""]
    (tmp_path / "train.conllu").write_text("\n".join(rows) + "\n")
    from palmette.data import FormatSpec

    spec = FormatSpec(columns=("form", "lemma"), label="upos")
    (tmp_path / "two.tpl").write_text("U1:%x[0,0]\nU2:%x[0,1]\n")
    tagger = Tagger(template=str(tmp_path / "two.tpl"), passes=1).fit_file(tmp_path / "train.conllu", spec=spec)
    component = spacy.blank("en").create_pipe("palmette_tagger", config={"set": "pos"})
    component.use(tagger)
    assert component.columns == ("text", "lemma_")


# What is written


def test_where_tags_go(models: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("palmette_tagger", config={"model": str(models / "pos.palm"), "set": "_.fine"})
    doc = nlp("The  list")
    assert [token._.fine for token in doc] == ["DT", None, "NN"]
    assert not doc.has_annotation("TAG")
    morph = nlp.add_pipe("palmette_tagger", name="morph", config={"set": "morph"})
    X, y = [["lists", "of"]], [["Number=Plur|Case=Nom", "_"]]
    morph.use(Tagger("pos", passes=3).fit(X, y))
    assert [str(token.morph) for token in nlp("lists of")] == ["Case=Nom|Number=Plur", ""]
    pos = nlp.create_pipe("palmette_tagger", config={"set": "pos"})
    with pytest.raises(UsageError, match=r"'Number=Plur.Case=Nom', which is not a universal part of speech"):
        pos.use(morph.estimator)
    pos.use(Tagger("pos", passes=3).fit([["lists", "of"]], [["NOUN", "ADP"]]))
    assert [token.pos_ for token in pos(nlp.make_doc("lists of"))] == ["NOUN", "ADP"]
    with pytest.raises(UsageError, match=r"set: 'tags' is none of tag, pos, morph and _.NAME"):
        nlp.create_pipe("palmette_tagger", config={"set": "tags"})


def test_tags_that_are_there_stay_if_asked(models: Path) -> None:
    nlp = spacy.blank("en")
    for overwrite, expected in [(True, ["DT", "NN"]), (False, ["XX", "NN"])]:
        config = {"model": str(models / "pos.palm"), "overwrite": overwrite}
        component = nlp.create_pipe("palmette_tagger", config=config)
        doc = nlp.make_doc("The list")
        doc[0].tag_ = "XX"
        assert [token.tag_ for token in component(doc)] == expected


def entity_component(overwrite: bool, folder: Path) -> tuple[Language, Any]:
    nlp = spacy.blank("en")
    component = nlp.add_pipe("palmette_ner", config={"overwrite": overwrite, "label": "THING"})
    words, labels = ["in", "New", "York", "now", "or", "Rome", "soon"], ["O", "B", "I", "O", "O", "B", "O"]
    (folder / "words.tpl").write_text("U:%x[0,0]\n")  # the word alone decides
    component.use(Tagger(template=str(folder / "words.tpl"), passes=5).fit([words], [labels]))
    return nlp, component


@pytest.mark.parametrize(("overwrite", "first"), [(True, ("New York", "THING")), (False, ("York now", "OLD"))])
def test_entities_that_are_there(overwrite: bool, first: tuple[str, str], tmp_path: Path) -> None:
    nlp, component = entity_component(overwrite, tmp_path)
    doc = nlp.make_doc("in New York now or Rome soon")
    assert component(nlp.make_doc("in New York now or Rome")).ents[0].label_ == "THING"  # labels without types
    doc.ents = [Span(doc, 2, 4, label="OLD"), Span(doc, 6, 7, label="TIME")]
    assert [(ent.text, ent.label_) for ent in component(doc).ents] == [first, ("Rome", "THING"), ("soon", "TIME")]
    assert component.labels == ("THING",)


# In a pipeline


def test_texts_without_words_and_calls_one_by_one(nlp: Language) -> None:
    together = list(nlp.pipe(TEXTS, batch_size=2))
    assert [told(doc) for doc in together] == [told(nlp(text)) for text in TEXTS]
    assert [doc.text for doc in together] == TEXTS
    assert told(together[1]) == [[], [], []]
    assert together[2].spans["chunks"].name == "chunks"


def test_two_processes(nlp: Language) -> None:
    expected = [told(nlp(text)) for text in TEXTS * 3]
    assert [told(doc) for doc in nlp.pipe(TEXTS * 3, n_process=2, batch_size=4)] == expected


def test_disabled_components_do_nothing(nlp: Language) -> None:
    with nlp.select_pipes(enable="palmette_tagger"):
        doc = nlp("The list")
        assert doc.has_annotation("TAG")
        assert not doc.has_annotation("DEP")
        assert "chunks" not in doc.spans
    assert nlp("The list").has_annotation("DEP")


def test_what_a_pipeline_says_about_them(nlp: Language) -> None:
    summary = nlp.analyze_pipes()["summary"]
    assert "token.tag" in summary["palmette_tagger"]["assigns"]
    assert "doc.ents" in summary["palmette_ner"]["assigns"]
    assert summary["palmette_spans"]["assigns"] == ["doc.spans"]
    assert {"token.dep", "token.head"} <= set(summary["palmette_parser"]["assigns"])
    labels = nlp.pipe_labels
    assert "NN" in labels["palmette_tagger"]
    assert "NP" in labels["palmette_ner"]
    assert "nsubj" in labels["palmette_parser"]


def test_labels_outlive_a_memory_zone(nlp: Language) -> None:
    if not hasattr(nlp, "memory_zone"):
        pytest.skip("this spaCy has no memory zones")
    fresh = spacy.blank("en")
    component = fresh.add_pipe("palmette_tagger")
    component.use(Tagger("pos", passes=2).fit([["q"]], [["A-rare-tag"]]))
    for _ in range(2):
        with fresh.memory_zone():
            assert [token.tag_ for token in fresh("q")] == ["A-rare-tag"]
    assert [token.tag_ for token in fresh("q")] == ["A-rare-tag"]


def test_scores_of_spacy(nlp: Language) -> None:
    """A document compared with itself is right everywhere."""
    example = Example(nlp.make_doc(TEXTS[0]), nlp(TEXTS[0]))
    scores = nlp.evaluate([example])
    names = ("tag_acc", "ents_f", "dep_uas", "dep_las", "spans_chunks_f")
    assert {name: scores[name] for name in names} == dict.fromkeys(names, 1.0)


def test_a_document_that_fails_is_left_out_alone(models: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("palmette_ner", config={"model": str(models / "chunk.palm")})
    tagged = [Doc(nlp.vocab, words=["The", "list"], tags=["DT", "NN"]) for _ in range(4)]
    tagged[1][1].tag_ = ""
    with pytest.raises(DataError, match="has no tag_"):
        list(nlp.pipe(tagged))
    failed: list[Doc] = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.extend(docs))
    assert list(nlp.pipe(tagged)) == [tagged[0], *tagged[2:]]
    assert failed == [tagged[1]]
