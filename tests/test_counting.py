"""Counts of attributes in bounded memory, compared with a Counter over all of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Scratch
from palmette.errors import DataError, UsageError
from palmette.features.counting import AttributeCounts, index_of
from palmette.kernels.core.hashing import add_counts, find_all, mixed_all, take_counts

# Few keys, many of them equal, some side by side: tables run full and over their ends.
KEYS = st.lists(
    st.one_of(st.integers(1, 12), st.integers(2**64 - 5, 2**64 - 1), st.integers(1, 2**64 - 1)), max_size=60
)


def naive_kept(keys: list[int], min_count: int, most: int | None) -> dict[int, int]:
    """The definition: count all, drop the rare ones, keep the most frequent ones, of equal ones the smaller keys."""
    frequent = [(-n, key) for key, n in Counter(keys).items() if n >= min_count]
    return {key: -n for n, key in sorted(frequent)[:most]}


def as_keys(keys: list[int]) -> np.ndarray:
    return np.array(keys, np.uint64)


@given(st.lists(KEYS, max_size=5), st.integers(1, 3), st.one_of(st.none(), st.integers(1, 8)), st.integers(32, 800))
@settings(max_examples=150, deadline=None)
def test_counts_are_those_of_a_counter(blocks, min_count, most, memory):
    counts = AttributeCounts(memory=memory)
    for block in blocks:
        counts.add(as_keys(block))
    kept = counts.kept(min_count, most)
    every = [key for block in blocks for key in block]
    wanted = naive_kept(every, min_count, most)
    assert kept.keys.tolist() == sorted(wanted)
    assert dict(zip(kept.keys.tolist(), kept.counts.tolist(), strict=True)) == wanted
    assert kept.found == len(set(every))


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 10**12)), max_size=60), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_numbers_add_up_in_the_table(pairs, bits):
    keys, counts = np.zeros((1 << bits) + 64, np.uint64), np.zeros((1 << bits) + 64, np.int64)
    wanted, number = as_keys([key for key, _ in pairs]), np.array([n for _, n in pairs], np.int64)
    done, size = add_counts(keys, counts, bits, 0, 1000, 0, wanted, number, 0)
    naive: Counter[int] = Counter()
    for key, n in pairs:
        naive[key] += n
    assert (done, size) == (len(pairs), len(naive))
    found, sums = take_counts(keys, counts, size)
    assert list(zip(found.tolist(), sums.tolist(), strict=True)) == sorted(naive.items())
    assert not keys.any()
    assert not counts.any()


def test_runs_on_disk_merge_with_those_of_other_shards(tmp_path):
    rng = np.random.default_rng(1)
    drawn = mixed_all(rng.zipf(1.2, 60_000).astype(np.uint64))
    with Scratch(str(tmp_path)) as scratch:
        shards = [AttributeCounts(scratch, memory=1 << 14) for _ in range(3)]
        for k, block in enumerate(np.array_split(drawn, 30)):
            shards[k % 3].add(block)
        assert all(len(shard.runs) > 2 for shard in shards)
        assert scratch.most > 16 * len(set(drawn.tolist())) // 2
        shards[0].merge(shards[1])
        shards[0].merge(shards[2])
        kept = shards[0].kept(2)
    assert dict(zip(kept.keys.tolist(), kept.counts.tolist(), strict=True)) == naive_kept(drawn.tolist(), 2, None)
    assert np.array_equal(find_all(index_of(kept.keys), kept.keys), np.arange(kept.keys.size))
    assert list(tmp_path.iterdir()) == []


def test_too_many_attributes_name_the_options():
    counts = AttributeCounts()
    counts.add(as_keys(list(range(1, 20)) * 2))
    with pytest.raises(UsageError, match=r"min_count.*max_attributes"):
        counts.kept(2, room=10)
    assert counts.kept(2, max_attributes=10, room=20).keys.size == 10


def test_a_disk_without_room_is_reported_before_it_is_full(tmp_path):
    with Scratch(str(tmp_path)) as scratch, pytest.raises(DataError, match="scratch="):
        scratch.check_room(1 << 60, "the attributes")
    with pytest.raises(UsageError, match="no such folder"):
        Scratch(str(tmp_path / "missing"))
