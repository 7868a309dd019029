"""The files of the page, by name, as a server hands them out: the page itself is `index.html` and belongs to the root,
`/`; all others belong to the folder `/static/`. The colours are those of all pictures (reports/svg.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from palmette.reports.svg import DARK, FONT, LIGHT

INDEX = "index.html"
FOLDER = "static"  # where the other files are, seen from the page
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)  # what a server sends as Content-Security-Policy with the page
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_GENERATED = "palette.css"
RUNTIME = "palmette.js"  # what tags in the page, as exported packages have it
# Softer than `quiet`, stronger than `faint`: borders of controls and circles
_EDGES = {"light": "#afb8c1", "dark": "#484f58"}


class Asset(NamedTuple):
    """The bytes of a file and its content type."""

    data: bytes
    type: str


class Assets(Mapping[str, Asset]):
    """The files by name, read when they are first asked for."""

    def __init__(self) -> None:
        static = files("palmette") / "serve" / "page" / "static"
        self._places: dict[str, Any] = {
            one.name: one for one in static.iterdir() if one.name.rpartition(".")[2] in _TYPES
        }
        self._places[RUNTIME] = files("palmette") / "runtime" / "web" / "palmette.mjs"

    def __getitem__(self, name: str) -> Asset:
        kind = f"{_TYPES.get(name.rpartition('.')[2])}; charset=utf-8"
        if name == _GENERATED:
            return Asset(palette_css().encode(), kind)
        return Asset(self._places[name].read_bytes(), kind)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted([*self._places, _GENERATED]))

    def __len__(self) -> int:
        return len(self._places) + 1


def palette_css() -> str:
    """The colours as variables: by the reader's scheme, or as chosen on the page."""
    light, dark = (
        "; ".join(f"--{name}: {colour}" for name, colour in (scheme | {"edge": edge}).items())
        for scheme, edge in ((LIGHT, _EDGES["light"]), (DARK, _EDGES["dark"]))
    )
    return (
        f":root {{ --font: {FONT}; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f':root[data-theme="light"] {{ {light}; color-scheme: light }}\n'
        f':root[data-theme="dark"] {{ {dark}; color-scheme: dark }}\n'
    )


ASSETS: Mapping[str, Asset] = Assets()
