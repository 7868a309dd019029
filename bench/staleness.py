"""Which records are older than the sources that they measure.

A record keeps a digest of what decides its figures: the compiled code (the folders `kernels`, without what builds and
finds it) and the features (`features/`), both as the set of their top-level statements, and the defaults of all
options. A statement is a syntax tree without comments, docstrings and imports, so that files may move and merge without
a record growing old. The Python around them may move too; `python -m bench against REVISION` measures what that costs.

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
MEASURED = ("features", "kernels", "*/kernels")
NOT_MEASURED = ("kernels/build/*", "kernels/registry.py", "kernels/core/sources.py")
OTHERS = ("recheck", "shape")  # files beside the records that are not measurements


@cache
def digest() -> str:
    """Return the digest of the measured code and defaults as they are now."""
    folders = [folder for pattern in MEASURED for folder in SOURCES.glob(pattern)]
    found = [statement for folder in folders for file in folder.rglob("*.py") for statement in _statements(file)]
    return hashlib.sha256("\n".join([*sorted(set(found)), *_defaults()]).encode()).hexdigest()[:16]


def _statements(file: Path) -> list[str]:
    """Return the top-level statements of a measured file."""
    if file.is_relative_to(SOURCES) and any(file.relative_to(SOURCES).match(pattern) for pattern in NOT_MEASURED):
        return []
    tree = _Normalised().visit(ast.parse(file.read_text(encoding="utf-8")))
    return [ast.dump(node) for node in tree.body]


class _Normalised(ast.NodeTransformer):
    """Leave out docstrings, imports, and blocks that hold nothing else."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if _is_text(node.value) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        self.generic_visit(node)
        return node if node.body or node.orelse else None


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
