"""Curves in SVG, drawn from a plain record: up to four panels, each line with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from palmette.errors import UsageError
from palmette.reports.svg import Point, Sheet, text_width

MOST_PANELS = 4
_DASHES = {"": {}, "dashed": {"stroke_dasharray": "6 4"}, "dotted": {"stroke_dasharray": "1.5 3.5"}}
_EDGE, _GAP, _ROOM = 16.0, 15.0, 10.0


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


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as possible to those wanted, in their order, that lie `gap` apart and between two bounds (below
    the upper one if there are too many)."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    blocks: list[tuple[float, int]] = []  # the sum of (place - rank * gap), and how many
    for rank, k in enumerate(order):
        total, count = wanted[k] - rank * gap, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    flat = [total / count for total, count in blocks for _ in range(count)]
    most = high - (len(wanted) - 1) * gap
    places = [0.0] * len(wanted)
    for rank, k in enumerate(order):
        places[k] = max(low, min(flat[rank], most)) + rank * gap
    return places


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
