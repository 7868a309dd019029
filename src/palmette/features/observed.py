"""Words as a model that counts them sees them: a word that it knows, or the class of one that it does not.

A word's classes go from the narrow to the wide one:

    <form:suffix>   the class of `orthography` (lower, initial, acronym, number, ...) and a suffix of 3, 2 or 1 letters
    <form>          without the suffix
    <unknown>       for all others

and it gets the first one that there is. Templates name it: `%x[0,0,observed:words]`. Which words are known and which
classes there are is learnt (see structures/hmm/words.py) and saved with the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec

from palmette.features.wordforms import orthography

UNKNOWN = "<unknown>"
SUFFIXES = (3, 2, 1)


def word_classes(word: str) -> Iterator[str]:
    """From the narrow class to the wide one."""
    form = orthography(word)
    for n in SUFFIXES:
        suffix = word[-n:].lower()
        if len(word) > n and suffix.isalpha():
            yield f"<{form}:{suffix}>"
    yield f"<{form}>"
    yield UNKNOWN


class Observed(msgspec.Struct, frozen=True, dict=True):
    """What can be observed. Without classes it is closed: nothing else can be observed at all."""

    name: str
    known: list[str]
    classes: list[str] = []

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.known)

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(self.classes)

    def find(self, word: str) -> str | None:
        """The word if it is known, else its class; None: it cannot be observed."""
        if word in self._known:
            return word
        return next((name for name in word_classes(word) if name in self._classes), None)
