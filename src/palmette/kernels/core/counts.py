"""Counts of 64-bit keys in a table whose places are in the order of the keys, so that it is emptied in sorted order.

    place(key) = the `bits` bits of the key after the first `skip`, which all keys of the table share

A key is at its place or, if others are there, a little behind it; places beyond 2^bits take those that run over the
end. Keys are spread evenly over all 64-bit numbers (`core.hashing.mixed`), and none is 0, which marks a free place.
Other keys are counted as exactly, but slowly.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import I64, U64

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
