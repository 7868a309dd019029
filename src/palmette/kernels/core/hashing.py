"""Composable hashes of strings, so that attribute strings are never built.

    hash(s) = sum over bytes of R[s_i] * B^(len-1-i)   mod 2^64
    hash(s + t) = hash(s) * B^len(t) + hash(t)

R is a table of fixed random numbers and B a fixed odd multiplier, so the same string gets the same
number however it is divided into pieces, on every machine and in every model file. `mixed` spreads the
bits for a table lookup. Two different strings collide with a probability of about 2^-58: for ten million
attributes that is one collision in some ten thousand models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import I32, I64, U32, U64, Bytes, struct

BASE = np.uint64(0x9E3779B97F4A7C13)  # odd, and B-1 is 2 times an odd number
# The seed is part of the file format: another table would not find the attributes of saved models.
RANDOM = np.random.RandomState(20080229).randint(1, 2**64, size=256, dtype=np.uint64)


@inline
def power_of(base: np.uint64, exponent: int) -> np.uint64:
    """base ** exponent mod 2^64, by squaring."""
    result = np.uint64(1)
    factor = np.uint64(base)
    while exponent > 0:
        if exponent & 1:
            result = result * factor
        factor = factor * factor
        exponent >>= 1
    return result


@inline
def hash_bytes(data: np.ndarray, start: int, end: int) -> np.uint64:
    h = np.uint64(0)
    for i in range(start, end):
        h = h * BASE + RANDOM[data[i]]
    return h


@inline
def mixed(h: np.uint64) -> np.uint64:
    """Spread all bits over all bits; never 0, which marks an empty place in a table."""
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(33)
    if h == np.uint64(0):
        return np.uint64(1)
    return h


@kernel
def hash_pieces(data: Bytes, offset: I64) -> tuple[U64, U64]:
    """hash u64[T] and power B^len u64[T] of the byte strings data[offset[t]:offset[t+1]]."""
    T = offset.size - 1
    hashes = np.empty(T, np.uint64)
    powers = np.empty(T, np.uint64)
    for t in range(T):
        hashes[t] = hash_bytes(data, offset[t], offset[t + 1])
        powers[t] = power_of(BASE, offset[t + 1] - offset[t])
    return hashes, powers


@kernel
def mixed_all(hashes: U64) -> U64:
    """The table key of each hash, u64[T]."""
    keys = np.empty(hashes.size, np.uint64)
    for t in range(hashes.size):
        keys[t] = mixed(hashes[t])
    return keys


# --- hash tables -----------------------------------------------------------------------------------------------
# Tables of 64-bit keys: hash tables, the feature index, and counts.
#
# Hash tables use open addressing in two flat arrays, which the model file can map into memory. A place holds a key (0
# = empty) and the number of its attribute. The size is a power of two and at most half of the places are used, so a
# look-up costs little more than one cache miss.

ABSENT = -1


@inline
def find(keys: np.ndarray, numbers: np.ndarray, key: np.uint64) -> int:
    """The number of `key`, or ABSENT."""
    mask = np.uint64(keys.size - 1)
    k = key & mask
    while keys[k] != np.uint64(0):
        if keys[k] == key:
            return numbers[k]
        k = (k + np.uint64(1)) & mask
    return ABSENT


@inline
def find_or_add(keys: np.ndarray, numbers: np.ndarray, key: np.uint64, fresh: int) -> int:
    """The number of `key`; a new key gets the number `fresh`."""
    mask = np.uint64(keys.size - 1)
    k = key & mask
    while keys[k] != np.uint64(0):
        if keys[k] == key:
            return numbers[k]
        k = (k + np.uint64(1)) & mask
    keys[k] = key
    numbers[k] = fresh
    return fresh


@part
def grown(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A copy of the table with twice the places."""
    more_keys = np.zeros(keys.size * 2, np.uint64)
    more_numbers = np.full(keys.size * 2, ABSENT, np.int32)
    for k in range(keys.size):
        if keys[k] != np.uint64(0):
            find_or_add(more_keys, more_numbers, keys[k], numbers[k])
    return more_keys, more_numbers


