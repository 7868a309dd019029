"""What is known of single words: keys of words with their tags, and what a model has found for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np

from palmette.features.encode import hash_optional

# Keys of words with their tags: one 64-bit hash of several cells, for dictionaries that store no strings.

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def lower(form: str) -> str:
    """Lower case; a dotted capital I becomes one character."""
    return form.replace("İ", "i").lower()


def mixed(*hashes: np.ndarray) -> np.ndarray:
    """One hash u64[] of the hashes of several cells; cells of another number or order give another one."""
    made = np.full(hashes[0].size, len(hashes), np.uint64)
    for hash in hashes:
        made = (made ^ hash) * _FACTOR  # of arrays: wraps around
        made ^= made >> np.uint64(29)
    return made


def keys_of_cells(entries: Iterable[tuple[str, ...]]) -> np.ndarray:
    """The keys u64[] of tuples of cells, all of one size."""
    columns = list(zip(*entries, strict=True))
    return mixed(*(hash_optional(cells)[0] for cells in columns)) if columns else np.zeros(0, np.uint64)


def looked_up(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place i64[] of each wanted key among rising keys; -1 for those that are not there."""
    if not keys.size:
        return np.full(wanted.size, -1, np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


# What a model has found for single words, kept for short texts: looking there costs less than calling it.

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SHORT = 64  # words of a text that is read into arrays that are kept, and whose words are looked up here
MOST = 1 << 16  # words that are kept; a full memo starts anew


class WordMemo(Generic[K, V]):
    """Values of a function of words, which is given many of them at once. Several threads may use it."""

    def __init__(self, values: Callable[[list[K]], Sequence[V]]) -> None:
        self._values = values
        self._kept: dict[K, V] = {}

    def of(self, words: Sequence[K]) -> list[V]:
        """The value of each word."""
        kept = self._kept
        new = [word for word in dict.fromkeys(words) if word not in kept]
        if new:
            if len(kept) + len(new) > MOST:
                kept = self._kept = {}
                new = list(dict.fromkeys(words))
            kept.update(zip(new, self._values(new), strict=True))
        return [kept[word] for word in words]
