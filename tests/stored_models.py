"""Models of file version 1, one of every kind, as tests/fixtures/v1 keeps them (see index.json there), the chains
among them in the forms of version 2, full and compact, and a parser that can be trained further."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "v1"
_INDEX = json.loads((FOLDER / "index.json").read_text())
FILES: dict[str, dict[str, Any]] = {row["name"]: row for row in _INDEX["files"]}


FULL, COMPACT = "2 ", "compact "
# Chains only; an HMM has weights of minus infinity, which a compact model cannot have.
OTHERS = ("parser", "classifier", "language_model")
CHAINS = [name for name in FILES if not name.startswith(OTHERS)]
COMPACT_PARSER, TABLES = COMPACT + "parser", "tables "  # an HMM with its tables, which no fixture has
RESUMABLE = "resumable parser"
FORMS = [
    *FILES,
    *(FULL + name for name in CHAINS),
    *(COMPACT + name for name in CHAINS if "hmm" not in name),
    COMPACT_PARSER,
    RESUMABLE,
    TABLES + "1",
    TABLES + "2",
]


def unpacked(name: str, folder: Path) -> Path:
    """The model file `name` in a folder; `name` is one of FORMS."""
    from palmette import Parser
    from palmette.structures.chain.compact import compact_chain
    from palmette.structures.chain.serialise import load_chain

    if name.startswith(TABLES):
        return _hmm(int(name.removeprefix(TABLES)), folder)
    if name == RESUMABLE:
        return _resumable(folder / "resumable.palm")
    first = name.removeprefix(FULL).removeprefix(COMPACT)
    path = folder / f"{first}.palm"
    path.write_bytes(gzip.decompress((FOLDER / f"{first}.palm.gz").read_bytes()))
    if name == COMPACT_PARSER:
        parser = Parser.load(path)
        parser.compact()
        parser.save(path)
    elif name != first:
        model = load_chain(path)
        model.checkpoint = {}
        (compact_chain(model)[0] if name.startswith(COMPACT) else model).save(str(path))
    return path


def _hmm(order: int, folder: Path) -> Path:
    from palmette import HMM

    words = [["the", "old", "boat"], ["rain", "fell"], ["the", "lake"]]
    path = folder / f"hmm-{order}.palm"
    HMM(order).fit(words, [["D", "J", "N"], ["N", "V"], ["D", "N"]]).save(path)
    return path


def _resumable(path: Path) -> Path:
    from palmette import Parser
    from palmette.datasets.demo import load_trees

    Parser("basic", learner="arow", passes=1).fit(load_trees("test"), checkpoint=True).save(path)
    return path
