"""Observations of a hidden Markov model: a word that it knows, or the class of an unknown one.

The classes of a word, from the narrowest to the widest:

    <form:suffix>   the class of `orthography` (lower, initial, acronym, number, ...) and a suffix of 3, 2 or 1 letters
    <form>          without the suffix
    <unknown>       for all others

A word gets the first of these that exists. Templates refer to it by `%x[0,0,observed:words]`. The known words and the
existing classes are learnt (see structures/hmm/words.py) and saved with the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec

UNKNOWN = "<unknown>"
SUFFIXES = (3, 2, 1)


def word_classes(word: str) -> Iterator[str]:
    """The classes of a word, from the narrowest to the widest."""
    from palmette.features.wordforms import orthography

    form = orthography(word)
    for n in SUFFIXES:
        suffix = word[-n:].lower()
        if len(word) > n and suffix.isalpha():
            yield f"<{form}:{suffix}>"
    yield f"<{form}>"
    yield UNKNOWN


class Observed(msgspec.Struct, frozen=True, dict=True):
    """The possible observations. Without classes the vocabulary is closed: no other word can be observed."""

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
