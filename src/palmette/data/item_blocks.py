"""Tokens as ready-made attributes, in blocks: MessagePack bytes that a kernel reads (kernels/io/items.py).

A block that the encoder or the kernel does not take is read by item_plain.py, which also finds out what is wrong. Names
are numbered by first occurrence (`NewNames`), or looked up in the feature index of a model (`KnownNames`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, FoundAttributes, bytes_of, wants_exact_values
from palmette.data.item_plain import GROUPS, as_own, attributes_of, in_two_parts
from palmette.errors import DataError
from palmette.kernels.core.hashing import hash_pieces
from palmette.kernels.core.index import FeatureIndex
from palmette.kernels.core.table import renumbered
from palmette.kernels.io.items import (
    EXACT,
    FINE,
    FOUND,
    NESTED,
    NO_ROOM,
    SIZE,
    STATUS,
    TEXT,
    TOKENS,
    VALUED,
    ZEROS,
    ItemRoom,
    NameTable,
    find_items,
    look_up_items,
    make_item_room,
    number_items,
    read_items,
)  # fmt: skip

BLOCK = 1024  # tokens that are read together
MOST_BYTES = (1 << 31) - 1  # of a block: places are numbers of 32 bits
encode = msgspec.msgpack.Encoder(enc_hook=as_own, decimal_format="number").encode
_SIMPLE = frozenset((str, int, float, bool, list, tuple))


def encoded(sentences: Sequence[Sequence[Any]]) -> bytes | None:
    """The bytes of sentences of attributes; None if item_plain.py must read them."""
    kinds = set(map(type, chain.from_iterable(sentences)))
    try:
        if not kinds <= {dict, list, tuple}:
            if not all(issubclass(kind, dict | GROUPS) for kind in kinds):
                return None
            if any(issubclass(kind, set | frozenset) for kind in kinds):
                sentences = [[_in_order(token) for token in tokens] for tokens in sentences]
        return encode(sentences)
    except Exception:  # of the encoder, or of a type of the user's
        return None


def holds_sets(value: Any) -> bool:
    """Whether a value may hold sets, whose order changes from run to run."""
    if type(value) in _SIMPLE or isinstance(value, np.generic):
        return False
    if isinstance(value, dict):
        return any(map(holds_sets, value.values()))
    return not isinstance(value, list | tuple)


def _in_order(value: Any) -> Any:
    """A value with lists in place of sets. TypeError if it may hold sets that we cannot see."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {key: _in_order(inner) for key, inner in value.items()} if holds_sets(value) else value
    if holds_sets(value):
        raise TypeError
    return value


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

    def _make_room(self, more: int, text: int) -> None:
        size, keys, numbers, offset, letters = self.table
        used = int(size[0])
        if 2 * (used + more) > keys.size:
            same = np.arange(used, dtype=np.int32)
            keys, numbers = renumbered(keys, numbers, same, 2 * (used + more))
        offset, letters = larger(offset, used + more + 1), larger(letters, int(offset[used]) + text + 1)
        self.table = NameTable(size, keys, numbers, offset, letters)

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

    def finish(self, corpus: Corpus, ptr: np.ndarray, att: np.ndarray, val: np.ndarray) -> None:
        corpus.found = FoundAttributes(ptr, att, val, self.index)


