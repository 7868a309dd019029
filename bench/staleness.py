"""Which records are older than the sources that they measure.

A record keeps a digest of what decides its figures: the compiled code (`kernels/`, without its build), the features
(`features/`), both as syntax trees without comments, docstrings and imports, and the defaults of all options. The
Python around them may move without a record growing old; `python -m bench against REVISION` measures what that costs.

`recheck.json` names the records of earlier code that are kept, with the digest of today's code and the reason: that
they were looked at and are still true, or that they were not run again; for
`python -m bench recheck NAME ... --why "..."`.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent.parent / "src" / "palmette"
RESULTS = Path(__file__).resolve().parent / "results"
RECHECKED = RESULTS / "recheck.json"
MEASURED = ("features", "kernels")
NOT_MEASURED = SOURCES / "kernels" / "build"
OTHERS = ("recheck", "shape")  # files beside the records that are not measurements


@cache
def digest() -> str:
    """Return the digest of the measured code and defaults as they are now."""
    files = [file for folder in MEASURED for file in (SOURCES / folder).rglob("*.py")]
    bodies = sorted(_body(file) for file in files if NOT_MEASURED not in file.parents)
    return hashlib.sha256("\n".join([*bodies, *_defaults()]).encode()).hexdigest()[:16]


def _body(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(body[:1] and body[0], ast.Expr) and _is_text(body[0].value):
            del body[0]
    statements = [ast.dump(node) for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return hashlib.sha256("\n".join(statements).encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _defaults() -> Iterator[str]:
    """Yield a line for each option of taggers, parsers and classifiers, and of the learners and searches they offer."""
    from palmette.classification.options import LatentOptions
    from palmette.options.chain import ChainOptions
    from palmette.options.spelling import variant_options
    from palmette.parsing.options import TreeOptions

    for owner in (ChainOptions, TreeOptions, LatentOptions):
        for option in owner.__options__.values():
            yield f"{owner.__name__} {option.name} {option.default!r}"
        for _, variant, option in variant_options(owner):
            yield f"{owner.__name__} {variant} {option.name} {option.default!r}"


def stale() -> dict[str, str]:
    """Return the records that were neither made nor rechecked with the code of now, with what they were made of."""
    checked = rechecked()
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if path.stem in OTHERS or digest() in (record.get("code"), checked.get(path.stem, {}).get("code")):
            continue
        version, date = record.get("packages", {}).get("palmette", "unknown"), record.get("date", "an unknown date")
        found[path.stem] = f"version {version} of {date}"
    return found


def rechecked() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(RECHECKED.read_text(encoding="utf-8")) if RECHECKED.exists() else {}
    return found


def recheck(names: list[str], why: str) -> None:
    """Note why records of earlier code are kept."""
    found: dict[str, Any] = rechecked() | {name: {"code": digest(), "why": why} for name in names}
    RECHECKED.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
