"""Attributes of the tokens of a block as arrays: parts of tokens are joined, blocks follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.item_names import KnownNames, NewNames


class Rows(NamedTuple):
    """The attributes of n tokens."""

    sizes: np.ndarray  # i64[n]  how many each token has
    att: np.ndarray  # i32[z]
    val: np.ndarray | None  # f32[z]; None: all are 1

    def kept(self, keep: np.ndarray) -> Rows:
        """The attributes in bool[z]."""
        if keep.all():
            return self
        before = np.concatenate(([0], np.cumsum(keep)))
        end = np.cumsum(self.sizes)
        val = None if self.val is None else self.val[keep]
        return Rows(before[end] - before[end - self.sizes], self.att[keep], val)

    def among(self, n: int, tokens: np.ndarray) -> Rows:
        """Rows of n tokens: these are those of `tokens`, ascending, and the others are empty."""
        sizes = np.zeros(n, np.int64)
        sizes[tokens] = self.sizes
        return self._replace(sizes=sizes)


def joined(parts: Sequence[Rows]) -> Rows:
    """All attributes of the same tokens; in each token those of the first part come first."""
    if len(parts) == 1:
        return parts[0]
    total = np.sum([part.sizes for part in parts], axis=0)
    end = np.cumsum(total)
    at, z = end - total, int(end[-1]) if end.size else 0
    att, val = np.empty(z, np.int32), np.ones(z, np.float32)
    for part in parts:
        first = np.cumsum(part.sizes) - part.sizes
        places = np.repeat(at - first, part.sizes) + np.arange(part.att.size)
        att[places] = part.att
        if part.val is not None:
            val[places] = part.val
        at = at + part.sizes
    return Rows(total, att, None if all(part.val is None for part in parts) else val)


class Blocks:
    """The attributes of a corpus, block by block."""

    def __init__(self) -> None:
        self.sizes: list[np.ndarray] = []
        self.att: list[np.ndarray] = []
        self.val: list[np.ndarray | int] = []  # of a block; or how many, if all are 1

    def add(self, rows: Rows) -> None:
        self.sizes.append(rows.sizes)
        self.att.append(rows.att)
        self.val.append(rows.att.size if rows.val is None else rows.val)

    def finish(self, corpus: Corpus, names: NewNames | KnownNames, *, keep: bool = False) -> None:
        """Give the corpus its attributes. Blocks are let go as soon as they are copied, unless more may come."""
        ptr = np.concatenate([np.zeros(1, np.int64), *self.sizes])
        np.cumsum(ptr, out=ptr)
        att = np.concatenate([np.zeros(0, np.int32), *self.att])
        if not keep:
            self.att.clear()
        val = np.zeros(0, np.float32)
        if any(isinstance(own, np.ndarray) for own in self.val):
            val = np.ones(att.size, np.float32)
            at = 0
            for own in self.val:
                size = own if isinstance(own, int) else own.size
                if isinstance(own, np.ndarray):
                    val[at : at + size] = own
                at += size
        if not keep:
            self.val.clear()
        names.finish(corpus, ptr, att, val)
