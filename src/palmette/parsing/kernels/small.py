"""Weights of a compact parser: whole numbers of one or two bytes, and two bytes of each feature's key.

Features lie in buckets of 16 on average, chosen by the upper half of their keys, and are known there by the lowest 16
bits: one in four thousand look-ups of a feature that the model does not have finds another one. A bucket is a piece of
`lists`, from start[b] to start[b + 1]:

    number of features (1 byte)
    the lowest 16 bits of their keys (2 bytes each, the lower one first)
    heads of their lists (1 byte each): WIDE | length; the length LONGER stands for two bytes before the entries
    entries of their lists: action (1 byte, or 2 if there are more than 256), number (1 byte, or 2 in WIDE lists)

A weight is its number times step[0], in WIDE lists times step[1]: few features have large weights, and these need more
precision than others. Lists are found at places as in weights.py: first byte | length << 40 | WIDE.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import F32, I32, I64, U8, U64
from palmette.kernels.core.vector import SHORTS, find_short
from palmette.parsing.kernels.forms import Memo, Small
from palmette.parsing.kernels.weights import list_length, list_start, place_in, table_for

BUCKET = 16  # features, on average
MOST = 255  # features of a bucket
LONGER = 127
_WIDE = np.uint64(1 << 52)
_32 = np.uint64(32)
_40 = np.uint64(40)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@inline
def bucket_of(key: np.uint64, buckets: int) -> np.int64:
    """The bucket of a key: the share of its upper half in all numbers of 32 bits."""
    return np.int64((key >> _32) * np.uint64(buckets) >> _32)


@inline
def _two(lists: np.ndarray, at: np.uint64) -> np.int64:
    """The number in two bytes, the lower one first."""
    return np.int64(lists[at]) | (np.int64(lists[at + np.uint64(1)]) << np.int64(8))


@inline
def _list_at(lists: np.ndarray, at: int, head: np.uint8) -> np.uint64:
    """The place of the list whose bytes begin at `at`."""
    length = np.int64(head) & np.int64(LONGER)
    wide = _WIDE if head > np.uint8(LONGER) else np.uint64(0)
    if length == LONGER:
        length, at = _two(lists, np.uint64(at)), at + 2
    return np.uint64(at) | (np.uint64(length) << _40) | wide


@inline
def _end_of(place: np.uint64, action_bytes: int) -> np.int64:
    """The byte behind a list."""
    size = action_bytes + 1 + np.int64(place >= _WIDE)
    return list_start(place) + list_length(place) * size


@inline
def _find_in_bucket(lists: np.ndarray, at: np.int64, count: np.int64, wanted: np.int64) -> np.int64:
    """Which of `count` numbers of two bytes from `at` on is the wanted one; `count` if none is."""
    k = np.int64(0)
    while k < count and at + 2 * (k + SHORTS) <= lists.size:
        found = k + find_short(lists, at + 2 * k, wanted)
        if found < k + SHORTS:
            return min(found, count)  # behind the last one are bytes of other things
        k += SHORTS
    while k < count and _two(lists, np.uint64(at + 2 * k)) != wanted:
        k += 1
    return min(k, count)


@part
def find_small(small: Small, begin: int, key: np.uint64) -> np.uint64:
    """The place of the feature's list, in the bucket that begins at `begin`; 0 if there is none."""
    lists, action_bytes = small.lists, small.action_bytes
    count = np.int64(lists[np.uint64(begin)])
    found = _find_in_bucket(lists, np.int64(begin + 1), count, np.int64(key & np.uint64(0xFFFF)))
    if found == count:
        return np.uint64(0)
    heads = begin + 1 + 2 * count
    at, size = heads + count, np.int64(action_bytes + 1)
    head = np.uint64(heads)
    for _ in range(found):
        length = np.int64(lists[head])
        at += length * size
        if length >= LONGER:
            at = _end_of(_list_at(lists, at - length * size, lists[head]), action_bytes)
        head += _ONE
    return _list_at(lists, at, lists[head])


