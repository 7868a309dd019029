"""Sequences that a trainer or a tagger was given: encoded at once, so that they may change afterwards. Those of a
trainer are checked then, and read in blocks by the compiled reader (data/item_blocks.py). What that does not take is
read one by one by `ItemSequence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.item_arrays import BLOCK, Vectors
from palmette.data.item_blocks import MOST_BYTES, AttributeBlocks, encode
from palmette.data.item_names import NewNames
from palmette.data.subset import take
from palmette.kernels.io.items import FINE, LARGEST, NESTED, STATUS

# Items as python-crfsuite reads them, one by one: the definition, and the way for items that the compiled reader does
# not take.
#
# An item is a dict, or a list, tuple, set or string of names. In a dict, with P the prefix of an inner one,
#
#     P + key + ":" + text    with value 1        for a string
#     P + key                 with the number     for a number or boolean, zeros too
#     P + key + ":" is the prefix of what is in   a dict, list or set
#
# Names and strings may be bytes of UTF-8.

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


_PLAIN = frozenset((dict, list, tuple))
_STRINGS = frozenset((str,))
_ARRAY = b"\xdd"  # of MessagePack: a length of four bytes follows
ONE = b"\x91"  # of MessagePack: one sequence follows, which makes a block of it


def plain_items(xseq: Any) -> Sequence[Any]:
    """The items of a sequence in a form that the encoder takes: dicts, lists and tuples."""
    if isinstance(xseq, ItemSequence):
        return xseq.tokens()
    items = xseq if isinstance(xseq, list | tuple) else list(xseq)
    kinds = set(map(type, items))
    if kinds <= _PLAIN or all(issubclass(kind, dict | list | tuple) for kind in kinds):
        return items
    return ItemSequence(items).tokens()


def encoded(items: Sequence[Any]) -> bytes:
    """The items in bytes; a reader may find that they must be read by definition."""
    try:
        return encode(items)
    except Exception:  # of the encoder, or of a type of the user's: it is read by definition, or named
        return encode(ItemSequence(items).tokens())


def items_by_definition(block: bytes) -> list[dict[str, float]]:
    """The items of a block of one sequence, read one by one. TypeError or ValueError if they are wrong."""
    tokens = ItemSequence(msgspec.msgpack.decode(block, strict=False)[0]).tokens()
    for at, token in enumerate(tokens):
        for name, value in token.items():
            if not abs(value) <= LARGEST:
                raise ValueError(f"item {at}: {name!r} is {value}; expected a finite number of 32 bits")
    return tokens


def in_order(data: bytes) -> bytes:
    """Encoded items without what was a set: its order changes from run to run."""

    def inner(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner(own) for key, own in value.items()}
        return sorted(value) if isinstance(value, list) else value

    return encode([inner(token) if isinstance(token, dict) else token for token in msgspec.msgpack.decode(data)])


class _Blocks(AttributeBlocks):
    """Collects encoded sequences; zeros count as values."""

    def __init__(self) -> None:
        self.new = NewNames()
        super().__init__(Vectors(self.new), zeros=True)
        self.encoded: list[bytes] = []
        self.bytes = 0  # that wait

    def checked(self, data: bytes, tokens: int) -> bytes:
        """The bytes of a sequence that the reader takes."""
        if len(data) > MOST_BYTES:
            raise ValueError(f"a sequence of {len(data):,} bytes: at most {MOST_BYTES:,} can be read")
        if self._status([data], tokens) != FINE:
            data = encode(items_by_definition(ONE + data))
            if self._status([data], tokens) != FINE:
                raise ValueError("the items cannot be read")
        return in_order(data) if self.room.counts[NESTED] else data

    def add_encoded(self, data: bytes, tokens: int) -> None:
        """Take the bytes of a sequence that are checked."""
        if self.encoded and (self.bytes + len(data) > MOST_BYTES or self.size + tokens > BLOCK):
            self.flush()
        self.encoded.append(data)
        self.bytes += len(data)
        self.size += tokens

    def flush(self) -> None:
        """Read what waits."""
        if self.encoded:
            self._flush()
            self.encoded, self.bytes = [], 0

    def _read_waiting(self) -> None:
        status = self._status(self.encoded, self.size)
        assert status == FINE, "sequences are checked one by one before"
        self.names.take(self.given, self.room, self.numbers)

    def _status(self, sequences: list[bytes], tokens: int) -> int:
        """Read the sequences into the room: what the reader says."""
        data = _ARRAY + len(sequences).to_bytes(4, "big") + b"".join(sequences)
        self.given = np.frombuffer(data, np.uint8)
        self.until_room(self.given, self.names.read, tokens)
        return int(self.room.counts[STATUS])


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
        if not items:
            return
        data, group = self.blocks.checked(encoded(items), len(items)), index(group)
        self.blocks.add_encoded(data, len(items))
        numbers = self.numbers
        self.labels.extend([numbers.setdefault(tag, len(numbers)) for tag in tags])
        self.sizes.append(len(items))
        self.groups.append(group)

    def corpus(self) -> Corpus:
        """All sequences as a corpus."""
        self.blocks.flush()
        offset = np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)
        corpus = Corpus(offset, source="the data")
        self.blocks.blocks.finish(corpus, self.blocks.names, keep=True)  # more may be appended
        corpus.labels = column_of_types(np.array(self.labels, np.int32), list(self.numbers))
        assert corpus.attributes is not None
        if not corpus.attributes.ptr.size - 1 == corpus.n_tokens == len(self.labels):
            raise RuntimeError("an append was broken off in the middle: clear the trainer, and append all data again")
        return corpus

    def has_zero_byte(self) -> bool:
        """Whether the name of an attribute or a label has one."""
        self.blocks.flush()
        return self.blocks.new.has_zero_byte() or any("\0" in label for label in self.numbers)

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
