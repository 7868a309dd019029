"""The regularised likelihood of a chain as a function of one vector of weights, for a batch optimiser.

    value = sum of weight * (log Z - log Z of what is known) + l2 * |w|^2
    value = sum of weight * -log P(label | labels before it) + l2 * |w|^2       for a locally normalised chain

Weights live in the chain's rows (float32, as scoring wants them), the optimiser's vector is float64. Sentences are cut
into a fixed number of parts, each with sums of its own that are added in their order, and attributes are gathered in
ranges: threads only decide who works on which, so that the result is the same for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.chain.weights import aligned_zeros, weight_blocks
from palmette.errors import UsageError
from palmette.kernels.forms import Active, Chain, Data, Rows
from palmette.kernels.gather import gather, inverted
from palmette.kernels.gradient import Expected, expectations
from palmette.kernels.local_gradient import local_expectations
from palmette.learn.batch.blocks import blocks, dot

PARTS = 16
MOST_TABLES = 8 << 30  # bytes of marginals of all tokens


def give_all(rows: Rows) -> Rows:
    """Every attribute gets its row: a likelihood moves all of them at once."""
    if rows.first.size or not rows.slot.size:
        return rows
    A = rows.slot.size
    w = aligned_zeros((A + 1, rows.w.shape[1]), np.float32)
    w[1:] = rows.w[rows.slot]
    no_sums = np.zeros((0, 1), np.float64)
    slot, used = np.arange(1, A + 1, dtype=np.int32), np.array([A + 1], np.int64)
    return rows._replace(slot=slot, used=used, w=w, a=no_sums)


class ChainObjective:
    """Value and gradient; `wrong` and `impossible` tell of the last call."""

    def __init__(self, chain: Chain, data: Data, l2: float, threads: int = 1, only: np.ndarray | None = None) -> None:
        """`only`: the weights that may move, bool[size]; None: all of them."""
        self.only = only
        self.chain = chain._replace(one=give_all(chain.one), two=give_all(chain.two), three=give_all(chain.three))
        self.data = data
        self.l2 = l2
        self.threads = threads
        self.wrong = self.impossible = 0
        self.blocks = [w for w, _ in weight_blocks(self.chain)]
        self.size = sum(w.size for w in self.blocks)
        self.gradient = np.zeros(self.size)
        N, H, W = data.known.size, chain.label_of.size, chain.bias.size
        widths = [W, H * W if data.two.ptr.size else 0, H * H * W if data.three.ptr.size else 0]
        if 8 * N * sum(widths) > MOST_TABLES:
            raise UsageError(
                f"the marginals of {N:,} tokens would take {8 * N * sum(widths) / 2**30:.0f} GB: use a lower order, "
                "fewer states, or no observations on label pairs and triples"
            )
        self.tables = [np.zeros((N if width else 0, width)) for width in widths]
        rows = (self.chain.one, self.chain.two, self.chain.three)
        self.attributes = [
            inverted(active, r.slot.size) if r.slot.size else None
            for active, r in zip((data.one, data.two, data.three), rows, strict=True)
        ]
        self.parts = _even(np.diff(data.offset), PARTS)

    def start(self) -> np.ndarray:
        """The weights of the chain as a vector."""
        return np.concatenate([w.reshape(-1) for w in self.blocks]).astype(np.float64)

    def put(self, vector: np.ndarray) -> None:
        """Make `vector` the weights of the chain."""
        at = 0
        for w in self.blocks:
            w[...] = vector[at : at + w.size].reshape(w.shape)
            at += w.size

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and the gradient, whose array is used again by the next call."""
        self.put(vector)
        for table in self.tables:
            table.fill(0.0)
        bare = [[np.zeros(w.shape) for w in self.chain.bare] for _ in self.parts]
        found = self._each(lambda k: self._sums(*self.parts[k], Expected(*self.tables, *bare[k])))
        value = float(sum(part[0] for part in found))
        self.wrong, self.impossible = (int(sum(part[k] for part in found)) for k in (1, 2))
        self.gradient.fill(0.0)
        at = 0
        learnt = (self.chain.ends, self.chain.transitions and self.chain.order > 0, self.chain.triples)
        for k, w in enumerate(self.chain.bare):
            if learnt[k]:
                self.gradient[at : at + w.size] = np.sum([part[k] for part in bare], axis=0).reshape(-1)
            at += w.size
        rows = (self.chain.one, self.chain.two, self.chain.three)
        for order, (r, of, table) in enumerate(zip(rows, self.attributes, self.tables, strict=True), 1):
            w = self.blocks[2 + order]
            if of is not None:
                self._gather(self.gradient[at : at + w.size].reshape(w.shape), r, order, of, table)
            at += w.size
        self._off_limits()
        if self.only is not None:
            self.gradient[~self.only] = 0.0
        if self.l2:
            value += self.l2 * dot(vector, vector)
            for part in blocks(self.size):  # a whole vector in between would take longer to make than to use
                self.gradient[part] += (2 * self.l2) * vector[part]
        return value, self.gradient

    def _sums(self, first: int, last: int, out: Expected) -> tuple[float, int, int]:
        """Value, tokens wrong and sentences without a path of some sentences; their expectations into `out`."""
        chain = self.chain._replace(local=False)  # both want scores as they are
        if self.chain.local:
            return local_expectations(chain, self.data, first, last, out)
        return expectations(chain, self.data, first, last, 0, out)

    def _gather(self, out: np.ndarray, rows: Rows, order: int, of: Active, table: np.ndarray) -> None:
        ranges = _even(np.diff(of.ptr), PARTS)
        self._each(lambda k: gather(out, rows, self.chain, order, of, table, *ranges[k]), len(ranges))

    def _off_limits(self) -> None:
        """What is expected of forbidden bare weights is nothing, but for rounding."""
        at = self.blocks[0].size
        pair = self.gradient[at : at + self.blocks[1].size].reshape(self.blocks[1].shape)
        pair[self.chain.forbid == -np.inf] = 0.0

    def _each(self, work: Callable[[int], Any], n: int | None = None) -> list[Any]:
        """work(0), work(1), ... on the threads; results in their order."""
        numbers: Iterable[int] = range(len(self.parts) if n is None else n)
        if self.threads <= 1:
            return [work(k) for k in numbers]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, numbers))


def _even(cost: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Ranges of about the same cost."""
    reach = np.concatenate(([0], np.cumsum(cost)))
    cuts = np.unique(np.searchsorted(reach, np.linspace(0, reach[-1], parts + 1)))
    cuts[0], cuts[-1] = 0, cost.size
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
