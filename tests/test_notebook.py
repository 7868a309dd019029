"""What notebooks show: HTML and SVG that are well formed, hold every word as it is, and bring nothing with them."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette
from palmette import HMM, Beam, Classifier, LanguageModel, Latent, LinearClassifier, Mira, Parser, Tagger
from palmette.classification.scores import binary_scores
from palmette.cli import main
from palmette.data import Candidate, ParsedSentence, TaggedSentence
from palmette.data.analysed import SentenceLabels, SentenceTree
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.evaluation import (
    CheckResult,
    CompareOptions,
    FileCheck,
    Finding,
    SystemOutputs,
    compare,
    label_rivals,
    score,
    score_trees,
    tree_rivals,
)
from palmette.evaluation.findings import Overlap
from palmette.evaluation.rivals import class_rivals
from palmette.lazy import loaded
from palmette.reports import text_of
from palmette.reports.html import HtmlConsole, html
from palmette.reports.inspection import inspect_tagger
from palmette.reports.notebook import explanation_html, record_html
from palmette.structures import Explanation
from palmette.structures.chain.explain import Contribution

SOURCE = Path(palmette.__file__).parent
ELEMENTS = {"div", "span", "table", "tr", "th", "td", "details", "summary", "mark", "b", "code", "pre", "br"}
EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "[bold]&amp;[/bold]", "'{x}:smile:", "a\\[b]")
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    """The tree of an output, if it has only elements and attributes that it may have."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= {"style"}
        for rule in element.get("style", "").split(";"):
            assert "url" not in rule
            assert "expression" not in rule
            # Text has the colour of the notebook, or one that can be read on white and on black.
            if rule.startswith("color:"):
                assert rule in ("color:inherit", "color:#2da44e", "color:#e5534b", "color:#1b9aaa")
            if rule.startswith("background:"):
                assert rule == "background:none" or "rgba(" in rule
    return root


def words_of(text: str) -> str:
    return "".join(parsed(text).itertext())


# Sentences


def test_spans_are_marks_and_the_other_words_stand_between_them() -> None:
    sentence = TaggedSentence.of(
        ["Rolls", "Royce", "of", "England", "said", "so"], ["B-ORG", "I-ORG", "O", "B-LOC", "O", "O"]
    )
    root = parsed(sentence._repr_html_())
    marks = [" ".join("".join(mark.itertext()).split()) for mark in root.iter("mark")]
    assert marks == ["Rolls Royce ORG", "England LOC"]
    assert "".join(root.itertext()).split() == ["Rolls", "Royce", "ORG", "of", "England", "LOC", "said", "so"]
    grounds = [re.search(r"rgba\([^)]*\)", mark.get("style", "")) for mark in root.iter("mark")]
    assert len({found.group() for found in grounds if found}) == 2


def test_a_type_has_one_colour_in_all_sentences_of_a_model() -> None:
    labels = ["B-A", "I-A", "B-B", "I-B", "O"]
    alone = TaggedSentence(["x"], [SentenceLabels(["B-B"])], labels=labels)
    both = TaggedSentence(["x", "y"], [SentenceLabels(["B-A", "B-B"])], labels=labels)
    styles = [[mark.get("style") for mark in parsed(one._repr_html_()).iter("mark")] for one in (alone, both)]
    assert styles[0][0] == styles[1][1] != styles[1][0]
    assert both.as_dict()["types"] == ["A", "B"]


def test_labels_without_spans_stand_below_their_words() -> None:
    root = parsed(TaggedSentence.of(["Time", "flies"], ["NN", "VBZ"])._repr_html_())
    assert not list(root.iter("mark"))
    columns = [element for element in root.iter("span") if element.find("br") is not None]
    assert [list(column.itertext()) for column in columns] == [["Time", "NN"], ["flies", "VBZ"]]


def test_readings_stand_below_each_other_with_their_figures() -> None:
    first, second = SentenceLabels(["B-A", "O"], 3.5, 0.75), SentenceLabels(["O", "O"], 1.25, 0.125)
    sentence = TaggedSentence(["x", "y"], [first, second], SentenceLabels(["B-A", "B-A"]))
    rows = [["".join(cell.itertext()).split() for cell in row] for row in parsed(sentence._repr_html_()).iter("tr")]
    assert rows == [[["0.7500"], ["x", "A", "y"]], [["0.1250"], ["x", "y"]], [["gold"], ["x", "A", "y", "A"]]]
    under = [e.text for e in parsed(sentence._repr_html_()).iter("span") if "underline" in e.get("style", "")]
    assert under == ["x", "y"]  # of the second reading, and of gold
    assert str(sentence).split("\n") == ["   0.7500  0.1250  gold", "x  B-A     O       B-A", "y  O       O       B-A"]


