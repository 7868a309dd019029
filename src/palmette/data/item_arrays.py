"""Vectors as attributes, whole blocks of tokens at once: NumPy's arrays and SciPy's sparse rows.

The number at place k of a vector called `v` is the value of an attribute called `v[k]`. A token is a vector, which is
called `x`, or a dict with vectors beside other attributes. As in dicts, zeros are left out and values have 32 bits. In
a token, vectors come after the other attributes, in the order of their names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.item_names import KnownNames, NewNames
from palmette.data.item_plain import NUMBERS, bad_token, is_sparse, is_vector, type_of
from palmette.data.item_rows import Blocks, Rows
from palmette.errors import DataError, counted

BLOCK = 1024  # tokens that are read together
KEY = "x"  # the name of the vector of a token that is nothing else
WIDE = 1 << 22  # numbers of a vector for which there is no table of places: sparse rows may have 2**31
UNKNOWN = -2  # the number of a place that has not been looked up
Place = Callable[[int], str]  # from a row of a matrix to its name in messages


def place_of(number: int, parts: Sequence[tuple[int, int, int]]) -> str:
    """The place in the data of a token of a block, whose parts are (sentence, first token, tokens)."""
    for s, first, n in parts:
        if number < n:
            return f"X[{s}][{first + number}]"
        number -= n
    raise AssertionError("the block has fewer tokens")


def is_matrix(sentence: Any) -> bool:
    """Whether a sentence is a matrix of tokens by numbers."""
    return is_sparse(sentence) or (isinstance(sentence, np.ndarray) and sentence.ndim == 2)


def matrix_of(vectors: Sequence[Any]) -> Any:
    """Vectors of the same width as the rows of a matrix."""
    if not any(map(is_sparse, vectors)):
        return np.stack(vectors)
    if not all(map(is_sparse, vectors)):
        return np.stack([row.toarray().reshape(-1) if is_sparse(row) else row for row in vectors])
    rows = [row if row.format == "csr" else row.reshape(1, -1).tocsr() for row in vectors]
    ptr = np.concatenate(([0], np.cumsum([row.indices.size for row in rows])))
    parts = np.concatenate([row.data for row in rows]), np.concatenate([row.indices for row in rows]), ptr
    return sys.modules["scipy.sparse"].csr_array(parts, shape=(len(rows), rows[0].shape[-1]))


class Vectors:
    """The widths of vectors, and the numbers of their places."""

    def __init__(self, names: NewNames | KnownNames, widths: Mapping[str, int] | None = None) -> None:
        self.names = names
        self.widths: dict[str, int] = dict(widths or {})
        self.trained = frozenset(self.widths)
        self.numbers: dict[str, np.ndarray] = {}  # of all places of a vector
        self.wide: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # places of wide vectors so far, and their numbers

    def check_widths(self, key: str, given: Sequence[Any], place: Place) -> None:
        """DataError if vectors, or the rows of matrices, have another width than others of the name."""
        widths = [own.shape[-1] for own in given]
        expected = self.widths.setdefault(key, widths[0])
        if {*widths} != {expected}:
            row, width = next((k, width) for k, width in enumerate(widths) if width != expected)
            others = "those that the model was trained on" if key in self.trained else "those before it"
            raise DataError(f"{place(row)} has {counted(width, 'number')}, and {others} have {expected:,}")

    def matrix(self, tokens: Any, s: int) -> Any:
        """Sentence s, a matrix or vectors, as a matrix."""
        if not is_matrix(tokens):
            for i, token in enumerate(tokens):
                if not is_vector(token):
                    raise bad_token(token, f"X[{s}][{i}]", "an array of numbers of one dimension here")
            self.check_widths(KEY, tokens, lambda i: f"X[{s}][{i}]")
            return matrix_of(tokens)
        if tokens.dtype.kind not in NUMBERS:
            raise DataError(f"X[{s}] is {type_of(tokens)}: numbers are expected here")
        self.check_widths(KEY, [tokens], lambda i: f"X[{s}][{i}]")
        return tokens

    def rows(self, key: str, matrix: Any, place: Place) -> Rows:
        """The attributes of a matrix of tokens by numbers."""
        count, columns, given = _entries(matrix)
        with np.errstate(over="ignore"):
            val = given.astype(np.float32)
        if not np.isfinite(val).all():
            z = int(np.argmin(np.isfinite(val)))
            row = int(np.searchsorted(np.cumsum(count), z, side="right"))
            raise DataError(
                f"{place(row)}[{columns[z]}] is {given[z]}: a value is a finite number of 32 bits",
                hint="replace what is missing, for example by np.nan_to_num" if np.isnan(given[z]) else None,
            )
        found = Rows(count, columns, val).kept(val != 0.0)
        att = self._numbered(key, found.att)
        found = found._replace(att=att).kept(att >= 0)
        assert found.val is not None
        return found if (found.val != 1.0).any() else found._replace(val=None)

    def _numbered(self, key: str, columns: np.ndarray) -> np.ndarray:
        """The numbers of places of a vector."""
        if self.widths[key] > WIDE:
            return self._found(key, columns)
        numbers = self.numbers.setdefault(key, np.full(self.widths[key], UNKNOWN, np.int32))
        found = numbers[columns]
        new = columns[found == UNKNOWN]
        if not new.size:
            return found
        distinct, first = np.unique(new, return_index=True)
        distinct = distinct[np.argsort(first)]  # by first occurrence
        numbers[distinct] = self._new_numbers(key, distinct)
        return numbers[columns]

    def _found(self, key: str, columns: np.ndarray) -> np.ndarray:
        """Numbers of places of a very wide vector, without a table of all places: those that occur are few."""
        distinct, first, each = np.unique(columns, return_index=True, return_inverse=True)
        places, numbers = self.wide.get(key, (distinct[:0], np.zeros(0, np.int32)))
        new = distinct[np.isin(distinct, places, invert=True)]
        if new.size:
            new = new[np.argsort(first[np.searchsorted(distinct, new)])]  # by first occurrence
            places, numbers = np.append(places, new), np.append(numbers, self._new_numbers(key, new))
            order = np.argsort(places)
            places, numbers = self.wide[key] = places[order], numbers[order]
        return numbers[np.searchsorted(places, distinct)][each]

    def _new_numbers(self, key: str, places: np.ndarray) -> np.ndarray:
        return self.names.numbers_of([f"{key}[{k}]" for k in places.tolist()])


def _entries(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a matrix the numbers of entries of each row i64[n], and the column i32[z] and the number of each entry."""
    if is_sparse(matrix):
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return np.diff(matrix.indptr).astype(np.int64), matrix.indices.astype(np.int32), matrix.data
    matrix = np.asarray(matrix)  # np.matrix has two dimensions whatever one asks for
    n, width = matrix.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return np.full(n, width, np.int64), columns, matrix.reshape(-1)


