"""Every view of the page in a real browser: clicked, typed in, and what it shows compared with the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, quiet_page
from page_models import TEXT, TUPLES, WORDS, gold_trees, labelled_text, models, taggers
from page_server import page_server

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.serve import VIEWS
from palmette.serve.page.bundle import page_file
from palmette.serve.page.report import page_records
from palmette.structures import items_of


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Any) -> Iterator[str]:
    with page_server(models()) as found:
        yield found


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with quiet_page(browser) as found:
        yield found


def opened(page: Any, address: str, view: str, model: str = "crf") -> Any:
    page.goto(f"{address}#/{view}?model={model}")
    page.wait_for_selector("article")
    return page


def chosen(page: Any, name: str) -> Any:
    """A list to choose from, by its name."""
    return page.get_by_role("combobox", name=name, exact=True)


def test_watch_the_search(page: Any, address: str) -> None:
    tagger = taggers()["crf"]
    opened(page, address, "search").wait_for_selector(".cell.on-best")
    path = page.locator("polyline.best")
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES])[0]
    labels = tagger.labels_

    def click(token: int, label: str) -> None:
        page.locator(f'[data-token="{token}"][data-state="{labels.index(label)}"]').click()

    click(2, "B-VP")  # the path moves without asking the server
    fixed: list[Any] = [None] * len(WORDS)
    fixed[2] = "B-VP"
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES], allowed=[fixed])[0]
    click(4, "B-PP")
    fixed[4] = "B-PP"
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES], allowed=[fixed])[0]
    assert page.locator(".cell.fixed").count() == 2
    page.get_by_role("button", name="Free the 2 fixed labels").click()
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES])[0]
    page.locator(f'[data-token="3"][data-state="{labels.index("B-ADVP")}"]').hover()
    through: list[Any] = [None] * len(WORDS)
    through[3] = "B-ADVP"
    behind = tagger.predict_scored([TUPLES])[1][0] - tagger.predict_scored([TUPLES], allowed=[through])[1][0]
    assert f"{behind:.2f} behind" in page.locator(".detail").inner_text()
    assert page.locator("polyline.through").count() >= 1
    page.locator(f'[data-token="1"][data-state="{labels.index("I-NP")}"]').hover()
    assert page.locator("line.closed").count() > 0  # I-NP after B-VP, O, ... is forbidden
    page.fill("#sentence", "The house is here .")
    page.wait_for_selector('.trellis[aria-colcount="5"]')
    assert "label sequences" in page.locator(".summary").inner_text()
    page.locator(".rivals li").first.hover()
    assert page.locator("polyline.runner-up").count() >= 1


def test_the_search_by_keyboard_alone(page: Any, address: str) -> None:
    opened(page, address, "search").wait_for_selector(".cell.on-best")
    page.locator('.cell[tabindex="0"]').focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert page.locator(".cell.fixed").count() == 1
    told = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert told.startswith("meet, ")
    assert "fixed" in told
    heard = page.locator("[role=status].unseen").inner_text()
    assert heard.startswith("Labels now: ")
    assert "meet " in heard
    page.keyboard.press("Enter")
    assert page.locator(".cell.fixed").count() == 0


def test_hidden_states_beams_and_longer_memory(page: Any, address: str) -> None:
    opened(page, address, "search", "latent").wait_for_selector(".cell.on-best")
    assert page.locator(".names .state").first.text_content().endswith("#1")
    assert page.locator(".names .band").count() > 0
    chosen(page, "Model").select_option("beam")
    page.wait_for_selector(".cross")
    assert "A beam of 2" in page.locator(".summary").inner_text()
    chosen(page, "Search").select_option("8")
    page.wait_for_selector(".summary:has-text('A beam of 8')")
    chosen(page, "Model").select_option("order2")
    page.wait_for_selector(".summary:not(:has-text('beam'))")
    tagger = taggers()["order2"]
    page.locator(f'[data-token="2"][data-state="{tagger.labels_.index("B-VP")}"]').click()  # asks the server
    page.wait_for_selector(".cell.fixed")
    fixed: list[Any] = [None] * len(WORDS)
    fixed[2] = "B-VP"
    shown = page.locator("polyline.best").get_attribute("data-path").split()
    assert shown == tagger.predict([TUPLES], allowed=[fixed])[0]


@pytest.mark.parametrize("name", ["order2", "latent", "beam"])
def test_order_two_and_beams_are_searched_in_the_browser(page: Any, tmp_path: Path, name: str) -> None:
    """In a file, without any server: paths and beams are those of the library."""
    file = tmp_path / "report.html"
    file.write_bytes(page_file(page_records({name: models()[name]}, {}, texts=[TEXT]), "report"))
    page.goto(f"{file.as_uri()}#/search")
    page.wait_for_selector(".cell.on-best")
    chosen(page, "Rows").select_option("all")
    fixed = {"text": TEXT, "allowed": {"2": "B-VP"}}
    record = VIEWS["trellis"](models()[name], fixed)
    label = [record["labels"][y] for y in record["label_of"]]
    page.locator(f'[data-token="2"][data-state="{label.index("B-VP")}"]').click()
    page.wait_for_selector(".cell.fixed")
    path = page.locator("polyline.best").get_attribute("data-path").split()
    assert path == [label[state] for state in record["best"]]
    assert path != [label[state] for state in VIEWS["trellis"](models()[name], {"text": TEXT})["best"]]
    chosen(page, "Search").select_option("3")
    page.wait_for_selector(".summary:has-text('A beam of 3')")
    kept = VIEWS["trellis"](models()[name], fixed | {"beam": 3})["beam"]["kept"]
    cells = page.locator(".cell").evaluate_all(
        "all => all.map(one => [Number(one.dataset.token), Number(one.dataset.state), one.getAttribute('aria-label')])"
    )
    told = {(i, state): text for i, state, text in cells}
    for i, states in enumerate(kept):
        for place, state in enumerate(states):
            if states.index(state) == place:  # of several prefixes that end alike, the best
                assert told[i, state].endswith(f"in the beam, place {place + 1}")
        assert sum("in the beam, place" in text for (k, _), text in told.items() if k == i) == len(set(states))


def test_sentences_of_attributes_and_of_columns(page: Any) -> None:
    X, y = load_demo("train")
    items = [[[f"w={word}", f"t={tag}"] for word, tag in sentence] for sentence in X[:100]]
    attributes, chunker = Tagger(learner="perceptron", passes=2).fit(items, y[:100]), taggers()["crf"]
    with page_server({"attributes": attributes, "columns": chunker}) as own:
        opened(page, own, "search", "attributes").wait_for_selector(".cell.on-best")  # of an example
        page.fill("#sentence", "\n".join(f"w={word}\tt={tag}" for word, tag in TUPLES))
        page.wait_for_selector('.trellis[aria-colcount="9"]')
        path = page.locator("polyline.best").get_attribute("data-path").split()
        assert path == attributes.predict([[[f"w={word}", f"t={tag}"] for word, tag in TUPLES]])[0]
        page.get_by_role("link", name="Why").click()
        page.wait_for_selector('.token-button:has-text("w=meet")')
        chosen(page, "Model").select_option("columns")
        page.wait_for_selector("text=Type or paste a text above.")
        page.fill("#sentence", "\n".join(f"{word} {tag}" for word, tag in TUPLES))
        page.wait_for_selector(".bars")
        page.get_by_role("link", name="Search").click()
        page.wait_for_selector(".cell.on-best")
        assert page.locator("polyline.best").get_attribute("data-path").split() == chunker.predict([TUPLES])[0]


def test_why(page: Any, address: str) -> None:
    opened(page, address, "why").wait_for_selector(".bars")
    for token in (None, 3):
        if token is not None:
            page.locator(f'.token-button[data-token="{token}"]').click()
            page.wait_for_selector('.token-button[data-token="3"][aria-pressed="true"]')
        expected = VIEWS["explanation"](models()["crf"], {"text": TEXT, "token": token})
        assert float(page.locator(".bars").get_attribute("data-difference")) == expected["difference"]
        shown = [read(text) for text in page.locator(".bar-row:not(.total) .bar-value").all_inner_texts()]
        total = read(page.locator(".total .bar-value").inner_text())
        assert round(sum(shown), 3) == total == round(expected["difference"], 3)
        amounts = [float(one.get_attribute("data-amount")) for one in page.locator(".bar-row[data-amount]").all()]
        assert amounts[:10] == [c["amount"] for c in expected["contributions"][:10]]
    assert page.get_by_role("heading", name="What would have changed it").is_visible()
    page.locator(".chip", has_text="B-ADVP").click()
    page.wait_for_selector('.chip[aria-pressed="true"]:has-text("B-ADVP")')
    assert "B-ADVP" in page.locator(".is-second .differs").first.inner_text()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_selector("text=Show all", state="detached")


def read(text: str) -> float:
    return float(text.replace("\u2212", "-").replace("+", ""))


def test_how_sure(page: Any, address: str) -> None:
    opened(page, address, "sure").wait_for_selector(".shaded")
    (sure,) = taggers()["crf"].predict_confidence([TUPLES])
    shown = [float(one.get_attribute("data-confidence")) for one in page.locator(".shaded li").all()]
    assert shown == pytest.approx(sure["token_confidence"], abs=1e-6)
    spans = [float(one.get_attribute("data-confidence")) for one in page.locator(".spans li").all()]
    assert spans == pytest.approx([one["confidence"] for one in sure["span_confidence"]], abs=1e-6)
    best = taggers()["crf"].nbest([TUPLES], 10)[0]
    rows = page.locator(".readings tbody tr")
    assert rows.count() == len(best)
    second = rows.nth(1).locator("td.differs").all_inner_texts()
    assert second == [two for one, two in zip(best[0].output, best[1].output, strict=True) if one != two]
    chosen(page, "Model").select_option("beam")
    page.wait_for_selector("text=not calibrated")


def test_what_it_learnt(page: Any, address: str) -> None:
    opened(page, address, "learnt").wait_for_selector(".weights")
    assert page.locator(".chart polyline").count() >= 3
    cell = page.locator(".heat-map tbody tr", has=page.locator("th", has_text="O")).last.locator("td").nth(1)
    found = VIEWS["transitions"](models()["crf"], {})
    assert f"> {found['states'][1]}:" in cell.get_attribute("title")
    assert page.locator(".heat-map td.none").count() == sum(row.count(None) for row in found["weights"])
    page.get_by_role("searchbox").fill("house")
    page.wait_for_selector(".found")
    assert "house" in page.locator(".weight-card h3").first.inner_text()
    page.get_by_role("searchbox").fill("b-np")
    page.wait_for_selector(".weight-card h3:text-is('B-NP')")
    assert page.locator(".weight-card").count() == 1


def test_errors_and_two_models(page: Any, address: str, tmp_path: Path) -> None:
    data = tmp_path / "test.txt"
    data.write_text(labelled_text())
    opened(page, address, "errors").set_input_files("input[type=file]", str(data))
    page.wait_for_selector(".window-row")
    found = VIEWS["errors"](models()["crf"], {"data": labelled_text()})
    assert f"{100 * found['scores']['f1']:.2f}%" in page.locator(".figures").inner_text()
    gold, guess, count = max((c for c in found["confusion"] if c[0] != c[1]), key=lambda c: c[2])
    names = found["labels"]
    page.get_by_role("button", name=f"{names[gold]} taken for {names[guess]}: {count}", exact=True).click()
    wanted = [
        s for s in found["sentences"] if (gold, guess) in set(zip(s["gold"], s["guess"], strict=True))
    ]  # fmt: skip
    status = page.locator(".part [role=status]").first
    assert status.inner_text().startswith(f"{len(wanted)} sentence")
    assert page.locator(".row-number").first.inner_text() == str(wanted[0]["number"] + 1)
    page.get_by_role("button", name="Show all").click()
    chosen(page, "Words").select_option("unseen")
    assert "unseen words" in status.inner_text()
    chosen(page, "Compare with").select_option("latent")
    page.wait_for_selector(".verdict")
    assert "p = " in page.locator(".verdict").inner_text()
    assert page.locator(".system").count() == 2


def test_large_numbers_are_short_in_small_cells(page: Any, address: str) -> None:
    opened(page, address, "search")
    given = [0, 999, 1000, 9750, 9949, 9950, 11140, 999_499, 999_500, 12_300_000]
    found = page.evaluate("n => import('/static/format.js').then((format) => n.map(format.short))", given)
    assert found == ["0", "999", "1.0k", "9.8k", "9.9k", "10k", "11k", "999k", "1.0M", "12M"]


def test_ten_thousand_errors(page: Any, address: str, tmp_path: Path) -> None:
    data = tmp_path / "many.txt"
    data.write_text("The DT O\nhouse NN B-PP\n\n" * 10_000)
    opened(page, address, "errors").set_input_files("input[type=file]", str(data))
    page.wait_for_selector(".window-row")
    assert page.locator(".window-row").count() < 60
    page.locator(".window").evaluate("node => { node.scrollTop = node.scrollHeight }")
    page.wait_for_selector(".row-number:text-is('10000')")


def test_a_long_sentence(page: Any, address: str) -> None:
    opened(page, address, "search").wait_for_selector(".cell")
    page.fill("#sentence", " ".join(WORDS[:8] * 25))
    page.wait_for_selector('.trellis[aria-colcount="200"]')
    chosen(page, "Rows").select_option("all")
    assert page.locator(".cell").count() < 200 * 17 / 2  # only what is in sight
    page.locator(".across").evaluate("node => { node.scrollLeft = node.scrollWidth }")
    page.wait_for_selector('[data-token="199"]')


def test_trees_and_their_film(page: Any, address: str, tmp_path: Path) -> None:
    opened(page, address, "tree", "parser").wait_for_selector(".film .beam")
    record = VIEWS["tree"](models()["parser"], {"text": TEXT})
    arcs = page.locator(".arcs-frame").first.locator(".relation").all_text_contents()
    assert sorted(arcs) == sorted(record["relations"])
    slider = page.get_by_label("Step of the search")
    slider.fill("0")
    assert "all words wait" in page.locator(".film-action").inner_text()
    page.get_by_label("One step on").click()
    assert "Shift" in page.locator(".film-action").inner_text()
    assert page.locator(".stack .tile").all_inner_texts() == ["We"]
    page.get_by_label("One step on").click()
    winner = record["film"][2]["winner"]
    assert page.locator(".stack .tile").all_inner_texts() == [WORDS[k] for k in winner["stack"]]
    assert page.locator(".beam li").count() == len(record["film"][2]["items"])
    page.get_by_role("button", name="Why punct?").first.click()
    made = next(k for k, f in enumerate(record["film"]) if (f["winner"]["arc"] or {}).get("relation") == "punct")
    assert page.locator(".film .bars").get_attribute("data-difference") == str(record["why"][made]["difference"])
    slider.fill("2")
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector(".film-action:has-text('Step 3')")
    page.get_by_role("button", name="Pause").click()
    chosen(page, "Beam").select_option("1")
    page.wait_for_selector(".film h3:has-text('1 state')")
    page.goto(f"{address}#/errors")
    data = tmp_path / "gold.conllu"
    data.write_text(gold_trees())
    page.set_input_files("input[type=file]", str(data))
    page.wait_for_selector(".window-row .arcs")
    assert page.locator(".arcs .right").count() > 0


def test_pipelines_and_classifiers(page: Any, address: str) -> None:
    opened(page, address, "tree", "pipeline").wait_for_selector(".film .beam")
    record = VIEWS["tree"](models()["pipeline"], {"text": TEXT})
    assert sorted(page.locator(".arcs-frame").first.locator(".relation").all_text_contents()) == sorted(
        record["relations"]
    )
    chosen(page, "Model").select_option("classifier")
    page.get_by_role("link", name="Class").click()
    page.wait_for_selector(".verdict-class")
    score = VIEWS["class"](models()["classifier"], {"text": TEXT})["score"]
    assert float(page.locator(".verdict-class").get_attribute("data-score")) == score
    page.get_by_role("link", name="What it learnt").click()
    page.wait_for_selector(".weights")


def test_a_sentence_that_cannot_be_read_says_why(browser: Any, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}#/tree?model=parser")
    page.wait_for_selector(".film")
    page.fill("#sentence", "a " * 500)
    assert "at most 400" in page.locator(".problem").inner_text(timeout=30_000)
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_have_no_sideways_scrolling(browser: Any, address: str, scheme: str) -> None:
    with quiet_page(browser, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        for view in ("search", "why", "sure", "learnt"):
            opened(page, address, view).wait_for_selector("h2, .trellis")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if view in ("why", "sure"):  # words of tables are not broken
                head = page.locator(".readings th").first.bounding_box()
                assert head["height"] < 40
        page.get_by_role("button", name="colours").click()
        assert page.evaluate("document.documentElement.dataset.theme") == ("light" if scheme == "dark" else "dark")


def test_the_file_alone(page: Any, tmp_path: Path) -> None:
    tagger = taggers()["crf"]
    shown = {name: model for name, model in models().items() if name in ("crf", "latent")}
    corpus = items_of(tagger.model_, [TUPLES], [tagger.predict([TUPLES])[0]]).corpus
    records = page_records(shown, dict.fromkeys(shown, corpus), sentences=1, texts=["The house is here."])
    file = tmp_path / "report.html"
    file.write_bytes(page_file(records, "a </title> report"))
    page.goto(f"{file.as_uri()}#/search")
    page.wait_for_selector(".cell.on-best")
    chosen(page, "Sentence").select_option("1")
    page.wait_for_selector('.trellis[aria-colcount="9"]')
    path = page.locator("polyline.best")
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES])[0]
    page.locator(f'[data-token="2"][data-state="{tagger.labels_.index("B-VP")}"]').click()
    fixed: list[Any] = [None] * len(WORDS)
    fixed[2] = "B-VP"
    assert path.get_attribute("data-path").split() == tagger.predict([TUPLES], allowed=[fixed])[0]
    for view, sign in (("Why", ".bars"), ("How sure", ".shaded"), ("Errors", ".figures"), ("What it learnt", ".chart")):
        page.get_by_role("link", name=view).click()
        page.wait_for_selector(sign)
    page.get_by_role("link", name="Why").click()
    page.locator('.token-button[data-token="2"]').click()
    page.wait_for_selector('.token-button[data-token="2"][aria-pressed="true"]')
    assert page.locator(".problem").count() == 0
    assert not page.get_by_role("link", name="Correct").is_visible()
