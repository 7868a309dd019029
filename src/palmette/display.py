"""How objects show themselves in notebooks. Pictures and tables are drawn at the end of the road, in `reports` or
in a room, which models and scores must not import: a class names the function that draws it, which is looked up when
somebody looks.

    class Scores:
        _repr_html_ = drawn_by("reports.notebook:scores")        # reports/notebook.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from palmette.lazy import loaded


def drawn_by(place: str) -> Callable[[Any], str]:
    """A method that draws its object by the function `module:function`."""

    def draw(self: Any) -> str:
        return drawn(self, place)

    return draw


def drawn(thing: Any, place: str) -> str:
    """What the function `module:function` draws."""
    made: str = loaded(place)(thing)
    return made