class AttributeBlocks:
    """Collects tokens, and reads them in blocks."""

    def __init__(self, names: NewNames | KnownNames, *, zeros: bool = False) -> None:
        """`zeros`: attributes of value 0 are kept."""
        self.names, self.zeros = names, zeros
        self.waiting: list[Sequence[Any]] = []
        self.places: list[tuple[int, int]] = []  # sentence and first token
        self.size = 0
        self.ptr, self.att = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        self.val: list[np.ndarray | int] = []  # of a block; or how many, if all are 1
        self.total = 0
        self._make_room(BLOCK, BLOCK * 32)

    def _make_room(self, tokens: int, attributes: int) -> None:
        self.room = make_item_room(tokens, attributes, spans=self.names.spans)
        self.room.counts[ZEROS] = self.zeros
        self.numbers = np.empty(attributes, np.int32)

    def add(self, tokens: Sequence[Any], s: int) -> None:
        for first in range(0, len(tokens), BLOCK):
            part = tokens if len(tokens) <= BLOCK else tokens[first : first + BLOCK]
            self.waiting.append(part)
            self.places.append((s, first))
            self.size += len(part)
            if self.size >= BLOCK:
                self._flush()

    def _flush(self) -> None:
        self._read_waiting()
        count = self.room.counts.tolist()
        n, z = count[TOKENS], count[FOUND]
        self.ptr.append(self.room.ptr[1 : n + 1] + self.total)
        self.att.append(self.numbers[:z].copy())
        self.val.append(self.room.val[:z].copy() if count[VALUED] else z)
        self.total += z
        self.waiting, self.places, self.size = [], [], 0

    def _read_waiting(self) -> None:
        data = encoded(self.waiting)
        if data is None or len(data) > MOST_BYTES or not self._read(data):
            self._read_plain()

    def _read(self, data: bytes) -> bool:
        """Read a block from its bytes; False if that is not possible."""
        given = np.frombuffer(data, np.uint8)
        self.until_room(given, self.names.read)
        if self.room.counts[STATUS] != FINE:
            return False
        if self.room.counts[NESTED] and any(map(holds_sets, chain.from_iterable(self.waiting))):
            try:
                self.waiting = [[_in_order(token) for token in tokens] for tokens in self.waiting]
            except TypeError:
                return False
            again = encoded(self.waiting)
            return again is not None and self._read(again)
        self.names.take(given, self.room, self.numbers)
        return True

    def until_room(self, data: np.ndarray, read: Callable[[np.ndarray, ItemRoom, np.ndarray], None]) -> None:
        while True:
            self.room.counts[SIZE] = data.size
            read(data, self.room, self.numbers)
            if self.room.counts[STATUS] != NO_ROOM:
                return
            self._make_room(max(self.size, self.room.ptr.size), 2 * self.room.hash.size)

    def _read_plain(self) -> None:
        found = [
            attributes_of(token, f"X[{s}][{i}]")
            for (s, first), tokens in zip(self.places, self.waiting, strict=True)
            for i, token in enumerate(tokens, first)
        ]
        if self.names.exact:
            found = [in_two_parts(own) for own in found]
        names, values = [name for own in found for name, _ in own], [value for own in found for _, value in own]
        n, z = len(found), len(names)
        if n > self.room.ptr.size - 1 or z > self.room.hash.size:
            self._make_room(max(n, self.room.ptr.size), max(z, self.room.hash.size))
        text, offset = bytes_of(names)
        if text.size > MOST_BYTES:
            s, i = self.places[0]
            raise DataError(f"the attributes of {n} tokens from X[{s}][{i}] on have names of {text.size:,} bytes")
        room = self.room
        np.cumsum([len(own) for own in found], out=room.ptr[1 : n + 1])
        room.hash[:z], room.val[:z] = hash_pieces(text, offset)[0], values
        room.counts[[TOKENS, FOUND, VALUED, TEXT]] = n, z, any(value != 1.0 for value in values), text.size
        if self.names.spans:
            room.span[:z] = (0, 0, 0, 0, -1, -1)
            room.span[:z, 2], room.span[:z, 3] = offset[:-1], offset[1:]
        self.names.take_plain(text, room, self.numbers)

    def finish(self, corpus: Corpus, where: object = None) -> None:
        """Give the corpus its attributes."""
        if self.waiting:
            self._flush()
        val = np.zeros(0, np.float32)
        if any(isinstance(own, np.ndarray) for own in self.val):
            val = np.concatenate([np.ones(own, np.float32) if isinstance(own, int) else own for own in self.val])
        self.names.finish(corpus, np.concatenate(self.ptr), np.concatenate(self.att), val)


def larger(array: np.ndarray, size: int) -> np.ndarray:
    """The array, or a copy with at least so many places."""
    if size <= array.size:
        return array
    made = np.zeros(max(size, 2 * array.size), array.dtype)
    made[: array.size] = array
    return made
