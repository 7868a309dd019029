"""Correct and learn again in a browser, against `palmette serve`: what the page has confirmed survives the death of the
server, and a new training is seen. The curves of a running training likewise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, quiet_page
from page_models import parser, pipeline, taggers

from palmette import Classifier
from palmette.cli import main
from palmette.data import read_treebank
from palmette.datasets import demo_text, example_files, load_grammaticality
from palmette.serve.live_page import LivePage
from palmette.structures import Epoch


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    for part in ("train", "dev"):
        (made / f"{part}.txt").write_text(demo_text(part))
    words = [line.split(" ")[0] for line in demo_text("test").splitlines()]
    (made / "pool.txt").write_text("\n".join(words) + "\n")
    train, model = str(made / "train.txt"), str(made / "pos.palm")
    main(["train", train, "-o", model, "--label", "1", "--columns", "0", "--passes", "3", "-q"])
    return made


@contextmanager
def served(
    folder: Path, model: str = "pos.palm", *more: str, **files: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of its own process, and its address."""
    command = [sys.executable, "-m", "palmette", "serve", model, *more, "--port", "0"]
    usual = {} if more else {name: f"{name}.txt" for name in ("train", "dev", "pool")}
    for name, file in (files or usual).items():
        command += [f"--{name}", file]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        yield line[line.index("http://") :].split()[0] + "/", process
    finally:
        process.kill()
        process.wait()


