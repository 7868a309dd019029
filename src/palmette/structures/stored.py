"""What models of several kinds store: templates, feature index, attribute names, rows of weights, settings.

Letters: A attributes. `part` is the prefix of the arrays' names: "label", "pair", "triple", "past" or "attribute".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs, model_file
from palmette.data.array_specs import (
    AddsUpTo,
    Arrays,
    ArraySpec,
    CheckedArrays,
    HashTable,
    Offsets,
    RisingInGroups,
    RisingWithin,
    if_present,
)
from palmette.errors import DataError, ModelError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import parse, to_text
from palmette.kernels.core.hashing import FeatureIndex, find_all, hash_index, hash_pieces, mixed_all, sorted_index
from palmette.kernels.io.columns import join_types
from palmette.options.declare import Value
from palmette.structures.training_log import without_times

Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredTemplates(msgspec.Struct, frozen=True):
    """A template set as text."""

    text: str
    name: str
    syntax: str


class Names:
    """The strings of the attributes of one arity: bytes u8[], and offsets i64[A+1]. Those of a file are unpacked when
    they are first asked for."""

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
        data, sizes = arrays[f"{part}.names"], arrays[f"{part}.name_size"]
        return Names.lazily(lambda: (data, np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))))
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


# --- rows of weights ----------------------------------------------------------------------------------------
#
# They are stored as entries or as whole rows, whichever is smaller; as 32-bit floats, or
# as 8-bit numbers with a scale per row.
#
# A row has the weights of one attribute for all state n-grams, H ** arity of them, without padding; A attributes.
#
#     PART.count    u8, u16 or u32[A]        how many entries an attribute has; each is
#     PART.state    u8, u16 or u32[entries]  the number of a state n-gram, rising within an attribute,
#     PART.value    f32 or i8[entries]       and its weight
#     PART.rows     f32 or i8[A, width]      whole rows
#     PART.scale    f32[A]      what 8-bit numbers are multiplied by

EMPTY = 64 << 20
MOST_GROWTH = 256
"""Unpacked weights take at most this many times what the file has, beyond EMPTY bytes: a small file cannot ask for all
memory."""
FEW = 64
"""Entries stay entries, where they can, if rows would take this many times what the file has, beyond EMPTY bytes."""

MOST_SCALE = float(np.finfo(np.float32).max / 128)  # a scale times a number of 8 bits is finite
CHUNK = 1 << 14  # rows that are processed together
Packed = dict[str, np.ndarray]

ENTRIES = ("count", "state", "value")
TYPES: tuple[type[np.generic], ...] = (np.uint8, np.uint16, np.uint32)


class Form(msgspec.Struct, frozen=True):
    """How the rows of one part are stored."""

    sparse: bool  # as entries
    scaled: bool  # as 8-bit numbers
    count: type[np.generic] = np.uint8  # the types of two arrays
    state: type[np.generic] = np.uint8


def form_of(arrays: Arrays, part: str) -> Form | None:
    """The form that the arrays show; None: another one."""
    if any(f"{part}.{name}" in arrays for name in ENTRIES):
        return Form(True, _is_scaled(arrays, part), *(type_of(arrays, f"{part}.{name}") for name in ENTRIES[:2]))
    return Form(False, _is_scaled(arrays, part)) if f"{part}.rows" in arrays else None


def _is_scaled(arrays: Arrays, part: str) -> bool:
    names = (f"{part}.value", f"{part}.rows")
    return f"{part}.scale" in arrays or any(name in arrays and arrays[name].dtype == np.int8 for name in names)


def type_of(arrays: Arrays, name: str) -> type[np.generic]:
    """The type of an array, if it is one of TYPES."""
    return next((one for one in TYPES if name in arrays and arrays[name].dtype == one), np.uint8)


def smallest(most: int) -> np.dtype[Any]:
    """The smallest of TYPES for numbers up to `most`."""
    return next(np.dtype(one) for one in TYPES if most < 1 << (8 * np.dtype(one).itemsize))


def row_specs(part: str, form: Form) -> tuple[ArraySpec, ...]:
    """The arrays of a form; the size `{part}.cells` is that of a row."""
    kind: type[np.generic] = np.int8 if form.scaled else np.float32
    high = None if form.scaled else np.inf
    scale = (ArraySpec(f"{part}.scale", np.float32, (f"{part}.A",), low=0.0, high=MOST_SCALE),) if form.scaled else ()
    if not form.sparse:
        return (ArraySpec(f"{part}.rows", kind, (f"{part}.A", f"{part}.cells"), high=high), *scale)
    entries, rising = f"{part}.entries", RisingInGroups(f"{part}.count")
    return (
        ArraySpec(f"{part}.count", form.count, (f"{part}.A",), rules=(AddsUpTo(entries),)),
        ArraySpec(f"{part}.state", form.state, (entries,), high=f"{part}.cells", rules=(rising,)),
        ArraySpec(f"{part}.value", kind, (entries,), high=high),
        *scale,
    )


def pack_rows(part: str, rows: Callable[[slice], np.ndarray], size: int, scale: np.ndarray | None) -> Packed:
    """The arrays of the smaller form; `rows` gives the weights of some attributes, [n, width], of `size`."""
    chunks = [slice(k, min(size, k + CHUNK)) for k in range(0, size, CHUNK)]
    counts = np.concatenate([np.zeros(0, np.int64), *(np.count_nonzero(rows(chunk), axis=1) for chunk in chunks)])
    scales = {} if scale is None else {f"{part}.scale": scale}
    none = rows(slice(0, 0))
    width, kind, entries = none.shape[1], none.dtype, int(counts.sum())
    count, state = smallest(int(counts.max(initial=0))), smallest(width)
    if size * width * kind.itemsize <= size * count.itemsize + entries * (state.itemsize + kind.itemsize):
        return {f"{part}.rows": np.concatenate([none, *(rows(chunk) for chunk in chunks)]), **scales}
    states, values = np.empty(entries, state), np.empty(entries, kind)
    at = 0
    for chunk in chunks:
        w = rows(chunk)
        there = np.nonzero(w)
        end = at + there[0].size
        states[at:end], values[at:end] = there[1], w[there]
        at = end
    return {f"{part}.count": counts.astype(count), f"{part}.state": states, f"{part}.value": values, **scales}


def pack_entries(part: str, count: np.ndarray, state: np.ndarray, value: np.ndarray) -> Packed:
    """The arrays of weights that are entries already."""
    return {
        f"{part}.count": count.astype(smallest(int(count.max(initial=0)))),
        f"{part}.state": state.astype(smallest(int(state.max(initial=0)))),
        f"{part}.value": value,
    }


def stored_bytes(arrays: Arrays, part: str) -> int:
    """The bytes that a file has for the weights of a part and their attributes."""
    names = ("count", "state", "value", "rows", "low", "keys")
    return sum(arrays[f"{part}.{name}"].nbytes for name in names if f"{part}.{name}" in arrays)


def check_growth(arrays: Arrays, part: str, size: int, file: str) -> None:
    """ModelError if the rows of a part would take far more memory than the file has bytes for them."""
    stored = stored_bytes(arrays, part)
    if size > EMPTY + MOST_GROWTH * stored:
        raise ModelError(
            f"damaged model: the weights of {part!r} would take {size / 2**30:.1f} GB, and the file has "
            f"{stored / 2**20:.1f} MB for them",
            file=file,
        )


# --- models -------------------------------------------------------------------------------------------------

GONE = ("dual_rounds", "lock_free")  # removed options, in files written before
CHECKPOINT = "checkpoint."  # before the names of arrays that an exact resumption needs
Specs = Callable[[Arrays], tuple[ArraySpec, ...]]
Settings = TypeVar("Settings", bound=Value)


def unpack_settings(data: dict[str, Any], kind: type[Settings], file: str) -> Settings:
    """The settings of a model file, checked; ModelError if one is wrong."""
    known = {name: value for name, value in data.items() if name not in GONE}
    if known.get("combine") == "dual":
        known["combine"] = "joint"  # the same maximum, by exact search
    try:
        return kind.from_dict(known)
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None


class ModelStore(NamedTuple):
    """How models of one kind are kept: what is common to all kinds. Arrays are declared by each kind."""

    task: str
    meta: type[Any]  # the struct of everything that is not an array
    about: type[Any]  # the struct that the metadata inherits from: what training has written, `model.meta`
    settings: type[Value]

    def pack(
        self, model: Any, own: Mapping[str, Any], parts: Arrays, specs: Specs, sizes: dict[str, int],
        state: Arrays | None = None,
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:  # fmt: skip
        """The arrays and the metadata of a model file. own: metadata besides settings and what training has written;
        specs: the declarations for a file with some arrays; state: of training, if not the whole checkpoint."""
        meta = {
            "task": self.task, "settings": model.settings.to_dict(), **own, **model.meta,
            "history": without_times(model.meta.get("history", [])),
        }  # fmt: skip
        state = model.checkpoint if state is None else state
        every = dict(parts) | {f"{CHECKPOINT}{name}": array for name, array in state.items()}
        return array_specs.pack(every, specs(every), sizes), model_file.declared(meta, self.meta)

    def read(self, meta: dict[str, Any], file: str) -> tuple[Any, Any]:
        """The metadata and the settings of a model file, checked."""
        model_file.check_task(meta, self.task, file)
        stored = model_file.read_metadata(meta, self.meta, "metadata", file)
        return stored, unpack_settings(stored.settings, self.settings, file)

    def training(self, stored: Any, arrays: Arrays) -> dict[str, Any]:
        """What training has left of a model: `meta` and `checkpoint`."""
        every = msgspec.to_builtins(stored)
        about = {name: every[name] for name in self.about.__struct_fields__ if name in every}
        state = {name.removeprefix(CHECKPOINT): arrays[name] for name in arrays if name.startswith(CHECKPOINT)}
        return {"meta": about, "checkpoint": state}
