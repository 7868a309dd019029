"""Annotated texts for tests: strategies of documents with emoji, combining marks, line ends of all kinds and spans
anywhere; and files of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from palmette.data import Document, TextSpan

CHARACTERS = [
    *"ab.Z é漢\t\n'\"\\", "😀", "👩", "\u200d", "\u0301", "\u2028", "\r\n", "\r", "\u00a0", "n't ",
]  # fmt: skip
WORDS = ["Anna", "Berlin-Mitte", "U.S.", "don't", "e\u0301te\u0301", "👩\u200d🚒", "😀", "x.", "End.", "…", "10:30"]
texts = st.one_of(
    st.lists(st.sampled_from(CHARACTERS), max_size=20).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
)
labels = st.sampled_from(["PER", "LOC", "X-1", "ÄÖ"])


@st.composite
def spans_of(draw: st.DrawFn, text: str, gaps: bool = False) -> TextSpan:
    """A span anywhere in a text, perhaps empty; with `gaps` perhaps in pieces."""
    size = draw(st.sampled_from([2, 2, 2, 4, 6])) if gaps else 2
    places = sorted(draw(st.lists(st.integers(0, len(text)), min_size=size, max_size=size)))
    pieces = tuple((places[k], places[k + 1]) for k in range(0, size, 2))
    return TextSpan(places[0], places[-1], draw(labels), pieces if size > 2 else ())


@st.composite
def documents(draw: st.DrawFn, gaps: bool = False) -> Document:
    text = draw(texts)
    return Document(text, draw(st.lists(spans_of(text, gaps), max_size=5)), place="here")


TARGETS = {"prodigy": "a.jsonl", "labelstudio": "a.json", "doccano": "b.jsonl", "brat": "a.ann"}


def write_lines(folder: Path, name: str, *rows: Any) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def label_studio_task(**keys: Any) -> dict[str, Any]:
    region = {"value": {"start": 0, "end": 3, "text": "Bob", "labels": ["P"]}, "from_name": "ner", "to_name": "t",
              "type": "labels", "id": "r1", "origin": "manual"}  # fmt: skip
    return {"id": 7, "data": {"body": "Bob left", "n": 1}, "annotations": [{"id": 1, "result": [region]}], **keys}