@part
def find_all_small(memo: Memo, small: Small, keys: np.ndarray, count: int) -> None:
    """Look up the `count` missing features; their places follow the missing features in memo.missing."""
    missing, start, lists, T = memo.missing, small.start, small.lists, keys.size
    for m in range(count):
        begin = np.int64(start[np.uint64(bucket_of(keys[missing[m]], start.size - 1))])
        missing[T + m] = begin
        fetch_item(lists, begin)
        fetch_item(lists, begin + 48)  # no fault if it is behind the last byte
    for m in range(count):
        place = find_small(small, missing[T + m], keys[missing[m]])
        missing[T + m] = np.int64(place)
        fetch_item(lists, list_start(place))


@inline
def _action_at(lists: np.ndarray, at: int, action_bytes: int) -> np.int64:
    return _two(lists, np.uint64(at)) if action_bytes == 2 else np.int64(lists[np.uint64(at)])


@inline
def _weight_at(small: Small, at: int, wide: bool) -> np.float32:
    """The weight whose number begins at `at`."""
    if wide:
        number = _two(small.lists, np.uint64(at))
        return np.float32(number - 0x10000 if number >= 0x8000 else number) * small.step[1]
    number = np.int64(small.lists[np.uint64(at)])
    return np.float32(number - 0x100 if number >= 0x80 else number) * small.step[0]


@part
def copy_small(memo: Memo, small: Small, place: np.uint64) -> np.uint64:
    """Copy a short list into the memo; returns its remembered place."""
    begin, length, action_bytes, wide = memo.used[1], list_length(place), small.action_bytes, place >= _WIDE
    memo.used[1] = begin + length
    lists, entry, value = small.lists, memo.entry, memo.value
    e, end, at = np.uint64(2 * begin), np.uint64(2 * (begin + length)), np.uint64(list_start(place))
    if action_bytes == 1 and not wide:  # nearly all of them
        step = small.step[0]
        while e < end:
            entry[e] = lists[at]
            value[e + _ONE] = np.float32(np.int8(lists[at + _ONE])) * step
            e, at = e + _TWO, at + _TWO
    else:
        while e < end:
            entry[e] = _action_at(lists, at, action_bytes)
            value[e + _ONE] = _weight_at(small, at + np.uint64(action_bytes), wide)
            e, at = e + _TWO, at + np.uint64(action_bytes + 1 + np.int64(wide))
    return np.uint64(begin) | np.uint64(length) << _40


# --- all lists -----------------------------------------------------------------------------------------------


@part
def _n_long(small: Small, least: int) -> int:
    found, lists = 0, small.lists
    for b in range(small.start.size - 1):
        begin = np.int64(small.start[b])
        count = np.int64(lists[begin])
        heads = begin + 1 + 2 * count
        at = heads + count
        for k in range(count):
            place = _list_at(lists, at, lists[heads + k])
            found += list_length(place) >= least
            at = _end_of(place, small.action_bytes)
    return found


@kernel
def spread_small(small: Small, width: int, least: int) -> tuple[F32, U64]:
    """(rows f32[R * width], table of long lists); least: entries of a long list. See weights.py."""
    found, lists, action_bytes = _n_long(small, least), small.lists, small.action_bytes
    rows, long = np.zeros(found * width, np.float32), table_for(found)
    row = 0
    for b in range(small.start.size - 1):
        begin = np.int64(small.start[b])
        count = np.int64(lists[begin])
        heads = begin + 1 + 2 * count
        at = heads + count
        for k in range(count):
            place = _list_at(lists, at, lists[heads + k])
            at = _end_of(place, action_bytes)
            if list_length(place) < least:
                continue
            wide, e = place >= _WIDE, list_start(place)
            while e < at:
                rows[row * width + _action_at(lists, e, action_bytes)] += _weight_at(small, e + action_bytes, wide)
                e += action_bytes + 1 + np.int64(wide)
            key = place_in(long, list_start(place))
            long[key], long[key + np.uint64(1)] = np.uint64(list_start(place) + 1), np.uint64(row)
            row += 1
    return rows, long


