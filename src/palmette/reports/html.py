"""Small pieces of HTML for notebooks, light or dark: no scripts, no style sheets, nothing from elsewhere.

Text keeps the notebook's own colour and differs by weight and opacity; coloured grounds are translucent, so that they
suit any paper. Text is escaped by construction: only `Html` is taken as it is, and only this module makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from palmette.reports.svg import text_of

FONT = "font-size:0.93em;line-height:1.45"
QUIET = "opacity:0.65"
LINE = "1px solid rgba(128,128,128,0.35)"
_COLOURS = {"green": "#2da44e", "red": "#e5534b", "cyan": "#1b9aaa"}  # readable on white and on black
_CELL = "padding:0.1em 0.9em 0.1em 0;text-align:{};vertical-align:top;border:none;background:none"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(*parts: Any) -> Html:
    """Parts one after the other, whatever is not HTML escaped."""
    return Html("".join(part if isinstance(part, Html) else text_of(part) for part in parts))


def element(name: str, *parts: Any, style: str = "", **attributes: str) -> Html:
    """An element with its content."""
    given = attributes | ({"style": style} if style else {})
    written = "".join(f' {key}="{text_of(value)}"' for key, value in given.items())
    return Html(f"<{name}{written}>{html(*parts)}</{name}>")


def page(*parts: Any) -> Html:
    """What a notebook shows below a cell."""
    return element("div", *parts, style=FONT)


def quiet(*parts: Any) -> Html:
    return element("span", *parts, style=QUIET)


def folded(summary: str, *parts: Any) -> Html:
    """Content that opens when its title is clicked."""
    head = element("summary", summary, style="cursor:pointer;margin-top:0.35em")
    return element("details", head, element("div", *parts, style="margin:0.2em 0 0.4em 1.1em;overflow-x:auto"))


def facts(rows: Mapping[str, Any]) -> Html:
    """Names and values; those without a value are left out."""
    made = [
        element("tr", _cell("td", element("span", name, style=f"{QUIET};white-space:nowrap")), _cell("td", value))
        for name, value in rows.items()
        if value is not None and value != ""
    ]
    return _table(made)


def rows_table(heads: Sequence[Any], rows: Iterable[Sequence[Any]], left: int = 1) -> Html:
    """A table whose first `left` columns are text and the others figures."""
    sides = ["left" if k < left else "right" for k in range(len(heads))]
    lines = [element("tr", *(_cell("th", head, side) for head, side in zip(heads, sides, strict=True)))]
    lines += [element("tr", *(_cell("td", c, side) for c, side in zip(row, sides, strict=False))) for row in rows]
    return _table(lines)


def _table(rows: Sequence[Html]) -> Html:
    return element("table", *rows, style="border-collapse:collapse;margin:0.2em 0;border:none")


def _cell(name: str, content: Any, side: str = "left") -> Html:
    weight = ";font-weight:600" if name == "th" else ""
    return element(name, content, style=_CELL.format(side) + weight)


# What reports print to a terminal


def rich_text(text: Text) -> Html:
    """Text with its bold, dim and coloured parts."""
    return html(*(_styled(segment.text, segment.style) for segment in text.render(_PLAIN)))


def _styled(text: str, style: Style | None) -> Html | str:
    if style is None:
        return text
    rules = ["font-weight:600"] if style.bold else []
    rules += [QUIET] if style.dim else []
    rules += ["font-style:italic"] if style.italic else []
    name = style.color.name if style.color is not None else ""
    rules += [f"color:{_COLOURS[name]}"] if name in _COLOURS else []
    return element("span", text, style=";".join(rules)) if rules else text


def rich_table(table: Table) -> Html:
    """A table of a report."""
    columns = list(table.columns)
    sides = [column.justify if column.justify == "right" else "left" for column in columns]
    cells = [[_rich(cell) for cell in column.cells] for column in columns]
    lines = []
    if table.show_header and any(column.header for column in columns):
        heads = (_cell("th", _rich(column.header), side) for column, side in zip(columns, sides, strict=True))
        lines.append(element("tr", *heads))
    for row in zip(*cells, strict=True):
        lines.append(element("tr", *(_cell("td", cell, side) for cell, side in zip(row, sides, strict=True))))
    return html(_table(lines), quiet(_rich(table.caption)) if table.caption else "")


def _rich(content: Any, markup: bool = True) -> Html:
    if isinstance(content, Table):
        return rich_table(content)
    if isinstance(content, Text):
        return rich_text(content)
    return rich_text(Text.from_markup(content, emoji=False) if markup else Text(content))


class HtmlConsole(Console):
    """A console whose output is HTML: the reports for terminals, in notebooks."""

    def __init__(self) -> None:
        super().__init__(width=100, highlight=False, emoji=False)
        self.parts: list[Html] = []

    def print(self, *objects: Any, **options: Any) -> None:
        """Add texts and tables; blank lines between them are left to the page."""
        style = "white-space:pre-wrap;margin-top:0.3em"
        style += ";font-style:italic" if options.get("style") == "italic" else ""
        style += f";{QUIET}" if options.get("style") == "dim" else ""
        for one in objects:
            made = _rich(one, options.get("markup") is not False)
            if isinstance(one, Table):
                self.parts.append(made)
            elif made.strip():
                self.parts.append(element("div", Html(made.strip("\n")), style=style))


_PLAIN = Console(width=100, highlight=False, emoji=False)


def printed(report: Callable[[Console], None]) -> Html:
    """What a report prints, as HTML."""
    console = HtmlConsole()
    report(console)
    return page(*console.parts)
