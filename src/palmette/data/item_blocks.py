"""Tokens as ready-made attributes, in blocks: MessagePack bytes that a kernel reads (kernels/io/items.py).

A block that the encoder or the kernel does not take is read by item_plain.py, which also finds out what is wrong.
Vectors among the values of dicts are taken out first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, bytes_of
from palmette.data.item_plain import (
    GROUPS,
    NUMBERS,
    KnownNames,
    NewNames,
    as_own,
    attributes_of,
    bad_token,
    in_order_of_occurrence,
    in_two_parts,
    is_sparse,
    is_vector,
    type_of,
)
from palmette.errors import DataError, counted
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

# Attributes of the tokens of a block as arrays: parts of tokens are joined, blocks follow one another.


class AttributeRows(NamedTuple):
    """The attributes of n tokens."""

    sizes: np.ndarray  # i64[n]  how many each token has
    att: np.ndarray  # i32[z]
    val: np.ndarray | None  # f32[z]; None: all are 1

    def kept(self, keep: np.ndarray) -> AttributeRows:
        """The attributes in bool[z]."""
        if keep.all():
            return self
        before = np.concatenate(([0], np.cumsum(keep)))
        end = np.cumsum(self.sizes)
        val = None if self.val is None else self.val[keep]
        return AttributeRows(before[end] - before[end - self.sizes], self.att[keep], val)

    def among(self, n: int, tokens: np.ndarray) -> AttributeRows:
        """Rows of n tokens: these are those of `tokens`, ascending, and the others are empty."""
        sizes = np.zeros(n, np.int64)
        sizes[tokens] = self.sizes
        return self._replace(sizes=sizes)


def joined(parts: Sequence[AttributeRows]) -> AttributeRows:
    """All attributes of the same tokens; in each token those of the first part come first."""
    if len(parts) == 1:
        return parts[0]
    total = np.sum([part.sizes for part in parts], axis=0)
    end = np.cumsum(total)
    at, z = end - total, int(end[-1]) if end.size else 0
    att, val = np.empty(z, np.int32), np.ones(z, np.float32)
    for part in parts:
        first = np.cumsum(part.sizes) - part.sizes
        places = np.repeat(at - first, part.sizes) + np.arange(part.att.size)
        att[places] = part.att
        if part.val is not None:
            val[places] = part.val
        at = at + part.sizes
    return AttributeRows(total, att, None if all(part.val is None for part in parts) else val)


class Blocks:
    """The attributes of a corpus, block by block."""

    def __init__(self) -> None:
        self.sizes: list[np.ndarray] = []
        self.att: list[np.ndarray] = []
        self.val: list[np.ndarray | int] = []  # of a block; or how many, if all are 1

    def add(self, rows: AttributeRows) -> None:
        self.sizes.append(rows.sizes)
        self.att.append(rows.att)
        self.val.append(rows.att.size if rows.val is None else rows.val)

    def finish(self, corpus: Corpus, names: NewNames | KnownNames, *, keep: bool = False) -> None:
        """Give the corpus its attributes. Blocks are let go as soon as they are copied, unless more may come."""
        ptr = np.concatenate([np.zeros(1, np.int64), *self.sizes])
        np.cumsum(ptr, out=ptr)
        att = np.concatenate([np.zeros(0, np.int32), *self.att])
        if not keep:
            self.att.clear()
        val = np.zeros(0, np.float32)
        if any(isinstance(own, np.ndarray) for own in self.val):
            val = np.ones(att.size, np.float32)
            at = 0
            for own in self.val:
                size = own if isinstance(own, int) else own.size
                if isinstance(own, np.ndarray):
                    val[at : at + size] = own
                at += size
        if not keep:
            self.val.clear()
        names.finish(corpus, ptr, att, val)


# Vectors as attributes, whole blocks of tokens at once: NumPy's arrays and SciPy's sparse rows.
#
# The number at place k of a vector called `v` is the value of an attribute called `v[k]`. A token is a vector, which
# is called `x`, or a dict with vectors and other attributes. As in dicts, zeros are left out and values have 32
# bits. In a token, vectors come after the other attributes, in the order of their names.

BLOCK = 1024  # tokens that are read together
KEY = "x"  # the name of the vector of a token that is nothing else
WIDE = 1 << 22  # numbers of a vector for which there is no table of places: sparse rows may have 2**31
UNKNOWN = -2  # the number of a place that has not been looked up
Place = Callable[[int], str]  # from a row of a matrix to its name in messages


def place_of(number: int, parts: Sequence[tuple[int, int, int]]) -> str:
    """The place in the data of a token of a block, whose parts are (sentence, first token, tokens)."""
    for s, first, n in parts:
        if number < n:
            return f"X[{s}][{first + number}]"
        number -= n
    raise AssertionError("the block has fewer tokens")


def is_matrix(sentence: Any) -> bool:
    """Whether a sentence is a matrix of tokens by numbers."""
    return is_sparse(sentence) or (isinstance(sentence, np.ndarray) and sentence.ndim == 2)


def matrix_of(vectors: Sequence[Any]) -> Any:
    """Vectors of the same width as the rows of a matrix."""
    if not any(map(is_sparse, vectors)):
        return np.stack(vectors)
    if not all(map(is_sparse, vectors)):
        return np.stack([row.toarray().reshape(-1) if is_sparse(row) else row for row in vectors])
    rows = [row if row.format == "csr" else row.reshape(1, -1).tocsr() for row in vectors]
    ptr = np.concatenate(([0], np.cumsum([row.indices.size for row in rows])))
    parts = np.concatenate([row.data for row in rows]), np.concatenate([row.indices for row in rows]), ptr
    return sys.modules["scipy.sparse"].csr_array(parts, shape=(len(rows), rows[0].shape[-1]))


class Vectors:
    """The widths of vectors, and the numbers of their places."""

    def __init__(self, names: NewNames | KnownNames, widths: Mapping[str, int] | None = None) -> None:
        self.names = names
        self.widths: dict[str, int] = dict(widths or {})
        self.trained = frozenset(self.widths)
        self.numbers: dict[str, np.ndarray] = {}  # of all places of a vector
        self.wide: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # places of wide vectors so far, and their numbers

    def check_widths(self, key: str, given: Sequence[Any], place: Place) -> None:
        """DataError if vectors, or the rows of matrices, have another width than others of the name."""
        widths = [own.shape[-1] for own in given]
        expected = self.widths.setdefault(key, widths[0])
        if {*widths} != {expected}:
            row, width = next((k, width) for k, width in enumerate(widths) if width != expected)
            others = "those that the model was trained on" if key in self.trained else "those before it"
            raise DataError(f"{place(row)} has {counted(width, 'number')}, and {others} have {expected:,}")

    def matrix(self, tokens: Any, s: int) -> Any:
        """Sentence s, a matrix or vectors, as a matrix."""
        if not is_matrix(tokens):
            for i, token in enumerate(tokens):
                if not is_vector(token):
                    raise bad_token(token, f"X[{s}][{i}]", "an array of numbers of one dimension here")
            self.check_widths(KEY, tokens, lambda i: f"X[{s}][{i}]")
            return matrix_of(tokens)
        if tokens.dtype.kind not in NUMBERS:
            raise DataError(f"X[{s}] is {type_of(tokens)}: numbers are expected here")
        self.check_widths(KEY, [tokens], lambda i: f"X[{s}][{i}]")
        return tokens

    def rows(self, key: str, matrix: Any, place: Place) -> AttributeRows:
        """The attributes of a matrix of tokens by numbers."""
        count, columns, given = _entries(matrix)
        with np.errstate(over="ignore"):
            val = given.astype(np.float32)
        if not np.isfinite(val).all():
            z = int(np.argmin(np.isfinite(val)))
            row = int(np.searchsorted(np.cumsum(count), z, side="right"))
            raise DataError(
                f"{place(row)}[{columns[z]}] is {given[z]}: a value is a finite number of 32 bits",
                hint="replace what is missing, for example by np.nan_to_num" if np.isnan(given[z]) else None,
            )
        found = AttributeRows(count, columns, val).kept(val != 0.0)
        att = self._numbered(key, found.att)
        found = found._replace(att=att).kept(att >= 0)
        assert found.val is not None
        return found if (found.val != 1.0).any() else found._replace(val=None)

    def _numbered(self, key: str, columns: np.ndarray) -> np.ndarray:
        """The numbers of places of a vector."""
        if self.widths[key] > WIDE:
            return self._found(key, columns)
        numbers = self.numbers.setdefault(key, np.full(self.widths[key], UNKNOWN, np.int32))
        found = numbers[columns]
        new = columns[found == UNKNOWN]
        if not new.size:
            return found
        distinct, first = np.unique(new, return_index=True)
        distinct = distinct[np.argsort(first)]  # by first occurrence
        numbers[distinct] = self._new_numbers(key, distinct)
        return numbers[columns]

    def _found(self, key: str, columns: np.ndarray) -> np.ndarray:
        """Numbers of places of a very wide vector, without a table of all places: those that occur are few."""
        distinct, first, each = np.unique(columns, return_index=True, return_inverse=True)
        places, numbers = self.wide.get(key, (distinct[:0], np.zeros(0, np.int32)))
        new = distinct[np.isin(distinct, places, invert=True)]
        if new.size:
            new = new[np.argsort(first[np.searchsorted(distinct, new)])]  # by first occurrence
            places, numbers = np.append(places, new), np.append(numbers, self._new_numbers(key, new))
            order = np.argsort(places)
            places, numbers = self.wide[key] = places[order], numbers[order]
        return numbers[np.searchsorted(places, distinct)][each]

    def _new_numbers(self, key: str, places: np.ndarray) -> np.ndarray:
        return self.names.numbers_of([f"{key}[{k}]" for k in places.tolist()])


def _entries(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a matrix the numbers of entries of each row i64[n], and the column i32[z] and the number of each entry."""
    if is_sparse(matrix):
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return np.diff(matrix.indptr).astype(np.int64), matrix.indices.astype(np.int32), matrix.data
    matrix = np.asarray(matrix)  # np.matrix has two dimensions whatever one asks for
    n, width = matrix.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return np.full(n, width, np.int64), columns, matrix.reshape(-1)


