"""Keys of words with their tags: one 64-bit hash of several cells, for dictionaries that store no strings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from palmette.features.encode import hash_optional

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def mixed(*hashes: np.ndarray) -> np.ndarray:
    """One hash u64[] of the hashes of several cells; cells of another number or order give another one."""
    made = np.full(hashes[0].size, len(hashes), np.uint64)
    for hash in hashes:
        made = (made ^ hash) * _FACTOR  # of arrays: wraps around
        made ^= made >> np.uint64(29)
    return made


def keys_of_cells(entries: Iterable[tuple[str, ...]]) -> np.ndarray:
    """The keys u64[] of tuples of cells, all of one size."""
    columns = list(zip(*entries, strict=True))
    return mixed(*(hash_optional(cells)[0] for cells in columns)) if columns else np.zeros(0, np.uint64)


def looked_up(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place i64[] of each wanted key among rising keys; -1 for those that are not there."""
    if not keys.size:
        return np.full(wanted.size, -1, np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)
