"""What atoms make of the types of a column, remembered from corpus to corpus: as hashes, for all views of the column at
once. Words come again in every block of a stream, and in every call of a program that tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column
from palmette.features.atoms import Atom
from palmette.features.hashed_atoms import HashedAtoms
from palmette.kernels.core.hashing import mixed_all
from palmette.kernels.core.index import FeatureIndex, find_all, hash_index
from palmette.kernels.core.table import add_all

MOST = 1 << 17  # types that are remembered
LONG = 256  # bytes of a type that is not: the memory is for words
SMALLEST = 1 << 12  # places of the table at first


class Known(NamedTuple):
    """What is remembered at a moment. It does not change: places of further types are written to later."""

    places: FeatureIndex  # from the key of a type to its place
    hash: np.ndarray  # u64[atoms, places]
    power: np.ndarray  # u64[atoms, places]


class TypeMemo:
    """Atoms of one column, of the first MOST types that come."""

    def __init__(self, atoms: Mapping[str, Atom], most: int = MOST) -> None:
        self.names, self.atoms, self.most = list(atoms), HashedAtoms(atoms), most
        index = hash_index(np.zeros(SMALLEST, np.uint64), np.full(SMALLEST, -1, np.int32), 0)
        self.known = Known(index, *np.zeros((2, len(atoms), SMALLEST // 2), np.uint64))
        self._lock = Lock()  # blocks are encoded on several threads

    def hashed(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """Hash and power u64[atoms, T] of each type of a column."""
        keys, known = mixed_all(column.hash), self.known
        places = find_all(known.places, keys)
        new = np.flatnonzero(places < 0)
        hash, power = (np.take(values, places, axis=1, mode="wrap") for values in known[1:])  # any, for new types
        if new.size:
            made = self.atoms.of_words(column.data, column.start[new], column.end[new])
            hash[:, new], power[:, new] = made
            self._remember(keys[new], *made, kept=column.end[new] - column.start[new] <= LONG)
        return hash, power

    def _remember(self, keys: np.ndarray, hash: np.ndarray, power: np.ndarray, kept: np.ndarray) -> None:
        """Add types, unless there are too many."""
        if not kept.all():
            keys, hash, power = keys[kept], hash[:, kept], power[:, kept]
        with self._lock:
            known = self.known
            before = known.places.size
            if before + keys.size > self.most:
                return
            table, numbers, _, first = add_all(known.places.keys, known.places.numbers, before, keys)
            fresh = first[before:]  # not those that another thread has added
            stored = []
            for values, own in zip(known[1:], (hash, power), strict=True):
                if first.size > values.shape[1]:
                    values = np.concatenate((values, np.zeros((len(values), first.size), np.uint64)), axis=1)
                values[:, before : first.size] = own[:, fresh]
                stored.append(values)
            self.known = Known(hash_index(table, numbers, first.size), *stored)
