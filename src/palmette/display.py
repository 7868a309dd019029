"""How objects show themselves in notebooks. Pictures and tables are drawn in `reports`, at the end of the road, which
models and scores must not import: a class names the function that draws it, which is looked up when somebody looks.

    class Scores:
        _repr_html_ = drawn_by("notebook_scores:scores")        # reports/notebook_scores.py
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def drawn_by(place: str) -> Callable[[Any], str]:
    """A method that draws its object by the function `module:function` of `palmette.reports`."""

    def draw(self: Any) -> str:
        return drawn(self, place)

    return draw


def drawn(thing: Any, place: str) -> str:
    """What the function `module:function` of `palmette.reports` draws."""
    module, _, name = place.partition(":")
    made: str = getattr(import_module(f"palmette.reports.{module}"), name)(thing)
    return made
