"""Models of file version 1, one of every kind, as tests/fixtures/v1 keeps them; see index.json there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "v1"
_INDEX = json.loads((FOLDER / "index.json").read_text())
FILES: dict[str, dict[str, Any]] = {row["name"]: row for row in _INDEX["files"]}


def unpacked(name: str, folder: Path) -> Path:
    """The model file `name` in a folder."""
    path = folder / f"{name}.palm"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.palm.gz").read_bytes()))
    return path
