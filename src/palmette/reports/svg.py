"""What pictures share: text that is escaped, the type, one palette for light and dark, and places for names.

Paper and ink are in a notebook the notebook's own; elsewhere all colours follow the light or dark scheme of the reader.
They keep apart for readers who do not see red or green, and no picture relies on them alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

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
