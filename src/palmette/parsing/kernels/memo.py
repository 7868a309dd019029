"""What a search has looked up already: the features of recent states, with their weights ready to be added.

Seven of eight look-ups of a sentence repeat an earlier one, since the states of a beam are alike. A memo is a small
table from the key of a feature to its weights. Long lists are rows of all actions (see weights.py), which are added as
vectors; short ones are copied, so that they lie together. Sums are the same as without a memo, number by number: a row
adds 0 where its list has no entry.

    remembered place = start | length << 40 in the memo's entries, or start in the rows of the weights | ROW

A full memo is emptied before a state is scored: what it holds never matters for the result.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.vector import add_row
from palmette.parsing.kernels.forms import Memo, Weights
from palmette.parsing.kernels.small import bucket_of, copy_small, find_all_small
from palmette.parsing.kernels.weights import add_list, find_key, find_row, list_length, list_start

_ROW = np.uint64(1 << 63)
_ONE = np.uint64(1)
_40 = np.uint64(40)
_0 = np.uint64(0)


@part
def forget(memo: Memo) -> None:
    """Empty the memo. A new one is empty."""
    if memo.used[0] > 0:
        table = memo.table
        for k in range(table.size):
            table[k] = _0
    memo.used[0], memo.used[1] = 0, 0


@inline
def _remembered(table: np.ndarray, mask: np.uint64, key: np.uint64) -> np.uint64:
    """The place of the key in the memo's table, or the empty place for it."""
    k = (key + key) & mask
    while table[k] != key and table[k] != _0:
        k = (k + _ONE + _ONE) & mask
    return k


@part
def _copied(memo: Memo, w: Weights, packed: np.uint64) -> np.uint64:
    """Copy a short list into the memo; returns its remembered place."""
    begin, length = memo.used[1], list_length(packed)
    memo.used[1] = begin + length
    to, own = memo.entry, w.entry
    e = list_start(packed) * 2
    for k in range(2 * length):
        to[np.uint64(2 * begin + k)] = own[np.uint64(e + k)]
    return np.uint64(begin) | np.uint64(length) << _40


@part
def _find_all(memo: Memo, w: Weights, keys: np.ndarray, count: int) -> None:
    """Look up the `count` missing features; their places follow the missing features in memo.missing."""
    table, entry, missing = w.table, w.entry, memo.missing
    for m in range(count):
        packed = table[find_key(table, keys[missing[m]]) + 1]  # 0 for a feature without weights
        missing[keys.size + m] = np.int64(packed)
        fetch_item(entry, list_start(packed) * 2)


@part
def _learn_missing(memo: Memo, w: Weights, keys: np.ndarray, out: np.ndarray, count: int) -> None:
    """Look up the `count` features that are missing, and replace their keys by remembered places."""
    held, missing = memo.table, memo.missing
    mask, least, is_small = np.uint64(held.size - 1), w.least, w.small.start.size > 0
    if is_small:
        find_all_small(memo, w.small, keys, count)
    else:
        _find_all(memo, w, keys, count)
    for m in range(count):
        t, packed = missing[m], np.uint64(missing[keys.size + m])
        if list_length(packed) >= least:
            packed = np.uint64(find_row(w.long, list_start(packed)) * out.size) | _ROW
        elif packed != _0:
            packed = copy_small(memo, w.small, packed) if is_small else _copied(memo, w, packed)
        k = _remembered(held, mask, keys[t])
        if held[k] == _0:
            memo.used[0] += 1
        held[k], held[k + _ONE] = keys[t], packed
        keys[t] = packed


@part
def add_features(memo: Memo, w: Weights, keys: np.ndarray, out: np.ndarray) -> None:
    """out[action] += weight of each feature of keys u64[T], in their order; the keys are replaced by places."""
    held, missing, entry, value, rows = memo.table, memo.missing, memo.entry, memo.value, w.rows
    mask = np.uint64(held.size - 1)
    if (memo.used[0] + keys.size) * 4 > held.size or (memo.used[1] + keys.size * w.least) * 2 > entry.size:
        forget(memo)
    table, start, is_full = w.table, w.small.start, w.small.start.size == 0
    more, count = np.uint64(table.size // 2 - 1) if is_full else _0, 0
    for t in range(keys.size):
        key = keys[t]
        k = _remembered(held, mask, key)
        if held[k] == _0:
            if is_full:
                fetch_item(table, np.int64(key & more) * 2)
            else:
                fetch_item(start, bucket_of(key, start.size - 1))
            missing[count] = t
            count += 1
        else:
            keys[t] = held[k + _ONE]
    if count > 0:
        _learn_missing(memo, w, keys, out, count)
    for t in range(keys.size):
        packed = keys[t]
        if packed & _ROW:
            add_row(out, rows, np.int64(packed ^ _ROW))
        else:
            add_list(entry, value, packed, out)
