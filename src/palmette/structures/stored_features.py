"""Templates, feature index and attribute names of a model as its file stores them; for chains and classifiers.

Letters: A attributes. `part` is the prefix of the arrays' names: "label", "pair", "triple", "past" or "attribute".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data.array_specs import (
    AddsUpTo,
    Arrays,
    ArraySpec,
    CheckedArrays,
    HashTable,
    Offsets,
    RisingWithin,
    if_present,
)
from palmette.errors import DataError, ModelError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import parse, to_text
from palmette.kernels.core.hashing import FeatureIndex, find_all, hash_index, hash_pieces, mixed_all, sorted_index
from palmette.kernels.io.columns import join_types

Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredTemplates(msgspec.Struct, frozen=True):
    """A template set as text."""

    text: str
    name: str
    syntax: str


class Names:
    """The strings of the attributes of one arity: bytes u8[], and offsets i64[A+1]. Packed ones are unpacked when they
    are first asked for."""

    def __init__(self, data: np.ndarray, offset: np.ndarray) -> None:
        self._strings: tuple[np.ndarray, np.ndarray] | None = (data, offset)
        self._unpack: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None

    @classmethod
    def lazily(cls, unpack: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Names:
        """Names that a function makes."""
        made = cls.__new__(cls)
        made._strings, made._unpack = None, unpack
        return made

    @property
    def strings(self) -> tuple[np.ndarray, np.ndarray]:
        if self._strings is None:
            assert self._unpack is not None
            self._strings = self._unpack()
        return self._strings

    @property
    def data(self) -> np.ndarray:
        return self.strings[0]

    @property
    def offset(self) -> np.ndarray:
        return self.strings[1]

    def __getitem__(self, attribute: int) -> str:
        data, offset = self.strings
        return data[offset[attribute] : offset[attribute + 1]].tobytes().decode(errors="replace")

    def __len__(self) -> int:
        return self.offset.size - 1


# --- templates ----------------------------------------------------------------------------------------------


def pack_encoder(encoder: Encoder) -> dict[str, Any]:
    """The metadata of an encoder."""
    templates = encoder.templates
    return {
        "templates": {"text": to_text(templates), "syntax": templates.syntax, "name": templates.name},
        "resources": encoder.resources.to_dict(),
    }


def unpack_encoder(templates: StoredTemplates, resources: Resources, unicode: str, file: str) -> Encoder:
    """The encoder of a model file; ModelError if its templates cannot be read. `unicode` is that of its settings."""
    try:
        resources.check_names()
        return Encoder(parse(templates.text, templates.name, templates.syntax), resources, unicode)
    except (DataError, UsageError) as error:
        raise ModelError(f"damaged model: its templates cannot be read ({error})", file=file) from None


# --- feature index ------------------------------------------------------------------------------------------


def index_specs(part: str, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """The index of attributes, a hash table or sorted keys; the size `{part}.A` is their number."""
    if f"{part}.low" in arrays or f"{part}.bucket" in arrays:
        rest = ArraySpec(f"{part}.rest", np.uint32, (f"{part}.A",))
        return (
            ArraySpec(f"{part}.bucket", np.uint32, (f"{part}.buckets",), rules=(Buckets(f"{part}.A"),)),
            ArraySpec(f"{part}.low", np.uint32, (f"{part}.A",), rules=(RisingWithin(f"{part}.bucket"),)),
            *if_present((rest,), arrays),
        )
    places = f"{part}.places"
    return (
        ArraySpec(f"{part}.numbers", np.int32, (places,), low=-1, high=f"{part}.A"),
        ArraySpec(f"{part}.keys", np.uint64, (places,), rules=(HashTable(f"{part}.numbers", f"{part}.A"),)),
    )


class Buckets(msgspec.Struct, frozen=True):
    """First places of the buckets of sorted keys: a power of two of them, at least 2, and the end."""

    end: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        buckets = array.size - 1
        if buckets < 2 or buckets & (buckets - 1) or buckets >= 1 << 32:
            return "is not the index of a power of two of buckets"
        return Offsets(self.end).fault(array, found)


def pack_index(part: str, index: FeatureIndex) -> dict[str, np.ndarray]:
    if not index.first.size:
        return {f"{part}.keys": index.keys, f"{part}.numbers": index.numbers}
    rest = {f"{part}.rest": index.rest} if index.rest.size else {}
    return {f"{part}.bucket": index.first, f"{part}.low": index.low, **rest}


def unpack_index(arrays: Arrays, part: str, size: int) -> FeatureIndex:
    if f"{part}.low" in arrays:
        rest = arrays.get(f"{part}.rest", np.zeros(0, np.uint32))
        return sorted_index(arrays[f"{part}.bucket"], arrays[f"{part}.low"], rest)
    return hash_index(arrays[f"{part}.keys"], arrays[f"{part}.numbers"], size)


# --- names --------------------------------------------------------------------------------------------------


def name_specs(part: str, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """The names of attributes, unless they were stripped: as bytes with sizes or offsets, or packed."""
    if f"{part}.packed_names" in arrays:
        return (ArraySpec(f"{part}.packed_names", np.uint8, (f"{part}.packed_bytes",)),)
    size = f"{part}.name_bytes"
    names = ArraySpec(f"{part}.names", np.uint8, (size,))
    if f"{part}.name_offset" in arrays:
        return (names, ArraySpec(f"{part}.name_offset", np.int64, (f"{part}.A+1",), rules=(Offsets(size),)))
    sizes = ArraySpec(f"{part}.name_size", np.uint16, (f"{part}.A",), rules=(AddsUpTo(size),))
    return if_present((names, sizes), arrays)


def pack_names(part: str, names: Names | None, packed: bool) -> dict[str, np.ndarray]:
    """The arrays of names, in the order of the attributes; `packed`: compressed."""
    if names is None:
        return {}
    if packed and (small := _compressed(names)) is not None:
        return {f"{part}.packed_names": small}
    sizes = np.diff(names.offset)
    if sizes.max(initial=0) < 1 << 16:
        return {f"{part}.names": names.data, f"{part}.name_size": sizes.astype(np.uint16)}
    return {f"{part}.names": names.data, f"{part}.name_offset": names.offset}


def unpack_names(arrays: Mapping[str, np.ndarray], part: str, index: FeatureIndex, file: str) -> Names | None:
    """The names of attributes; None if they were stripped."""
    if f"{part}.packed_names" in arrays:
        return Names.lazily(lambda: _uncompressed(arrays[f"{part}.packed_names"], index, file))
    if f"{part}.names" not in arrays:
        return None
    if f"{part}.name_size" in arrays:
        offset = np.concatenate(([0], np.cumsum(arrays[f"{part}.name_size"], dtype=np.int64)))
        return Names(arrays[f"{part}.names"], offset)
    return Names(arrays[f"{part}.names"], arrays[f"{part}.name_offset"])


def some_names(names: Names, keep: np.ndarray) -> Names:
    """The names of the attributes in bool[A]."""
    return ordered_names(names, np.flatnonzero(keep))


def ordered_names(names: Names, order: np.ndarray) -> Names:
    """The names of the attributes with these numbers."""
    return Names(*join_types(names.data, names.offset[order], names.offset[order + 1]))


MOST_RATIO = 64  # of names to their compressed bytes: a small file cannot unpack to all memory
SEPARATOR = b"\0"


def _compressed(names: Names) -> np.ndarray | None:
    """Names in alphabetical order, compressed, after their size. Which attribute has a name follows from its hash. None
    if that cannot be: a name holds the separator, or they would shrink too much."""
    data, offset = names.data.tobytes(), names.offset.tolist()
    text = SEPARATOR.join(sorted(data[a:b] for a, b in pairwise(offset)))
    small = len(text).to_bytes(8, "little") + zlib.compress(text, 9)
    if text.count(SEPARATOR) != max(0, len(names) - 1) or len(text) > MOST_RATIO * len(small):
        return None
    return np.frombuffer(small, np.uint8)


def _uncompressed(packed: np.ndarray, index: FeatureIndex, file: str) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and offsets of compressed names, each at the number that the index has for its hash."""
    size = int.from_bytes(packed[:8].tobytes(), "little")
    if size > MOST_RATIO * packed.size:
        raise ModelError("damaged model: its names are larger than compression allows", file=file)
    try:
        text = zlib.decompressobj().decompress(packed[8:].tobytes(), size + 1)
    except zlib.error as error:
        raise ModelError(f"damaged model: its names cannot be unpacked ({error})", file=file) from None
    data = np.frombuffer(text, np.uint8)
    ends = np.append(np.flatnonzero(data == SEPARATOR[0]), data.size) if index.size else np.zeros(0, np.int64)
    starts = np.concatenate(([0], ends[:-1] + 1)) if index.size else ends
    joined, offset = join_types(data, starts, ends)
    numbers = find_all(index, mixed_all(hash_pieces(joined, offset)[0]))
    if len(text) != size or numbers.size != index.size or not np.array_equal(np.sort(numbers), np.arange(index.size)):
        raise ModelError("damaged model: its names are not those of its attributes", file=file)
    order = np.argsort(numbers)
    return join_types(data, starts[order], ends[order])
