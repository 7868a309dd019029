"""The regularised likelihood of a chain as a function of one vector of weights, for a batch optimiser.

    value = sum of weight * (log Z - log Z of allowed paths) + l2 * |w|^2
    value = sum of weight * -log P(label | labels before it) + l2 * |w|^2       for a locally normalised chain

Allowed paths are those that agree with the annotation. Weights are stored in the chain's rows (float32, for scoring),
the optimiser's vector is float64. Sentences are divided into a fixed number of parts with separate sums, which are
added in a fixed order, and attributes are gathered in ranges, so that the result is the same for any number of threads.
The marginals of all tokens are kept in tables until they are gathered. If these would be too large, sentences are
processed in blocks, and the attributes of each block are added to those of the blocks before.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, longest_of, make_trellis
from palmette.kernels.chain.gather import Rows, gather, inverted
from palmette.kernels.chain.gradient import Expected, expectations, make_likelihood_workspace
from palmette.kernels.chain.local_gradient import local_expectations
from palmette.kernels.core.aligned import aligned_zeros
from palmette.structures.chain.weights import ARITIES, weight_blocks
from palmette.training.lbfgs.blocks import dot

PARTS = 16
LANES = 64  # the vector is padded with zeros to a multiple of this, so that sums have no remainder
MOST_TABLES = 1 << 30  # bytes of marginals at a time; a longer corpus is processed in blocks of sentences
LONGEST_TABLES = 8 << 30  # bytes of the marginals of one sentence


def give_all(rows: FeatureWeights) -> FeatureWeights:
    """Allocate a row for every attribute, since a full-batch step changes all of them."""
    if rows.first.size or not rows.slot.size:
        return rows
    A = rows.slot.size
    w = aligned_zeros((A + 1, rows.w.shape[1]), np.float32)
    w[1:] = rows.w[rows.slot]
    no_sums = np.zeros((0, 1), np.float64)
    slot, used = np.arange(1, A + 1, dtype=np.int32), np.array([A + 1], np.int64)
    return rows._replace(slot=slot, used=used, w=w, a=no_sums)


class _Block(NamedTuple):
    """Some sentences, whose tables are in memory at the same time."""

    start: int  # first token
    tokens: int
    parts: list[tuple[int, int]]  # ranges of sentences with separate sums
    attributes: list[Active | None]  # per arity: the tokens of each attribute; None: no attributes of this arity


class ChainObjective:
    """Value and gradient; `wrong` and `infeasible` are counts of the last call."""

    def __init__(self, chain: Chain, data: Data, l2: float, threads: int = 1, only: np.ndarray | None = None) -> None:
        """`only`: the weights that may move, bool[size]; None: all of them."""
        one, two, three = chain.weights
        self.chain = chain._replace(weights=(give_all(one), give_all(two), give_all(three)))
        self.data = data
        self.l2 = l2
        self.threads = threads
        self.wrong = self.infeasible = 0
        self.blocks = [w for w, _ in weight_blocks(self.chain)]
        used = sum(w.size for w in self.blocks)
        self.size = -(-used // LANES) * LANES
        self.gradient = np.zeros(self.size)
        self.only = None if only is None else np.concatenate((only, np.zeros(self.size - only.size, np.bool_)))
        H, W = chain.label_of.size, chain.bias.size
        widths = [W, H * W if data.features[1].ptr.size else 0, H * H * W if data.features[2].ptr.size else 0]
        self.rows = self.chain.weights
        self.work = [self._block(first, last) for first, last in _blocks(data.offset, 4 * sum(widths))]
        N = max((block.tokens for block in self.work), default=0)
        self.tables = [aligned_zeros((N if width else 0, width), np.float32) for width in widths]

    def _block(self, first: int, last: int) -> _Block:
        """The block of sentences first..last, with their attributes."""
        offset, data = self.data.offset, self.data
        start, end = int(offset[first]), int(offset[last])
        parts = [(first + a, first + b) for a, b in _even(np.diff(offset[first : last + 1]), PARTS)]
        attributes: list[Active | None] = []
        for active, rows in zip(data.features, self.rows, strict=True):
            attributes.append(inverted(active, rows.slot.size, start, end) if rows.slot.size else None)
        return _Block(start, end - start, parts, attributes)

    def start(self) -> np.ndarray:
        """The weights of the chain as a vector."""
        vector = np.zeros(self.size)
        for k, w in enumerate(self.blocks):
            self._of(vector, k)[...] = w
        return vector

    def put(self, vector: np.ndarray) -> None:
        """Make `vector` the weights of the chain."""
        at = 0
        for w in self.blocks:
            w[...] = vector[at : at + w.size].reshape(w.shape)
            at += w.size

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and the gradient, whose array is used again by the next call."""
        self.put(vector)
        bare = [np.zeros(t.w.shape) for t in self.chain.transitions]
        found = np.zeros(3)  # value, tokens wrong, sentences without a path
        for block in self.work:
            found += self._expect(block, bare)
            for order in ARITIES:
                self._gather(order, block, vector)
        value = float(found[0])
        self.wrong, self.infeasible = int(found[1]), int(found[2])
        ends, pairs, triples = self.chain.learns
        learnt = (ends, pairs and self.chain.order > 0, triples)
        for k, sums in enumerate(bare):
            if learnt[k]:
                self._of(self.gradient, k)[...] = sums + (2 * self.l2) * self._of(vector, k)
        self._off_limits()
        if self.only is not None:
            self.gradient[~self.only] = 0.0
        return value + (self.l2 * dot(vector, vector) if self.l2 else 0.0), self.gradient

    def _of(self, vector: np.ndarray, k: int) -> np.ndarray:
        """The part of a vector that belongs to the k-th block of weights, in its shape."""
        at = sum(w.size for w in self.blocks[:k])
        return vector[at : at + self.blocks[k].size].reshape(self.blocks[k].shape)

    def _expect(self, block: _Block, bare: list[np.ndarray]) -> np.ndarray:
        """Fill the tables for a block of sentences and sum the expectations of transitions. Returns value, wrong
        tokens, sentences without a path."""
        chain = self.chain._replace(local=False)  # both kernels expect unnormalised scores
        own = [[np.zeros(w.shape) for w in bare] for _ in block.parts]
        for table in self.tables:
            table[: block.tokens].fill(0.0)

        def work(k: int) -> tuple[float, int, int]:
            out, part = Expected(_three(self.tables), _three(own[k])), block.parts[k]
            n = longest_of(self.data, *part)
            if self.chain.local:
                return local_expectations(chain, self.data, make_trellis(chain, self.data, n), *part, block.start, out)
            workspace = make_likelihood_workspace(chain, self.data, n)
            return expectations(chain, self.data, workspace, *part, block.start, out)

        found = self._each(work, len(block.parts))
        for sums in own:
            for total, one in zip(bare, sums, strict=True):
                total += one
        return np.array(found).reshape(-1, 3).sum(axis=0)

    def _gather(self, order: int, block: _Block, vector: np.ndarray) -> None:
        """Rows of the gradient: the first block sets them, with the penalty, and the others add to them."""
        of, rows, table = block.attributes[order - 1], self.rows[order - 1], self.tables[order - 1]
        if of is None:
            return
        out = self._of(self.gradient, 2 + order)
        base, factor = (self._of(vector, 2 + order), 2 * self.l2) if block is self.work[0] else (out, 1.0)
        target, ranges = Rows(out, base, factor), _even(np.diff(of.ptr) + 1, PARTS)

        def work(k: int) -> None:
            gather(target, rows, self.chain, order, of, table, *ranges[k])

        self._each(work, len(ranges))

    def _off_limits(self) -> None:
        """Set the gradient of forbidden transitions, which is zero but for rounding, to zero."""
        at = self.blocks[0].size
        pair = self.gradient[at : at + self.blocks[1].size].reshape(self.blocks[1].shape)
        pair[self.chain.forbid == -np.inf] = 0.0

    def _each(self, work: Callable[[int], Any], n: int) -> list[Any]:
        """work(0), work(1), ... on the threads; results in their order."""
        if self.threads <= 1:
            return [work(k) for k in range(n)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, range(n)))


def _three(arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    one, two, three = arrays
    return one, two, three


def _blocks(offset: np.ndarray, bytes_per_token: int) -> list[tuple[int, int]]:
    """Ranges of sentences whose tables fit into MOST_TABLES, at least one sentence each."""
    longest = int(np.diff(offset).max(initial=0))
    if longest * bytes_per_token > LONGEST_TABLES:
        raise UsageError(
            f"the marginals of a sentence of {longest:,} tokens would take {longest * bytes_per_token / 2**30:.0f} GB: "
            "use a lower order, fewer states, or no observations on label pairs and triples"
        )
    cuts, last = [0], offset.size - 1
    while cuts[-1] < last:
        reach = np.searchsorted(offset, offset[cuts[-1]] + MOST_TABLES // bytes_per_token, side="right") - 1
        cuts.append(int(min(last, max(reach, cuts[-1] + 1))))
    return list(pairwise(cuts)) or [(0, 0)]


def _even(cost: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Ranges of about the same cost."""
    reach = np.concatenate(([0], np.cumsum(cost)))
    cuts = np.searchsorted(reach, np.linspace(0, reach[-1], parts + 1))
    cuts[0], cuts[-1] = 0, cost.size
    return [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]
