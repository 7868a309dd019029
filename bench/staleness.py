"""Which records are older than the sources that they measure.

A record keeps a digest of the code it measured: the syntax trees of the folders below, without comments, docstrings,
imports and file names, so that prose and moved files do not count. `recheck.json` names the records that
were looked at after a change and are still true, with the digest of that code and the reason; for `python -m bench
recheck NAME ... --why "..."`.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent.parent / "src" / "palmette"
RESULTS = Path(__file__).resolve().parent / "results"
RECHECKED = RESULTS / "recheck.json"
MEASURED = ("data", "estimators", "features", "kernels", "structures", "training")
OTHERS = ("recheck", "shape")  # files beside the records that are not measurements


@cache
def digest() -> str:
    """Return the digest of the measured code as it is now."""
    bodies = sorted(_body(file) for folder in MEASURED for file in (SOURCES / folder).rglob("*.py"))
    return hashlib.sha256("".join(bodies).encode()).hexdigest()[:16]


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
    """Note that records are still true of the code of now."""
    found: dict[str, Any] = rechecked() | {name: {"code": digest(), "why": why} for name in names}
    RECHECKED.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
