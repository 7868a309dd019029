"""Files as shards: which files, or which parts of files, belong to a shard, and how it is read.

With at least as many files as shards, a shard has neighbouring files of about the same size in all; otherwise files are
divided into parts of as many sentences each, and every shard has one part. Sizes are those on disk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus, column_of_types
from palmette.data.files import FilePath, shown
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.subset import take
from palmette.errors import DataError


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


def joined(corpora: Sequence[Corpus]) -> Corpus:
    """Corpora of the same columns as one. Lines in messages are those of the only file, if there is one."""
    if len(corpora) == 1:
        return corpora[0]
    n_columns = {len(corpus.columns) for corpus in corpora if corpus.n_tokens}
    if len(n_columns) > 1:
        raise DataError(f"files have {' and '.join(map(str, sorted(n_columns)))} columns", file=corpora[0].source)
    sizes = np.concatenate([np.diff(corpus.offset) for corpus in corpora])
    labels = [corpus.labels for corpus in corpora if corpus.labels is not None]
    if labels and len(labels) < len(corpora):
        raise DataError("some files have labels and some have none", file=corpora[0].source)
    some = [corpus for corpus in corpora if corpus.n_tokens] or [corpora[0]]
    columns = [_joined_columns([corpus.columns[c] for corpus in some]) for c in range(len(some[0].columns))]
    return Corpus(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), columns, _joined_columns(labels) if labels else None,
        attributes=_joined_attributes(some), weight=_joined_weights(corpora),
        source=f"{shown(corpora[0].source)} and {len(corpora) - 1} more",
    )  # fmt: skip


def _joined_columns(columns: Sequence[Column]) -> Column:
    numbers: dict[str, int] = {}
    ids = []
    for column in columns:
        new = np.array([numbers.setdefault(text, len(numbers)) for text in column.types], np.int32)
        ids.append(new[column.ids] if new.size else column.ids)
    return column_of_types(np.concatenate(ids), list(numbers))


def _joined_attributes(corpora: Sequence[Corpus]) -> Attributes | None:
    every = [corpus.attributes for corpus in corpora if corpus.attributes is not None]
    if not every:
        return None
    sizes = np.concatenate([np.diff(one.ptr) for one in every])
    values = any(one.val.size for one in every)
    ones = [one.val if one.val.size else np.ones(one.names.ids.size, np.float32) for one in every]
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Attributes(
        ptr, _joined_columns([one.names for one in every]), np.concatenate(ones) if values else every[0].val
    )


def _joined_weights(corpora: Sequence[Corpus]) -> np.ndarray | None:
    if all(corpus.weight is None for corpus in corpora):
        return None
    ones = [np.ones(c.n_sentences, np.float32) if c.weight is None else c.weight for c in corpora]
    return np.concatenate(ones)