@kernel
def small_sizes(small: Small, actions: int) -> tuple[int, int]:
    """(features, weights) of buckets that cover all of `lists`; (-1, number of the bucket) if one is not as
    described: a list that goes beyond its end, bytes that are no list, or an action that does not exist."""
    lists, start, action_bytes = small.lists, small.start, small.action_bytes
    features, weights = np.int64(0), np.int64(0)
    for b in range(start.size - 1):
        begin, end = np.int64(start[b]), np.int64(start[b + 1])
        if begin >= end:
            return -1, b
        count = np.int64(lists[begin])
        heads = begin + 1 + 2 * count
        at = heads + count
        if at > end:
            return -1, b
        for k in range(count):
            if at + 2 > end:  # a list is not shorter, and may begin with its length
                return -1, b
            place = _list_at(lists, at, lists[heads + k])
            at = _end_of(place, action_bytes)
            if at > end or list_length(place) < 1 or list_length(place) > actions:
                return -1, b
            e = list_start(place)
            while e < at:
                if _action_at(lists, e, action_bytes) >= actions:
                    return -1, b
                e += action_bytes + 1 + np.int64(place >= _WIDE)
            weights += list_length(place)
        if at != end:
            return -1, b
        features += count
    return int(features), int(weights)


# --- making them ---------------------------------------------------------------------------------------------


@part
def _put(lists: np.ndarray, at: int, number: int, size: int) -> int:
    """Write a number of one or two bytes, the lower one first. Returns the next place."""
    lists[at] = number & 0xFF
    if size == 2:
        lists[at + 1] = (number >> 8) & 0xFF
    return at + size


@part
def _put_list(lists: np.ndarray, at: int, action: np.ndarray, number: np.ndarray, sizes: tuple[int, int]) -> int:
    """Write the entries of a list; sizes: bytes of an action and of a number. Returns the next place."""
    if action.size >= LONGER:
        at = _put(lists, at, action.size, 2)
    for e in range(action.size):
        at = _put(lists, at, np.int64(action[e]), sizes[0])
        at = _put(lists, at, np.int64(number[e]), sizes[1])
    return at


@kernel
def small_lists(
    keys: U64, ptr: I64, action: I32, number: I32, wide: I64, buckets: int, action_bytes: int
) -> tuple[I32, U8]:
    """(start, lists) of features in the order of their keys: keys u64[F], entries action and number i32[ptr[F]], wide
    i64[F] (0 or 1). No bucket may have more than MOST features."""
    F, size = keys.size, buckets + 3 * keys.size
    for k in range(F):
        length = ptr[k + 1] - ptr[k]
        size += length * (action_bytes + 1 + wide[k]) + (2 if length >= LONGER else 0)
    start, lists = np.zeros(buckets + 1, np.int32), np.zeros(size, np.uint8)
    k, at = 0, 0
    for b in range(buckets):
        start[b], last = at, k
        while last < F and bucket_of(keys[last], buckets) == b:
            last += 1
        count = last - k
        lists[at] = count
        heads = at + 1 + 2 * count
        end = heads + count
        for j in range(count):
            own, first, next_one = k + j, ptr[k + j], ptr[k + j + 1]
            _put(lists, at + 1 + 2 * j, np.int64(keys[own] & np.uint64(0xFFFF)), 2)
            lists[heads + j] = min(next_one - first, LONGER) + 128 * wide[own]
            sizes = (np.int64(action_bytes), np.int64(1 + wide[own]))
            end = _put_list(lists, end, action[first:next_one], number[first:next_one], sizes)
        k, at = last, end
    start[buckets] = at
    return start, lists
