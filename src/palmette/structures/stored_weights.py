"""Rows of weights as a model file stores them: as entries or as whole rows, whichever is smaller; as 32-bit floats, or
as 8-bit numbers with a scale per row.

A row has the weights of one attribute for all state n-grams, H ** arity of them, without padding; A attributes.

    PART.count    u8, u16 or u32[A]        how many entries an attribute has; each is
    PART.state    u8, u16 or u32[entries]  the number of a state n-gram, rising within an attribute,
    PART.value    f32 or i8[entries]       and its weight
    PART.rows     f32 or i8[A, width]      whole rows
    PART.scale    f32[A]      what 8-bit numbers are multiplied by
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from palmette.data.array_specs import AddsUpTo, Arrays, ArraySpec, RisingInGroups
from palmette.errors import ModelError

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


def unpack_rows(arrays: Arrays, part: str, form: Form, out: np.ndarray) -> None:
    """Write the rows to out[A, .., H], zeros so far, which may be a part of a padded array."""
    if not form.sparse:
        out[...] = arrays[f"{part}.rows"].reshape(out.shape)
        return
    count, state, value = (arrays[f"{part}.{name}"] for name in ("count", "state", "value"))
    at = 0
    for k in range(0, count.size, CHUNK):
        some = count[k : k + CHUNK]
        end = at + int(some.sum(dtype=np.int64))
        owner = np.repeat(np.arange(k, k + some.size), some)
        places = np.unravel_index(state[at:end].astype(np.int64), out.shape[1:])
        out[(owner, *places)] = value[at:end]
        at = end


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
