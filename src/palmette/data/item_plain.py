"""The attributes of a token by definition, one by one: for tokens that the encoder of item_blocks.py does not take, and
the twin of its kernel in tests.

Values and names that are not of Python's own types count as what MessagePack has for them (`plain`): an enumeration as
its value, NumPy's numbers as numbers, dates and UUIDs as their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Number, Real
from typing import Any

import msgspec
import numpy as np

from palmette.errors import DataError

GROUPS = list | tuple | set | frozenset
LARGEST = float(np.finfo(np.float32).max)
_OWN = frozenset((str, int, float, bool, dict, list, tuple, set, frozenset, bytes, type(None)))


class Wrong(Exception):
    """An error inside a token, and a hint; the caller adds the place."""


def type_of(value: Any) -> str:
    """What a value is, for messages."""
    return "None" if value is None else f"of type {type(value).__name__}"


def string_hint(value: Any) -> str | None:
    """What to do with a value that should be a string."""
    if isinstance(value, bytes):
        return "decode it first: value.decode()"
    return "make strings of numbers first: str(value)" if isinstance(value, Number) else None


def bad_token(token: Any, name: str, expected: str = "") -> DataError:
    hint = "decode it first: token.decode()" if isinstance(token, bytes) else None
    kinds = expected or "a string, a tuple of strings (columns), or a dict, list or set (attributes)"
    return DataError(f"{name} is {type_of(token)}: a token is {kinds}", hint=hint)


def is_unicode(text: str) -> bool:
    """Whether a string can be encoded: no half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode()) or True
    except UnicodeEncodeError:
        return False


def not_unicode(name: str, text: str) -> DataError:
    return DataError(f"{name} is not valid Unicode: {text[:20]!r}", hint="it holds half of a surrogate pair")


def as_own(value: Any) -> Any:
    """A string or number of another type as Python's own: what the encoder asks about types that it does not know."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{type(value).__name__} is neither a string nor a number")


_deterministic = msgspec.msgpack.Encoder(enc_hook=as_own, decimal_format="number", order="deterministic")


def plain(value: Any) -> Any:
    """A value as Python's own types have it; itself if they do not."""
    if type(value) in _OWN or isinstance(value, dict | GROUPS):
        return value
    if isinstance(value, str) and type(value).__str__ is str.__str__:
        return str.__str__(value)
    try:
        return msgspec.msgpack.decode(_deterministic.encode(value))
    except Exception:  # whatever a type of the user's raises: it has no such form
        return value


def attributes_of(token: Any, place: str) -> list[tuple[str, float]]:
    """The names and values of the attributes of a token; errors name its place."""
    try:
        if isinstance(token, dict):
            found = list(_of_dict(token, ""))
        elif isinstance(token, GROUPS):
            found = [(name, 1.0) for name in _of_group(token, "")]
        else:
            raise bad_token(token, place, "a dict, list or set of attributes here")
    except Wrong as wrong:
        raise DataError(f"{place}{wrong.args[0]}", hint=wrong.args[1]) from None
    for name, _ in found:
        if not is_unicode(name):
            raise not_unicode(f"{place}, an attribute,", name)
    return found


def in_two_parts(found: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Attributes with what float32 leaves of their values as the values of the same attributes once more."""
    rest = [(name, value - float(np.float32(value))) for name, value in found]
    return [one for pair in zip(found, rest, strict=True) for one in pair if one[1] != 0.0]


def _of_dict(values: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, given in values.items():
        name, value = prefix + _name(key, prefix[:-1]), plain(given)
        if isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, Real):
            number = _finite(value, name)
            if np.float32(number) != 0.0:
                yield name, number
        elif isinstance(value, dict):
            yield from _of_dict(value, f"{name}:")
        elif isinstance(value, GROUPS):
            for inner in _of_group(value, f"{name}:"):
                yield inner, 1.0
        else:
            what = "a value is a number, a string, or a dict, list or set"
            raise Wrong(f"[{name!r}] is {type_of(given)}: {what}", string_hint(given))


def _of_group(group: Iterable[Any], prefix: str) -> list[str]:
    names = [_name(name, prefix) for name in group]
    # The order of a set changes from run to run; numbers by first occurrence would change with it.
    return [prefix + name for name in (sorted(names) if isinstance(group, set | frozenset) else names)]


def _name(given: Any, within: str) -> str:
    name = plain(given)
    if not isinstance(name, str):
        where = f" in {within!r}" if within else ""
        raise Wrong(f" has an attribute {type_of(given)}{where}: a name is a string", string_hint(given))
    return name


def _finite(value: Any, name: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not abs(number) <= LARGEST:
        raise Wrong(f"[{name!r}] is {number}: a value is a finite number of 32 bits", None)
    return number