def test_nothing_confirmed_is_lost_and_training_goes_on(browser: Any, folder: Path) -> None:
    with served(folder) as (address, process), quiet_page(browser) as page:
        page.goto(f"{address}#/correct")
        page.wait_for_selector(".annotation li small")
        words = page.locator(".annotation .word").all_inner_texts()
        page.locator(".annotation").focus()
        page.keyboard.press("Enter")  # the first label is right
        page.keyboard.type("UH")  # the second is searched by its name
        page.keyboard.press("Enter")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".corrections:text-is('1')")
        page.wait_for_selector("h2:has-text('Sentence 2')")
        page.keyboard.press("2")  # another label, as a draft
        page.wait_for_selector(".annotation .done")
        draft = page.locator(".annotation .tag").first.inner_text()
        process.send_signal(signal.SIGKILL)
        process.wait()
        state = page.context.storage_state()
    assert words[0] in next(folder.glob("*.corrections.jsonl")).read_text()
    with served(folder) as (address, process):
        for origin in state["origins"]:
            origin["origin"] = address.rstrip("/")
        with quiet_page(browser, storage_state=state) as page:
            page.goto(f"{address}#/correct")
            page.wait_for_selector(".corrections:text-is('1')")
            page.wait_for_selector(".annotation .done")  # the draft is there again
            assert page.locator(".annotation .done .tag").inner_text() == draft
            page.locator(".annotation").focus()
            page.keyboard.press("Shift+Enter")
            page.wait_for_selector(".corrections:text-is('2')")
            page.get_by_role("button", name="Train again").click()
            page.wait_for_selector(".part:has(.after) [role=status]:has-text('Done')", timeout=60_000)
            assert "95%" in page.locator(".figures").inner_text()
            assert "noise" in page.locator(".figures").inner_text()
            assert "fewer than 20" in page.locator(".caution").inner_text()


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chunker that reads words, and sentences as people write them."""
    made = tmp_path_factory.mktemp("chunks")
    taggers()["crf"].save(made / "chunk.palm")
    taggers()["pos"].save(made / "pos.palm")
    (made / "pool.txt").write_text("They left the house.\nTime flies.\nThe station is here, they said.\n")
    return made


@contextmanager
def spans_page(browser: Any, folder: Path) -> Iterator[tuple[Any, str]]:
    more = ["--with", "pos=pos.palm", "--pool", "pool.txt"]
    with served(folder, "chunk.palm", *more) as (address, _), quiet_page(browser) as page:
        yield page, address


def kept(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "chunk.corrections.jsonl").read_text().splitlines()]


def test_spans_are_selected_and_typed_by_the_keyboard(browser: Any, chunks: Path) -> None:
    with spans_page(browser, chunks) as (page, address):
        page.goto(f"{address}#/correct")
        page.wait_for_selector(".spans-editor li")
        page.get_by_role("button", name="Pick").click()
        page.wait_for_selector(".spans-editor:focus")
        words = page.locator(".spans-editor .word").all_inner_texts()
        for key in ("Home", "Shift+ArrowRight"):
            page.keyboard.press(key)
        types = page.evaluate(
            "[...document.querySelectorAll('.choices .coloured')].map((one) => one.lastChild.textContent.trim())"
        )
        page.keyboard.press(str(1 + types.index("VP")))
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Backspace")  # the third word is in no span
        page.keyboard.press("Enter")
        page.wait_for_selector(".corrections:text-is('1')")
        page.wait_for_selector("h2:has-text('Sentence 2')")
        assert page.evaluate("document.activeElement.classList.contains('spans-editor')")
        page.keyboard.press("Home")
        page.keyboard.press("Shift+End")
        page.keyboard.type("advp")  # a type is searched by its name
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_selector(".corrections:text-is('2')")
    first, second = kept(chunks)
    assert [token[0] for token in first["tokens"]] == words
    assert first["labels"][:3] == ["B-VP", "I-VP", "O"]
    assert second["labels"] == ["B-ADVP", *["I-ADVP"] * (len(second["tokens"]) - 1)]


def test_spans_are_selected_by_the_mouse(browser: Any, chunks: Path) -> None:
    (chunks / "chunk.corrections.jsonl").unlink(missing_ok=True)
    with spans_page(browser, chunks) as (page, address):
        page.goto(f"{address}#/correct")
        page.wait_for_selector(".spans-editor li")
        page.locator(".spans-editor li").nth(0).hover()
        page.mouse.down()
        page.locator(".spans-editor li").nth(2).hover()
        page.mouse.up()
        assert page.locator(".spans-editor li[aria-selected=true]").count() == 3
        page.locator(".choices .coloured", has_text="NP").first.click()
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector(".corrections:text-is('1')")
    assert kept(chunks)[0]["labels"][:3] == ["B-NP", "I-NP", "I-NP"]


def test_a_tree_is_corrected_by_the_keyboard(browser: Any, tmp_path: Path) -> None:
    for name, text in example_files("trees").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    parser().save(tmp_path / "parser.palm")
    files = {"train": "trees.conllu", "pool": "trees_test.conllu"}
    with served(tmp_path, "parser.palm", **files) as (address, _), quiet_page(browser) as page:
        page.goto(f"{address}#/correct")
        page.wait_for_selector(".annotation li small")
        words = page.locator(".annotation .word").all_inner_texts()
        relations = page.locator(".annotation .tag").all_inner_texts()
        root = relations.index("root")
        other = next(k for k in range(len(words)) if k != root)
        page.locator(".annotation").focus()
        for _ in range(other):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("0")  # a second root is no tree, and is not saved
        page.wait_for_selector(".fault:has-text('one root')")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("[role=status]:has-text('one root') >> nth=1")
        page.keyboard.press("Home")
        for _ in range(other):
            page.keyboard.press("ArrowRight")
        chosen = page.get_by_role("combobox", name="Head", exact=True)
        chosen.select_option(str(root + 1))
        page.locator(".annotation").focus()
        page.keyboard.type("xcomp")
        page.keyboard.press("Enter")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".corrections:text-is('1')")
        with page.expect_download() as got:
            page.get_by_role("button", name="Download the corrections").click()
        saved = read_treebank(got.value.path())
    assert got.value.suggested_filename == "parser.corrections.conllu"
    assert saved.forms.cells() == words
    assert saved.relations.cells() == [*relations[:other], "xcomp", *relations[other + 1 :]]
    assert saved.heads[other] == root + 1


def test_a_class_is_chosen_by_a_key(browser: Any, tmp_path: Path) -> None:
    sentences, _ = load_grammaticality("train")
    lines = [" ".join(word for word, _ in sentence) for sentence in sentences[300:310]]
    (tmp_path / "pool.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words, classes = [line.split() for line in lines], ["yes", "no"] * 5
    Classifier(passes=1).fit(words, classes).save(tmp_path / "class.palm")
    with served(tmp_path, "class.palm", pool="pool.txt") as (address, _), quiet_page(browser) as page:
        page.goto(f"{address}#/correct")
        shown = page.locator(".class-sentence")
        first = shown.inner_text()
        page.locator(".classes").focus()
        page.keyboard.press("2")  # saved, and on to the next one
        page.wait_for_selector(".corrections:text-is('1')")
        page.wait_for_selector("h2:has-text('Sentence 2')")
        page.keyboard.press("Enter")  # the guess is right
        page.wait_for_selector(".corrections:text-is('2')")
        assert page.get_by_role("button", name="Train again").is_disabled()  # no --train
    line = json.loads((tmp_path / "class.corrections.jsonl").read_text().splitlines()[0])
    assert (" ".join(line["tokens"]), line["class"]) == (first, "yes")


def test_what_cannot_be_corrected_says_why(browser: Any, tmp_path: Path) -> None:
    pipeline().save(tmp_path / "en.palm")
    with served(tmp_path, "en.palm", "--host", "127.0.0.1") as (address, _), quiet_page(browser) as page:
        page.goto(f"{address}#/correct")
        page.wait_for_selector("text=palmette pipeline train")


def test_the_curves_of_a_running_training(browser: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []

    def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
        told.append(number)

    with LivePage(progress, {"data": "train.txt", "output": "x.palm"}) as live, quiet_page(browser) as page:
        address = capsys.readouterr().err.split()[-1]
        for number in (1, 2):
            live(number, 10, 10, Epoch(number, 100, 50, 0.5 + number / 10, dev=0.4 + number / 10))
        page.goto(address)
        page.wait_for_selector("text=2 passes")
        live(3, 10, 10, Epoch(3, 80, 20, 0.9, dev=0.75, figures={"bad": 0.1}))
        page.wait_for_selector("text=3 passes")
        assert "75.00%" in page.locator(".summary").inner_text()
        begun = time.perf_counter()
    assert time.perf_counter() - begun < 30  # an open page does not hold the training up
    assert told == [1, 2, 3]
