"""Which words to show for tokens that are dicts or lists of features: those that their features name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

# Parts of the names that features with a word have, the likeliest first: {"word.lower()": "time"}, "w[0]=Time"
NAMED = ("word", "form", "token", "text", "w[0]", "w0", "lower", "w")


def words_of(tokens: Sequence[Any]) -> list[str] | None:
    """The words of a sentence of dicts or lists; None if its tokens are words, or no feature names one in each."""
    pairs = [_features(token) for token in tokens]
    if not pairs or not all(pairs):
        return None
    shared = set.intersection(*({name for name, _ in own} for own in pairs))
    names = sorted((rank, name) for name in shared if (rank := _rank(name)) is not None)
    return None if not names else [dict(own)[names[0][1]] for own in pairs]


def _features(token: Any) -> list[tuple[str, str]]:
    """Names and values of the features whose value is a text."""
    if isinstance(token, dict):
        return [(str(name), value) for name, value in token.items() if isinstance(value, str) and value]
    if isinstance(token, list | set | frozenset):
        return list(_parted(token))
    return []


def _parted(features: Iterable[Any]) -> Iterable[tuple[str, str]]:
    for feature in features:
        for mark in "=:":
            name, found, value = str(feature).partition(mark)
            if found and name and value:
                yield name, value
                break


def _rank(name: str) -> tuple[int, int] | None:
    """How likely the feature of this name is the word itself; None: it is not, as those of neighbours (-1:word)."""
    low = name.lower()
    if any(mark in low for mark in ("-1", "+1", "-2", "+2", "prev", "next", "before", "after", "[-", "[1")):
        return None
    ranks = (k for k, part in enumerate(NAMED) if (low == part if len(part) < 3 else part in low))
    rank = next(ranks, None)
    return None if rank is None else (rank, len(low))