def test_what_a_sentence_must_have() -> None:
    with pytest.raises(DataError, match="tags: 1 for 2 tokens"):
        TaggedSentence.of(["a", "b"], ["O"])
    with pytest.raises(DataError, match="at least one reading"):
        TaggedSentence(["a"], [])
    with pytest.raises(DataError, match="relations: 1 for 2 tokens"):
        ParsedSentence(["a", "b"], [SentenceTree([0, 1], ["root"])])
    with pytest.raises(DataError, match="the head 3 is not a word of 2 words"):
        ParsedSentence.of(["a", "b"], [(0, "root"), (3, "obj")])
    assert TaggedSentence.of([], [])._repr_html_()


ANY = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=5))
def test_any_text_is_shown_as_it_is(pairs: list[tuple[str, str]]) -> None:
    words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
    sentence = TaggedSentence.of(words, tags)
    record = json.loads(json.dumps(sentence.as_dict()))
    assert record_html(record) == sentence._repr_html_()  # a picture is drawn from plain data
    shown = words_of(record_html(record))
    for word in words:
        assert (ElementTree.fromstring(f"<x>{text_of(word)}</x>").text or "") in shown
    tree = ParsedSentence.of(words, [(0, tag) for tag in tags])
    assert len(list(ElementTree.fromstring(tree._repr_svg_()).iter(f"{SVG}path"))) == 2 * len(words)


def test_what_no_document_can_hold_is_replaced() -> None:
    assert text_of("a\x00b\x1b[31m\ud800<") == "a\ufffdb\ufffd[31m\ufffd&lt;"


def test_a_tree_as_picture_and_as_text() -> None:
    arcs = [(2, "nsubj"), (0, "root"), (2, "obj")]
    sentence = ParsedSentence.of(["We", "saw", EVIL[0]], arcs)
    root = ElementTree.fromstring(sentence._repr_svg_())
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"We", "saw", EVIL[0], "nsubj", "root", "obj"} <= set(texts)
    assert "nsubj 2" in str(sentence)
    assert ParsedSentence(words=["a"], trees=[SentenceTree([0], ["root"])]).as_dict()["trees"][0]["heads"] == [0]


@pytest.mark.parametrize(("name", "place"), [("tree", "parsing.drawing"), ("trellis", "reports.trellis")])
def test_the_style_of_a_picture_is_its_own(name: str, place: str) -> None:
    module = importlib.import_module(f"palmette.{place}")
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"@media[^{]*\{", "", module._STYLE))
    assert len(rules) > 8
    for selectors in rules:
        assert all(one.strip(" }\n").partition(" ")[0] == f".palmette-{name}" for one in selectors.split(","))
    assert "url" not in module._STYLE
    assert "@import" not in module._STYLE


# Models

DEMO = [(one[0][:60], one[1][:60]) for one in (load_demo("train"), load_demo("dev"))]
TIME = [("Time", "NN"), ("flies", "VBZ"), ("like", "IN"), ("an", "DT"), ("arrow", "NN")]


@pytest.fixture(scope="module")
def chunker() -> Tagger:
    return Tagger("chunk", learner="crf", search="viterbi").fit(*DEMO[0], dev=DEMO[1])


def test_a_tagger_before_and_after_training(chunker: Tagger) -> None:
    before = words_of(Tagger("chunk", learner=Mira(nbest=5))._repr_html_())
    assert "not trained yet" in before
    assert "Mira(nbest=5)" in before
    text = words_of(chunker._repr_html_())
    best = chunker.outcome_.kept
    assert best is not None
    assert best.dev is not None
    assert f"development score {100 * best.dev:.2f}" in text
    for label in chunker.labels_:
        assert label in text
    assert "crf" in text
    assert "strongest weights" in text
    assert "training log" in text
    folded = [next(element.itertext()) for element in parsed(chunker._repr_html_()).iter("details")]
    assert folded[:3] == ["strongest weights", "strongest transitions", "training log"]


