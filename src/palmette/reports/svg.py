"""What drawings in SVG share: a style by the palette of markup.py, and a sheet that collects shapes.

Shapes have names of colours (`COLOURS`), not colours: the style of the sheet says what they are in the light and in the
dark scheme of the reader. Widths of text are estimated, a bit too large rather than too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from rich.cells import cell_len

from palmette.reports.markup import DARK, FONT, LIGHT

COLOURS = ("blue", "orange", "teal", "pink", "amber", "grey", "ink")
SIZES = {"title": 15, "text": 13, "small": 11.5, "note": 11.5}
_CHARACTER = 0.6  # of the size: about the mean width of a letter in the wider fonts
_BOLD = 1.1  # times that
_HEAD = 7.0  # the length of an arrow's head
_EDGE = 14.0

Point = tuple[float, float]


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
        self.parts.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" class="{kind}"{_attributes(more)}>{escape(text)}</text>'
        )

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
        told = escape(about, {'"': "&quot;"})
        width = max(width, self.right + _EDGE)
        size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{told}">'
        paper = f'<rect width="{width:.0f}" height="{height:.0f}" class="paper"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", paper, *self.parts, "</svg>\n"])
