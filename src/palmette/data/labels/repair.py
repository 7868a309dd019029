"""Chunk labels that are almost well-formed: the nearest tag scheme, and the repair of the chunks that violate it.

Chunks are read as conlleval reads them: an I after O or after another type opens a chunk. A chunk is ill-formed in a
scheme if the scheme would write it in other letters. A corpus is taken to be in a scheme if few chunks are ill-formed
in it (`Violations.rare`) and many more in every other one (`nearest`). `repaired` writes these chunks in the scheme.
Y is the number of labels, N of tokens; a label number from Y on is a label that is not fully known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.labels.schemes import (
    HYPHEN,
    SPELLINGS,
    Lettered,
    letter_at,
    reading,
    scheme_named,
    schemes_of,
    with_boundaries,
)

RARE = 100  # at most one chunk in so many is ill-formed, rounded up
LEAST = 20  # chunks: fewer prove no scheme that they violate
CLEARLY = 10  # times as many chunks are ill-formed in any other scheme
UNKNOWN = "?"


class Violations(NamedTuple):
    """The chunks of a corpus that are ill-formed in a scheme."""

    scheme: str
    chunks: int  # all of them
    tokens: np.ndarray  # i64[]  of each ill-formed chunk the first token that violates the scheme

    @property
    def rare(self) -> bool:
        return self.chunks >= LEAST and self.tokens.size <= -(-self.chunks // RARE)


class _Chunks(NamedTuple):
    """The label of each token as letter and type, with those of its neighbours, and the C chunks. Ends of a sentence
    count as O, and so do unknown labels where chunks are concerned."""

    letter: np.ndarray  # u8[3, N]   before, here, after
    kind: np.ndarray  # i64[3, N]  number of the type
    chunk: np.ndarray  # i64[N]     -1: in none
    first: np.ndarray  # i64[C]
    last: np.ndarray  # i64[C]

    def has(self, place: int, letters: str) -> np.ndarray:
        """Where one of the letters stands before (0), at (1) or after (2) a token."""
        return np.asarray(_wanted(letters)[self.letter[place]])

    @property
    def known(self) -> np.ndarray:
        """Chunks bool[C] whose extent is known: no neighbouring label is unknown."""
        return ~(self.has(0, UNKNOWN)[self.first] | self.has(2, UNKNOWN)[self.last])

    def written(self, scheme: str) -> np.ndarray:
        """The letter of each token in a scheme u8[N]; only those of chunks have a meaning."""
        touches = [
            (self.kind[place] == self.kind[1])[ends] & ~self.has(place, "O" + UNKNOWN)[ends]
            for place, ends in ((0, self.first), (2, self.last))
        ]
        token = np.arange(self.chunk.size)
        role = [token == self.first[self.chunk], token == self.last[self.chunk], *(t[self.chunk] for t in touches)]
        letters = np.array([ord(letter_at(scheme, *flags)) for flags in product((False, True), repeat=4)], np.uint8)
        return letters.reshape(2, 2, 2, 2)[tuple(part.astype(np.int64) for part in role)]


def _wanted(letters: str) -> np.ndarray:
    table = np.zeros(128, np.bool_)
    table[[ord(letter) for letter in letters]] = True
    return table


def _read(labels: Sequence[str], ids: np.ndarray, offset: np.ndarray, scheme: str) -> _Chunks:
    Y, notation = len(labels), reading(labels, scheme) or HYPHEN
    marked = with_boundaries(np.minimum(ids, Y), offset, Y + 1)
    parts = [*map(notation.split, labels), (UNKNOWN, ""), ("O", "")]
    numbers = {kind: k for k, kind in enumerate(dict.fromkeys(kind for _, kind in parts))}
    places = np.flatnonzero(marked != Y + 1)
    around = marked[np.stack((places - 1, places, places + 1))]
    letter = np.array([ord(letter) for letter, _ in parts], np.uint8)[around]
    kind = np.array([numbers[kind] for _, kind in parts])[around]
    inside = ~_wanted("O" + UNKNOWN)[letter]
    cut = _wanted("OES" + UNKNOWN)[letter[:2]] | _wanted("OBS" + UNKNOWN)[letter[1:]] | (kind[:2] != kind[1:])
    opens, closes = inside[1] & cut  # between a token and the one before it, and the one after it
    chunk = np.where(inside[1], np.cumsum(opens) - 1, -1)
    return _Chunks(letter, kind, chunk, np.flatnonzero(opens), np.flatnonzero(closes))


def violations(labels: Sequence[str], ids: np.ndarray, offset: np.ndarray, scheme: str) -> Violations:
    """The ill-formed chunks of label sequences: i32[N], i64[S+1]. Of a chunk next to an unknown label only what is
    ill-formed for certain counts."""
    read, row = _read(labels, ids, offset, scheme), scheme_named(scheme)
    inside = read.chunk >= 0
    if not inside.any():
        return Violations(scheme, 0, np.zeros(0, np.int64))
    certain = ~read.has(1, row.letters)
    for place, needs in ((0, row.before), (2, row.after)):
        for letter, needed in needs.items():
            met = read.has(place, needed) & (read.kind[place] == read.kind[1])
            certain |= read.has(1, letter) & ~met & ~read.has(place, UNKNOWN)
    wrong = inside & np.where(read.known[read.chunk], read.letter[1] != read.written(scheme), certain)
    tokens = np.flatnonzero(wrong)
    _, first = np.unique(read.chunk[tokens], return_index=True)
    return Violations(scheme, read.first.size, tokens[first])


def nearest(
    labels: Sequence[str], ids: np.ndarray, offset: np.ndarray, among: Iterable[str] = ()
) -> tuple[Violations, bool]:
    """The scheme with the fewest ill-formed chunks, the strictest of several, and whether the corpus is taken to be in
    it: they are rare, and clearly more in any other scheme. `among`: some schemes; otherwise all that are written as
    the labels are."""
    names = list(among) or schemes_of(labels)
    return nearest_of([violations(labels, ids, offset, name) for name in names])


def nearest_of(found: Sequence[Violations]) -> tuple[Violations, bool]:
    """The scheme with the fewest ill-formed chunks of several, as for `nearest`."""
    best, *others = sorted(found, key=lambda each: each.tokens.size)
    clear = all(other.tokens.size >= CLEARLY * max(1, best.tokens.size) for other in others)
    return best, best.rare and clear


def repaired(
    corpus: Corpus, labels: Sequence[str], ids: np.ndarray, found: Violations, cells: Mapping[str, int] | None = None
) -> tuple[Corpus, int]:
    """The corpus with its ill-formed chunks written in the scheme, and how many these are. A chunk next to an unknown
    label stays as it is. `ids` are the labels of the corpus as numbers of `labels`. `cells`: how often each label cell
    occurs in all the data, if the corpus is a part of it."""
    assert corpus.labels is not None
    if not found.tokens.size:
        return corpus, 0
    notation = reading(labels, found.scheme) or HYPHEN
    read = _read(labels, ids, corpus.offset, found.scheme)
    chunks = read.chunk[found.tokens]
    chunks = chunks[read.known[chunks]]
    written = read.written(found.scheme)
    if cells is None:
        cells = dict(zip(corpus.labels.types, np.bincount(corpus.labels.ids).tolist(), strict=False))
    spelling = _spelling(cells, notation) if isinstance(notation, Lettered) else {}
    written_ids = corpus.labels.ids.copy()
    numbers = {cell: k for k, cell in enumerate(corpus.labels.types)}
    for i in np.flatnonzero(np.isin(read.chunk, chunks)).tolist():
        letter, kind = chr(written[i]), notation.split(labels[ids[i]])[1]
        cell = notation.join(spelling.get(letter, letter), kind)
        written_ids[i] = numbers.setdefault(cell, len(numbers))
    return msgspec.structs.replace(corpus, labels=_column(written_ids, list(numbers))), int(chunks.size)


def _spelling(cells: Mapping[str, int], notation: Lettered) -> dict[str, str]:
    """How the data writes the letters B, I, E and S, by the number of its label cells: as it mostly does, and where a
    letter does not occur as the scheme with its other letters does."""
    counts: Counter[str] = Counter()
    for cell, count in cells.items():
        if notation.split(cell)[0]:
            counts[cell[0]] += count
    written = {notation.split(letter)[0]: letter for letter, _ in reversed(counts.most_common())}
    family = next((own for own in SPELLINGS.values() if set(own.values()) & set(written.values())), {})
    return {**family, **written}


def _column(ids: np.ndarray, types: Sequence[str]) -> Column:
    """A column numbered by first occurrence; types that do not occur are left out."""
    used, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(used.size, np.int32)
    rank[order] = np.arange(used.size, dtype=np.int32)
    return column_of_types(rank[inverse], [types[k] for k in used[order].tolist()])