def test_show_is_what_predict_nbest_and_confidence_say(chunker: Tagger) -> None:
    shown = chunker.show(TIME, nbest=3)
    assert shown.tokens == [word for word, _ in TIME]
    assert [Candidate(one.tags, one.score, one.probability) for one in shown.readings] == chunker.nbest([TIME], 3)[0]
    assert chunker.show(TIME).readings[0].tags == chunker.predict([TIME])[0]
    (sure,) = chunker.predict_confidence([TIME])
    (one,) = chunker.show(TIME, confidence=True).as_dict()["readings"]
    assert one["confidence"] == pytest.approx(sure["token_confidence"])
    told = [{k: span[k] for k in ("type", "start", "end")} for span in one["spans"]]
    assert told == [{k: span[k] for k in ("type", "start", "end")} for span in sure["span_confidence"]]
    figures = [span["confidence"] for span in one["spans"]]
    assert figures == pytest.approx([span["confidence"] for span in sure["span_confidence"]])
    plain = Tagger("chunk", passes=1).fit([TIME], [chunker.predict([TIME])[0]])
    for tagger, confidence in ((plain, True), (plain, False), (chunker, True)):
        drawn = tagger.show(TIME, confidence=confidence)._repr_html_()
        assert ("not calibrated" in drawn) == (tagger is plain and confidence)
    gold = chunker.show(TIME, gold=["O"] * 4 + ["B-NEW"]).as_dict()["gold"]
    assert gold["spans"] == [{"type": "NEW", "start": 4, "end": 5, "confidence": None}]


def test_show_of_dicts_numbers_and_nothing() -> None:
    tagger = Tagger(passes=2).fit([[{"w": "a"}, {"w": "b"}]], [[0, 1]], labels=["X", "Y"])
    sentence = [{"w": "a"}, {"w": "b"}]
    assert tagger.predict([sentence]) == [[0, 1]]
    assert tagger.show(sentence).tokens == ["a", "b"]  # the feature that looks like a word
    shown = tagger.show(sentence, words=["first", "second"], gold=[1, 1])
    assert (shown.tokens, shown.readings[0].tags, shown.gold and shown.gold.tags) == (
        ["first", "second"], ["X", "Y"], ["Y", "Y"],
    )  # fmt: skip
    with pytest.raises(DataError, match="nothing to show"):
        tagger.show([])


@pytest.mark.parametrize("params", [{"states": Latent(2)}, {"search": Beam(4)}, {"order": 2}])
def test_taggers_of_all_kinds_are_shown(params: dict[str, Any]) -> None:
    tagger = Tagger("chunk", passes=2, **params).fit(*DEMO[0])
    assert "Tagger" in words_of(tagger._repr_html_())
    assert parsed(tagger.show(TIME, nbest=2)._repr_html_()) is not None
    assert ElementTree.fromstring(tagger.trellis(TIME)._repr_svg_()).get("class") == "palmette-trellis"
    assert "best path" in str(tagger.trellis(TIME)) or "[0]" in str(tagger.trellis(TIME))
    assert parsed(tagger.explain(TIME)._repr_html_()) is not None


def test_a_compact_tagger_is_shown() -> None:
    tagger = Tagger("chunk", passes=2).fit(*DEMO[0])
    tagger.compact()
    assert "weights that are not zero" in words_of(tagger._repr_html_())


def test_hostile_names_are_shown_as_text() -> None:
    words = [list(EVIL)] * 4
    tags = [[f"B-{name}" for name in EVIL]] * 4
    tagger = Tagger("ner", learner="crf").fit(words, tags, dev=(words, tags))
    shown = [
        tagger, tagger.show(words[0], nbest=2), tagger.evaluate(words, tags), tagger.explain(words[0]),
        HMM().fit(words, tags), LanguageModel().fit([[w.replace(" ", "") for w in words[0]]] * 3),
        LinearClassifier().fit([{name: 1.0} for name in EVIL], list(EVIL)),
        Classifier(passes=2).fit([[(w, w) for w in EVIL], [("b", "b")]] * 3, [EVIL[0], EVIL[1]] * 3, positive=EVIL[0]),
    ]  # fmt: skip
    for one in shown:
        text = words_of(one._repr_html_())
        assert isinstance(one, LanguageModel) or sum(name in text for name in EVIL) >= 2, type(one)
    ElementTree.fromstring(tagger.trellis(words[0])._repr_svg_())


