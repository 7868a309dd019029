"""Offsets that count otherwise than by characters.

JavaScript counts UTF-16 units: a character beyond U+FFFF, such as most emoji, is two. Browsers may show CR LF as one
character. doccano counts units; Label Studio did until 2022 and counts characters now, and its spans have their text,
which shows what was counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate

CHARACTERS, UTF16, AUTO = "characters", "utf16", "auto"

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