@kernel
def renumbered(keys: U64, numbers: I32, new: I32, kept: int) -> tuple[U64, I32]:
    """A table of the `kept` attributes whose new number (i32[A]) is not ABSENT."""
    size = 16
    while size < kept * 2:
        size *= 2
    less_keys = np.zeros(size, np.uint64)
    less_numbers = np.empty(size, np.int32)
    for k in range(size):
        less_numbers[k] = ABSENT
    for k in range(keys.size):
        if keys[k] != np.uint64(0) and new[numbers[k]] != ABSENT:
            find_or_add(less_keys, less_numbers, keys[k], new[numbers[k]])
    return less_keys, less_numbers


@kernel
def add_all(keys: U64, numbers: I32, size: int, wanted: U64) -> tuple[U64, I32, I32, I64]:
    """(keys, numbers, number of each wanted key i32[T], first i64[A]); `first` is the index in `wanted` of a
    new key, ABSENT for keys that were in the table before."""
    keys, numbers = keys.copy(), numbers.copy()
    while (size + wanted.size) * 2 > keys.size:
        keys, numbers = grown(keys, numbers)
    out = np.empty(wanted.size, np.int32)
    first = np.full(size + wanted.size, ABSENT, np.int64)
    for t in range(wanted.size):
        out[t] = find_or_add(keys, numbers, wanted[t], size)
        if out[t] == size:
            first[size] = t
            size += 1
    return keys, numbers, out, first[:size].copy()


# The feature index: from the 64-bit key of an attribute to its number. It has two forms.
#
# While it grows, in training, it is a hash table. In a model file attributes are sorted by their keys, and the number
# of an attribute is its place among them. The first `bits` bits of a key choose a bucket of about four attributes,
# `first` has the place of the first one of each bucket, and `low` the next 32 bits of each key: about five bytes per
# attribute instead of 24 to 48. The bits of a key beyond these are not compared: a key that is not in the index is
# taken for one that is with a probability of about one in a thousand million.


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


# Counts of 64-bit keys in a table whose places are in the order of the keys, so that it is emptied in sorted order.
#
#     place(key) = the `bits` bits of the key after the first `skip`, which all keys of the table share
#
# A key is at its place or, if others are there, a little behind it; places beyond 2^bits take those that run over the
# end. Keys are spread evenly over all 64-bit numbers (`core.hashing.mixed`), and none is 0, which marks a free place.
# Other keys are counted as exactly, but slowly.

AHEAD = 16  # keys whose places are prefetched


@kernel
def add_counts(
    keys: U64, counts: I64, bits: int, skip: int, most: int, size: int, wanted: U64, number: I64, first: int
) -> tuple[int, int]:
    """Add to the count of each of the keys wanted[first:] its number (of size 0: 1). Returns how far it came, which is
    not to the end where the table would hold more than `most` keys or has no place for one, and the keys it holds."""
    up, down = np.uint64(skip), np.uint64(64 - bits)
    ones = number.size == 0
    for t in range(first, wanted.size):
        if t + AHEAD < wanted.size:
            soon = np.int64((wanted[t + AHEAD] << up) >> down)
            fetch_item(keys, soon)
            fetch_item(counts, soon)
        key = wanted[t]
        k = np.int64((key << up) >> down)
        while k < keys.size and keys[k] != np.uint64(0) and keys[k] != key:
            k += 1
        if k == keys.size:
            return t, size
        if keys[k] == np.uint64(0):
            if size >= most:
                return t, size
            keys[k] = key
            size += 1
        counts[k] += 1 if ones else number[t]
    return wanted.size, size


@kernel
def take_counts(keys: U64, counts: I64, size: int) -> tuple[U64, I64]:
    """The keys of a table in rising order and their counts, u64[size] and i64[size]; the table is empty afterwards."""
    out = np.empty(size, np.uint64)
    number = np.empty(size, np.int64)
    n = 0
    for k in range(keys.size):
        key = keys[k]
        if key == np.uint64(0):
            continue
        at = n
        while at > 0 and out[at - 1] > key:  # only keys that share a few places are out of order
            out[at] = out[at - 1]
            number[at] = number[at - 1]
            at -= 1
        out[at] = key
        number[at] = counts[k]
        n += 1
        keys[k] = np.uint64(0)
        counts[k] = 0
    return out, number
