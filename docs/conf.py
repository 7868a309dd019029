"""The documentation site: `sphinx-build -W docs site` (pip install '.[docs]')."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

_PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Palmette"
author = "The Palmette authors"
copyright = author
version = release = _PROJECT["version"]
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
html_theme = "furo"
html_title = f"Palmette {version}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

# Pages outside of docs/ that the site includes, by how pages of the repository link to them
_INCLUDED = {name: f"project/{name.lower()}.md" for name in ("CHANGELOG", "SECURITY", "CONTRIBUTING", "ARCHITECTURE")}


def _links(app: object, page: str, source: list[str]) -> None:
    """Links between pages as the site has them: files that are not on it are named without a link."""
    text = source[0]
    for name, path in _INCLUDED.items():
        for link in (f"](../{name}.md", f"]({name}.md"):
            text = text.replace(link, f"](/{path}")
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)*(?:LICENSE|CODE_OF_CONDUCT\.md|src/[^)]*)\)", r"`\1`", text)


def setup(app: Sphinx) -> None:
    app.connect("source-read", _links)
    app.connect("include-read", lambda app, path, page, source: _links(app, page, source))
