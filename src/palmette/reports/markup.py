"""What pictures in SVG share: text that is escaped, and the colours of paper and ink.

In a notebook these are the notebook's own, by the names that JupyterLab and VS Code give them; elsewhere they follow
the light or dark scheme of the reader. Colours that carry a meaning can be read on both.
"""

from __future__ import annotations

import re
from html import escape

# What XML 1.0 excludes: control characters, lone surrogates, and the two that are no characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

BLUE, ORANGE, RED, GREEN = "#2f7fd6", "#c8691c", "#d1434b", "#0f8a78"
_INKS = {
    "paper": ("--jp-layout-color0", "--vscode-editor-background", "#ffffff", "#0d1117"),
    "ink": ("--jp-content-font-color0", "--vscode-editor-foreground", "#1f2328", "#e6edf3"),
    "quiet": ("--jp-content-font-color2", "--vscode-descriptionForeground", "#666d75", "#9aa4ae"),
    "band": ("--jp-layout-color2", "--vscode-editorWidget-background", "#f3f5f8", "#161b22"),
}


def paper_and_ink(scope: str) -> str:
    """Style that defines the colours --paper, --ink, --quiet and --band in the elements of a class."""

    def definitions(scheme: int) -> str:
        return "; ".join(
            f"--{name}: var({jupyter}, var({vscode}, {own[scheme]}))" for name, (jupyter, vscode, *own) in _INKS.items()
        )

    dark = f"@media (prefers-color-scheme: dark) {{ .{scope} {{ {definitions(1)} }} }}"
    return f".{scope} {{ {definitions(0)} }}\n{dark}"


def text_of(text: object) -> str:
    """Text for an element or an attribute's value; what cannot be written is shown as U+FFFD."""
    return escape(_FORBIDDEN.sub("\ufffd", str(text)))
