"""Draw the pictures of the page: `python docs/draw_page.py [FOLDER]`, with Chromium, Playwright and Pillow.

It trains small models on the demo corpora, serves them, and takes every view, light, dark and as wide as a phone, into
the folder; without one, the pictures that docs/page.md shows are replaced.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

IMAGES = Path(__file__).parent / "images"
SHOWN = {  # file in docs/images: model, view, colours
    "page-result": ("chunk", "result", "light"),
    "page-search": ("chunk", "search", "light"),
    "page-search-dark": ("beam", "search", "dark"),
    "page-why": ("chunk", "why", "light"),
    "page-sure": ("chunk", "sure", "light"),
    "page-tree": ("parser", "tree", "light"),
    "page-errors": ("chunk", "errors", "light"),
    "page-learnt": ("chunk", "learnt", "light"),
    "page-correct": ("chunk", "correct", "light"),
    "page-correct-tree": ("parser", "correct", "light"),
}
VIEWS = {
    "chunk": ("result", "search", "why", "sure", "errors", "learnt", "correct"),
    "parser": ("result", "tree", "correct"),
}
COMMANDS = (
    "demo --corpus -q", "demo --dataset trees -q",
    "train train.txt -o pos.palm --label 1 --columns 0 --features pos -q",
    "train train.txt -o chunk.palm --features chunk --dev dev.txt -q",
    "train train.txt -o beam.palm --features chunk --learner perceptron --beam 4 -q",
    "train trees.conllu -o xpos.palm --label xpos --features pos -q",
    "parser train trees.conllu -o parser.palm --features basic -q",
)  # fmt: skip
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1180, "height": 900}


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as made:
        for line in COMMANDS:
            subprocess.run([sys.executable, "-m", "palmette", *line.split()], cwd=made, check=True)
        server = subprocess.Popen(
            [sys.executable, "-m", "palmette", "serve", "chunk.palm", "beam.palm", "parser.palm",
             "--with", "pos=pos.palm", "--with", "xpos=xpos.palm",
             "--test", "chunk=test.txt", "--test", "parser=trees_test.conllu", "--test", "beam=test.txt",
             "--pool", "chunk=test.txt", "--pool", "parser=trees_test.conllu", "--port", "8765"], cwd=made,
        )  # fmt: skip
        try:
            _wait("http://127.0.0.1:8765/")
            with sync_playwright() as play:
                found = shutil.which("chromium") or shutil.which("google-chrome")
                browser = play.chromium.launch(executable_path=found, args=["--headless", "--no-sandbox"])
                if folder is None:
                    for name, (model, view, colours) in SHOWN.items():
                        _webp(_taken(browser, model, view, colours, DESK), IMAGES / f"{name}.webp")
                else:
                    folder.mkdir(exist_ok=True)
                    for model, views in VIEWS.items():
                        for view in views:
                            for name, colours, size in (
                                ("light", "light", DESK), ("dark", "dark", DESK), ("phone", "light", PHONE),
                            ):  # fmt: skip
                                png = _taken(browser, model, view, colours, size)
                                (folder / f"{model}-{view}-{name}.png").write_bytes(png)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def _wait(address: str) -> None:
    for _ in range(600):
        try:
            urlopen(address).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server did not start")


def _taken(browser: Any, model: str, view: str, colours: str, size: dict[str, int]) -> bytes:
    context = browser.new_context(viewport=size, color_scheme=colours, device_scale_factor=1.25)
    page = context.new_page()
    page.set_default_timeout(90_000)
    page.goto(f"http://127.0.0.1:8765/#/{view}?model={model}")
    page.wait_for_selector("article")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)
    if view == "errors" and page.get_by_role("button", name="Score").count():
        page.get_by_role("button", name="Score").first.click()
        page.wait_for_load_state("networkidle")
    png: bytes = page.screenshot()
    context.close()
    return png


def _webp(png: bytes, path: Path) -> None:
    from PIL import Image

    Image.open(io.BytesIO(png)).convert("RGB").save(path, "WEBP", quality=82, method=6)


if __name__ == "__main__":
    main()
