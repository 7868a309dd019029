"""doccano's JSON lines: `text` (or `data`) and `label` or `labels`, a list of [start, end, label]; or `entities`,
objects with `start_offset`, `end_offset`, `label` and `id`, and `relations` between them.

doccano counts UTF-16 units as browsers do: characters beyond U+FFFF count twice. Files that other programs have made
for it often count characters; if an offset cannot be one of units, offsets are taken to be characters.
"""

from __future__ import annotations

from typing import Any

import msgspec

from palmette.connect.annotations.shared import (
    AUTO,
    CHARACTERS,
    AnnotationKeys,
    Ruler,
    by_characters,
    by_widths,
    flat_spans,
    has_wide,
    identity,
    kept_keys,
    listed,
    note_losses,
    record,
    string,
    utf16_units,
    whole,
)
from palmette.data.analysed import ACCEPT, At, Document, TextSpan
from palmette.data.formats.spec import FormatSpec
from palmette.data.notes import Notes
from palmette.options.spelling import spelt

NAME = "doccano"
SPAN_KEYS = ("entities", "label", "labels", "spans", "annotations")
TEXT_KEYS = ("text", "data")
_ENTITY_KEYS = ("start_offset", "end_offset", "label", "id")
_BEYOND = -1


def read_line(given: Any, at: At, how: AnnotationKeys, notes: Notes) -> Document:
    row = record(given, "the line", at)
    keys = TEXT_KEYS if how.text_key is None else (how.text_key,)
    key = next((name for name in keys if name in row), None)
    if key is None:
        known = ", ".join(list(row)[:10]) or "none"
        raise at.error(
            f"no key {keys[0]!r}; the object has {known}", f"the key can be given: {spelt(FormatSpec, 'columns')}"
        )
    text = string(row[key], f"the {key}", at)
    wanted = SPAN_KEYS if how.label_key is None else (how.label_key,)
    spans_key = next((name for name in wanted if row.get(name) is not None), None)
    spans: list[TextSpan] = []
    if spans_key is not None:
        given_spans = listed(row[spans_key], spans_key, at)
        spans = _in_characters([_span(each, k, at) for k, each in enumerate(given_spans)], text, how.offsets, at, notes)
    relations = row.get("relations")
    kept = {k: v for k, v in row.items() if k not in (key, spans_key)}
    return Document(
        text, spans, {}, None if spans_key is None else ACCEPT, format=NAME,
        kept=kept, style=(key, spans_key),
        others=len(relations) if isinstance(relations, list) else 0, place=str(at), line=at.line,
    )  # fmt: skip


def _span(given: Any, k: int, at: At) -> TextSpan:
    what = f"span {k + 1}"
    if isinstance(given, list):
        if len(given) != 3:
            raise at.error(f"{what} has {len(given)} items, not start, end and label")
        start, end, label = given
        number, extra = None, {}
    elif isinstance(given, dict):
        start, end, label = (given.get(name) for name in _ENTITY_KEYS[:3])
        number = identity(given.get("id"), f"the id of {what}", at)
        extra = {key: value for key, value in given.items() if key not in _ENTITY_KEYS}
    else:
        raise at.error(f"{what} is neither a list nor an object", "labels of whole texts are not spans")
    if isinstance(label, int) and not isinstance(label, bool):  # older versions export numbers
        label = str(label)
    name = "" if label is None else string(label, f"the label of {what}", at)
    return TextSpan(
        whole(start, f"the start of {what}", at), whole(end, f"the end of {what}", at), name, id=number, extra=extra
    )


def _in_characters(spans: list[TextSpan], text: str, offsets: str, at: At, notes: Notes) -> list[TextSpan]:
    if offsets == CHARACTERS or not has_wide(text) or not spans:
        return spans
    units = by_widths(text, 2, 2)
    made = [_moved(span, units) for span in spans]
    possible = all(min(span.start, span.end) >= 0 for span in made)
    if offsets == AUTO and made != spans:
        notes.add("utf16" if possible else "units", at)
        if not possible:
            inside = by_characters(text)
            return spans if all(inside(span.end) is not None for span in spans) else made
    return made


def _moved(span: TextSpan, ruler: Ruler) -> TextSpan:
    """A span by characters; where there is none, its offset is not in any text."""
    start, end = (found if (found := ruler(place)) is not None else _BEYOND for place in (span.start, span.end))
    return msgspec.structs.replace(span, start=start, end=end)


def write_line(document: Document, notes: Notes) -> bytes:
    """The offsets are UTF-16 units, as the tool counts them."""
    note_losses(document, NAME, notes, meta=False, score=False)
    kept = kept_keys(document, NAME)
    key, spans_key = document.style if document.format == NAME else ("text", None)
    units = utf16_units(document.text)
    spans = flat_spans(document, notes)
    row: dict[str, Any] = {key or "text": document.text, **kept}
    if document.answer is None:
        return msgspec.json.encode(row) + b"\n"
    if spans_key in ("entities", "annotations"):
        numbers = [span.id for span in spans]
        free = max((n for n in numbers if isinstance(n, int)), default=0)
        made: list[Any] = []
        for span in spans:
            free += span.id is None
            made.append(
                {"id": free if span.id is None else span.id, "label": span.label, "start_offset": units(span.start),
                 "end_offset": units(span.end), **span.extra}
            )  # fmt: skip
    else:
        made = [[units(span.start), units(span.end), span.label] for span in spans]
    row[spans_key or "label"] = made
    return msgspec.json.encode(row) + b"\n"
