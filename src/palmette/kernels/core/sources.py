"""Which source files a kernel is made of, and hashes of them."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1]
_IMPORT = re.compile(rf"^from {re.escape(__name__.removesuffix('.core.sources'))}\.([\w.]+) import", re.MULTILINE)


@cache
def sources_of(source: Path) -> frozenset[Path]:
    """The kernel files that the code of `source` can come from: itself and all that it imports, over any steps."""
    found, waiting = {source}, [source]
    while waiting:
        for name in _IMPORT.findall(waiting.pop().read_text(encoding="utf-8")):
            imported = FOLDER / f"{name.replace('.', '/')}.py"
            if imported not in found and name != "core.compile":  # the decorators, which are not part of any code
                found.add(imported)
                waiting.append(imported)
    return frozenset(found)


@cache
def source_hash(source: Path) -> str:
    """A hash of what a kernel of this file is made of, wherever the folder is."""
    digest = hashlib.sha256()
    for path in sorted(sources_of(source)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def all_sources_hash() -> str:
    """A hash of everything in this folder: kernels, and what builds and calls them."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*.py")):
        digest.update(path.relative_to(FOLDER).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
