"""Curves in SVG for the documentation and the pages of studies, and the sheet that collects the shapes of a drawing.

A chart is drawn from a plain record: up to four panels, each line with its name at its end. Shapes have names of
colours (`COLOURS`), not colours: the style of the sheet says what they are in the light and in the dark scheme of the
reader. Widths of text are estimated, a bit too large rather than too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import msgspec
from rich.cells import cell_len

from palmette.errors import UsageError
from palmette.reports import COLOURS, DARK, FONT, LIGHT, spread

SIZES = {"title": 15, "text": 13, "small": 11.5, "note": 11.5}
_CHARACTER = 0.6  # of the size: about the mean width of a letter in the wider fonts
_BOLD = 1.1  # times that
_HEAD = 7.0  # the length of an arrow's head
_RIGHT = 14.0  # free beside the texts

Point = tuple[float, float]
MOST_PANELS = 4
_DASHES = {"": {}, "dashed": {"stroke_dasharray": "6 4"}, "dotted": {"stroke_dasharray": "1.5 3.5"}}
_EDGE, _GAP, _ROOM = 16.0, 15.0, 10.0


def _scheme(of: dict[str, str]) -> str:
    rules = [
        f"text {{ fill: {of['ink']} }}",
        f".paper {{ fill: {of['paper']} }}",
        f".band {{ fill: {of['band']} }}",
        f".rule {{ stroke: {of['faint']} }}",
        f".axis {{ stroke: {of['quiet']} }}",
        f".halo {{ stroke: {of['paper']} }}",
        f"text.note {{ fill: {of['quiet']} }}",
    ]
    for name in COLOURS:
        colour = of[name]
        rules.append(
            f".{name}, text.{name} {{ fill: {colour} }} .{name}-line {{ stroke: {colour} }} "
            f".{name}-area {{ fill: {colour} }}"
        )
    return "\n".join(rules)


STYLE = f"""
text {{ font-family: {FONT}; font-size: {SIZES["text"]}px }}
.title {{ font-size: {SIZES["title"]}px; font-weight: 600 }}
.small {{ font-size: {SIZES["small"]}px }}
.note {{ font-size: {SIZES["note"]}px }}
.strong {{ font-weight: 600 }}
.middle {{ text-anchor: middle }}
.end {{ text-anchor: end }}
.halo {{ stroke-width: 4px; stroke-linejoin: round; paint-order: stroke }}
.rule, .axis {{ stroke-width: 1px; fill: none }}
[class$="-line"] {{ fill: none; stroke-width: 1.8px; stroke-linejoin: round }}
[class$="-area"] {{ fill-opacity: 0.16 }}
{_scheme(LIGHT)}
@media (prefers-color-scheme: dark) {{
{_scheme(DARK)}
}}
"""


def text_width(text: str, kind: str = "") -> float:
    """About the width of a text in pixels. kind: its classes, among them perhaps a name in `SIZES`."""
    classes = kind.split()
    size = next((SIZES[name] for name in classes if name in SIZES), SIZES["text"])
    return cell_len(text) * size * _CHARACTER * (_BOLD if {"title", "strong"} & {*classes} else 1.0)


def _attributes(more: dict[str, object]) -> str:
    """Further attributes: `stroke_width=2` is stroke-width="2"."""
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())


class Sheet:
    """Shapes that are drawn one over the other. `kind` is one or more classes of the style, the last one a colour. The
    sheet is as wide as its texts need."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.right = 0.0

    def text(self, at: Point, text: str, kind: str = "", **more: object) -> None:
        classes = kind.split()
        share = 0.0 if "end" in classes else 0.5 if "middle" in classes else 1.0
        self.right = max(self.right, at[0] + share * text_width(text, kind))
        shown = escape(text, quote=False)
        self.parts.append(f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" class="{kind}"{_attributes(more)}>{shown}</text>')

    def line(self, start: Point, end: Point, kind: str, **more: object) -> None:
        (x1, y1), (x2, y2) = start, end
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{_attributes(more)}/>'
        )

    def path(self, path: str, kind: str, **more: object) -> None:
        self.parts.append(f'<path d="{path}" class="{kind}"{_attributes(more)}/>')

    def polyline(self, points: Sequence[Point], kind: str, **more: object) -> None:
        self.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), kind, **more)

    def circle(self, at: Point, radius: float, kind: str, **more: object) -> None:
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" class="{kind}"{_attributes(more)}/>'
        )

    def box(self, at: Point, size: Point, kind: str, **more: object) -> None:
        """A rectangle by its top left corner."""
        self.parts.append(
            f'<rect x="{at[0]:.1f}" y="{at[1]:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" class="{kind}"'
            f"{_attributes(more)}/>"
        )

    def arrow(self, points: Sequence[Point], colour: str, width: float = 1.6, **more: object) -> None:
        """A straight arrow (two points), or one bent by the points between its ends (three or four)."""
        (x1, y1), (x2, y2) = points[-2], points[-1]
        far = math.hypot(x2 - x1, y2 - y1) or 1.0
        dx, dy = (x2 - x1) / far, (y2 - y1) / far
        head = _HEAD + width
        foot = (x2 - 0.8 * head * dx, y2 - 0.8 * head * dy)
        curve = "L" if len(points) == 2 else "Q" if len(points) == 3 else "C"
        inner = " ".join(f"{x:.1f} {y:.1f}" for x, y in (*points[1:-1], foot))
        start = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        self.path(f"{start}{curve}{inner}", f"{colour}-line", style=f"stroke-width:{width:.1f}px", **more)
        half = 0.42 * head
        corners = [(x2 - head * dx + way * half * dy, y2 - head * dy - way * half * dx) for way in (1, -1)]
        self.path(f"M{x2:.1f} {y2:.1f}" + "".join(f"L{x:.1f} {y:.1f}" for x, y in corners) + "Z", colour)

    def svg(self, width: float, height: float, about: str) -> str:
        """The drawing. about: what a reader who does not see it should know."""
        told = escape(about, quote=False).replace('"', "&quot;")
        width = max(width, self.right + _RIGHT)
        size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{told}">'
        paper = f'<rect width="{width:.0f}" height="{height:.0f}" class="paper"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", paper, *self.parts, "</svg>\n"])


