"""Every view of the page by the rules of axe-core, which its npm package brings, in light and dark colours."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, quiet_page
from page_models import classifier, gold_trees, parser, pipeline, taggers
from test_page_correct import served

from palmette.datasets import demo_text

AXE = "axe-core@4.10.3"
VIEWS = {
    "crf": ("result", "search", "why", "sure", "errors", "learnt", "correct"),
    "pos": ("result", "correct"),
    "parser": ("result", "tree", "errors", "correct"),
    "class": ("result", "class", "learnt", "correct"),
    "en": ("result", "search", "why", "sure", "tree", "errors", "correct"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def axe(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    if shutil.which("npm") is None:
        pytest.skip("no npm: axe-core is one of its packages")
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True, timeout=120)
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        file = packed.extractfile("package/axe.min.js")
        assert file is not None
        return file.read().decode()


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("models")
    for name in ("crf", "pos"):
        taggers()[name].save(folder / f"{name}.palm")
    parser().save(folder / "parser.palm")
    classifier().save(folder / "class.palm")
    pipeline().save(folder / "en.palm")
    (folder / "test.txt").write_text(demo_text("test"))
    (folder / "trees.conllu").write_text(gold_trees())
    (folder / "pool.txt").write_text("Time flies like an arrow.\nThe house is here, they said.\n")
    more = ["pos.palm", "parser.palm", "class.palm", "en.palm", "--with", "pos=pos.palm", "--pool", "pool.txt"]
    more += ["--test", "crf=test.txt", "--test", "parser=trees.conllu", "--test", "en=trees.conllu"]
    with served(folder, "crf.palm", *more) as (found, _):
        yield found


def violations(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    return [f"{one['id']}: {one['help']} ({node['html'][:200]})" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("model", VIEWS)
def test_no_view_has_a_violation(browser: Any, address: str, axe: str, model: str, scheme: str) -> None:
    with quiet_page(browser, color_scheme=scheme) as page:
        for view in VIEWS[model]:
            page.goto(f"{address}#/{view}?model={model}")
            page.reload()
            page.wait_for_selector("article")
            page.wait_for_load_state("networkidle")
            if view == "result" and page.locator(".found-here").count():
                page.locator(".found-here").first.hover()
                page.wait_for_selector(".tip")
            if view == "errors":
                page.wait_for_selector(".window-row")
            assert violations(page, axe) == [], view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_description_of_the_interface(browser: Any, address: str, axe: str, scheme: str) -> None:
    with quiet_page(browser, color_scheme=scheme) as page:
        page.goto(f"{address}docs")
        page.locator("summary", has_text="Ask a model").click()
        page.get_by_role("combobox", name="name").select_option("pos")
        page.get_by_role("button", name="Send POST").click()
        page.wait_for_selector(".answer:has-text('\"labels\"')")
        assert page.locator(".answer").inner_text().startswith("200")
        assert violations(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_show_every_view_without_sideways_scrolling(browser: Any, address: str, scheme: str) -> None:
    with quiet_page(browser, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        for model, views in VIEWS.items():
            for view in views:
                page.goto(f"{address}#/{view}?model={model}")
                page.reload()
                page.wait_for_selector("article")
                page.wait_for_load_state("networkidle")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (model, view)