def test_the_other_estimators() -> None:
    sentences = [[("We", "PRON"), ("go", "VERB")]] * 3
    parser = Parser(passes=2).fit(sentences, [[(2, "nsubj"), (0, "root")]] * 3)
    assert "2: " in words_of(parser._repr_html_())
    assert "nsubj" in words_of(parser._repr_html_())
    shown = parser.show(sentences[0], gold=[(0, "root"), (1, "obj")])
    assert [list(zip(t.heads, t.relations, strict=True)) for t in shown.trees] == parser.predict(sentences[:1])
    assert shown.tags == ["PRON", "VERB"]
    assert shown.gold == SentenceTree([0, 1], ["root", "obj"])
    several = parser.show(sentences[0], nbest=2)
    assert [list(zip(t.heads, t.relations, strict=True)) for t in several.trees] == [
        one.output for one in parser.nbest(sentences[:1], 2)[0]
    ]
    assert parser.show(["We", "go"]).tags is None
    with pytest.raises(UsageError, match="there is no field 'pos'"):
        parser.show(sentences[0], tags="pos")
    with pytest.raises(DataError, match="this is a string"):
        parser.show("We go")
    for made in (Parser(), HMM(), LanguageModel(), LinearClassifier(), Classifier()):
        assert "not trained yet" in words_of(made._repr_html_())
    model = LanguageModel(2).fit(["a b c", "a b"])
    text = words_of(model._repr_html_())
    assert f"{len(model.vocabulary_)}" in text
    assert ", ".join(f"{n} of {k}" for k, n in enumerate(model.sizes_, 1)) in text
    assert "perplexity" in words_of(model.evaluate(["a b"])._repr_html_())


def test_a_model_is_one_line_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("U0:%x[0,0]\nB\n")
    tagger = Tagger(template=tmp_path / "t.txt", passes=1).fit(*DEMO[0])
    tagger.save(tmp_path / "m.palm")
    assert repr(Tagger.load(tmp_path / "m.palm")).endswith(f"template=<2 templates of {tmp_path / 't.txt'}>)")
    assert repr(Tagger("chunk", learner=Mira(nbest=5))) == "Tagger('chunk', learner=Mira(nbest=5))"


def test_records_of_models_are_plain_data(chunker: Tagger) -> None:
    found = inspect_tagger(chunker, 8)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    found = chunker.explain(TIME)
    assert explanation_html(json.loads(json.dumps(found.to_dict()))) == found._repr_html_()


# Scores


def outputs() -> SystemOutputs:
    gold = np.array([0, 1, 2, 0], np.int32)
    guesses = [np.array([0, 1, 2, 0], np.int32), np.array([0, 2, 2, 1], np.int32)]
    labels = ["O", f"B-{EVIL[0]}", f"B-{EVIL[1]}"]
    return SystemOutputs([EVIL[2], EVIL[3]], gold, guesses, np.array([0, 2, 4]), labels, list(EVIL[:4]))


def test_scores_by_type_and_by_label(chunker: Tagger) -> None:
    X, y = load_demo("test")
    scores = chunker.evaluate(X, y)
    assert scores.f1 == pytest.approx(chunker.score(X, y), abs=1e-12)
    assert repr(scores) == (
        f"LabelScores(tokens={scores.tokens}, sentences={scores.sentences}, accuracy={scores.accuracy:.4f}, "
        f"precision={scores.precision:.4f}, recall={scores.recall:.4f}, f1={scores.f1:.4f})"
    )
    rows = [["".join(cell.itertext()) for cell in row] for row in parsed(scores._repr_html_()).iter("tr")]
    for name, figures in scores.by_type.items():
        cells = [name, *(f"{100 * value:.2f}" for value in (figures.precision, figures.recall, figures.f1))]
        assert [*cells, str(figures.gold), str(figures.guessed), str(figures.correct)] in rows


def test_comparisons_of_hostile_names() -> None:
    found = compare(label_rivals(outputs()), CompareOptions(rounds=50))
    text = words_of(found._repr_html_())
    assert EVIL[2] in text
    assert EVIL[3] in text
    assert EVIL[0] in text
    rivals = class_rivals([EVIL[0], "b"], {EVIL[1]: [EVIL[0], "b"], EVIL[2]: ["b", "b"]})
    classes = compare(rivals, CompareOptions(rounds=50))
    assert EVIL[1] in words_of(classes._repr_html_())
    gold, guess, offset, labels = np.array([0, 1]), np.array([0, 0]), np.array([0, 2]), [EVIL[0], EVIL[1]]
    scores = score(gold.astype(np.int32), guess.astype(np.int32), offset, labels)
    assert EVIL[0] in words_of(scores._repr_html_())
    assert "confusions" in words_of(scores._repr_html_())


