"""Labelled data that is read several times in blocks, from files or from Python, for trainings out of core.

A source gives pieces, cheaply and in order, and makes a corpus of a piece, which several threads may do at once. Cells
are numbered block by block: what grows with the data is left to the caller.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, shown
from palmette.data.formats.registry import CheckedParser, load_format, read_corpus, stream_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.item_plain import type_of
from palmette.data.items import NO_WEIGHT, corpus_from_items
from palmette.data.labels.numbers import LabelNumbers
from palmette.data.scratch import Scratch, ScratchFile
from palmette.data.stream import Cut, cut_blocks
from palmette.data.subset import joined, take
from palmette.errors import DataError

# Files as shards: which files, or which parts of files, belong to a shard, and how it is read.
#
# With at least as many files as shards, a shard has neighbouring files of about the same size in all; otherwise files
# are divided into parts of as many sentences each, and every shard has one part. Sizes are those on disk.


class Piece(NamedTuple):
    """A part of a file, counted from 0."""

    path: str
    part: int = 0
    parts: int = 1


def divided(paths: Sequence[FilePath], shards: int) -> list[list[Piece]]:
    """The pieces of each shard."""
    names = [os.fspath(path) for path in paths]
    sizes = np.array([_size(name) for name in names], np.float64)
    if len(names) < shards:
        return [[piece] for piece in _parts(names, sizes, shards)]
    middle = np.cumsum(sizes) - sizes / 2
    shard = np.minimum(shards - 1, (middle * shards / sizes.sum()).astype(np.int64))
    first, last = np.arange(len(names)), len(names)
    shard = np.clip(shard, np.maximum(0, shards - (last - first)), first)  # every shard has a file
    shard = np.maximum.accumulate(shard)
    for k in range(1, last):
        shard[k] = min(shard[k], shard[k - 1] + 1)
    return [[Piece(names[i]) for i in np.flatnonzero(shard == k)] for k in range(shards)]


def _parts(names: Sequence[str], sizes: np.ndarray, shards: int) -> list[Piece]:
    """Files in parts, as many as there are shards: the next part goes to the file whose parts are the largest."""
    parts = np.ones(len(names), np.int64)
    while parts.sum() < shards:
        parts[int(np.argmax(sizes / parts))] += 1
    return [Piece(name, k, int(n)) for name, n in zip(names, parts, strict=True) for k in range(n)]


def _size(path: str) -> int:
    try:
        return max(1, os.path.getsize(path))
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", file=path) from None


def read_pieces(pieces: Sequence[Piece], spec: FormatSpec) -> Corpus:
    """The sentences of some pieces, in order, without their text."""
    return joined([_read(piece, spec) for piece in pieces])


def _read(piece: Piece, spec: FormatSpec) -> Corpus:
    corpus = read_corpus(piece.path, spec)
    n = corpus.n_sentences
    return take(corpus, np.arange(n * piece.part // piece.parts, n * (piece.part + 1) // piece.parts))


BLOCK = 2 << 20  # bytes of a block, about
SENTENCES = 2000  # of Python data in a block


class PieceSource(Protocol):
    """Labelled data in pieces."""

    name: str  # in messages

    def pieces(self) -> Iterator[Any]:
        """All pieces in order; each call starts again."""
        ...

    def corpus(self, piece: Any) -> Corpus:
        """The corpus of a piece; it may have no sentences."""
        ...


class Text(NamedTuple):
    """Whole lines of a file that end between sentences."""

    parser: CheckedParser
    line: int  # the number of the first one
    data: bytes


class ScratchPiece(NamedTuple):
    """Where a piece is in a scratch file."""

    line: int
    place: int
    size: int


class FileSource:
    """Files of one format. What cannot be read twice, such as standard input, is copied to a scratch file meanwhile."""

    def __init__(self, paths: Sequence[FilePath], spec: FormatSpec, scratch: Scratch, block: int = BLOCK) -> None:
        self.paths, self.scratch, self.block = list(paths), scratch, block
        self.specs = [spec.resolved(path) for path in self.paths]
        self.name = shown(self.paths[0]) + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")
        self.times = 0  # that all pieces were read
        self.copies: dict[int, tuple[ScratchFile, list[ScratchPiece]]] = {}
        for path, own in zip(self.paths, self.specs, strict=True):
            if own.format != self.specs[0].format:
                raise DataError(
                    f"this file is {own.format}, and {shown(self.paths[0])} is {self.specs[0].format}",
                    file=shown(path), hint="train on files of one format, or name it if it is one",
                )  # fmt: skip

    @property
    def spec(self) -> FormatSpec:
        return self.specs[0]

    def pieces(self) -> Iterator[Any]:
        for number in range(len(self.paths)):
            yield from self._of_file(number)
        self.times += 1

    def _of_file(self, number: int) -> Iterator[Any]:
        path, spec = self.paths[number], self.specs[number]
        format = load_format(spec.format)
        if format.read is not None:
            yield from stream_corpus(path, spec, self.block)
            return
        parser = CheckedParser(spec, shown(path))
        begun = False  # the first sentence shows how a file is laid out
        for line, data in self._texts(number, format.cut):
            if begun:
                yield Text(parser, line, data)
                continue
            corpus = parser(data, line)
            begun = corpus.n_tokens > 0
            yield corpus
        if self.times == 0:
            parser.report()

    def _texts(self, number: int, cut: Cut) -> Iterator[tuple[int, bytes]]:
        path, spec = self.paths[number], self.specs[number]
        if number in self.copies:
            file, kept = self.copies[number]
            for line, place, size in kept:
                yield line, file.read(place, size, np.uint8).tobytes()
            return
        if os.fspath(path) != "-" and os.path.isfile(path):
            yield from cut_blocks(path, cut, self.block, spec)
            return
        file, kept = self.scratch.file(), []
        for line, data in cut_blocks(path, cut, self.block, spec):
            kept.append(ScratchPiece(line, file.append(data), len(data)))
            yield line, data
        self.copies[number] = file, kept

    def corpus(self, piece: Any) -> Corpus:
        return piece if isinstance(piece, Corpus) else piece.parser(piece.data, piece.line)


class ItemSource:
    """Sentences of Python, which may come from generators: their blocks are copied to a scratch file."""

    name = "the data"

    def __init__(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        scratch: Scratch,
        *,
        mode: str = "auto",
        numbers: LabelNumbers | None = None,
        weights: Iterable[float] | None = None,
    ) -> None:
        if weights is not None and (isinstance(weights, Mapping) or not isinstance(weights, Iterable)):
            raise DataError(f"sample_weight is {type_of(weights)}: give a number per sentence")
        self.given = (iter(X), iter(y), None if weights is None else iter(weights))
        self.mode, self.numbers, self.scratch = mode, numbers, scratch
        self.vectors: dict[str, int] | None = None
        self.file: ScratchFile | None = None
        self.kept: list[ScratchPiece] = []
        self.weightless = weights is not None  # whether all weights so far are 0

    def pieces(self) -> Iterator[Any]:
        if self.file is not None:
            yield from self.kept
            return
        self.file = self.scratch.file()
        done = 0
        while True:
            corpus, read = self._next(done)
            done += read
            if corpus is not None:
                data = pickle.dumps(corpus, protocol=5)
                self.kept.append(ScratchPiece(0, self.file.append(data), len(data)))
                yield corpus
            if read < SENTENCES:
                self._check_weights(done)
                return

    def _check_weights(self, sentences: int) -> None:
        """An error after the last sentence if there are more weights, or if all of them are 0."""
        weights = self.given[2]
        if weights is not None and next(weights, None) is not None:
            raise DataError(f"there are more sample weights than sentences, {sentences:,}")
        if self.weightless and self.kept:
            raise DataError(NO_WEIGHT)

    def _next(self, done: int) -> tuple[Corpus | None, int]:
        """The corpus of the next sentences, after so many, and how many they are."""
        X, y, weights = self.given
        some = list(islice(X, SENTENCES))
        labels = islice(y, SENTENCES) if len(some) == SENTENCES else y  # longer ones are an error at the end
        items = corpus_from_items(some, labels, mode=self.mode, widths=self.vectors, numbers=self.numbers, first=done)
        corpus = items.corpus
        if weights is not None:
            corpus.weight = items.weights(list(islice(weights, len(some))))
            self.weightless = self.weightless and not corpus.weight.any()
        if not corpus.n_sentences:
            return None, len(some)
        if self.vectors is None:
            self.vectors = corpus.vectors
        return corpus, len(some)

    def corpus(self, piece: Any) -> Corpus:
        if isinstance(piece, Corpus):
            return piece
        assert self.file is not None
        made: Corpus = pickle.loads(self.file.read(piece.place, piece.size, np.uint8).tobytes())
        return made
