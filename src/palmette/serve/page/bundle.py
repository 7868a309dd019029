"""The page as one file: style, modules and records inside, and a policy that allows these alone by their hashes.

The modules of the page import each other by one form of line and export declarations only, so that joining them needs
no parser: each becomes a function that returns what it exports, after those that it imports.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from palmette.reports.svg import text_of
from palmette.serve.page.assets import ASSETS

ENTRY = "app.js"
STYLES = ("palette.css", "style.css", "charts.css")
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def script() -> str:
    """All modules as one."""
    parts: dict[str, str] = {}
    _add(ENTRY.removesuffix(".js"), parts)
    return "\n".join(parts.values())


def _add(name: str, parts: dict[str, str]) -> None:
    """Add a module after those that it imports."""
    text = ASSETS[f"{name}.js"].data.decode()
    for match in _IMPORT.finditer(text):
        if match[2] not in parts:
            _add(match[2], parts)
    exported = ", ".join(match[1] for match in _EXPORT.finditer(text))
    body = _EXPORT.sub("", _IMPORT.sub(lambda match: f"const {{ {match[1]} }} = module_{match[2]};", text))
    parts[name] = f"const module_{name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def page_file(records: Mapping[str, Any], title: str) -> bytes:
    """A page with these records, which asks nobody for anything."""
    style, code = "\n".join(ASSETS[name].data.decode() for name in STYLES), script()
    data = msgspec.json.encode(records).decode().replace("<", "\\u003c")  # no text of a record ends the element
    icon = base64.b64encode(ASSETS["icon.svg"].data).decode()
    typed = " 'wasm-unsafe-eval'" if any("typed" in views for views in records.get("views", {}).values()) else ""
    policy = (
        f"default-src 'none'; script-src {_hash(code)}{typed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{text_of(title)}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
<noscript>This page draws with JavaScript: allow it for this file.</noscript>
<script type="application/json" id="palmette-records">{data}</script>
<script type="module">{code}</script>
</body>
</html>
""".encode()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