def test_scores_of_trees_and_classes() -> None:
    from palmette.data import treebank_from_sentences

    words = [{"form": "a", "head": 0, "deprel": "root"}, {"form": "b", "head": 1, "deprel": EVIL[0]}]
    bank = treebank_from_sentences([words])
    found = score_trees(bank, bank)
    assert repr(found) == "AttachmentScores(words=2, sentences=1, uas=1.0000, las=1.0000, clas=1.0000)"
    assert EVIL[0].partition(":")[0] in words_of(found._repr_html_())
    trees = compare(tree_rivals(bank, {EVIL[1]: bank, EVIL[2]: bank}), CompareOptions(rounds=20))
    assert EVIL[1] in words_of(trees._repr_html_())
    binary = binary_scores(np.array([True, False, True]), np.array([1.0, 1.0, -1.0]))
    text = words_of(binary._repr_html_())
    assert "33.33" in text
    assert "predicted2recall50.00" in text


def test_a_check_of_data() -> None:
    finding = Finding("tags", EVIL[0], 3, EVIL[1])
    one = FileCheck(EVIL[0], "columns", 1, 2, 2, None, {"tags": 1, "once": 0}, [finding], [Overlap(EVIL[2], 4, 1)])
    text = words_of(CheckResult([one])._repr_html_())
    assert all(EVIL[k] in text for k in range(3))
    assert "nothing found: once" in text


def test_an_explanation_adds_up() -> None:
    parts = [Contribution(0, "u", "A", "B", 2.0, EVIL[0]), Contribution(1, "v", "A", "B", -0.5, EVIL[1])]
    first, second = Candidate(["A", "A"], 4.0), Candidate(["B", "A"], 2.5)
    text = words_of(Explanation([EVIL[2], "w"], first, second, None, None, 1.5, parts)._repr_html_())
    assert all(name in text for name in EVIL[:3])
    assert "+2.0000" in text
    assert "-0.5000" in text
    assert "+1.5000" in text


def test_every_drawing_that_a_class_names_is_there() -> None:
    named = [
        place
        for file in sorted(SOURCE.rglob("*.py"))
        for place in re.findall(
            r'(?:drawn|drawn_by|printed_by|html_by)\((?:self, )?"([a-z_.]+:[a-z_]+)"\)',
            file.read_text(encoding="utf-8"),
        )
    ]
    assert len(named) > 15
    for place in named:
        assert callable(loaded(place)), place


def test_objects_print_what_the_command_line_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words, labels), (more, gold) = [([[word for word, _ in s] for s in X], y) for X, y in (DEMO[0], load_demo("test"))]
    tagger = Tagger("ner", passes=2).fit(words, labels)
    tagger.save(tmp_path / "m.palm")
    lines = ["".join(f"{a} {b}\n" for a, b in zip(*pair, strict=True)) for pair in zip(more, gold, strict=True)]
    (tmp_path / "d.txt").write_text("\n".join(lines))
    model, data = str(tmp_path / "m.palm"), str(tmp_path / "d.txt")

    def told(*arguments: str) -> str:
        capsys.readouterr()
        main([*arguments])
        return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())

    assert str(tagger.evaluate(more, gold)) in told("eval", model, data)
    assert str(tagger.explain(more[0])) == told("explain", model, "--data", data)
    found = tagger.calibrate(more, gold)
    shown = told("calibrate", model, data, "-o", str(tmp_path / "c.palm"))
    table = str(found).splitlines()[2:]  # below the name of the data
    assert len(table) > 3
    assert shown.endswith("\n".join(table))
    assert str(found).startswith("temperature")
    assert set(found.to_dict()) >= {"temperature", "before", "after"}
    assert "<table" in found._repr_html_()


def test_a_console_of_html_keeps_styles_and_escapes() -> None:
    console = HtmlConsole()
    console.print("[bold]a < b[/bold] [dim]c[/dim]")
    console.print("[bold]d[/bold]", markup=False, style="italic")
    console.print()
    made = html(*console.parts)
    assert "a &lt; b" in made
    assert "font-weight:600" in made
    assert "[bold]d[/bold]" in made
    assert "font-style:italic" in made
    assert len(console.parts) == 2
