"""What atoms make of the types of a column, remembered from block to block of a stream: as hashes, for all views of the
column at once. Words come again in every block, and calling the atoms of a word takes far longer than finding it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

import numpy as np

from palmette.data.corpus import Column
from palmette.features.encode import View, hash_optional, new_feature_index
from palmette.kernels.core.hashing import mixed_all
from palmette.kernels.core.index import find_all, hash_index
from palmette.kernels.core.table import add_all

MOST = 1 << 17  # types that are remembered

Atom = Callable[[str], str | None]


class TypeMemo:
    """The views of one column through atoms, of the first MOST types that come."""

    def __init__(self, atoms: Mapping[View, Atom], most: int = MOST) -> None:
        self.atoms, self.most = dict(atoms), most
        self.index = new_feature_index()
        self.hash = {view: np.zeros(0, np.uint64) for view in atoms}
        self.power = {view: np.zeros(0, np.uint64) for view in atoms}
        self._lock = Lock()  # blocks are encoded on several threads

    def hashed(self, column: Column) -> dict[View, tuple[np.ndarray, np.ndarray]]:
        """Hash and power of each type of a column in each view."""
        keys = mixed_all(column.hash)
        with self._lock:
            places = find_all(self.index, keys)
            new = np.flatnonzero(places < 0)
            made = self._made(column, new)
            if new.size and self.index.size + new.size <= self.most:
                places[new] = self._remember(keys[new], made)
                new = new[:0]
            out = {}
            for view in self.atoms:
                pair = []
                for known, own in zip((self.hash[view], self.power[view]), made[view], strict=True):
                    values = known[np.maximum(places, 0)] if known.size else np.zeros(places.size, np.uint64)
                    if new.size:
                        values[new] = own
                    pair.append(values)
                out[view] = (pair[0], pair[1])
        return out

    def _made(self, column: Column, types: np.ndarray) -> dict[View, tuple[np.ndarray, np.ndarray]]:
        """Hash and power of some types i64[], by calling atoms."""
        data, start, end = column.data, column.start[types].tolist(), column.end[types].tolist()
        texts = [data[a:b].tobytes().decode() for a, b in zip(start, end, strict=True)]
        return {view: hash_optional([atom(text) for text in texts]) for view, atom in self.atoms.items()}

    def _remember(self, keys: np.ndarray, made: Mapping[View, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Add types; returns their places i32[]."""
        before = self.index.size
        table, numbers, places, first = add_all(self.index.keys, self.index.numbers, before, keys)
        self.index = hash_index(table, numbers, first.size)
        fresh = first[before:]  # equal keys are one type
        for view, (hash, power) in made.items():
            self.hash[view] = np.concatenate((self.hash[view], hash[fresh]))
            self.power[view] = np.concatenate((self.power[view], power[fresh]))
        return places
