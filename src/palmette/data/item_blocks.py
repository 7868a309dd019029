"""Tokens as ready-made attributes, in blocks: MessagePack bytes that a kernel reads (kernels/io/items.py).

A block that the encoder or the kernel does not take is read by item_plain.py, which also finds out what is wrong.
Vectors among the values of dicts are taken out first (item_arrays.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, bytes_of
from palmette.data.item_arrays import BLOCK, Split, Vectors, place_of
from palmette.data.item_names import in_order_of_occurrence
from palmette.data.item_plain import GROUPS, as_own, attributes_of, in_two_parts
from palmette.data.item_rows import Blocks, Rows, joined
from palmette.errors import DataError
from palmette.kernels.core.hashing import hash_pieces
from palmette.kernels.io.items import (
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
    make_item_room,
)  # fmt: skip

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


class AttributeBlocks:
    """Collects tokens, and reads them in blocks."""

    def __init__(self, vectors: Vectors, *, zeros: bool = False) -> None:
        """`zeros`: attributes of value 0 are kept."""
        self.names, self.zeros = vectors.names, zeros
        self.vectors = vectors
        self.has_vectors = False
        self.waiting: list[Sequence[Any]] = []
        self.places: list[tuple[int, int]] = []  # sentence and first token
        self.size = 0
        self.blocks = Blocks()
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
        split = self._read_waiting()
        count = self.room.counts.tolist()
        n, z = count[TOKENS], count[FOUND]
        val = self.room.val[:z].copy() if count[VALUED] else None
        rows = Rows(np.diff(self.room.ptr[: n + 1]), self.numbers[:z].copy(), val)
        self.blocks.add(rows if split is None else joined([rows, *split.parts(self.vectors, self._place)]))
        self.waiting, self.places, self.size = [], [], 0

    def _read_waiting(self) -> Split | None:
        """Read what is waiting; the vectors apart, if there are any. The tokens of most data hold none: they are looked
        for once there are some, or the encoder has found something that it does not take."""
        split, data = None, None if self.has_vectors else encoded(self.waiting)
        if data is None:
            split = Split(self.waiting)
            self.has_vectors = self.has_vectors or bool(split.vectors)
            if self.has_vectors:
                self.waiting = list(split.rest)
                data = encoded(self.waiting)
        if data is None or len(data) > MOST_BYTES or not self._read(data):
            self._read_plain()
        return split

    def _place(self, number: int) -> str:
        """The place of a token of the block in the data."""
        return place_of(number, [(s, i, len(own)) for (s, i), own in zip(self.places, self.waiting, strict=True)])

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

    def until_room(
        self, data: np.ndarray, read: Callable[[np.ndarray, ItemRoom, np.ndarray], None], tokens: int = 0
    ) -> None:
        """Read a block, which has `tokens` or is the one that waits, and make room until there is enough."""
        while True:
            self.room.counts[SIZE] = data.size
            read(data, self.room, self.numbers)
            if self.room.counts[STATUS] != NO_ROOM:
                return
            self._make_room(max(self.size, tokens, self.room.ptr.size), 2 * self.room.hash.size)

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
        self.blocks.finish(corpus, self.names)
        if self.has_vectors:
            corpus.vectors = self.vectors.widths
            if corpus.attributes is not None:  # vectors are numbered after the other names of their block
                corpus.attributes.names = in_order_of_occurrence(corpus.attributes.names)
