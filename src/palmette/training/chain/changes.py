"""Rows of the weights of a chain that have changed: taken from one chain, sent, put into another.

A table is a block of weights with its accumulators and learner state; a chain has six: transitions and attributes of
arity 1, 2 and 3. Dense rows of attributes are given out at their first change, in another order in every copy of a
chain, so a row has a number that all copies share: its attribute. Other tables have the same rows everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, FeatureWeights, TransitionWeights, no_state, no_sums
from palmette.kernels.chain.mix import changed_rows
from palmette.kernels.core.aligned import aligned_zeros
from palmette.structures.chain.lists import MANY_LABELS, grows, is_list


class Table(NamedTuple):
    """A block of weights; `slot` and `used` are of dense rows, else None."""

    w: np.ndarray  # f32[rows, width]
    a: np.ndarray  # f64[rows, width]
    state: np.ndarray  # f32[rows, width], or of size 0
    slot: np.ndarray | None = None  # i32[A]
    used: np.ndarray | None = None  # i64[1]

    @property
    def n_used(self) -> int:
        return self.w.shape[0] if self.used is None else int(self.used[0])

    def numbers_of(self, rows: np.ndarray) -> np.ndarray:
        """The numbers i64[] that all copies of the table have for some rows."""
        if self.slot is None:
            return rows
        owner = np.zeros(self.n_used, np.int64)
        attributes = np.flatnonzero(self.slot)
        owner[self.slot[attributes]] = attributes
        return owner[rows]

    def rows_of(self, numbers: np.ndarray) -> np.ndarray:
        """The rows i64[] of some numbers; dense rows that are missing are given out, in the order of the numbers."""
        if self.slot is None or self.used is None:
            return numbers
        new = numbers[self.slot[numbers] == 0]
        if new.size:
            self.slot[new] = np.arange(self.used[0], self.used[0] + new.size)
            self.used[0] += new.size
        return self.slot[numbers].astype(np.int64)


class Changes(NamedTuple):
    """Some rows of a table."""

    numbers: np.ndarray  # i64[n]  ascending
    w: np.ndarray  # f32[n, width]
    a: np.ndarray  # f64[n, width], or of size 0: the accumulators are not sent
    state: np.ndarray  # f32[n, width], or of size 0

    @property
    def bytes(self) -> int:
        return self.numbers.nbytes + self.w.nbytes + self.a.nbytes + self.state.nbytes


def tables_of(chain: Chain) -> list[Table]:
    """The tables of a chain, as views: transitions, then attributes."""
    return [Table(t.w, t.a, t.state) for t in chain.transitions] + [_of_rows(rows) for rows in chain.weights]


def _of_rows(rows: FeatureWeights) -> Table:
    if is_list(rows):
        return Table(rows.w, rows.a, rows.state)
    return Table(rows.w, rows.a, rows.state, rows.slot, rows.used)


def check_tables(chain: Chain) -> None:
    """UsageError for weights whose places differ from copy to copy."""
    if grows(chain.weights[0]):
        raise UsageError(
            f"shards do not learn {MANY_LABELS} labels or more with weights for all of them: use state_features seen, "
            "or one shard"
        )


def copied(chain: Chain) -> Chain:
    """A chain with weights of its own, the same ones, and with accumulators of zero."""
    ends, pairs, triples = (_copied_table(t) for t in chain.transitions)
    one, two, three = (_copied_rows(rows) for rows in chain.weights)
    return chain._replace(transitions=(ends, pairs, triples), weights=(one, two, three))


def _copied_table(t: TransitionWeights) -> TransitionWeights:
    return TransitionWeights(t.w.copy(), np.zeros(t.w.shape), t.state.copy())


def _copied_rows(rows: FeatureWeights) -> FeatureWeights:
    n = _of_rows(rows).n_used
    state = _same(rows.state, n) if rows.state.shape[0] else no_state()
    return rows._replace(
        slot=rows.slot.copy(), used=rows.used.copy(), w=_same(rows.w, n), a=np.zeros(rows.w.shape), state=state
    )


def _same(block: np.ndarray, n: int) -> np.ndarray:
    """A copy whose rows from n on are zeros that take no memory until they are changed."""
    out = aligned_zeros(block.shape, np.float32)
    out[:n] = block[:n]
    return out


def everything(chain: Chain) -> list[Changes]:
    """All rows of a chain that are in use, without accumulators."""
    found = []
    for table in tables_of(chain):
        rows = np.arange(table.n_used)
        if table.slot is not None:
            rows = table.slot[table.slot > 0].astype(np.int64)  # in the order of attributes
        state = table.state[rows] if table.state.shape[0] else no_state()
        found.append(Changes(table.numbers_of(rows), table.w[rows], no_sums(), state))
    return found


class Base:
    """The weights that a chain had when a pass began, to find what the pass has changed."""

    def __init__(self, chain: Chain, sums: bool = True) -> None:
        """`sums`: whether the accumulators are sent."""
        self.sums = sums
        self.w = [_same(table.w, table.n_used) for table in tables_of(chain)]
        self.state = [_same(table.state, table.n_used) for table in tables_of(chain)]

    def changes(self, chain: Chain) -> list[Changes]:
        """What has changed since, and set its accumulators back to zero."""
        found = []
        for table, w, state in zip(tables_of(chain), self.w, self.state, strict=True):
            rows = changed_rows(table.w, table.a, w, table.state, state, table.n_used)
            numbers = table.numbers_of(rows)
            if table.slot is not None:
                order = np.argsort(numbers, kind="stable")
                rows, numbers = rows[order], numbers[order]
            a = table.a[rows] if self.sums else no_sums()
            found.append(Changes(numbers, table.w[rows], a, table.state[rows] if state.shape[0] else no_state()))
            table.a[rows] = 0.0
        return found

    def put(self, chain: Chain, news: Sequence[Changes]) -> None:
        """Make rows that have come from elsewhere part of the chain and of the base."""
        for table, w, state, new in zip(tables_of(chain), self.w, self.state, news, strict=True):
            rows = table.rows_of(new.numbers)
            table.w[rows] = new.w
            w[rows] = new.w
            table.a[rows] = 0.0
            if state.shape[0]:
                table.state[rows] = new.state
                state[rows] = new.state
