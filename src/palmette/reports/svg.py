"""What pictures share: one palette for light and dark, and a sheet that collects the shapes of a drawing in SVG.

Paper and ink are in a notebook the notebook's own; elsewhere all colours follow the light or dark scheme of the reader.
They keep apart for readers who do not see red or green, and no picture relies on them alone. Shapes have names of
colours (`COLOURS`), not colours. Widths of text are estimated, a bit too large rather than too small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape

from rich.cells import cell_len

# What XML 1.0 excludes: control characters, lone surrogates, and the two that are no characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

FONT = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "Noto Sans", sans-serif'
LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "quiet": "#6e7781", "faint": "#d8dee4", "band": "#f3f5f8",
    "blue": "#0969da", "orange": "#bc4c00", "teal": "#0b7a6f", "pink": "#a3479b", "amber": "#8a6100", "grey": "#6e7781",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "quiet": "#8b949e", "faint": "#30363d", "band": "#161b22",
    "blue": "#58a6ff", "orange": "#f0883e", "teal": "#39c5b0", "pink": "#e08bd8", "amber": "#d4a72c", "grey": "#8b949e",
}  # fmt: skip
_NOTEBOOK = {  # what JupyterLab and VS Code call them
    "paper": ("--jp-layout-color0", "--vscode-editor-background"),
    "ink": ("--jp-content-font-color0", "--vscode-editor-foreground"),
    "quiet": ("--jp-content-font-color2", "--vscode-descriptionForeground"),
    "band": ("--jp-layout-color2", "--vscode-editorWidget-background"),
}
COLOURS = ("blue", "orange", "teal", "pink", "amber", "grey", "ink")
SIZES = {"title": 15, "text": 13, "small": 11.5, "note": 11.5}
_CHARACTER = 0.6  # of the size: about the mean width of a letter in the wider fonts
_BOLD = 1.1  # times that
_HEAD = 7.0  # the length of an arrow's head
_EDGE = 14.0

Point = tuple[float, float]


def palette(scope: str) -> str:
    """Style that defines the colours as variables (`--ink`, ...) in the elements of a class."""

    def definitions(scheme: dict[str, str]) -> str:
        return "; ".join(f"--{name}: {_in_notebooks(name, colour)}" for name, colour in scheme.items())

    dark = f"@media (prefers-color-scheme: dark) {{ .{scope} {{ {definitions(DARK)} }} }}"
    return f".{scope} {{ {definitions(LIGHT)} }}\n{dark}"


def _in_notebooks(name: str, colour: str) -> str:
    if name not in _NOTEBOOK:
        return colour
    jupyter, vscode = _NOTEBOOK[name]
    return f"var({jupyter}, var({vscode}, {colour}))"


def paint(what: str, colour: str) -> str:
    """A declaration of `fill` or `stroke`; programs that know no variables see the light scheme."""
    return f"{what}: {LIGHT[colour]}; {what}: var(--{colour})"


def text_of(text: object) -> str:
    """Text for an element or an attribute's value; what cannot be written is shown as U+FFFD."""
    return escape(_FORBIDDEN.sub("\ufffd", str(text)))


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
        width = max(width, self.right + _EDGE)
        size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{told}">'
        paper = f'<rect width="{width:.0f}" height="{height:.0f}" class="paper"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", paper, *self.parts, "</svg>\n"])
