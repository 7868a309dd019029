"""The regularised likelihood of a chain as a function of one vector of weights, for a batch optimiser.

    value = sum of weight * (log Z - log Z of allowed paths) + l2 * |w|^2
    value = sum of weight * -log P(label | labels before it) + l2 * |w|^2       for a locally normalised chain

Allowed paths are those that agree with the annotation. Weights are stored in the chain's rows, for scoring; the
optimiser's vector has those that exist (`Layout`). Sentences are divided into a fixed number of parts with separate
sums, which are added in a fixed order, and attributes are gathered in ranges, so that the result is the same for any
number of threads. The marginals of all tokens are kept in tables until they are gathered. If these would be too large,
sentences are processed in blocks, and the attributes of each block are added to those of the blocks before.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, longest_of, make_trellis
from palmette.kernels.chain.gather import Columns, GatherTarget, fill_rows, gather, inverted
from palmette.kernels.chain.gradient import Expected, expectations, local_expectations, make_likelihood_workspace
from palmette.kernels.core.types import aligned_zeros
from palmette.structures.chain.weights import ARITIES, Seen
from palmette.training.lbfgs import squared_norm
from palmette.training.team import Workers

PARTS = 16  # at most; each has separate sums
TOKENS = 2000  # that are worth a part
OCCURRENCES = 50_000  # of attributes that are worth a range
MOST_TABLES = 1 << 28  # bytes of marginals at a time; a longer corpus is processed in blocks of sentences
LONGEST_TABLES = 8 << 30  # bytes of the marginals of one sentence


def give_all(rows: FeatureWeights) -> FeatureWeights:
    """Allocate a row for every attribute, since a full-batch step changes all of them."""
    if rows.first.size or not rows.slot.size:
        return rows
    A = rows.slot.size
    w = aligned_zeros((A + 1, rows.w.shape[1]), np.float32)
    if rows.slot.any():  # otherwise all are zero, and take no memory until they are changed
        np.take(rows.w, rows.slot, axis=0, out=w[1:], mode="clip")  # other modes make a copy first
    no_sums = np.zeros((0, 1), np.float64)
    slot, used = np.arange(1, A + 1, dtype=np.int32), np.array([A + 1], np.int64)
    return rows._replace(slot=slot, used=used, w=w, a=no_sums)


class Occurrences(NamedTuple):
    """The tokens of each attribute of one arity in a block of sentences."""

    tokens: Active
    ranges: list[tuple[int, int]]  # of attributes, of about the same cost


class Block(NamedTuple):
    """Some sentences, whose tables are in memory at the same time."""

    start: int  # first token
    tokens: int
    parts: list[tuple[int, int]]  # ranges of sentences with separate sums
    attributes: list[Occurrences | None]  # per arity; None: no attributes of this arity


class ChainObjective:
    """Value and gradient; `wrong` and `infeasible` are counts of the last call."""

    def __init__(
        self, chain: Chain, data: Data, l2: float, threads: int = 1, seen: Seen | None = None,
        learnt: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """`seen`: the labels of each attribute that it has weights for; `learnt`: the pairs bool[H, W] that have
        weights; None: all."""
        one, two, three = chain.weights
        self.chain = chain._replace(weights=(give_all(one), give_all(two), give_all(three)))
        self.unnormalised = self.chain._replace(local=False)  # what the kernels of expectations expect
        self.layout: Layout = layout_of(self.chain, seen, learnt)
        self.data = data
        self.l2 = l2
        self.workers = Workers(threads)
        self.wrong = self.infeasible = 0
        H, W = chain.label_of.size, chain.bias.size
        widths = [W, H * W if data.features[1].ptr.size else 0, H * H * W if data.features[2].ptr.size else 0]
        self.work = [self.block(first, last) for first, last in _blocks(data.offset, 4 * sum(widths))]
        N = max((block.tokens for block in self.work), default=0)
        self.tables = _three([aligned_zeros((N if width else 0, width), np.float32) for width in widths])
        most = max((len(block.parts) for block in self.work), default=0)
        self.sums = [Expected(self.tables, _three(self._no_transitions())) for _ in range(most)]
        self.workspaces: list[Any] = []  # those that no thread uses

    def _no_transitions(self) -> list[np.ndarray]:
        return [np.zeros(t.w.shape) for t in self.chain.transitions]

    def keep_nonzero(self, l2: float) -> None:
        """From now on only the weights that are not zero may move, under another penalty."""
        self.layout, self.l2 = self.layout.chosen(self.start() != 0.0), l2

    def block(self, first: int, last: int) -> Block:
        """The block of sentences first..last, with their attributes."""
        offset, data = self.data.offset, self.data
        start, end = int(offset[first]), int(offset[last])
        cost = np.diff(offset[first : last + 1])
        parts = [(first + a, first + b) for a, b in _even(cost, TOKENS)]
        attributes: list[Occurrences | None] = []
        for active, rows in zip(data.features, self.chain.weights, strict=True):
            if rows.slot.size:
                tokens = inverted(active, rows.slot.size, start, end)
                attributes.append(Occurrences(tokens, _even(np.diff(tokens.ptr) + 1, OCCURRENCES)))
            else:
                attributes.append(None)
        return Block(start, end - start, parts, attributes)

    @property
    def tokens(self) -> int:
        """Tokens of the training data."""
        return int(self.data.known.size)

    @property
    def size(self) -> int:
        return self.layout.size

    def start(self) -> np.ndarray:
        """The weights of the chain as a vector f32[size]."""
        return self.layout.take()

    def put(self, vector: np.ndarray) -> None:
        """Make a vector f32[size] the weights of the chain."""
        self.layout.put(vector, self.workers)

    def __call__(self, vector: np.ndarray, gradient: np.ndarray) -> float:
        """The value; fills the gradient f32[size]."""
        self.put(vector)
        bare = self._no_transitions()
        found = np.zeros(3)  # value, tokens wrong, sentences without a path
        for block in self.work:
            found += self._expect(block, bare)
            target = GatherTarget(gradient, vector, 2 * self.l2, block is not self.work[0])
            for arity in ARITIES:
                self._gather(arity, block, target)
            self.leave(block)
        self.wrong, self.infeasible = int(found[1]), int(found[2])
        for sums, where, part in zip(bare, self.layout.places, self.layout.parts, strict=False):
            gradient[part] = sums.reshape(-1)[where] + (2 * self.l2) * vector[part]
        return float(found[0]) + (self.l2 * squared_norm(self.workers, vector) if self.l2 else 0.0)

    def leave(self, block: Block) -> None:
        """Called when a block is done."""

    def _expect(self, block: Block, bare: list[np.ndarray]) -> np.ndarray:
        """Fill the tables for a block of sentences and sum the expectations of transitions. Returns value, wrong
        tokens, sentences without a path."""
        for table in self.tables:
            table[: block.tokens].fill(0.0)

        def work(k: int) -> tuple[float, int, int]:
            for own in self.sums[k].transitions:
                own.fill(0.0)
            workspace = self._workspace()
            kernel = local_expectations if self.chain.local else expectations
            found = kernel(self.unnormalised, self.data, workspace, *block.parts[k], block.start, self.sums[k])
            self.workspaces.append(workspace)
            return found

        found = self.workers.each(work, len(block.parts))
        for sums in self.sums[: len(block.parts)]:
            for total, own in zip(bare, sums.transitions, strict=True):
                total += own
        return np.array(found).reshape(-1, 3).sum(axis=0)

    def _workspace(self) -> Any:
        """A free workspace, for the longest sentence: as many are made as threads use at a time."""
        try:
            return self.workspaces.pop()
        except IndexError:
            longest = longest_of(self.data)
        if self.chain.local:
            return make_trellis(self.unnormalised, self.data, longest)
        return make_likelihood_workspace(self.unnormalised, self.data, longest)

    def _gather(self, arity: int, block: Block, target: GatherTarget) -> None:
        """The gradient of attributes: the first block sets it, with the penalty, and the others add to it."""
        of, rows, table = block.attributes[arity - 1], self.chain.weights[arity - 1], self.tables[arity - 1]
        if of is None:
            return
        columns = self.layout.columns[arity - 1]

        def work(k: int) -> None:
            gather(target, columns, rows, self.chain, arity, of.tokens, table, *of.ranges[k])

        self.workers.each(work, len(of.ranges))


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


def _even(cost: np.ndarray, worth: int) -> list[tuple[int, int]]:
    """Ranges of about the same cost: at most PARTS, and none that costs less than it is worth."""
    reach = np.concatenate(([0], np.cumsum(cost)))
    parts = int(min(PARTS, max(1, reach[-1] // worth)))
    cuts = np.searchsorted(reach, np.linspace(0, reach[-1], parts + 1))
    cuts[0], cuts[-1] = 0, cost.size
    return [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]


# The weights that exist, as one vector without gaps: what a batch optimiser works on.
#
# Rows of a chain are padded, and with seen state features most of their numbers are no weights. The vector has the
# transition weights that are learnt and allowed (start and end, pairs, triples), and then, for each arity, the weights
# of one attribute after the other.

PIECES = 16  # of work for threads, at most
ROWS = 10_000  # that are worth a piece
NONE = np.zeros(0, np.int64)
NO_COLUMNS = np.zeros(0, np.int32)


class Layout:
    """Places of the weights of a chain whose dense rows are in the order of their attributes (`give_all`)."""

    def __init__(self, chain: Chain, places: list[np.ndarray | None]) -> None:
        """`places`: of each block of weights (three of transitions, three of attributes) the numbers that are in the
        vector, counted through its array; None for attributes: all of them."""
        self.chain, self.places = chain, places
        self.arrays = [*(t.w for t in chain.transitions), *(r.w for r in chain.weights)]
        sizes = [self._all_of(k) if where is None else where.size for k, where in enumerate(places)]
        self.parts = [slice(a, b) for a, b in pairwise(accumulate(sizes, initial=0))]
        self.size = sum(sizes)
        self.columns = [self._columns(arity) for arity in (1, 2, 3)]

    def _all_of(self, k: int) -> int:
        """Weights of attributes, if no number but the padding is left out."""
        rows, H = self.chain.weights[k - 3], self.chain.label_of.size
        return rows.w.size if rows.first.size else rows.slot.size * H ** (k - 2)

    def _columns(self, arity: int) -> Columns:
        where, start = self.places[2 + arity], self.parts[2 + arity].start
        rows, H = self.chain.weights[arity - 1], self.chain.label_of.size
        if where is None:
            return Columns(start, H, NONE, NO_COLUMNS)
        begins = _begins(rows)
        ptr = np.searchsorted(where, begins)
        column = where - np.repeat(begins[:-1], np.diff(ptr))
        return Columns(start, H, ptr.astype(np.int64), column.astype(np.int32))

    def take(self) -> np.ndarray:
        """The weights of the chain as a vector f32[size]."""
        return np.concatenate([self._take(k) for k in range(len(self.arrays))])

    def _take(self, k: int) -> np.ndarray:
        where, array = self.places[k], self.arrays[k]
        if where is not None:
            return array.reshape(-1)[where]
        rows, H, W = self.chain.weights[k - 3], self.chain.label_of.size, self.chain.bias.size
        if rows.first.size:
            return array.reshape(-1)
        return array[1:].reshape(-1, W)[: rows.slot.size * H ** (k - 3), :H].reshape(-1)

    def put(self, vector: np.ndarray, workers: Workers) -> None:
        """Make a vector f32[size] the weights of the chain."""
        for k, (where, array, part) in enumerate(zip(self.places, self.arrays, self.parts, strict=True)):
            if where is not None:
                array.reshape(-1)[where] = vector[part]
            elif self.chain.weights[k - 3].first.size:
                array.reshape(-1)[:] = vector[part]
            else:
                self._fill(k - 2, vector, workers)

    def _fill(self, arity: int, vector: np.ndarray, workers: Workers) -> None:
        rows, W, columns = self.chain.weights[arity - 1], self.chain.bias.size, self.columns[arity - 1]
        pieces = min(PIECES, -(-rows.slot.size // ROWS))
        cuts = [rows.slot.size * k // max(1, pieces) for k in range(pieces + 1)]
        workers.each(lambda k: fill_rows(vector, columns, rows.w, W, cuts[k], cuts[k + 1]), pieces)

    def chosen(self, there: np.ndarray) -> Layout:
        """The layout of the weights in bool[size] alone."""
        return Layout(self.chain, [self._numbers(k)[there[part]] for k, part in enumerate(self.parts)])

    def _numbers(self, k: int) -> np.ndarray:
        where, array = self.places[k], self.arrays[k]
        if where is not None:
            return where
        rows, H, W = self.chain.weights[k - 3], self.chain.label_of.size, self.chain.bias.size
        if rows.first.size:
            return np.arange(array.size)
        contexts = rows.slot.size * H ** (k - 3)
        return (array.shape[1] + np.arange(contexts)[:, None] * W + np.arange(H)).reshape(-1)


def _begins(rows: FeatureWeights) -> np.ndarray:
    """Where the numbers of each attribute begin in the array of weights, and the end: i64[A+1]."""
    if rows.first.size:
        return rows.first * rows.w.shape[1]
    return (np.arange(rows.slot.size + 1) + 1) * rows.w.shape[1]


def layout_of(chain: Chain, seen: Seen | None = None, learnt: np.ndarray | None = None) -> Layout:
    """The layout of all weights that exist. `seen`: the labels of each attribute that has weights for labels; `learnt`:
    the pairs bool[H, W] that have weights of their own. None: all of them."""
    places: list[np.ndarray | None] = list(_transitions(chain, learnt))
    places += [None if seen is None else _seen_places(chain, seen), None, None]
    return Layout(chain, places)


def _transitions(chain: Chain, pairs_learnt: np.ndarray | None) -> list[np.ndarray]:
    """Transition weights that are learnt and allowed."""
    H, W = chain.label_of.size, chain.bias.size
    real = np.arange(W) < H
    ends, pairs, triples = chain.learns
    allowed: list[Callable[[], np.ndarray]] = [
        lambda: np.isfinite(np.stack((chain.first, chain.last))) & real,
        lambda: np.isfinite(chain.forbid) & (real if pairs_learnt is None else pairs_learnt & real),
        lambda: np.broadcast_to(real, chain.transitions[2].w.shape),
    ]
    learnt = (ends, pairs and chain.order > 0, triples)
    return [np.flatnonzero(there()) if own else NONE for there, own in zip(allowed, learnt, strict=True)]


def _seen_places(chain: Chain, seen: Seen) -> np.ndarray:
    """Numbers of the seen labels in dense rows of states."""
    per, width = chain.states_per_label, chain.weights[0].w.shape[1]
    row = np.repeat(np.arange(1, seen.first.size), np.diff(seen.first))
    first = row * width + seen.combo.astype(np.int64) * per
    return (first[:, None] + np.arange(per)).reshape(-1)
