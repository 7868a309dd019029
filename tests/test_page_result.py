"""The first view of the page: what a model finds in a text, by the library and in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, quiet_page
from page_models import TEXT, TUPLES, WORDS, models, pipeline, taggers
from page_server import page_server

from palmette import Tagger
from palmette.data.labels.schemes import spans
from palmette.datasets import load_demo
from palmette.errors import DataError
from palmette.serve.page.bundle import page_file
from palmette.serve.page.examples import written
from palmette.serve.page.report import page_records
from palmette.serve.page.views import VIEWS, PageModel

PARAGRAPHS = f"{TEXT} They left.\n\n\U0001f600 The house is here."


def test_spans_are_those_of_the_tagger_and_have_places_in_the_text() -> None:
    found = VIEWS["result"](models()["crf"], {"text": PARAGRAPHS})
    assert (found["kind"], found["probabilities"]) == ("spans", True)
    first, second, third = found["sentences"]
    tagger = taggers()["crf"]
    (labels,) = tagger.predict([TUPLES])
    assert first["labels"] == labels
    assert [(one["type"], one["start"], one["end"]) for one in first["spans"]] == [tuple(one) for one in spans(labels)]
    (sure,) = tagger.predict_confidence([TUPLES])
    assert first["confidence"] == pytest.approx(sure["token_confidence"])
    assert [s["confidence"] for s in first["spans"]] == pytest.approx(
        [s["confidence"] for s in sure["span_confidence"]]
    )
    for sentence, words in ((first, WORDS), (second, ["They", "left", "."]), (third, ["\U0001f600", "The", "house"])):
        places = sentence["offsets"][: len(words)]
        assert [PARAGRAPHS[a:b] for a, b in places] == sentence["tokens"][: len(words)] == words


def test_other_labels_are_the_most_likely_ones() -> None:
    (one,) = VIEWS["result"](models()["pos"], {"text": "The zebra swims ."})["sentences"]
    marginals = taggers()["pos"].predict_marginals([["The", "zebra", "swims", "."]])[0]
    assert VIEWS["result"](models()["pos"], {"text": "a"})["kind"] == "tags"
    for label, row, others in zip(one["labels"], marginals, one["others"], strict=True):
        likely = sorted((-share, name) for name, share in row.items() if name != label and share >= 0.005)
        assert [-share for share, _ in likely[:3]] == pytest.approx([share for _, share in others])


def test_several_sentences_of_columns() -> None:
    lines = "\n".join(" ".join(row) for row in TUPLES)
    found = VIEWS["result"](PageModel(taggers()["crf"]), {"lines": f"{lines}\n\nThe DT\n"})
    assert [len(one["tokens"]) for one in found["sentences"]] == [9, 1]
    assert found["sentences"][1]["request"] == {"lines": "The DT"}


def test_characters_are_tokens_of_a_model_of_characters(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("A H\nC E\nA H\n\nC E\nA H\n\n" * 5)
    tagger = Tagger(passes=2).fit_file(tmp_path / "train.txt")
    tagger.model_.meta["reading"]["unit"] = "char"
    found = VIEWS["result"](PageModel(tagger, files={"train": str(tmp_path / "train.txt")}), {"text": "ACA"})
    assert found["sentences"][0]["tokens"] == ["A", "C", "A"]
    about = VIEWS["about"](PageModel(tagger, files={"train": str(tmp_path / "train.txt")}), {})
    assert about["example"].splitlines()[0] == "ACA"


def test_a_pipeline_gives_all_that_it_finds() -> None:
    document = pipeline()(PARAGRAPHS)
    found = VIEWS["result"](models()["pipeline"], {"text": PARAGRAPHS})
    assert found["kind"] == "trees"
    for mine, theirs in zip(found["sentences"], document.sentences, strict=True):
        assert mine["tokens"] == [word.form for word in theirs.words]
        assert mine["lemma"] == [word.lemma for word in theirs.words]
        assert mine["upos"] == [word.upos for word in theirs.words]
        assert mine["heads"] == [word.head for word in theirs.words]


def test_a_pipeline_has_the_views_of_its_tagger_and_of_its_parser() -> None:
    model = models()["pipeline"]
    words = [word.form for word in pipeline()(TEXT).sentences[0].words]
    tags = [word.upos for word in pipeline()(TEXT).sentences[0].words]
    record = VIEWS["trellis"](model, {"text": TEXT})
    assert record["tokens"] == words
    assert [record["labels"][record["label_of"][state]] for state in record["best"]] == tags
    why = VIEWS["explanation"](model, {"text": TEXT})
    assert why["first"]["labels"] == tags
    named = {one["name"].partition("[")[0] for one in why["contributions"]}
    assert {"lower", "suffix2"} <= named  # the file has no strings of attributes: they are made of the sentence
    assert set(VIEWS["about"](model, {})["views"]) >= {
        "result",
        "tree",
        "errors",
        "trellis",
        "marginals",
        "transitions",
    }


def test_trees_and_classes() -> None:
    parsed = VIEWS["result"](models()["parser"], {"text": PARAGRAPHS})["sentences"]
    assert [len(one["heads"]) for one in parsed] == [9, 3, 6]
    classes = VIEWS["result"](models()["classifier"], {"text": PARAGRAPHS})["sentences"]
    assert [one["class"] for one in classes] == [
        ("0", "1")[VIEWS["class"](models()["classifier"], {"tokens": one["tokens"]})["class"]] for one in classes
    ]


def test_a_text_without_words_is_refused() -> None:
    for name in ("crf", "pipeline", "classifier"):
        with pytest.raises(DataError, match="no word"):
            VIEWS["result"](models()[name], {"text": " \n "})


def test_the_first_sentence_is_one_of_the_data() -> None:
    assert VIEWS["about"](models()["crf"], {})["example"] == TEXT
    sentences = load_demo("train")[0][:50]
    words, tags = ([[token[k] for token in sentence] for sentence in sentences] for k in (0, 1))
    alone = Tagger("pos", passes=1).fit(words, tags)
    found = VIEWS["about"](PageModel(alone), {})["example"].split()
    assert len(found) > 5
    assert {word.lower() for word in found} <= {word.lower() for sentence in words for word in sentence}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["They", "did", "n't", "go", "(", "yet", ")", "."], "They didn't go (yet)."),
        (["J", ".", "left"], "J . left"),  # `J.` would be one word
        (["Il", "l'", "aime"], "Il l' aime"),
    ],
)
def test_words_are_written_as_people_write_them(words: list[str], text: str) -> None:
    assert written(words) == text


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Any) -> Iterator[str]:
    with page_server(models()) as found:
        yield found


def test_a_pasted_text_and_why(browser: Any, address: str) -> None:
    with quiet_page(browser) as page:
        page.goto(f"{address}#/?model=crf")
        page.wait_for_selector(".found-here.span")
        assert page.locator("textarea#text").input_value() == TEXT
        page.fill("textarea#text", PARAGRAPHS)
        page.wait_for_selector(".result-text:has-text('house')")
        found = VIEWS["result"](models()["crf"], {"text": PARAGRAPHS})
        expected = [
            (" ".join(one["tokens"][span["start"] : span["end"]]), span["type"])
            for one in found["sentences"]
            for span in one["spans"]
        ]
        shown = page.locator(".found-here.span").evaluate_all(
            "all => all.map((one) => one.getAttribute('aria-label').split(/: |, (?=[\\d>])/).slice(0, 2))"
        )
        assert [tuple(one) for one in shown] == expected
        span = page.locator(".found-here.span", has_text="station")
        span.hover()
        assert "%" in page.locator(".tip").inner_text()
        span.focus()
        assert page.locator(".tip").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator(".tip").is_visible()
        page.keyboard.press("Enter")
        page.wait_for_selector(".token-button[aria-pressed=true]")
        chosen = page.locator(".token-button[aria-pressed=true]").get_attribute("data-token")
        assert WORDS[int(chosen)] == "the"
        page.get_by_role("combobox", name="Sentences of the text").select_option("2")
        page.wait_for_selector(".token-button:has-text('house')")
        page.get_by_role("link", name="Result").click()  # all of the text is there again
        page.wait_for_selector(".result-text:has-text('house')")
        assert page.locator("textarea#text").input_value() == PARAGRAPHS


def test_trees_tags_and_classes_in_a_browser(browser: Any, address: str) -> None:
    with quiet_page(browser) as page:
        page.goto(f"{address}#/result?model=pipeline")
        page.wait_for_selector(".result-trees")
        record = VIEWS["result"](models()["pipeline"], {"text": TEXT})["sentences"][0]
        assert sorted(page.locator(".relation").all_text_contents()) == sorted(record["relations"])
        page.get_by_role("button", name=f"Why {next(r for r in record['relations'] if r != 'root')}?").first.click()
        page.wait_for_selector(".film-why")
        for model, sign in (("pos", ".tagged"), ("classifier", ".result-classes li"), ("parser", ".caution")):
            page.get_by_role("combobox", name="Model", exact=True).select_option(model)
            page.get_by_role("link", name="Result").click()
            page.wait_for_selector(sign)


def test_the_file_has_the_result_of_all_its_sentences(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    shown = {name: models()[name] for name in ("crf",)}
    file.write_bytes(page_file(page_records(shown, {}, texts=[TEXT, "The house is here."]), "report"))
    with quiet_page(browser) as page:
        page.goto(file.as_uri())
        page.wait_for_selector(".result-text:has-text('house')")
        page.locator(".found-here.span", has_text="house").click()
        page.wait_for_selector(".token-button:has-text('house')")
