"""The parts of the page: its views, and its static files by name. A request chooses among them; nothing that it has
reaches the file system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

View = Callable[[Any, dict[str, Any]], dict[str, Any]]


def page_views() -> Mapping[str, View]:
    """The views by name."""
    return getattr(_module("views"), "VIEWS", {})


def page_assets() -> Mapping[str, tuple[bytes, str]]:
    """Bytes and content type of the static files."""
    return getattr(_module("assets"), "ASSETS", {})


def _module(name: str) -> Any:
    try:
        return import_module(f"palmette.page.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("palmette.page"):
            raise
        return None
