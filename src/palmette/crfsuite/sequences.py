"""Sequences that a trainer was given: encoded at once, so that they may change afterwards, and read in blocks by the
compiled reader (data/item_blocks.py). What that does not take is read by item_sequence.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.crfsuite.item_sequence import ItemSequence
from palmette.data.corpus import Corpus, column_of_types
from palmette.data.item_blocks import BLOCK, MOST_BYTES, AttributeBlocks, NewNames, encode
from palmette.data.item_plain import LARGEST
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


class _Waiting(NamedTuple):
    """A sequence that is not read yet."""

    number: int  # among all that were given
    data: bytes
    labels: list[int]
    group: int


class _Blocks(AttributeBlocks):
    """Reads encoded sequences; zeros count as values."""

    def __init__(self) -> None:
        super().__init__(NewNames(), zeros=True)

    def take(self, sequences: list[_Waiting]) -> bool:
        """Number and keep the attributes of sequences; False, and nothing is kept, if the reader does not take them."""
        data = _ARRAY + len(sequences).to_bytes(4, "big") + b"".join(sequence.data for sequence in sequences)
        self.size = sum(len(sequence.labels) for sequence in sequences)
        self.given = np.frombuffer(data, np.uint8)
        self.until_room(self.given, self.names.read)
        if self.room.counts[STATUS] != FINE:
            return False
        if self.room.counts[NESTED]:  # sets are arrays now, in an order that changes from run to run
            self.given = np.frombuffer(encode(_in_order(msgspec.msgpack.decode(data))), np.uint8)
            self.until_room(self.given, self.names.read)
        self._flush()
        return True

    def _read_waiting(self) -> None:
        self.names.take(self.given, self.room, self.numbers)


def _in_order(sentences: list[list[Any]]) -> list[list[Any]]:
    def inner(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner(own) for key, own in value.items()}
        return sorted(value) if isinstance(value, list) else value

    return [[inner(token) if isinstance(token, dict) else token for token in tokens] for tokens in sentences]


def _by_definition(data: bytes) -> bytes:
    """A sequence that the reader does not take, encoded so that it does; TypeError or ValueError if it is wrong."""
    tokens = ItemSequence(msgspec.msgpack.decode(data, strict=False)).tokens()
    for place, token in enumerate(tokens):
        for name, value in token.items():
            if not abs(value) <= LARGEST:
                raise ValueError(f"item {place}: {name!r} is {value}; expected a finite number of 32 bits")
    return encode(tokens)


class Sequences:
    """The data of a trainer."""

    def __init__(self) -> None:
        self.blocks = _Blocks()
        self.given = 0  # sequences so far
        self.waiting: list[_Waiting] = []
        self.tokens = self.bytes = 0  # of those that wait
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
        data, number, own = _encoded(items), int(group), self.numbers
        labels = [own.setdefault(tag, len(own)) for tag in tags]
        self.given += 1
        if not items:
            return
        if len(data) > MOST_BYTES:
            raise ValueError(f"a sequence of {len(data):,} bytes; the most is {MOST_BYTES:,}")
        if self.tokens + len(items) > BLOCK or self.bytes + len(data) > MOST_BYTES:
            self._read()
        self.waiting.append(_Waiting(self.given - 1, data, labels, number))
        self.tokens += len(items)
        self.bytes += len(data)

    def _read(self) -> None:
        """Read what waits. Sequences that are wrong are left out; the first of them is raised as an error."""
        waiting, self.waiting, self.tokens, self.bytes = self.waiting, [], 0, 0
        wrong: Exception | None = None
        if waiting and not self.blocks.take(waiting):
            good = []
            for sequence in waiting:
                try:
                    good.append(sequence._replace(data=_by_definition(sequence.data)))
                except (TypeError, ValueError) as error:
                    wrong = wrong or type(error)(f"sequence {sequence.number} of the data, {error}")
            waiting = good
            self.blocks.take(waiting)
        for sequence in waiting:
            self.sizes.append(len(sequence.labels))
            self.groups.append(sequence.group)
            self.labels.extend(sequence.labels)
        if wrong is not None:
            raise wrong

    def corpus(self) -> Corpus:
        """All sequences as a corpus."""
        self._read()
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
