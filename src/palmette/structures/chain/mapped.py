"""An encoded corpus in files that are mapped into memory: kernels read it as any other, and the system pages it in.
`BlockAttributes` are the attributes of a block of the corpus that is encoded.

Training visits it block by block of sentences: blocks come in a random order, and the sentences of a few of them
(a window) are shuffled together. The pages of a window that is done are given back, and those of the next one are
announced, so that about a window is in memory at a time.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.scratch import Scratch, ScratchFile
from palmette.data.subset import take
from palmette.features.encode import Encoder, keys_of, new_feature_index
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.hashing import FeatureIndex, find_all, mixed_all
from palmette.kernels.encode.encode import TemplateCells, keep_attributes
from palmette.kernels.io.columns import join_types

SENTENCES = 4096  # of a block
WINDOW = 8  # blocks
NEEDED, DONE = getattr(mmap, "MADV_WILLNEED", 0), getattr(mmap, "MADV_DONTNEED", 0)  # not on all systems
NO_VALUES = np.zeros(0, np.float32)


class MappedArray:
    """An array that is written piece by piece to a scratch file, and then mapped."""

    def __init__(self, scratch: Scratch, kind: Any) -> None:
        self.file: ScratchFile = scratch.file()
        self.kind = np.dtype(kind)
        self.memory: mmap.mmap | None = None

    def append(self, array: np.ndarray) -> None:
        self.file.append(np.ascontiguousarray(array, self.kind))

    @property
    def size(self) -> int:
        return self.file.size // self.kind.itemsize

    def array(self) -> np.ndarray:
        """All numbers, mapped."""
        if not self.size:
            return np.zeros(0, self.kind)
        if self.memory is None:
            self.memory = self.file.mapped()
        return np.frombuffer(self.memory, self.kind)

    def advise(self, first: int, last: int, advice: int) -> None:
        """Tell the system about the numbers first..last - 1: that they are needed, or not any more."""
        if self.memory is None or last <= first or not hasattr(self.memory, "madvise"):
            return
        start = first * self.kind.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
        self.memory.madvise(advice, start, min(last * self.kind.itemsize, self.file.size) - start)


class Features(NamedTuple):
    """The attributes of one arity in files."""

    ptr: MappedArray
    att: MappedArray
    val: MappedArray | None


class MappedCorpus:
    """The writer of an encoded corpus, and its arrays once all blocks are written."""

    def __init__(self, scratch: Scratch, orders: list[int], valued: bool) -> None:
        self.known = MappedArray(scratch, np.int32)
        self.features = {
            order: Features(
                MappedArray(scratch, np.int64), MappedArray(scratch, np.int32),
                MappedArray(scratch, np.float32) if valued else None,
            )
            for order in orders
        }  # fmt: skip
        self.offsets = [np.zeros(1, np.int64)]
        self.weights: list[np.ndarray] = []
        self.tokens = 0
        self.most = dict.fromkeys(orders, 0.0)  # the largest sum of absolute values of the attributes of a token
        for own in self.features.values():
            own.ptr.append(np.zeros(1, np.int64))

    def append(
        self, offset: np.ndarray, known: np.ndarray, weight: np.ndarray | None, actives: Mapping[int, Active]
    ) -> None:
        """Write a block: sentence offsets i64[S+1], label rows i32[N], weights f32[S], attributes by order."""
        for order, (ptr, att, val) in actives.items():
            own = self.features[order]
            self.most[order] = max(self.most[order], _largest_sum(ptr, val))
            own.ptr.append(ptr[1:] + own.att.size)
            own.att.append(att)
            if own.val is not None:
                own.val.append(val if val.size else np.ones(att.size, np.float32))
        self.known.append(known)
        self.offsets.append(offset[1:] + self.tokens)
        self.weights.append(np.ones(offset.size - 1, np.float32) if weight is None else weight.astype(np.float32))
        self.tokens += int(offset[-1])

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, Active]]:
        """(offset i64[S+1], known i32[N], weight f32[S], attributes by order): those of tokens are mapped."""
        actives = {
            order: Active(own.ptr.array(), own.att.array(), NO_VALUES if own.val is None else own.val.array())
            for order, own in self.features.items()
        }
        offset, weight = np.concatenate(self.offsets), np.concatenate([NO_VALUES, *self.weights])
        self.offsets, self.weights = [], []
        return offset, self.known.array(), weight, actives

    def extremes(self) -> dict[int, Active]:
        """Attributes by order of one token, whose values add up to as much as those of any token."""
        made = {}
        for order, most in self.most.items():
            val = NO_VALUES if self.features[order].val is None else np.array([most], np.float32)
            n = val.size or int(most)
            made[order] = Active(np.array([0, n], np.int64), np.zeros(n, np.int32), val)
        return made


def _largest_sum(ptr: np.ndarray, val: np.ndarray) -> float:
    if ptr.size < 2:
        return 0.0
    if not val.size:
        return float(np.diff(ptr).max())
    sums = np.concatenate(([0.0], np.cumsum(np.abs(val), dtype=np.float64)))
    return float(np.diff(sums[ptr]).max())


def shuffled_blocks(seed: int, number: int, n: int, block: int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """The permutation of n sentences in epoch `number` in blocks, a function of seed and number; and the blocks in
    their order."""
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(-(-n // block))
    out, at = np.empty(n, np.int64), 0
    for first in range(0, order.size, window):
        some = np.concatenate([np.arange(b * block, min(n, (b + 1) * block)) for b in order[first : first + window]])
        out[at : at + some.size] = some[rng.permutation(some.size)]
        at += some.size
    return out, order


class BlockOrder:
    """Visits the sentences of a mapped corpus in shuffled blocks."""

    def __init__(self, corpus: MappedCorpus, offset: np.ndarray, block: int = SENTENCES, window: int = WINDOW) -> None:
        self.corpus, self.block, self.window = corpus, block, window
        self.n = offset.size - 1
        edges = np.append(np.arange(0, self.n, block), self.n)
        self.tokens = offset[edges]  # i64[blocks+1]
        # where the attributes of each block begin: looking them up later would page them in
        self.places = {order: own.ptr.array()[self.tokens] for order, own in corpus.features.items()}
        self.ends, self.blocks = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.at = self.done = self.announced = 0
        self.release()

    def permutation(self, seed: int, number: int) -> np.ndarray:
        made, self.blocks = shuffled_blocks(seed, number, self.n, self.block, self.window)
        sizes = np.minimum(self.n - self.blocks * self.block, self.block)
        reached = np.cumsum(sizes)
        self.ends = np.append(reached[self.window - 1 : -1 : self.window], reached[-1:])
        self.at = self.done = self.announced = 0
        self.release()
        return made

    def visit(self, examples: np.ndarray) -> None:
        while self.done < self.ends.size and self.ends[self.done] <= self.at:
            if self.done:  # batches of sentences of the same length may have taken some of them later
                self._advise(self.done - 1, DONE)
            self._advise(self.done, DONE)
            self.done += 1
        self.at += examples.size
        while self.announced < self.ends.size and (not self.announced or self.ends[self.announced - 1] < self.at):
            self.announced += 1
            if self.announced < self.ends.size:
                self._advise(self.announced, NEEDED)

    def _advise(self, window: int, advice: int) -> None:
        for b in self.blocks[window * self.window : (window + 1) * self.window].tolist():
            lo, hi = int(self.tokens[b]), int(self.tokens[b + 1])
            self.corpus.known.advise(lo, hi, advice)
            for order, own in self.corpus.features.items():
                own.ptr.advise(lo, hi + 1, advice)
                first, last = int(self.places[order][b]), int(self.places[order][b + 1])
                for array in (own.att, own.val):
                    if array is not None:
                        array.advise(first, last, advice)

    def release(self) -> None:
        """Give all pages back."""
        for array in (self.corpus.known, *(part for own in self.corpus.features.values() for part in own)):
            if array is not None:
                array.advise(0, array.size, DONE)


# The attributes of one block of a corpus, numbered within the block: what is counted, and what is encoded once the
# attributes of the whole corpus are known.


class BlockAttributes(NamedTuple):
    """Attributes of one order, by their numbers in the block."""

    order: int
    active: Active
    keys: np.ndarray  # u64[A]
    first: np.ndarray  # i64[A]  where each occurs first, for its string
    cells: TemplateCells | None  # of columns; None: the corpus has ready-made attributes

    def counts(self) -> np.ndarray:
        """i64[A]: occurrences."""
        return np.bincount(self.active.att, minlength=self.keys.size)

    def numbered(self, index: FeatureIndex) -> tuple[Active, np.ndarray]:
        """The attributes that an index has, by their numbers there, and the number of each attribute of the block
        i32[A], -1: not in the index. The arrays of the block are overwritten."""
        numbers = find_all(index, self.keys)
        ptr, att, val = self.active
        z = keep_attributes(ptr, att, val, numbers)
        return Active(ptr, att[:z], val[:z] if val.size else val), numbers

    def names(self, corpus: Corpus, encoder: Encoder | None, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bytes and offsets of the strings of some attributes i64[]."""
        if encoder is not None:
            return self._spelt(corpus, encoder, self.first[which])
        assert corpus.attributes is not None
        names = corpus.attributes.names
        return join_types(names.data, names.start[which], names.end[which])

    def _spelt(self, corpus: Corpus, encoder: Encoder, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strings of attributes that occur at `first`. Of few sentences only the types of these become strings."""
        assert self.cells is not None
        T = len(encoder.of_order(self.order))
        token, template = np.divmod(first, T)
        owner = np.searchsorted(corpus.offset, token, side="right") - 1
        sentences = np.unique(owner)
        if 2 * sentences.size > corpus.n_sentences:
            return encoder.spell(self.order, corpus, self.cells, first)
        few = take(corpus, sentences)
        moved = token + (few.offset[:-1] - corpus.offset[sentences])[np.searchsorted(sentences, owner)]
        return encoder.spell(self.order, few, encoder.cells(few), moved * T + template)


def block_attributes(corpus: Corpus, encoder: Encoder | None) -> Iterator[BlockAttributes]:
    """The attributes of a block, order by order."""
    if encoder is None:
        given = corpus.attributes
        assert given is not None
        active = Active(given.ptr.copy(), given.names.ids.copy(), given.val.copy())
        yield BlockAttributes(1, active, mixed_all(given.names.hash), np.arange(given.names.hash.size), None)
        return
    cells = encoder.cells(corpus)
    for order in encoder.programs:
        empty = new_feature_index(corpus.n_tokens * len(encoder.of_order(order)) // 8)
        ptr, att, index, first = encoder.encode(order, cells, corpus.offset, empty, grow=True)
        yield BlockAttributes(order, Active(ptr, att, NO_VALUES), keys_of(index), first, cells)
