"""Items as python-crfsuite reads them, one by one: the definition, and the way for items that the compiled reader does
not take.

An item is a dict, or a list, tuple, set or string of names. In a dict, with P the prefix of an inner one,

    P + key + ":" + text    with value 1        for a string
    P + key                 with the number     for a number or boolean, zeros too
    P + key + ":" is the prefix of what is in   a dict, list or set

Names and strings may be bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Pairs = list[tuple[str, float]]


class ItemSequence:
    """The items of one sequence, read once: give it to `Trainer.append` and `Tagger.tag` in place of the items."""

    __slots__ = ("_pairs",)

    def __init__(self, pyseq: Iterable[Any] | ItemSequence) -> None:
        if isinstance(pyseq, ItemSequence):
            self._pairs: list[Pairs] = pyseq._pairs
        else:
            self._pairs = [_item(item, place) for place, item in enumerate(pyseq)]

    def items(self) -> list[dict[str, float]]:
        """The attributes of each item, name to value; of several values of a name the last one."""
        return [dict(pairs) for pairs in self._pairs]

    def tokens(self) -> list[dict[str, float]]:
        """The items as dicts: of each name the sum of its values, which is what they weigh together."""
        return [_summed(pairs) for pairs in self._pairs]

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"

    def __getstate__(self) -> list[Pairs]:
        return self._pairs

    def __setstate__(self, state: list[Pairs]) -> None:
        self._pairs = state


def _item(item: Any, place: int) -> Pairs:
    """The attributes of an item; errors name its place."""
    try:
        return list(_attributes(item))
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"item {place}: {error}") from None


def _attributes(item: Any) -> Iterator[tuple[str, float]]:
    if not isinstance(item, dict):
        len(item)  # what has no length is not taken: an iterator would be empty the second time
        for name in _in_order(item):
            yield _text(name, "a name"), 1.0
        return
    for key, value in item.items():
        name = _text(key, "a name")
        if isinstance(value, str | bytes):
            yield f"{name}:{_text(value, name)}", 1.0
        elif isinstance(value, dict | list | set):
            for inner, number in _attributes(value):
                yield f"{name}:{inner}", number
        else:
            yield name, _number(value, name)


def _in_order(group: Iterable[Any]) -> Iterable[Any]:
    """The names of a group. The order of a set changes from run to run; that of names would change with it."""
    return sorted(group) if isinstance(group, set | frozenset) else group


def _text(value: Any, what: str) -> str:
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair is no text
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode()
    raise TypeError(f"{what} is {type(value).__name__} {value!r:.40}; expected a string")


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except TypeError:
        raise TypeError(
            f"{name!r} is {type(value).__name__} {value!r:.40}; a value is a number, a string, or a dict, list or set"
        ) from None


def _summed(pairs: Pairs) -> dict[str, float]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found = dict.fromkeys(found, 0.0)
        for name, value in pairs:
            found[name] += value
    return found
