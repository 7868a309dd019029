"""Typing a sentence in a page that is a file: tagged in the page, with the network off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from palmette import Latent, Tagger
from palmette.cli import main as run
from palmette.datasets import load_demo
from palmette.features.templates import parse
from palmette.runtime import native

pytestmark = pytest.mark.skipif(not Path(native.library_path()).exists(), reason="built without the runtime")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    train, _ = load_demo("train")
    path = tmp_path_factory.mktemp("typed") / "tags.palm"
    words, tags = zip(*(zip(*sentence, strict=True) for sentence in train[:150]), strict=True)
    Tagger("pos", passes=2).fit([list(one) for one in words], [list(one) for one in tags]).save(path)
    run(["page", str(path), "-o", str(path.with_suffix(".html"))])
    return path


def test_the_model_may_be_left_out(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    small = model.with_name("small.html")
    run(["page", str(model), "-o", str(small), "--no-model"])
    text = small.read_text(encoding="utf-8")
    assert '"typed":' not in text
    assert "wasm-unsafe-eval" not in re.findall("<meta[^>]*>", text)[1]
    assert "--no-model" not in capfd.readouterr().err
    whole = model.with_suffix(".html")
    assert "wasm-unsafe-eval" in re.findall("<meta[^>]*>", whole.read_text(encoding="utf-8"))[1]
    assert whole.stat().st_size > small.stat().st_size + 200_000


def test_models_that_only_python_can_use_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "latent.palm"
    Tagger(template=parse("U0:%x[0,0]"), states=Latent(2), passes=1).fit([["a"]], [["X"]]).save(path)
    run(["page", str(path), "-o", str(tmp_path / "p.html")])
    assert "hidden states" in capfd.readouterr().err
    assert (tmp_path / "p.html").exists()


@pytest.mark.heavy("playwright")
def test_a_typed_sentence_is_tagged_with_the_network_off(model: Path) -> None:
    from browser import chromium, quiet_page

    tagger = Tagger.load(model)
    tagger.compact()
    with chromium() as browser, quiet_page(browser, offline=True) as page:
        page.goto(f"{model.with_suffix('.html').as_uri()}#/type")
        page.fill("#typed", "We sing the song.")
        page.wait_for_selector(".token-button")
        page.wait_for_selector(".reasons tr")
        words = ["We", "sing", "the", "song", "."]
        wanted = tagger.predict([words])[0]
        assert page.locator(".token-button small").all_inner_texts() == wanted
        page.locator('[data-token="1"]').click()
        assert page.get_by_role("heading", name=re.compile(f"^Why {re.escape(wanted[1])} and not ")).count() == 1
        assert page.locator(".reasons th").first.inner_text().startswith("U")
        assert page.locator(".heat-map td.marked").count() == len(words)
