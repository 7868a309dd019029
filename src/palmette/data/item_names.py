"""The names of ready-made attributes: numbered by first occurrence, to learn from (`NewNames`), or looked up in the
feature index of a model (`KnownNames`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, FoundAttributes, bytes_of, wants_exact_values
from palmette.kernels.core.hashing import hash_pieces, mixed_all
from palmette.kernels.core.index import FeatureIndex, find_all
from palmette.kernels.core.table import renumbered
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
