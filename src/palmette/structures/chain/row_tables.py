"""Padded rows for the attributes that are met, from the stored rows of a loaded model: kernels/chain/unpack.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from palmette.kernels.chain.forms import (
    ENTRIES,
    NONE_STORED,
    WHOLE_ROWS,
    Chain,
    Data,
    StoredRows,
    no_weights,
)
from palmette.kernels.chain.unpack import RowTable, unpack_rows
from palmette.kernels.core.compile import prepared
from palmette.kernels.core.types import aligned_zeros

ROOM = 12 << 20  # bytes of the rows that a thread keeps, besides a part of what is stored
PART = 4
LEAST = 1 << 11  # rows


def with_rows_for(chain: Chain, data: Data) -> Chain:
    """The chain with rows for the attributes of a corpus in place of stored rows."""
    most = max(active.att.size for active in data.features)
    return RowTables(chain, most).filled(data)


class RowTables:
    """The rows of a chain for attributes that were met, at most so many; by default as many as are worth keeping."""

    def __init__(self, chain: Chain, most: int | None = None) -> None:
        self.stored, self.full = chain, np.zeros(1, np.int64)
        self.H, self.W = chain.label_of.size, chain.bias.size
        self.tables: dict[int, RowTable] = {}
        weights, stored = dict(enumerate(chain.weights)), dict(enumerate(chain.stored))
        for k, rows in enumerate(chain.stored):
            if rows.kind in (ENTRIES, WHOLE_ROWS):  # with many labels stored rows are quicker
                table = _new_table(rows, self.H**k * self.W, most)
                weights[k] = no_weights()._replace(slot=table.slot, used=table.used, w=table.w)
                stored[k], self.tables[k] = NONE_STORED[k], table
        self.chain = chain
        if self.tables:
            self.chain = chain._replace(
                weights=(weights[0], weights[1], weights[2]), stored=(stored[0], stored[1], stored[2])
            )

    def filled(self, data: Data) -> Chain:
        """The chain with the rows that a corpus needs; with stored rows if these are too many."""
        if self._multiplies_scales(data):
            return self.stored
        for k, table in self.tables.items():
            unpack_rows(self.stored.stored[k], data.features[k], data.offset, self.H, self.W, table, self.full)
            if self.full[0]:
                return self.stored
        return self.chain

    def _multiplies_scales(self, data: Data) -> bool:
        """Whether values multiply the scales of 8-bit numbers, which they do before these numbers."""
        return any(self.stored.stored[k].scale.size and data.features[k].val.size for k in self.tables)

    def parts(self, data: Data) -> Iterator[tuple[Data, slice, slice]]:
        """The corpus in parts whose rows fit, with their tokens and sentences."""
        if not self.tables:
            yield data, slice(0, data.known.size), slice(0, data.offset.size - 1)
            return
        offset, cuts = data.offset, {0, data.offset.size - 1}
        for k, table in self.tables.items():
            ptr = data.features[k].ptr
            if ptr.size and table.owner.size <= table.slot.size:
                cuts |= set(
                    np.searchsorted(ptr[offset], np.arange(table.owner.size, ptr[-1], table.owner.size)).tolist()
                )
        for a, b in pairwise(sorted(cuts)):
            lo, hi = int(offset[a]), int(offset[b])
            one, two, three = (x._replace(ptr=x.ptr[lo : hi + 1]) if x.ptr.size else x for x in data.features)
            some = Data(offset[a : b + 1] - lo, data.known[lo:hi], data.allow, data.weight[a:b], (one, two, three))
            yield some, slice(lo, hi), slice(a, b)

    def before(self, data: Data, search: Callable[[], None], direct: Callable[[], None]) -> Callable[[], None]:
        """A call of `search` after unpacking the rows of what is in the arrays then; of `direct`, which reads stored
        rows, if these are too many."""
        if not self.tables:
            return search
        if self._multiplies_scales(data):
            return direct
        unpack = [
            prepared(
                unpack_rows, self.stored.stored[k], data.features[k], data.offset, self.H, self.W, table, self.full
            )
            for k, table in self.tables.items()
        ]
        full = self.full.data

        def run() -> None:
            for call in unpack:
                call()
                if full[0]:
                    direct()
                    return
            search()

        return run


def _new_table(rows: StoredRows, width: int, most: int | None) -> RowTable:
    numbers = max(rows.value.nbytes, rows.number.nbytes)
    A = rows.first.size - 1 if rows.kind == ENTRIES else max(rows.value.size, rows.number.size) // rows.cells
    n = 1 + min(A, max(LEAST, (ROOM + numbers // PART) // (4 * width)) if most is None else most)
    w = aligned_zeros((n, width), np.float32)
    return RowTable(np.zeros(A, np.int32), np.ones(1, np.int64), np.zeros(n, np.int32), w)