class ArrayBlocks:
    """Tokens that are vectors: collects sentences, and reads them in blocks."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.blocks = Blocks()
        self.waiting: list[Any] = []  # matrices
        self.places: list[tuple[int, int, int]] = []  # sentence, first token and tokens of each
        self.size = 0

    def add(self, tokens: Any, s: int) -> None:
        matrix = self.vectors.matrix(tokens, s)
        n = matrix.shape[0]
        if n > BLOCK and is_sparse(matrix):
            matrix = matrix.tocsr()  # can be cut
        for first in range(0, n, BLOCK):
            part = matrix if n <= BLOCK else matrix[first : first + BLOCK]
            self.waiting.append(part)
            self.places.append((s, first, part.shape[0]))
            self.size += part.shape[0]
            if self.size >= BLOCK:
                self._flush()

    def _flush(self) -> None:
        """Read what is waiting: together if it is all dense or all sparse."""
        sparse = [is_sparse(matrix) for matrix in self.waiting]
        if all(sparse):
            self._read(sys.modules["scipy.sparse"].vstack(self.waiting, format="csr"), self.places)
        elif any(sparse):
            for matrix, place in zip(self.waiting, self.places, strict=True):
                self._read(matrix, [place])
        else:
            self._read(np.concatenate(self.waiting), self.places)
        self.waiting, self.places, self.size = [], [], 0

    def _read(self, matrix: Any, places: Sequence[tuple[int, int, int]]) -> None:
        self.blocks.add(self.vectors.rows(KEY, matrix, lambda row: place_of(row, places)))

    def finish(self, corpus: Corpus, where: object = None) -> None:
        """Give the corpus its attributes."""
        if self.waiting:
            self._flush()
        corpus.vectors = self.vectors.widths
        self.blocks.finish(corpus, self.vectors.names)


class Split:
    """The tokens of a block, dicts some of which hold vectors, without these; and the vectors by name."""

    def __init__(self, sentences: Sequence[Sequence[Any]]) -> None:
        self.rest: list[list[Any]] = []
        self.tokens: dict[str, list[int]] = {}
        self.vectors: dict[str, list[Any]] = {}
        self.size = 0
        for sentence in sentences:
            self.rest.append([self._without(token) for token in sentence])

    def _without(self, token: Any) -> Any:
        number, self.size = self.size, self.size + 1
        if not isinstance(token, dict):
            return token
        found = [key for key, value in token.items() if is_vector(value) and isinstance(key, str)]
        for key in found:
            self.tokens.setdefault(key, []).append(number)
            self.vectors.setdefault(key, []).append(token[key])
        return {key: value for key, value in token.items() if key not in found} if found else token

    def parts(self, vectors: Vectors, place: Place) -> list[Rows]:
        """The attributes of the vectors, by the names of these."""
        made = []
        for key in sorted(self.vectors):
            tokens, own = self.tokens[key], self.vectors[key]

            def name(row: int, key: str = key, tokens: Sequence[int] = tokens) -> str:
                return f"{place(tokens[row])}[{key!r}]"

            vectors.check_widths(key, own, name)
            made.append(vectors.rows(key, matrix_of(own), name).among(self.size, np.array(tokens)))
        return made
