"""What several formats of annotators share."""

from __future__ import annotations

from typing import Any

import msgspec

from palmette.data.document import ACCEPT, IGNORE, PREDICTED, REJECT, Document, TextSpan, joined_pieces
from palmette.data.notes import Notes


class Reading(msgspec.Struct, frozen=True):
    """How a file is read: the key of the text, the key (or the name) of the spans, what offsets count."""

    text_key: str | None = None
    label_key: str | None = None
    offsets: str = "auto"


def flat_spans(document: Document, notes: Notes) -> list[TextSpan]:
    """The spans for a format without discontinuous ones: each piece is a span of its own."""
    made: list[TextSpan] = []
    for span in document.spans:
        if not span.fragments:
            made.append(span)
            continue
        pieces = joined_pieces(document.text, span.pieces)
        if len(pieces) > 1:
            notes.add("split", document.place)
        made += [msgspec.structs.replace(span, start=start, end=end, fragments=()) for start, end in pieces]
    return made


def note_losses(document: Document, format: str, notes: Notes, *, meta: bool, score: bool) -> None:
    """Note what a format cannot keep of a document of another one; `meta`, `score`: it has a place for them."""
    if document.format != format:
        notes.add("others", document.place, document.others)
        if more := _other_keys(document):
            notes.add("keys", f"{document.place}: {', '.join(more[:5])}")
    if document.meta and not meta:
        notes.add("meta", document.place)
    if not score:
        notes.add("score", document.place, sum(span.score is not None for span in document.spans))


_OWN_KEYS = {
    "prodigy": {"relations"}, "doccano": {"relations"}, "brat": {"lines"},
    "labelstudio": {"data", "annotations", "completions", "predictions"},
}  # fmt: skip


def _other_keys(document: Document) -> list[str]:
    """The keys that a document and its spans have kept and that only their format has."""
    found = document.kept.keys() - _OWN_KEYS.get(document.format, set())
    data = document.kept.get("data") if document.format == "labelstudio" else None
    if isinstance(data, dict):
        found |= data.keys() - {document.style[0]}
        found |= {"predictions"} if document.answer != PREDICTED and document.kept.get("predictions") else set()
    if document.format == "prodigy" and document.tokens is not None:
        found |= {"tokens"}
    if document.format != "labelstudio":
        found |= {key for span in document.spans for key in span.extra}
    return sorted(found)


def kept_keys(document: Document, format: str) -> dict[str, Any]:
    """What a document has kept, if it is of this format."""
    return dict(document.kept) if document.format == format else {}


def left_out(document: Document, notes: Notes) -> bool:
    """Whether a document has no spans to rely on, which is noted: rejected, ignored, annotated by nobody or a model."""
    if document.answer == ACCEPT:
        return False
    notes.add(_LEFT_OUT[document.answer], document.place)
    return True


_LEFT_OUT = {None: "unannotated", REJECT: "rejected", IGNORE: "ignored", PREDICTED: "predicted"}
