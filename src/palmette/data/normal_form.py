"""Unicode normal form C: what looks the same is the same.

A letter with an accent can be one character (NFC) or a letter and a mark that follows it (NFD, as macOS writes names of
files). Models read NFC, so that both are one word; text is written back as it was. Most text is in NFC already, and
finding that out is nearly free: characters below U+0300 are, which bytes show.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

NFC, NONE = "nfc", "none"
FIRST_BYTE = 0xCC  # the first byte of U+0300 in UTF-8; what begins with a lower one, and ASCII, is in NFC


def nfc(text: str) -> str:
    """A string in NFC."""
    if text.isascii():
        return text
    from unicodedata import is_normalized, normalize

    return text if is_normalized("NFC", text) else normalize("NFC", text)


def in_form(texts: Iterable[str], form: str) -> list[str]:
    """Strings in a form, NFC or NONE."""
    return list(map(nfc, texts)) if form == NFC else list(texts)


def doubtful(data: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Numbers of the strings of UTF-8, bytes start..end of data, that may not be in NFC."""
    if not data.size or data.max() < FIRST_BYTE:
        return np.zeros(0, np.int64)
    high = np.append(np.flatnonzero(data >= FIRST_BYTE), data.size)
    return np.flatnonzero(high[np.searchsorted(high, start)] < end)
