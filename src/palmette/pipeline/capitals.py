"""What a treebank tells about capitalised words: whether they are also written small, and whether they are names.

After a full stop `The` begins a sentence, since the treebank has `the`; `Smith`, which has a capital within sentences
too and is never small, may be a name after an abbreviation.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from palmette.data.corpus import Column, column_of_names
from palmette.pipeline.split_text import SplitText
from palmette.pipeline.units import Units

_OFTEN = 2  # capitals within sentences that make a name
KINDS = ("other", "unknown", "word", "name", "both")
_OTHER, _UNKNOWN, _WORD, _NAME, _BOTH = range(5)


class Capitals:
    """Words that are written small, and capitalised words that occur within sentences."""

    def __init__(self, small: Iterable[str], names: Iterable[str]) -> None:
        self.small, self.names = frozenset(small), frozenset(names)

    def _kind(self, word: str) -> int:
        if not word[0].isupper():
            return _OTHER
        small, name = word.lower() in self.small, word in self.names
        return _BOTH if small and name else _WORD if small else _NAME if name else _UNKNOWN

    def column(self, words: Column) -> Column:
        """The kind of each word."""
        kinds = np.array([self._kind(word) for word in words.types], np.int32)
        return column_of_names(KINDS).with_ids(kinds[words.ids])


def learn_capitals(split: SplitText, units: Units) -> Capitals:
    """The capitals of a treebank. Within a sentence is what follows a word, a number or a comma in it."""
    types = units.cells.types
    first = np.isin(units.start, split.start[split.sentence[:-1]])
    plain = np.array([word[-1].isalnum() or word == "," for word in types], np.bool_)[units.cells.ids]
    within = ~first & np.append(False, plain[:-1])
    count = np.bincount(units.cells.ids[within], minlength=len(types)).tolist()
    # Only words that have the other case tell something.
    small = {word for word in types if word[0].islower() and word[0] != word[0].upper()}
    names = {word for word, n in zip(types, count, strict=True) if n >= _OFTEN and word[0].isupper()}
    return Capitals(small & {word.lower() for word in types if word[0].isupper()} | _usual(types, units, small), names)


def _usual(types: list[str], units: Units, small: set[str]) -> set[str]:
    """The small words that occur more than once; others hardly come again with a capital."""
    count = np.bincount(units.cells.ids, minlength=len(types)).tolist()
    return {word for word, n in zip(types, count, strict=True) if n >= _OFTEN and word in small}
