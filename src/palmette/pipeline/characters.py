"""Classes of characters: what decides whether two neighbours may belong to different tokens.

Letters have the class of their script, digits are one class, marks and joiners belong to what is before them; every
other character is a class of its own. White space has the class WHITE.
"""

from __future__ import annotations

import threading
import unicodedata

import numpy as np

WHITE, JOINER, DIGIT = " ", "\u200d", "9"
_JOINERS = "\u200c\u200d"
_AFTER_JOINER = "\u200d"  # what follows it belongs to it as well
_MODIFIERS = range(0x1F3FB, 0x1F400)  # skin tones
_REGIONS = range(0x1F1E6, 0x1F200)  # letters of flags
_ALL = 0x110000


def class_of(character: str) -> str:
    """The class of a character."""
    if character.isspace():
        return WHITE
    category = unicodedata.category(character)
    if category[0] == "M" or character in _JOINERS or ord(character) in _MODIFIERS:
        return JOINER
    if category[0] == "L":
        return unicodedata.name(character, "LETTER").partition(" ")[0]
    if category == "Nd":
        return DIGIT
    return "REGION" if ord(character) in _REGIONS else character


class Classes:
    """The classes of the characters that were met, by number. 0 is WHITE, 1 is JOINER."""

    def __init__(self) -> None:
        self._numbers = {WHITE: 0, JOINER: 1}
        self._table = np.full(_ALL, -1, np.int32)
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The classes in the order of their numbers."""
        with self._lock:
            return list(self._numbers)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """The number i32[n] of the class of each character u32[n]."""
        found = self._table[codes]
        if found.size and found.min() < 0:
            with self._lock:
                for code in np.unique(codes[found < 0]).tolist():
                    self._table[code] = self._numbers.setdefault(class_of(chr(code)), len(self._numbers))
            found = self._table[codes]
        return found


def bases(classes: np.ndarray) -> np.ndarray:
    """The classes with that of the character before them in place of JOINER; JOINER where there is none."""
    at = np.maximum.accumulate(np.where(classes == 1, -1, np.arange(classes.size)))
    found = np.where(at < 0, 1, classes[np.maximum(at, 0)])
    return np.where((classes == 1) & (found == 0), 1, found)


def holds(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Whether a character and the next one are never apart, whatever their classes: bool[n-1]."""
    return ((classes[1:] == 1) | (codes[:-1] == ord(_AFTER_JOINER))) & (classes[:-1] > 0) & (classes[1:] > 0)
