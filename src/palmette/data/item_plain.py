"""The attributes of a token by definition, one by one: for tokens that the encoder of item_blocks.py does not take, and
the twin of its kernel in tests.

Values and names that are not of Python's own types count as what MessagePack has for them (`plain`): an enumeration as
its value, NumPy's numbers as numbers, dates and UUIDs as their text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Number, Real
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, FoundAttributes, bytes_of, wants_exact_values
from palmette.errors import DataError, counted
from palmette.kernels.core.hashing import FeatureIndex, find_all, hash_pieces, mixed_all, renumbered
from palmette.kernels.io.items import (
    EXACT,
    FOUND,
    TEXT,
    ItemRoom,
    NameTable,
    find_items,
    look_up_items,
    make_item_room,
    number_items,
    read_items,
)  # fmt: skip

# The names of ready-made attributes: numbered by first occurrence, to learn from (`NewNames`), or looked up in the
# feature index of a model (`KnownNames`).

CHUNK = 1 << 20  # attributes that are renumbered together


class NewNames:
    """Numbers distinct names by first occurrence."""

    spans, exact = True, False

    def __init__(self) -> None:
        self.table = NameTable(
            np.zeros(1, np.int64), np.zeros(1 << 12, np.uint64), np.full(1 << 12, -1, np.int32),
            np.zeros(1 << 11, np.int64), np.zeros(1 << 15, np.uint8),
        )  # fmt: skip

    def read(self, data: np.ndarray, room: ItemRoom, att: np.ndarray) -> None:
        """Read a block; numbers are given when it is known to be right."""
        read_items(data, room)

    def take(self, data: np.ndarray, room: ItemRoom, att: np.ndarray) -> None:
        """The numbers of the attributes of a block."""
        self._make_room(int(room.counts[FOUND]), int(room.counts[TEXT]))
        number_items(data, room, self.table, att)

    take_plain = take

    def numbers_of(self, names: Sequence[str]) -> np.ndarray:
        """The numbers of names, i32[]."""
        text, offset = bytes_of(names)
        room, numbers = make_item_room(0, len(names), spans=True), np.empty(len(names), np.int32)
        room.hash[:] = hash_pieces(text, offset)[0]
        room.span[:] = (0, 0, 0, 0, -1, -1)
        room.span[:, 2], room.span[:, 3] = offset[:-1], offset[1:]
        room.counts[[FOUND, TEXT]] = len(names), text.size
        self.take(text, room, numbers)
        return numbers

    def _make_room(self, more: int, text: int) -> None:
        size, keys, numbers, offset, letters = self.table
        used = int(size[0])
        if 2 * (used + more) > keys.size:
            same = np.arange(used, dtype=np.int32)
            keys, numbers = renumbered(keys, numbers, same, 2 * (used + more))
        offset, letters = larger(offset, used + more + 1), larger(letters, int(offset[used]) + text + 1)
        self.table = NameTable(size, keys, numbers, offset, letters)

    def has_zero_byte(self) -> bool:
        """Whether a name has one."""
        size, _, _, offset, text = self.table
        return bool((text[: offset[size[0]]] == 0).any())

    def finish(self, corpus: Corpus, ptr: np.ndarray, att: np.ndarray, val: np.ndarray) -> None:
        used = int(self.table.size[0])
        offset = self.table.offset[: used + 1].copy()
        text = self.table.text[: int(offset[-1]) + 1].copy()
        names = Column(att, text, offset[:-1], offset[1:], *hash_pieces(text, offset))
        corpus.attributes = Attributes(ptr, names, val)


class KnownNames:
    """Looks names up in a feature index; attributes that it lacks are dropped."""

    spans = False

    def __init__(self, index: FeatureIndex) -> None:
        self.index = index
        self.exact = wants_exact_values(index)

    def read(self, data: np.ndarray, room: ItemRoom, att: np.ndarray) -> None:
        """Read a block and look its attributes up."""
        room.counts[EXACT] = self.exact
        find_items(data, room, self.index, att)

    def take(self, data: np.ndarray, room: ItemRoom, att: np.ndarray) -> None:
        """Nothing is left to do."""

    def take_plain(self, data: np.ndarray, room: ItemRoom, att: np.ndarray) -> None:
        look_up_items(room, self.index, att)

    def numbers_of(self, names: Sequence[str]) -> np.ndarray:
        """The numbers of names, i32[]; -1 for those that the index lacks."""
        return find_all(self.index, mixed_all(hash_pieces(*bytes_of(names))[0]))

    def finish(self, corpus: Corpus, ptr: np.ndarray, att: np.ndarray, val: np.ndarray) -> None:
        corpus.found = FoundAttributes(ptr, att, val, self.index)


def in_order_of_occurrence(names: Column) -> Column:
    """A column whose types are not numbered by first occurrence, with numbers that are; its ids change in place."""
    ids, T = names.ids, names.start.size
    first = np.full(T, ids.size, np.int64)
    for begin in range((ids.size - 1) // CHUNK * CHUNK, -1, -CHUNK):
        part = ids[begin : begin + CHUNK]
        first[part[::-1]] = np.arange(begin + part.size - 1, begin - 1, -1)  # of equal places the last one stays
    order = np.argsort(first, kind="stable")
    if np.array_equal(order, np.arange(T)):
        return names
    new = np.empty(T, np.int32)
    new[order] = np.arange(T, dtype=np.int32)
    for begin in range(0, ids.size, CHUNK):
        part = ids[begin : begin + CHUNK]
        part[:] = new[part]
    return Column(ids, names.data, names.start[order], names.end[order], names.hash[order], names.power[order])


def larger(array: np.ndarray, size: int) -> np.ndarray:
    """The array, or a copy with at least so many places."""
    if size <= array.size:
        return array
    made = np.zeros(max(size, 2 * array.size), array.dtype)
    made[: array.size] = array
    return made


GROUPS = list | tuple | set | frozenset
NUMBERS = "biuf"  # kinds of arrays that are vectors: of truth values, whole numbers, floating point
LARGEST = float(np.finfo(np.float32).max)
_OWN = frozenset((str, int, float, bool, dict, list, tuple, set, frozenset, bytes, type(None)))


class Wrong(Exception):
    """An error inside a token, and a hint; the caller adds the place."""


def type_of(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {counted(value.ndim, 'dimension')} and of type {value.dtype}"
    return "None" if value is None else f"of type {type(value).__name__}"


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix or array of SciPy's, which is not imported for that."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def is_vector(value: Any) -> bool:
    """Whether a value is an array of numbers of one dimension, or a sparse row."""
    if type(value) in _OWN:
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in NUMBERS and not isinstance(value, np.ma.MaskedArray)
    return is_sparse(value) and value.dtype.kind in NUMBERS and (value.ndim == 1 or value.shape[0] == 1)


def string_hint(value: Any) -> str | None:
    """What to do with a value that should be a string."""
    if isinstance(value, bytes):
        return "decode it first: value.decode()"
    if isinstance(value, np.ndarray):
        return "a vector is an array of numbers of one dimension, and a value of the token's own dict"
    return (
        "make strings of numbers first: str(value); a vector of them is an array: np.array(...)"
        if isinstance(value, Number)
        else None
    )


def bad_token(token: Any, name: str, expected: str = "") -> DataError:
    hint = "decode it first: token.decode()" if isinstance(token, bytes) else None
    kinds = expected or "a string, a tuple of strings (columns), a dict, list or set (attributes), or an array"
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
            what = "a value is a number, a string, a vector, or a dict, list or set"
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
