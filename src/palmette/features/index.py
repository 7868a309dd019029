"""Feature indexes in their two forms (kernels/core/index.py): sorting, growing, dropping attributes."""

from __future__ import annotations

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.core.index import FeatureIndex, hash_index, sorted_index
from palmette.kernels.core.table import add_all, renumbered

PER_BUCKET = 4
MOST_BITS = 31


def keys_of(index: FeatureIndex) -> np.ndarray:
    """The key of each attribute, u64[A]."""
    if index.first.size:
        if index.rest.size != index.low.size:
            raise UsageError("a compact model does not have the keys of its attributes: use the full model")
        sizes = index.first[1:] - index.first[:-1]
        bucket = np.repeat(np.arange(sizes.size, dtype=np.uint64), sizes)
        bits = np.uint64(index.bits)
        high = (bucket << (np.uint64(64) - bits)) | (index.low.astype(np.uint64) << (np.uint64(32) - bits))
        return np.asarray(high | index.rest)
    keys = np.zeros(index.size, np.uint64)
    full = index.keys != 0
    keys[index.numbers[full]] = index.keys[full]
    return keys


def in_order_of_keys(index: FeatureIndex) -> tuple[FeatureIndex, np.ndarray] | None:
    """The index in the form of sorted keys, and the old number of each attribute. None where that form cannot be: an
    attribute has no key, or two keys are equal in all bits that are compared."""
    if index.first.size:
        return index, np.arange(index.size)
    keys = keys_of(index)
    order = np.argsort(keys, kind="stable")
    made = of_sorted_keys(keys[order])
    return None if made is None else (made, order)


def of_sorted_keys(keys: np.ndarray) -> FeatureIndex | None:
    """The index of keys u64[A] in rising order. None where that form cannot be; see `in_order_of_keys`."""
    bits = min(MOST_BITS, max(1, (keys.size // PER_BUCKET).bit_length()))
    compared = keys >> np.uint64(32 - bits)
    if keys.size and (keys[0] == 0 or (compared[1:] == compared[:-1]).any()):
        return None
    edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(32)
    first = np.append(np.searchsorted(compared, edges), keys.size).astype(np.uint32)
    rest = (keys & ((np.uint64(1) << np.uint64(32 - bits)) - np.uint64(1))).astype(np.uint32)
    return sorted_index(first, compared.astype(np.uint32), rest)


def growing(index: FeatureIndex) -> FeatureIndex:
    """A copy of the index as a hash table, with the same numbers, which can grow."""
    if not index.first.size:
        return hash_index(index.keys.copy(), index.numbers.copy(), index.size)
    empty = np.zeros(1 << 12, np.uint64), np.full(1 << 12, -1, np.int32)
    keys, numbers, _, _ = add_all(*empty, 0, keys_of(index))
    return hash_index(keys, numbers, index.size)


def kept_attributes(index: FeatureIndex, keep: np.ndarray) -> FeatureIndex:
    """The index of the attributes in bool[A] alone, numbered anew in the same order."""
    if not index.first.size:
        new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        kept = int(np.count_nonzero(keep))
        keys, numbers = renumbered(index.keys, index.numbers, new, kept)
        return hash_index(keys, numbers, kept)
    made = of_sorted_keys(keys_of(index)[keep]) if index.rest.size else None
    if made is not None:
        return made
    before = np.concatenate(([0], np.cumsum(keep)))
    rest = index.rest[keep] if index.rest.size else index.rest
    return sorted_index(before[index.first].astype(np.uint32), index.low[keep], rest)


def without_keys(index: FeatureIndex) -> FeatureIndex:
    """The index without what only more training needs."""
    return index._replace(rest=np.zeros(0, np.uint32))