class Line(msgspec.Struct, frozen=True):
    """A named curve. Without a name it belongs to a line beside it that has one."""

    name: str
    x: list[float]
    y: list[float]
    colour: str = "blue"  # of reports/svg.py
    dash: str = ""  # or dashed, dotted
    points: bool = False  # mark them
    low: list[float] | None = None  # a band around the line
    high: list[float] | None = None


class Note(msgspec.Struct, frozen=True):
    """A mark at a point, with a word on it; `side`: where the word stands, a compass point."""

    x: float
    y: float
    text: str
    colour: str = "ink"
    side: str = "n"


class Panel(msgspec.Struct, frozen=True):
    """One pair of axes."""

    lines: list[Line]
    x_label: str
    y_label: str
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    falling_x: bool = False  # large numbers to the left
    x_ticks: list[float] | None = None
    y_range: tuple[float, float] | None = None  # what lies outside is cut off
    notes: list[Note] = []


class Chart(msgspec.Struct, frozen=True):
    """Panels under a title that says what they show."""

    title: str
    panels: list[Panel]
    columns: int = 1
    size: tuple[float, float] = (640.0, 300.0)  # of a panel

    def as_dict(self) -> dict:
        """The record as plain data."""
        return msgspec.to_builtins(self)


class _Frame(msgspec.Struct, frozen=True):
    """Where a panel's plot lies, and its scales."""

    left: float
    top: float
    right: float
    bottom: float
    x: Callable[[float], float]
    y: Callable[[float], float]


