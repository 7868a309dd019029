"""Declared arrays: one `ArraySpec` per array of a model file drives saving, loading and checking.

Compiled loops follow indices, offsets and tables without looking at them, so a spec states everything they rely on:
name, dtype, shape, range, and rules of order and form. A shape or bound is a number or the name of a size, such as "Y"
or "label.rows" ("Y+1" is one more). The caller knows some sizes, from metadata; any other is bound by the first array
that mentions it and must agree in all others.

`unpack` compares presence, dtype and shape of all arrays before it looks at a value, and allocates nothing that is
larger than an array of the file. A caller that allocates by a size of the metadata does so afterwards. `pack` compares
dtype and shape of what is saved, so that a file cannot be written that its own declaration refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data.model_file import AGAIN
from palmette.errors import ModelError

Arrays = Mapping[str, NDArray[Any]]
Size = int | str  # a number, the name of a size, or the name and "+1"
Sizes = Mapping[str, int]


class CheckedArrays(NamedTuple):
    """What a rule may look at: all arrays of the specs, with dtypes and shapes as declared, and all sizes."""

    arrays: Arrays
    sizes: Sizes


class ArrayRule(Protocol):
    """A condition on the values of an array beyond their range.

    Specs are checked in their order: a rule may rely on ranges and rules of the specs before its own.
    """

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        """What is wrong, as the end of a sentence that begins with the array's name; None if nothing is."""
        ...


class ArraySpec(msgspec.Struct, frozen=True):
    """One array of a model file."""

    name: str
    dtype: type[np.generic]
    shape: tuple[Size, ...]
    low: float | str | None = None  # low <= item
    high: float | str | None = None  # item < high; infinity refuses NaN too
    finite: bool = False
    rules: tuple[ArrayRule, ...] = ()


def pack(parts: Arrays, specs: Sequence[ArraySpec], sizes: Sizes) -> dict[str, NDArray[Any]]:
    """The arrays to save. ValueError if they are not those of the specs: then the caller is wrong, not a file."""
    undeclared = parts.keys() - {spec.name for spec in specs}
    if undeclared:
        raise ValueError(f"arrays without a declaration: {', '.join(sorted(undeclared))}")
    bound = dict(sizes)
    for spec in specs:
        fault = _form_fault(spec, parts, bound)
        if fault is not None:
            raise ValueError(f"array {spec.name!r} {fault}")
    return {spec.name: parts[spec.name] for spec in specs}


def unpack(arrays: Arrays, specs: Sequence[ArraySpec], sizes: Sizes, file: str) -> dict[str, NDArray[Any]]:
    """The arrays of the specs, each checked; ModelError if one is missing or not as declared."""
    bound = dict(sizes)
    for spec in specs:
        fault = _form_fault(spec, arrays, bound)
        if fault is not None:
            _damaged(spec.name, fault, file)
    found = CheckedArrays({spec.name: arrays[spec.name] for spec in specs}, bound)
    for spec in specs:
        fault = _value_fault(spec, found)
        if fault is not None:
            _damaged(spec.name, fault, file)
    return dict(found.arrays)


def if_present(specs: Sequence[ArraySpec], arrays: Arrays) -> tuple[ArraySpec, ...]:
    """The specs of a group that a file may lack as a whole: all of them if one is there, else none."""
    return tuple(specs) if any(spec.name in arrays for spec in specs) else ()


def size_of(size: Size, sizes: Sizes) -> int:
    """The number that a size stands for."""
    if isinstance(size, int):
        return size
    name, plus, more = size.partition("+")
    return sizes[name] + (int(more) if plus else 0)


def _form_fault(spec: ArraySpec, arrays: Arrays, sizes: dict[str, int]) -> str | None:
    """What is wrong with the presence, dtype or shape of an array; binds the sizes that it is the first to mention."""
    if spec.name not in arrays:
        return "is missing"
    array = arrays[spec.name]
    if array.dtype != np.dtype(spec.dtype):
        return f"is of {array.dtype}, expected {np.dtype(spec.dtype)}"
    if array.ndim == len(spec.shape):
        for size, length in zip(spec.shape, array.shape, strict=True):
            if isinstance(size, str) and "+" not in size:
                sizes.setdefault(size, length)
    wanted = tuple(size_of(size, sizes) if _is_known(size, sizes) else "any" for size in spec.shape)
    if wanted != array.shape:
        return f"has shape {array.shape}, expected ({', '.join(map(str, wanted))})"
    return None


def _is_known(size: Size, sizes: Sizes) -> bool:
    return isinstance(size, int) or size.partition("+")[0] in sizes


