"""One headless Chromium for the tests of the page, if there is one on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser; the test is skipped where there is none."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no browser: looked for {', '.join(NAMES)}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=FLAGS.split())
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser: Any, **options: Any) -> Iterator[Any]:
    """A page of its own that must not complain, nor ask any other host."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if is_outside(request.url) else None)
    yield page
    context.close()
    assert heard == []


def is_outside(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "file", "about", "blob") and parts.hostname != "127.0.0.1"
