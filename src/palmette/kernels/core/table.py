"""Open addressing over 64-bit keys in two flat arrays, which the model file can map into memory.

A place holds a key (0 = empty) and the number of its attribute. The size is a power of two and at most
half of the places are used, so a look-up costs little more than one cache miss.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import I32, I64, U64

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
