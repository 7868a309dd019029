"""What a model has found for single words, kept for short texts: looking there costs less than calling it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SHORT = 64  # words of a text that is looked up
MOST = 1 << 16  # words that are kept; a full memo starts anew


class Memo(Generic[K, V]):
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
