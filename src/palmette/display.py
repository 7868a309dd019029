"""How objects print and show themselves in notebooks. Tables and pictures are drawn at the end of the road, in
`reports` or in a room, which models and scores must not import: a class names the function, which is looked up when
somebody looks.

    class Comparison:
        __str__ = printed_by("reports.comparison:print_comparison")        # what the command line prints
        _repr_html_ = html_by("reports.comparison:print_comparison")       # the same in a notebook
        _repr_svg_ = drawn_by("reports.trellis:trellis_svg")           # what the function returns
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


def printed_by(place: str) -> Callable[[Any], str]:
    """A method that gives the text which the report `module:function` prints; it takes the object and a `console`."""
    return _report("reports.tables:printed_text", place)


def html_by(place: str) -> Callable[[Any], str]:
    """A method that gives the same report as HTML."""
    return _report("reports.html:printed", place)


def _report(printer: str, place: str) -> Callable[[Any], str]:
    def show(self: Any) -> str:
        made: str = loaded(printer)(lambda console: loaded(place)(self, console=console))
        return made

    return show
