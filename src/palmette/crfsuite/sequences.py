"""Sequences that a trainer was given: encoded at once, so that they may change afterwards, and read in blocks by the
compiled reader (data/item_blocks.py). What that does not take is read by item_sequence.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from palmette.crfsuite.item_sequence import ItemSequence
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.item_blocks import BLOCK, MOST_BYTES, AttributeBlocks, NewNames, encode
from palmette.data.subset import take
from palmette.kernels.io.items import FINE, NESTED, STATUS

_PLAIN = frozenset((dict, list, tuple))
_STRINGS = frozenset((str,))
_ARRAY = b"\xdd"  # of MessagePack: a length of four bytes follows


def plain_items(xseq: Any) -> Sequence[Any]:
    """The items of a sequence in a form that the encoder takes: dicts, lists and tuples."""
    if isinstance(xseq, ItemSequence):
        return xseq.tokens()
    items = xseq if isinstance(xseq, list | tuple) else list(xseq)
    kinds = set(map(type, items))
    if kinds <= _PLAIN or all(issubclass(kind, dict | list | tuple) for kind in kinds):
        return items
    return ItemSequence(items).tokens()


def _encoded(items: Sequence[Any]) -> bytes:
    try:
        return encode(items)
    except Exception:  # of the encoder, or of a type of the user's: it is read by definition, or named
        return encode(ItemSequence(items).tokens())


class _Blocks(AttributeBlocks):
    """Collects encoded sequences; zeros count as values."""

    def __init__(self) -> None:
        super().__init__(NewNames(), zeros=True)
        self.encoded: list[bytes] = []
        self.bytes = self.begun = 0  # bytes that wait; sequences before them

    def add_encoded(self, data: bytes, tokens: int) -> None:
        if self.encoded and (self.bytes + len(data) > MOST_BYTES or self.size + tokens > BLOCK):
            self.flush()
        self.encoded.append(data)
        self.bytes += len(data)
        self.size += tokens

    def flush(self) -> None:
        """Read what waits."""
        if self.encoded:
            count = len(self.encoded)
            try:
                self._flush()
            finally:
                self.begun += count
                self.encoded, self.bytes, self.size = [], 0, 0

    def _read_waiting(self) -> None:
        if not self._taken(self.encoded):
            again = [self._by_definition(k, data) for k, data in enumerate(self.encoded)]
            if not self._taken(again):
                raise ValueError(f"sequence {self.begun}: a value is not a finite number of 32 bits")

    def _taken(self, sequences: list[bytes]) -> bool:
        """Whether the reader takes the sequences; their attributes have numbers then."""
        data = _ARRAY + len(sequences).to_bytes(4, "big") + b"".join(sequences)
        given = np.frombuffer(data, np.uint8)
        self.until_room(given, self.names.read)
        if self.room.counts[STATUS] != FINE:
            return False
        if self.room.counts[NESTED]:  # sets are arrays now, in an order that changes from run to run
            given = np.frombuffer(encode(_in_order(msgspec.msgpack.decode(data))), np.uint8)
            self.until_room(given, self.names.read)
        self.names.take(given, self.room, self.numbers)
        return True

    def _by_definition(self, place: int, data: bytes) -> bytes:
        try:
            items = msgspec.msgpack.decode(data, strict=False)
            tokens = ItemSequence(items).tokens()
            for at, token in enumerate(tokens):
                for name, value in token.items():
                    if not abs(value) < 3.4e38:
                        raise ValueError(f"item {at}: {name!r} is {value}; expected a finite number of 32 bits")
            return encode(tokens)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sequence {self.begun + place} of the data, {error}") from None


def _in_order(sentences: list[list[Any]]) -> list[list[Any]]:
    def inner(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner(own) for key, own in value.items()}
        return sorted(value) if isinstance(value, list) else value

    return [[inner(token) if isinstance(token, dict) else token for token in tokens] for tokens in sentences]


class Sequences:
    """The data of a trainer."""

    def __init__(self) -> None:
        self.blocks = _Blocks()
        self.sizes: list[int] = []
        self.groups: list[int] = []
        self.numbers: dict[str, int] = {}  # of labels, by first occurrence
        self.labels: list[int] = []

    def append(self, xseq: Any, yseq: Iterable[Any], group: int) -> None:
        items = plain_items(xseq)
        tags = yseq if isinstance(yseq, list | tuple) else list(yseq)
        if len(items) != len(tags):
            raise ValueError(f"{len(items)} items and {len(tags)} labels: a sequence has a label for each item")
        if not _STRINGS.issuperset(map(type, tags)):
            tags = [label_text(tag) for tag in tags]
        data = _encoded(items)
        if not items:
            return
        numbers = self.numbers
        self.labels.extend([numbers.setdefault(tag, len(numbers)) for tag in tags])
        self.sizes.append(len(items))
        self.groups.append(int(group))
        self.blocks.add_encoded(data, len(items))

    def corpus(self) -> Corpus:
        """All sequences as a corpus."""
        self.blocks.flush()
        offset = np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)
        corpus = Corpus(offset, source="the data")
        self.blocks.finish(corpus)
        corpus.labels = column_of_types(np.array(self.labels, np.int32), list(self.numbers))
        return corpus

    def split(self, holdout: int) -> tuple[Corpus, Corpus | None]:
        """The sequences of all groups but one, and those of that one, if it has any. Both know all labels."""
        corpus, there = self.corpus(), np.array(self.groups, np.int64) == holdout
        if holdout < 0 or not there.any():
            return corpus, None
        return _part(corpus, ~there), _part(corpus, there)


def _part(corpus: Corpus, there: np.ndarray) -> Corpus:
    made = take(corpus, np.flatnonzero(there))
    tokens = np.repeat(there, np.diff(corpus.offset))
    assert corpus.labels is not None
    made.labels = column_of_types(corpus.labels.ids[tokens], corpus.labels.types)
    return made


def label_text(tag: Any) -> str:
    """A label as a string; it may be bytes of UTF-8."""
    if isinstance(tag, str):
        return str(tag)
    if isinstance(tag, bytes):
        return tag.decode()
    raise TypeError(f"a label is {type(tag).__name__} {tag!r:.40}; expected a string")