def chart_svg(chart: Chart) -> str:
    """The picture of a chart."""
    if not 1 <= len(chart.panels) <= MOST_PANELS:
        raise UsageError(f"chart: {len(chart.panels)} panels; there can be 1 to {MOST_PANELS}")
    sheet = Sheet()
    width, height = chart.size
    sheet.text((_EDGE, 26), chart.title, "title")
    for k, panel in enumerate(chart.panels):
        row, column = divmod(k, chart.columns)
        _draw_panel(sheet, panel, (column * width, 36 + row * height), chart.size, k)
    rows = -(-len(chart.panels) // chart.columns)
    return sheet.svg(chart.columns * width, 36 + rows * height + 8, _told(chart))


def _told(chart: Chart) -> str:
    parts = []
    for panel in chart.panels:
        names = ", ".join(line.name for line in panel.lines if line.name)
        parts.append(f"{panel.title + ': ' if panel.title else ''}{panel.y_label} by {panel.x_label} ({names})")
    return f"{chart.title}. {'; '.join(parts)}"


def _draw_panel(sheet: Sheet, panel: Panel, at: Point, size: Point, number: int) -> None:
    names = max((text_width(line.name, "small") for line in panel.lines), default=0.0)
    left, top = at[0] + _EDGE + 34, at[1] + (56 if panel.title else 36)
    right, bottom = at[0] + size[0] - names - 26, at[1] + size[1] - 44
    xs = [x for line in panel.lines for x in line.x]
    low, high = panel.y_range or _range([y for line in panel.lines for y in _heights(line)], panel.log_y)
    ends = (max(xs), min(xs)) if panel.falling_x else (min(xs), max(xs))
    frame = _Frame(
        left, top, right, bottom, _scale(ends, (left + 6, right), panel.log_x),
        _scale((low, high), (bottom, top), panel.log_y),
    )  # fmt: skip
    if panel.title:
        sheet.text((at[0] + _EDGE, at[1] + 16), panel.title, "strong")
    sheet.text((at[0] + _EDGE, top - 20), panel.y_label, "note")
    sheet.text(((left + right) / 2, bottom + 36), panel.x_label, "note middle")
    _draw_axes(sheet, panel, frame, (low, high), xs)
    clip = f"plot{number}"
    sheet.parts.append(
        f'<clipPath id="{clip}"><rect x="{left:.1f}" y="{top - 4:.1f}" width="{right - left + 8:.1f}" '
        f'height="{bottom - top + 4:.1f}"/></clipPath><g clip-path="url(#{clip})">'
    )
    for line in panel.lines:
        _draw_line(sheet, line, frame)
    sheet.parts.append("</g>")
    for note in panel.notes:
        _draw_note(sheet, note, frame)
    _draw_names(sheet, panel.lines, frame)


def _heights(line: Line) -> list[float]:
    return [*line.y, *(line.low or ()), *(line.high or ())]


def _range(values: Sequence[float], log: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if log:
        return low / 1.3, high * 1.3
    room = 0.06 * (high - low) or 1.0
    return (0.0 if 0 <= low < 0.25 * high else low - room), high + room


def _scale(values: Point, place: Point, log: bool) -> Callable[[float], float]:
    turn: Callable[[float], float] = math.log if log else float
    first, last = turn(values[0]), turn(values[1])
    wide = last - first or 1.0
    return lambda value: place[0] + (turn(value) - first) / wide * (place[1] - place[0])


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two."""
    raw = (high - low) / about or 1.0
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw - 1e-12)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 10) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers, and the steps between them if there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps, every = ((1,), 1 + len(powers) // 7) if high / low > 200 else ((1, 2, 5), 1)
    return [mark for k in powers[::every] for step in steps if low <= (mark := step * 10.0**k) <= high]


def _x_ticks(panel: Panel, xs: Sequence[float]) -> list[float]:
    if panel.x_ticks is not None:
        return panel.x_ticks
    low, high = min(xs), max(xs)
    if panel.log_x:
        return _powers(low, high)
    found = ticks(low, high)
    whole = all(float(x).is_integer() for x in xs)
    return [mark for mark in found if not whole or mark.is_integer()]


def _draw_axes(sheet: Sheet, panel: Panel, frame: _Frame, span: Point, xs: Sequence[float]) -> None:
    for mark in _powers(*span) if panel.log_y else ticks(*span):
        y = frame.y(mark)
        sheet.line((frame.left, y), (frame.right, y), "rule")
        sheet.text((frame.left - 6, y + 4), f"{mark:,g}", "note end")
    sheet.line((frame.left, frame.bottom), (frame.right, frame.bottom), "axis")
    for mark in _x_ticks(panel, xs):
        sheet.line((frame.x(mark), frame.bottom), (frame.x(mark), frame.bottom + 4), "axis")
        sheet.text((frame.x(mark), frame.bottom + 17), f"{mark:,g}", "note middle")


def _draw_line(sheet: Sheet, line: Line, frame: _Frame) -> None:
    if line.low is not None and line.high is not None:
        there = [(frame.x(x), frame.y(y)) for x, y in zip(line.x, line.high, strict=True)]
        back = [(frame.x(x), frame.y(y)) for x, y in zip(line.x, line.low, strict=True)]
        sheet.polyline([*there, *back[::-1]], f"{line.colour}-area")
    points = [(frame.x(x), frame.y(y)) for x, y in zip(line.x, line.y, strict=True)]
    sheet.polyline(points, f"{line.colour}-line", **_DASHES[line.dash])
    if line.points:
        for point in points:
            sheet.circle(point, 2.6, line.colour)


def _draw_note(sheet: Sheet, note: Note, frame: _Frame) -> None:
    x, y = frame.x(note.x), frame.y(note.y)
    sheet.circle((x, y), 5, f"{note.colour}-line")
    up = -10 if "n" in note.side else 19 if "s" in note.side else 4
    across, anchor = (9, "") if "e" in note.side else (-9, " end") if "w" in note.side else (0, " middle")
    sheet.text((x + across, y + up), note.text, f"small halo{anchor} {note.colour}")


def _draw_names(sheet: Sheet, lines: Sequence[Line], frame: _Frame) -> None:
    """The name of each line beside its end, and a thread to it where that is not close by."""
    named = [line for line in lines if line.name]
    ends = [(frame.x(line.x[-1]), min(max(frame.y(line.y[-1]), frame.top), frame.bottom)) for line in named]
    places = spread([y for _, y in ends], _GAP, frame.top, frame.bottom)
    for line, (x, y), place in zip(named, ends, places, strict=True):
        at = frame.right + 12
        if abs(place - y) > 3 or at - x > 16:
            sheet.line((x + 3, y), (at - 3, place), f"{line.colour}-line", style="stroke-width:0.7px", opacity=0.7)
        sheet.text((at, place + 4), line.name, f"small {line.colour}")
