"""The feature index in both forms against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.errors import UsageError
from palmette.features import in_order_of_keys, kept_attributes, keys_of, without_keys
from palmette.features.encode import growing
from palmette.kernels.core.hashing import FeatureIndex, add_all, find_all, hash_index

KEYS = st.lists(st.integers(1, 2**64 - 1), unique=True, max_size=200)


def _hashed(keys: list[int]) -> FeatureIndex:
    empty = np.zeros(16, np.uint64), np.full(16, -1, np.int32)
    table, numbers, _, _ = add_all(*empty, 0, np.array(keys, np.uint64))
    return hash_index(table, numbers, len(keys))


def _found(index: FeatureIndex, keys: list[int]) -> list[int]:
    return find_all(index, np.array(keys, np.uint64)).tolist()


@settings(deadline=None)
@given(KEYS, st.lists(st.integers(1, 2**64 - 1), max_size=50))
def test_sorted_keys_are_found_as_in_a_dictionary(keys: list[int], others: list[int]) -> None:
    made = in_order_of_keys(_hashed(keys))
    if made is None:  # equal in the bits that are compared
        assert len({key >> (32 - 1) for key in keys}) < len(keys)
        return
    index, order = made
    assert [keys[k] for k in order] == sorted(keys)
    expected = {key: place for place, key in enumerate(sorted(keys))}
    assert _found(index, keys) == [expected[key] for key in keys]
    bits = 32 - index.bits
    known = {key >> bits for key in keys}
    strangers = [key for key in others if key >> bits not in known]
    assert _found(index, strangers) == [-1] * len(strangers)
    assert keys_of(index).tolist() == sorted(keys)


@settings(deadline=None)
@given(KEYS, st.randoms())
def test_both_forms_drop_and_grow(keys: list[int], random: object) -> None:
    keep = np.array([random.random() < 0.5 for _ in keys], np.bool_)  # type: ignore[attr-defined]
    made = in_order_of_keys(_hashed(keys))
    for index, names in ((_hashed(keys), keys), *(((made[0], sorted(keys)),) if made is not None else ())):
        kept = [key for key, stays in zip(names, keep, strict=True) if stays]
        small = kept_attributes(index, keep)
        assert small.size == len(kept)
        assert _found(small, kept) == list(range(len(kept)))
        grown = growing(index)
        assert grown.keys.size
        assert _found(grown, names) == list(range(len(names)))


def test_keys_that_agree_in_all_compared_bits_stay_in_a_hash_table() -> None:
    assert in_order_of_keys(_hashed([5 << 40, (5 << 40) + 1])) is None
    assert in_order_of_keys(_hashed([5 << 40, 6 << 40])) is not None


def test_a_compact_index_cannot_grow() -> None:
    made = in_order_of_keys(_hashed([1 << 50, 1 << 60]))
    assert made is not None
    small = without_keys(made[0])
    assert _found(small, [1 << 50, 1 << 60, 3 << 60]) == [0, 1, -1]
    assert _found(kept_attributes(small, np.array([False, True])), [1 << 50, 1 << 60]) == [-1, 0]
    with pytest.raises(UsageError, match="compact model"):
        growing(small)