def _value_fault(spec: ArraySpec, found: CheckedArrays) -> str | None:
    """What is wrong with the values of an array. Extremes are found without a temporary array."""
    array = found.arrays[spec.name]
    if array.size and (spec.low is not None or spec.high is not None or spec.finite):
        least, most = array.min(), array.max()
        low, high = _bound(spec.low, found.sizes), _bound(spec.high, found.sizes)
        if spec.finite and not (np.isfinite(least) and np.isfinite(most)):
            return "holds numbers that are not finite"
        if low is not None and not least >= low:
            return f"holds {least}, below {low}"
        if high is not None and not most < high:
            return f"holds {most}, not below {high}"
    return next((fault for rule in spec.rules if (fault := rule.fault(array, found)) is not None), None)


def _bound(bound: float | str | None, sizes: Sizes) -> float | None:
    return size_of(bound, sizes) if isinstance(bound, str) else bound


def _damaged(name: str, fault: str, file: str) -> NoReturn:
    raise ModelError(f"damaged model: array {name!r} {fault}", file=file, hint=AGAIN)


# --- rules that several kinds of models share ---------------------------------------------------------------


class Offsets(msgspec.Struct, frozen=True):
    """Cuts a length of `end` into pieces: 0 first, never falling, `end` last."""

    end: Size

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        end = size_of(self.end, found.sizes)
        fits = array.size and array[0] == 0 and array[-1] == end and not bool((array[1:] < array[:-1]).any())
        return None if fits else f"does not rise from 0 to {end}"


class RisingWithin(msgspec.Struct, frozen=True):
    """Strictly rising within each group; `offsets` names the array that has the first place of each group."""

    offsets: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        starts = np.zeros(array.size + 1, np.bool_)
        starts[found.arrays[self.offsets]] = True
        falls = array[1:] <= array[:-1]
        if bool((falls & ~starts[1 : array.size]).any()):
            return f"does not rise strictly within the groups of {self.offsets!r}"
        return None


class AddsUpTo(msgspec.Struct, frozen=True):
    """Sizes of pieces of something whose size is `total`."""

    total: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        total = int(array.sum(dtype=np.int64))
        return None if total == found.sizes[self.total] else f"adds up to {total}, not {found.sizes[self.total]}"


GROUPS = 1 << 16  # that are checked together, so that the check takes little memory


class RisingInGroups(msgspec.Struct, frozen=True):
    """As RisingWithin; `sizes` names the array of the sizes of the groups, which add up to that of this array."""

    sizes: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        sizes, begin = found.arrays[self.sizes], 0
        for k in range(0, sizes.size, GROUPS):
            ends = np.cumsum(sizes[k : k + GROUPS], dtype=np.int64)
            some = array[begin : begin + int(ends[-1])]
            starts = np.zeros(some.size + 1, np.bool_)
            starts[ends] = True
            if bool(((some[1:] <= some[:-1]) & ~starts[1 : some.size]).any()):
                return f"does not rise strictly within the groups of {self.sizes!r}"
            begin += some.size
        return None


class ZeroRow(msgspec.Struct, frozen=True):
    """Row 0 exists and is zero: all attributes without a row of their own share it."""

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        return None if array.shape[0] and not array[0].any() else "has a row 0 that is not zero"


class OneOwnerPerRow(msgspec.Struct, frozen=True):
    """Each row but row 0 belongs to one attribute, so that more training finds room for the others."""

    rows: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        owned = array[array != 0]
        if owned.size != found.sizes[self.rows] - 1 or (owned.size and int(np.bincount(owned).max()) > 1):
            return "does not give each row to one attribute"
        return None


class HashTable(msgspec.Struct, frozen=True):
    """Keys of an open-addressing table, 0 in an empty place; see kernels/core/hashing.py.

    The number of places is a power of two and one of them is empty, or a search would not end. Each key has a number
    of its own: `numbers` names the array that has it in the same place, -1 for none. There are at most `entries` keys.
    """

    numbers: str
    entries: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        places, entries = array.size, found.sizes[self.entries]
        full = int(np.count_nonzero(array))
        if places < 2 or places & (places - 1) or full == places:
            return "is not a hash table: its places are not a power of two, or none is empty"
        if full > entries or entries > places:
            return f"has {full} keys in {places} places for {entries} entries"
        numbers = found.arrays[self.numbers][array != 0]
        if numbers.size and numbers.min() < 0:
            return "has a key without a number"
        if numbers.size and int(np.bincount(numbers).max()) > 1:
            return "has two keys with the same number"
        return None
