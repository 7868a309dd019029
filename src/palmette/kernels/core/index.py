"""The feature index: from the 64-bit key of an attribute to its number. It has two forms.

While it grows, in training, it is a hash table (table.py). In a model file attributes are sorted by their keys, and the
number of an attribute is its place among them. The first `bits` bits of a key choose a bucket of about four attributes,
`first` has the place of the first one of each bucket, and `low` the next 32 bits of each key: about five bytes per
attribute instead of 24 to 48. The bits of a key beyond these are not compared: a key that is not in the index is taken
for one that is with a probability of about one in a thousand million.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.table import ABSENT, find
from palmette.kernels.core.types import I32, U32, U64, struct


@struct
class FeatureIndex(NamedTuple):
    """Attribute key -> number, in one of two forms: the arrays of the other one have size 0."""

    keys: U64  # [places]     a hash table
    numbers: I32  # [places]
    size: int  # attributes
    first: U32  # [buckets+1]  sorted keys
    low: U32  # [A]
    bits: int  # of a key that choose a bucket, 1 to 31
    rest: U32  # [A]  the other bits of a key, which only more training needs; size 0 in a compact model


def hash_index(keys: np.ndarray, numbers: np.ndarray, size: int) -> FeatureIndex:
    """An index in the form of a hash table."""
    none = np.zeros(0, np.uint32)
    return FeatureIndex(keys, numbers, size, none, none, 1, none)


def sorted_index(first: np.ndarray, low: np.ndarray, rest: np.ndarray) -> FeatureIndex:
    """An index in the form of sorted keys."""
    bits = int(first.size - 1).bit_length() - 1
    return FeatureIndex(np.zeros(0, np.uint64), np.zeros(0, np.int32), low.size, first, low, bits, rest)


@inline
def bucket_of(bits: int, key: np.uint64) -> np.int64:
    return np.int64(key >> np.uint64(64 - bits))


@inline
def find_sorted(first: np.ndarray, low: np.ndarray, bits: int, key: np.uint64) -> int:
    """The number of `key` in an index of sorted keys, or ABSENT."""
    bucket = bucket_of(bits, key)
    wanted = np.uint32((key >> np.uint64(32 - bits)) & np.uint64(0xFFFFFFFF))
    for k in range(np.int64(first[bucket]), np.int64(first[bucket + 1])):
        if low[k] == wanted:
            return k
    return ABSENT


@inline
def fetch_early(keys: np.ndarray, first: np.ndarray, bits: int, key: np.uint64) -> None:
    """Prefetch where a key will be looked up."""
    if first.size > 0:
        fetch_item(first, bucket_of(bits, key))
    else:
        fetch_item(keys, np.int64(key & np.uint64(keys.size - 1)))


@kernel
def find_all(x: FeatureIndex, wanted: U64) -> I32:
    """The number of each wanted key, i32[T]; ABSENT if it is not in the index."""
    keys, numbers, first, low, bits = x.keys, x.numbers, x.first, x.low, x.bits
    out = np.empty(wanted.size, np.int32)
    for t in range(wanted.size):
        out[t] = find_sorted(first, low, bits, wanted[t]) if first.size > 0 else find(keys, numbers, wanted[t])
    return out
