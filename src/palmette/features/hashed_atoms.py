"""Hashes of what atoms make of words: by a kernel where it knows the answer, else by the functions of the atoms.

The kernel (`kernels/encode/word_atoms.py`) has the atoms of `wordforms` that named template sets use, for words in
characters below U+0800: Latin, Greek, Cyrillic, Hebrew and Arabic letters among them. Its tables are made from Python's
own facts about characters. It asks for all other words and atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Column, bytes_of
from palmette.features.atoms import Atom
from palmette.kernels.core.hashing import FeatureIndex, add_all, find_all, hash_index, hash_pieces, mixed_all
from palmette.kernels.encode import word_atoms as kernels

WIDE = 0x800  # characters of at most two bytes
_STEPS: dict[str, tuple[tuple[int, int], ...]] = {
    "lower": ((kernels.LOWER, 0),),
    "normal": ((kernels.NORMAL, 0),),
    "shape": ((kernels.SHAPE, 0),),
    "short_shape": ((kernels.SHAPE, 0), (kernels.RUNS, 0)),
    **{f"prefix{n}": ((kernels.PREFIX, n),) for n in range(1, 6)},
    **{f"suffix{n}": ((kernels.SUFFIX, n),) for n in range(1, 10)},
}
_LAST = {
    "capital": kernels.CAPITAL,
    "allcaps": kernels.ALLCAPS,
    "digits": kernels.DIGITS,
    "hyphen": kernels.HYPHEN,
    "punctuation": kernels.PUNCTUATION,
    "number": kernels.NUMBER,
    "date": kernels.DATE,
    "length": kernels.LENGTH,
    "orthography": kernels.ORTHOGRAPHY,
}


class HashedAtoms:
    """Some atoms, by their names. Tables of other characters than ASCII take milliseconds to make: they are for many
    words."""

    many = 500

    def __init__(self, atoms: Mapping[str, Atom]) -> None:
        self.functions = list(atoms.values())
        steps = [_steps(name) for name in atoms]
        self._first = np.cumsum([0, *map(len, steps)]).astype(np.int64)
        flat = [step for own in steps for step in own]
        self._step = np.array([step for step, _ in flat], np.int32)
        self._size = np.array([size for _, size in flat], np.int32)
        self._of_limit: dict[int, kernels.Atoms] = {}

    def of_words(self, data: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hash and power u64[atoms, words] of each atom of the words data[start:end]; power 0 where it is absent."""
        worth = start.size >= self.many or WIDE in self._of_limit
        wide = worth and data.size > 0 and int(data.max()) >= kernels.ASCII
        hash, power, asked = kernels.hash_atoms(self._atoms(WIDE if wide else kernels.ASCII), data, start, end)
        some = np.flatnonzero(asked.any(axis=0))
        if some.size:
            places = zip(start[some].tolist(), end[some].tolist(), strict=True)
            texts = [data[a:b].tobytes().decode() for a, b in places]
            for v, function in enumerate(self.functions):
                which = np.flatnonzero(asked[v, some])
                if which.size:
                    words = texts if which.size == some.size else [texts[k] for k in which.tolist()]
                    hash[v, some[which]], power[v, some[which]] = hash_optional([function(word) for word in words])
        return hash, power

    def _atoms(self, limit: int) -> kernels.Atoms:
        """The atoms with tables of the characters below a limit."""
        if limit not in self._of_limit:
            self._of_limit[limit] = kernels.Atoms(self._first, self._step, self._size, *_tables(limit), *_names())
        return self._of_limit[limit]


def hash_optional(values: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Hash and power of each string; power 0 for None."""
    hash, power = hash_pieces(*bytes_of([value or "" for value in values]))
    power[[k for k, value in enumerate(values) if value is None]] = 0
    return hash, power


def _steps(name: str) -> list[tuple[int, int]]:
    """An atom, or a chain of atoms, as steps of the kernel, which asks for those that it does not have."""
    *before, last = name.split(".")
    if all(atom in _STEPS for atom in before) and (last in _STEPS or last in _LAST):
        own = _STEPS[last] if last in _STEPS else ((_LAST[last], 0),)
        return [*(step for atom in before for step in _STEPS[atom]), *own]
    return [(kernels.OTHER, 0)]


@cache
def _tables(limit: int) -> tuple[np.ndarray, ...]:
    """Lower case, normal form, shape and facts of the characters below a limit, i32[limit] each."""
    from palmette.features.wordforms import normal, shape

    characters = [chr(code) for code in range(limit)]
    lower = [_lower(character, limit) for character in characters]
    normals, shapes = (list(map(ord, make("".join(characters)))) for make in (normal, shape))
    facts = [_facts(character) for character in characters]
    return tuple(np.array(table, np.int32) for table in (lower, normals, shapes, facts))


def _lower(character: str, limit: int) -> int:
    """A character in lower case; -1 if that is not one character, or depends on its neighbours, as of the sigma."""
    made = character.lower()
    return ord(made) if len(made) == 1 and ord(made) < limit and character != "\u03a3" else -1


def _facts(character: str) -> int:
    import re
    import unicodedata

    upper = character.isupper()
    found: dict[int, Any] = {
        kernels.IS_UPPER: upper,
        kernels.IS_LOWER: character.islower(),
        kernels.IS_TITLE: character.istitle() and not upper,
        kernels.IS_DECIMAL: character.isdecimal(),
        kernels.IS_NUMBER: character.isnumeric(),
        kernels.IS_LETTER: character.isalpha(),
        kernels.IS_WORD: re.match(r"\w", character),
        kernels.IS_MARK: unicodedata.category(character)[0] in "PS",
        kernels.IS_HYPHEN: character == "-",
        kernels.IS_ROMAN: character in "MDCLXVI",
    }
    return sum(fact for fact, holds in found.items() if holds)


@cache
def _names() -> tuple[np.ndarray, ...]:
    """Hash and power of the names that words get, and the hashes of the words that are looked up."""
    from palmette.features.wordforms import DATE_WORDS, GREEK_NAMES

    looked_up = (hash_optional(sorted(words))[0] for words in (DATE_WORDS, GREEK_NAMES))
    return (*hash_optional(kernels.NAMES), *looked_up)


# What atoms make of the types of a column, remembered from corpus to corpus: as hashes, for all views of the column at
# once. Words come again in every block of a stream, and in every call of a program that tags.

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
