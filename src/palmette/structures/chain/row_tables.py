"""Padded rows for the attributes that are met, from the stored rows of a loaded model: kernels/chain/unpack.py."""

from __future__ import annotations

from collections.abc import Callable

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

ROOM = 16 << 20  # bytes of the rows that a session keeps
LEAST = 1 << 11  # rows of a session


def with_rows_for(chain: Chain, data: Data) -> Chain:
    """The chain with rows for the attributes of a corpus in place of stored rows."""
    return RowTables(chain, data, whole=True).filled()


class RowTables:
    """The rows of a chain for the sentences of `data`: of all of them, or of those that are in its arrays at a call."""

    def __init__(self, chain: Chain, data: Data, whole: bool = False) -> None:
        self.full = np.zeros(1, np.int64)
        self._calls: list[tuple[StoredRows, RowTable, int]] = []
        weights, stored, self.data = list(chain.weights), list(chain.stored), data
        self.H, self.W = chain.label_of.size, chain.bias.size
        for k, rows in enumerate(chain.stored):
            if _is_unpacked(rows, data, k):
                n = data.features[k].att.size if whole else max(LEAST, ROOM // (4 * self._width(k)))
                table = _new_table(_size(rows), min(_size(rows), n) + 1, self._width(k))
                weights[k] = no_weights()._replace(slot=table.slot, used=table.used, w=table.w)
                stored[k] = NONE_STORED[k]
                self._calls.append((rows, table, k))
        self.chain = chain._replace(weights=tuple(weights), stored=tuple(stored)) if self._calls else chain

    def _width(self, k: int) -> int:
        return self.H**k * self.W

    def filled(self) -> Chain:
        """The chain with the rows of all sentences."""
        for rows, table, k in self._calls:
            unpack_rows(rows, self.data.features[k], self.data.offset, self.H, self.W, table, self.full)
        return self.chain

    def before(self, search: Callable[[], None], direct: Callable[[], None]) -> Callable[[], None]:
        """A call of `search` after unpacking the rows of what is in the arrays then; of `direct`, which reads stored
        rows, if these are too many."""
        if not self._calls:
            return search
        unpack = [
            prepared(unpack_rows, rows, self.data.features[k], self.data.offset, self.H, self.W, table, self.full)
            for rows, table, k in self._calls
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


def _is_unpacked(rows: StoredRows, data: Data, k: int) -> bool:
    """Whether rows are quicker: not with many labels. Values multiply the scales of 8-bit numbers first."""
    return rows.kind in (ENTRIES, WHOLE_ROWS) and not (rows.scale.size and data.features[k].val.size)


def _size(rows: StoredRows) -> int:
    if rows.kind == WHOLE_ROWS:
        return max(rows.value.size, rows.number.size) // rows.cells
    return max(0, rows.first.size - 1)


def _new_table(A: int, rows: int, width: int) -> RowTable:
    w = aligned_zeros((rows, width), np.float32)
    return RowTable(np.zeros(A, np.int32), np.ones(1, np.int64), np.zeros(rows, np.int32), w)
