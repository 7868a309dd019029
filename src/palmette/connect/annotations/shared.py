"""What the formats of annotators share: JSON read strictly, what offsets count, and what a format cannot keep."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import msgspec

from palmette.data.analysed import ACCEPT, IGNORE, PREDICTED, REJECT, At, Document, TextSpan, joined_pieces
from palmette.data.formats.spec import FormatSpec
from palmette.data.notes import Notes
from palmette.errors import DataError
from palmette.options.spelling import named

# JSON of annotators' tools, read strictly: what is not as it should be is an error that names the line or the task.

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
LARGEST = 1 << 53  # whole numbers up to which JavaScript counts


def decoded(data: str, at: At) -> Any:
    """The value of a JSON text."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found):
            names = [name for name, _ in found]
            twice = next(name for name in made if names.count(name) > 1)
            raise at.error(f"the key {twice[:40]!r} comes twice in one object")
        return made

    def constant(name: str) -> Any:
        raise at.error(f"{name} is not a JSON number")

    def finite(text: str) -> float:
        if math.isinf(found := float(text)):
            raise at.error(f"the number {text[:40]} is too large")
        return found

    try:
        value = json.loads(data, object_pairs_hook=pairs, parse_constant=constant, parse_float=finite)
        if _SURROGATE.search(data):
            msgspec.json.encode(value)
        return value
    except DataError:
        raise
    except json.JSONDecodeError as error:
        line = (at.line or 1) + error.lineno - 1
        hint = f"if it is something else, name the format with {named(FormatSpec, 'format')}: text, plain, columns, ..."
        raise At(at.file, line).error(f"not JSON: {error.msg} at character {error.colno} of the line", hint) from None
    except UnicodeEncodeError:
        raise at.error("a string holds half of a surrogate pair", "clean the text first") from None
    except RecursionError:
        raise at.error("JSON nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise at.error(f"JSON that cannot be read: {error}") from None


def record(value: Any, what: str, at: At) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise at.error(f"{what} is {_kind(value)}, not an object")
    return value


def listed(value: Any, what: str, at: At) -> list[Any]:
    if not isinstance(value, list):
        raise at.error(f"{what} is {_kind(value)}, not a list")
    return value


def string(value: Any, what: str, at: At) -> str:
    if not isinstance(value, str):
        raise at.error(f"{what} is {_kind(value)}, not a string")
    return value


def whole(value: Any, what: str, at: At, hint: str | None = None) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise at.error(f"{what} is {_kind(value)}, not a whole number", hint)
    if abs(value) > LARGEST:
        raise at.error(f"{what} is a number of {len(str(abs(value)))} digits: no text is that long")
    return value


def number(value: Any, what: str, at: At) -> float | None:
    """A finite number, or nothing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise at.error(f"{what} is {_kind(value)}, not a number")
    return float(value)


def identity(value: Any, what: str, at: At) -> str | int | None:
    """An identifier: a string, a whole number, or nothing."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise at.error(f"{what} is {_kind(value)}, neither a string nor a whole number")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}" if abs(value) < LARGEST else "a huge number"
    return "a list" if isinstance(value, list) else "an object"


# Offsets that count otherwise than by characters.
#
# JavaScript counts UTF-16 units: a character beyond U+FFFF, such as most emoji, is two. Browsers may show CR LF as one
# character. doccano counts units; Label Studio did until 2022 and counts characters now, and its spans have their text,
# which shows what was counted.

CHARACTERS, AUTO = "characters", "auto"

Ruler = Callable[[int], int | None]
"""From an offset of a file to a character of the text; None: inside a character or beyond the text."""


def has_wide(text: str) -> bool:
    """Whether some character has two UTF-16 units."""
    return not text.isascii() and any(character > "\uffff" for character in text)


def by_characters(text: str) -> Ruler:
    size = len(text)
    return lambda at: at if 0 <= at <= size else None


def by_widths(text: str, wide: int, crlf: int) -> Ruler:
    """Characters beyond U+FFFF count `wide`, CR LF counts `crlf` (its LF is then the character that counts)."""
    widths = [wide if character > "\uffff" else 1 for character in text]
    if crlf == 1:
        at = text.find("\r\n")
        while at >= 0:
            widths[at] = 0
            at = text.find("\r\n", at + 2)
    places = {unit: k for k, unit in reversed(list(enumerate(accumulate(widths, initial=0))))}
    return places.get


def utf16_units(text: str) -> Callable[[int], int]:
    """From a character to the UTF-16 units before it."""
    if not has_wide(text):
        return lambda at: at
    before = list(accumulate((2 if character > "\uffff" else 1 for character in text), initial=0))
    return before.__getitem__


def rulers(text: str) -> Sequence[tuple[str, Callable[[], Ruler]]]:
    """What offsets may count, the likeliest first, each with a name in `notes.KINDS` ("" for characters)."""
    found: list[tuple[str, Callable[[], Ruler]]] = [("", cache(lambda: by_characters(text)))]
    wide = has_wide(text)
    if wide:
        found.append(("utf16", cache(lambda: by_widths(text, 2, 2))))
    if "\r\n" in text:
        found.append(("line_ends", cache(lambda: by_widths(text, 1, 1))))
        if wide:
            found.append(("utf16", cache(lambda: by_widths(text, 2, 1))))
    return found


# What several formats of annotators share.


class AnnotationKeys(msgspec.Struct, frozen=True):
    """How a file is read: the key of the text, the key (or the name) of the spans, what offsets count."""

    text_key: str | None = None
    label_key: str | None = None
    offsets: str = "auto"


def flat_spans(document: Document, notes: Notes) -> list[TextSpan]:
    """The spans for a format without discontinuous ones: each piece becomes a separate span."""
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
    """Whether a document has no reliable spans (rejected, ignored, not annotated, annotated by a model); note it."""
    if document.answer == ACCEPT:
        return False
    notes.add(_LEFT_OUT[document.answer], document.place)
    return True


_LEFT_OUT = {None: "unannotated", REJECT: "rejected", IGNORE: "ignored", PREDICTED: "predicted"}