class ArrayBlocks:
    """Tokens that are vectors: collects sentences, and reads them in blocks."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.blocks = Blocks()
        self.waiting: list[Any] = []  # matrices
        self.places: list[tuple[int, int, int]] = []  # sentence, first token and tokens of each
        self.size = 0

    def add(self, tokens: Any, s: int) -> None:
        matrix = self.vectors.matrix(tokens, s)
        n = matrix.shape[0]
        if n > BLOCK and is_sparse(matrix):
            matrix = matrix.tocsr()  # can be cut
        for first in range(0, n, BLOCK):
            part = matrix if n <= BLOCK else matrix[first : first + BLOCK]
            self.waiting.append(part)
            self.places.append((s, first, part.shape[0]))
            self.size += part.shape[0]
            if self.size >= BLOCK:
                self._flush()

    def _flush(self) -> None:
        """Read what is waiting: together if it is all dense or all sparse."""
        sparse = [is_sparse(matrix) for matrix in self.waiting]
        if all(sparse):
            self._read(sys.modules["scipy.sparse"].vstack(self.waiting, format="csr"), self.places)
        elif any(sparse):
            for matrix, place in zip(self.waiting, self.places, strict=True):
                self._read(matrix, [place])
        else:
            self._read(np.concatenate(self.waiting), self.places)
        self.waiting, self.places, self.size = [], [], 0

    def _read(self, matrix: Any, places: Sequence[tuple[int, int, int]]) -> None:
        self.blocks.add(self.vectors.rows(KEY, matrix, lambda row: place_of(row, places)))

    def finish(self, corpus: Corpus, where: object = None) -> None:
        """Give the corpus its attributes."""
        if self.waiting:
            self._flush()
        corpus.vectors = self.vectors.widths
        self.blocks.finish(corpus, self.vectors.names)


class Split:
    """The tokens of a block, dicts some of which hold vectors, without these; and the vectors by name."""

    def __init__(self, sentences: Sequence[Sequence[Any]]) -> None:
        self.rest: list[list[Any]] = []
        self.tokens: dict[str, list[int]] = {}
        self.vectors: dict[str, list[Any]] = {}
        self.size = 0
        for sentence in sentences:
            self.rest.append([self._without(token) for token in sentence])

    def _without(self, token: Any) -> Any:
        number, self.size = self.size, self.size + 1
        if not isinstance(token, dict):
            return token
        found = [key for key, value in token.items() if is_vector(value) and isinstance(key, str)]
        for key in found:
            self.tokens.setdefault(key, []).append(number)
            self.vectors.setdefault(key, []).append(token[key])
        return {key: value for key, value in token.items() if key not in found} if found else token

    def parts(self, vectors: Vectors, place: Place) -> list[AttributeRows]:
        """The attributes of the vectors, by the names of these."""
        made = []
        for key in sorted(self.vectors):
            tokens, own = self.tokens[key], self.vectors[key]

            def name(row: int, key: str = key, tokens: Sequence[int] = tokens) -> str:
                return f"{place(tokens[row])}[{key!r}]"

            vectors.check_widths(key, own, name)
            made.append(vectors.rows(key, matrix_of(own), name).among(self.size, np.array(tokens)))
        return made


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
        rows = AttributeRows(np.diff(self.room.ptr[: n + 1]), self.numbers[:z].copy(), val)
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
