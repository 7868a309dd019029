"""How often each attribute of a corpus of any size occurs, counted exactly in bounded memory.

Attributes are known by their 64-bit keys (the feature index has the same). Counts go to a table; one that is full is
written to a scratch file in the order of its keys, as a run, and starts again empty. At the end all runs are merged
range by range of the keys. Counts of parts of a corpus can be merged into one: the result is a function of the whole.

    counts = AttributeCounts(scratch)
    counts.add(keys)                          or add(keys, numbers): keys u64[n], in any order, repeated or not
    counts.merge(other)                       and those of another part of the corpus
    kept = counts.kept(min_count=5)           keys u64[A] in rising order: attribute number = place among them
    index = index_of(kept.keys)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from palmette.data.scratch import Scratch, ScratchFile
from palmette.errors import UsageError, counted
from palmette.features.encode import of_sorted_keys
from palmette.kernels.core.hashing import FeatureIndex, add_all, add_counts, hash_index, take_counts
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import named

MEMORY = 192 << 20  # bytes of the table, about
FIRST_BITS = 16  # 2^16 places at the start
SPARE = 1 << 10  # places behind the last one
FULL = 0.6  # share of places in use
RANGE_BITS = 12  # runs know where each 2^12th part of the keys begins
TOGETHER = 1 << 21  # entries of runs that are merged at once, about
ONES = np.zeros(0, np.int64)


class FrequentAttributes(NamedTuple):
    """The attributes that are frequent enough."""

    keys: np.ndarray  # u64[A]  in rising order
    counts: np.ndarray  # i64[A]
    found: int  # attributes that occur at all


class SortedRun(NamedTuple):
    """Sorted keys and their counts, in memory or in the scratch file."""

    edges: np.ndarray  # i64[2^RANGE_BITS + 1]  the first key of each part of the keys
    place: int = -1  # of the keys in the file, -1: in memory; the counts follow
    keys: np.ndarray = np.zeros(0, np.uint64)
    counts: np.ndarray = ONES


class AttributeCounts:
    """Occurrences by key. Without a scratch folder everything stays in memory."""

    def __init__(self, scratch: Scratch | None = None, memory: int = MEMORY) -> None:
        self.scratch = scratch
        self.most_bits = max(1, (max(32, memory) // 16).bit_length() - 1)
        self.runs: list[SortedRun] = []
        self._file: ScratchFile | None = None
        self._new_table(min(FIRST_BITS, self.most_bits))

    def _new_table(self, bits: int) -> None:
        self.bits, self.size = bits, 0
        self._keys = np.zeros((1 << bits) + SPARE, np.uint64)
        self._counts = np.zeros(self._keys.size, np.int64)

    def add(self, keys: np.ndarray, numbers: np.ndarray | None = None) -> None:
        """Count keys u64[n], each once or as often as `numbers` i64[n]. No key is 0."""
        keys = np.ascontiguousarray(keys, np.uint64)
        numbers = ONES if numbers is None else np.ascontiguousarray(numbers, np.int64)
        done = 0
        while True:
            most = int(FULL * (1 << self.bits))
            done, self.size = add_counts(
                self._keys, self._counts, self.bits, 0, most, self.size, keys, numbers, done
            )  # fmt: skip
            if done == keys.size:
                return
            self._make_room()

    def _make_room(self) -> None:
        """A larger table, or an empty one once it is as large as it may be."""
        keys, counts = take_counts(self._keys, self._counts, self.size)
        if self.bits < self.most_bits:
            self._new_table(self.bits + 1)
            self.add(keys, counts)
            return
        self.size = 0
        self._add_run(keys, counts)

    def _add_run(self, keys: np.ndarray, counts: np.ndarray) -> None:
        parts = np.arange(1, 1 << RANGE_BITS, dtype=np.uint64) << np.uint64(64 - RANGE_BITS)
        edges = np.concatenate(([0], np.searchsorted(keys, parts), [keys.size])).astype(np.int64)
        if self.scratch is None:
            self.runs.append(SortedRun(edges, -1, keys, counts))
            return
        self._file = self._file or self.scratch.file()
        place = self._file.append(keys)
        self._file.append(counts)
        self.runs.append(SortedRun(edges, place))

    def merge(self, other: AttributeCounts) -> None:
        """Add the counts of another part of the corpus; the other object is empty afterwards."""
        for keys, counts in other.parts():
            self.add(keys, counts)
        other.clear()

    def clear(self) -> None:
        """Forget everything, and give back memory and disk."""
        self.runs = []
        if self._file is not None:
            self._file.close()
            self._file = None
        self._new_table(min(FIRST_BITS, self.most_bits))

    def parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All keys in rising order with their counts, in pieces of bounded size."""
        if self.size:
            self._add_run(*take_counts(self._keys, self._counts, self.size))
        self._new_table(1)  # its memory is for the pieces
        total = sum(int(run.edges[-1]) for run in self.runs)
        bits = min(RANGE_BITS, max(0, (total // TOGETHER).bit_length()))
        step = 1 << (RANGE_BITS - bits)
        for part in range(1 << bits):
            keys, counts = self._merged(part * step, (part + 1) * step, bits)
            if keys.size:
                yield keys, counts

    def _merged(self, first: int, last: int, skip: int) -> tuple[np.ndarray, np.ndarray]:
        """The keys of all runs in the parts first..last - 1 of all keys, which share `skip` bits."""
        pieces = [self._read(run, int(run.edges[first]), int(run.edges[last])) for run in self.runs]
        pieces = [piece for piece in pieces if piece[0].size]
        if len(pieces) < 2:
            return pieces[0] if pieces else (np.zeros(0, np.uint64), ONES)
        total = sum(keys.size for keys, _ in pieces)
        bits, size = max(1, (2 * total - 1).bit_length()), 0
        table = np.zeros((1 << bits) + total, np.uint64)  # room for all, wherever they begin
        sums = np.zeros(table.size, np.int64)
        for keys, counts in pieces:
            _, size = add_counts(table, sums, bits, skip, total, size, keys, counts, 0)
        return take_counts(table, sums, size)

    def _read(self, run: SortedRun, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        if run.place < 0:
            return run.keys[first:last], run.counts[first:last]
        assert self._file is not None
        after = run.place + 8 * int(run.edges[-1])
        return (
            self._file.read(run.place + 8 * first, last - first, np.uint64),
            self._file.read(after + 8 * first, last - first, np.int64),
        )

    def kept(
        self, min_count: int = 1, max_attributes: int | None = None, room: int | None = None
    ) -> FrequentAttributes:
        """The attributes that occur at least `min_count` times, of more than `max_attributes` the most frequent ones;
        of those that are equally frequent, the ones with smaller keys. UsageError if more than `room` are left."""
        keys, counts, found = np.zeros(0, np.uint64), ONES, 0
        pending: list[tuple[np.ndarray, np.ndarray]] = []
        waiting = 0
        for some, numbers in self.parts():
            found += some.size
            frequent = numbers >= min_count
            pending.append((some[frequent], numbers[frequent]))
            waiting += pending[-1][0].size
            if max_attributes is not None and keys.size + waiting > 2 * max_attributes:
                keys, counts = _most_frequent([(keys, counts), *pending], max_attributes)
                pending, waiting = [], 0
            if room is not None and keys.size + waiting > room:
                raise too_many(room, min_count)
        keys, counts = _joined([(keys, counts), *pending])
        if max_attributes is not None and keys.size > max_attributes:
            keys, counts = _most_frequent([(keys, counts)], max_attributes)
        return FrequentAttributes(keys, counts, found)


def _joined(pieces: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    every = list(pieces)
    return np.concatenate([keys for keys, _ in every]), np.concatenate([counts for _, counts in every])


def _most_frequent(pieces: Iterable[tuple[np.ndarray, np.ndarray]], most: int) -> tuple[np.ndarray, np.ndarray]:
    """The keys with the largest counts, in rising order."""
    keys, counts = _joined(pieces)
    chosen = np.sort(np.argsort(-counts, kind="stable")[:most])
    return keys[chosen], counts[chosen]


def too_many(room: int, min_count: int) -> UsageError:
    """More attributes than memory has room for."""
    return UsageError(
        f"more than {counted(room, 'attribute')} occur {counted(min_count, 'time')} or more often, and memory has no "
        f"room for the weights of this many: raise {named(TaggerOptions, 'min_count')}, or give "
        f"{named(TaggerOptions, 'max_attributes')}"
    )


def index_of(keys: np.ndarray) -> FeatureIndex:
    """The feature index of keys u64[A] in rising order: the number of an attribute is its place among them."""
    made = of_sorted_keys(keys)
    if made is not None:
        return made
    size = 1 << max(4, int(2 * keys.size).bit_length())
    table, numbers, _, _ = add_all(np.zeros(size, np.uint64), np.full(size, -1, np.int32), 0, keys)
    return hash_index(table, numbers, keys.size)
