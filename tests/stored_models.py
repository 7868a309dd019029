"""Models of file version 2, as tests/fixtures/v2 keeps them (see index.json there), the chains among them also compact,
and models of forms that are not kept there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "v2"
_INDEX = json.loads((FOLDER / "index.json").read_text())
FILES: dict[str, dict[str, Any]] = {row["name"]: row for row in _INDEX["files"]}


COMPACT = "compact "
# Chains only; an HMM has weights of minus infinity, which a compact model cannot have.
OTHERS = ("parser", "classifier", "language_model")
CHAINS = [name for name in FILES if not name.startswith(OTHERS)]
COMPACT_PARSER, TABLES = COMPACT + "parser", "tables "  # an HMM with its tables, which no fixture has


def _mixture(path: Path) -> None:
    from palmette import LanguageModel

    LanguageModel(2.5).fit(["a bb cc a", "bb a cc", "cc a bb d", "d bb", "a bb"]).save(path)


def _classifier_checkpoint(path: Path) -> None:
    from palmette import Classifier
    from palmette.datasets import load_grammaticality

    X, y = load_grammaticality("test")
    Classifier(views="iob2,ioe1", types=1, passes=2).fit(X[:12], y[:12], checkpoint=True).save(path)


def _resumable(path: Path) -> None:
    from palmette import Parser
    from palmette.datasets import load_trees

    Parser("basic", learner="arow", passes=1).fit(load_trees("test"), checkpoint=True).save(path)


NEW = {
    "mixture": _mixture,
    "classifier_checkpoint": _classifier_checkpoint,
    "resumable_parser": _resumable,
}
FORMS = [
    *FILES,
    *(COMPACT + name for name in CHAINS if "hmm" not in name),
    COMPACT_PARSER,
    TABLES + "1",
    TABLES + "2",
    *NEW,
]


def unpacked(name: str, folder: Path) -> Path:
    """The model file `name` in a folder; `name` is one of FORMS."""
    from palmette import Parser
    from palmette.structures import load_chain
    from palmette.structures.chain.compact import compact_chain

    if name.startswith(TABLES):
        return _hmm(int(name.removeprefix(TABLES)), folder)
    if name in NEW:
        NEW[name](folder / f"{name}.palm")
        return folder / f"{name}.palm"
    first = name.removeprefix(COMPACT)
    path = folder / f"{first}.palm"
    path.write_bytes(gzip.decompress((FOLDER / f"{first}.palm.gz").read_bytes()))
    if name == COMPACT_PARSER:
        parser = Parser.load(path)
        parser.compact()
        parser.save(path)
    elif name != first:
        model = load_chain(path)
        model.checkpoint = {}
        compact_chain(model)[0].save(str(path))
    return path


def _hmm(order: int, folder: Path) -> Path:
    from palmette import HMM

    words = [["the", "old", "boat"], ["rain", "fell"], ["the", "lake"]]
    path = folder / f"hmm-{order}.palm"
    HMM(order).fit(words, [["D", "J", "N"], ["N", "V"], ["D", "N"]]).save(path)
    return path
