"""Raw text as numbers: what stands between white space is numbered in the order of its first occurrence."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.hashing import ABSENT, find, find_or_add, grown, hash_bytes, mixed
from palmette.kernels.core.types import I32, I64, U64, Bytes
from palmette.kernels.io.columns import NEWLINE, SPACE

FIRST_SPACE, LAST_SPACE = 9, 13  # TAB, line feed, vertical TAB, form feed, carriage return
LINE_END, UNKNOWN = np.int32(-1), np.int32(-2)


@kernel
def number_words(data: Bytes, keys: U64, numbers: I32, known: int, most: int) -> tuple[I32, U64, I32, I64, I64]:
    """The number of each word of a text, with LINE_END after each line; UNKNOWN for a new word if there are `most`
    already. Further: the hash table with the new words, and where each new word starts and ends."""
    keys, numbers = keys.copy(), numbers.copy()
    out = np.empty(data.size + 1, np.int32)
    start, end = np.empty(16, np.int64), np.empty(16, np.int64)
    before, n, at = known, 0, 0
    while at < data.size:
        byte = data[at]
        if byte == SPACE or FIRST_SPACE <= byte <= LAST_SPACE:
            if byte == NEWLINE:
                out[n] = LINE_END
                n += 1
            at += 1
            continue
        begin = at
        while at < data.size and not (data[at] == SPACE or FIRST_SPACE <= data[at] <= LAST_SPACE):
            at += 1
        key = mixed(hash_bytes(data, begin, at))
        number = find(keys, numbers, key)
        if number == ABSENT and known < most:
            if (known + 1) * 2 > keys.size:
                keys, numbers = grown(keys, numbers)
            number = find_or_add(keys, numbers, key, known)
            if known - before == start.size:
                start, end = np.concatenate((start, start)), np.concatenate((end, end))
            start[known - before], end[known - before] = begin, at
            known += 1
        out[n] = number if number != ABSENT else UNKNOWN
        n += 1
    return out[:n].copy(), keys, numbers, start[: known - before].copy(), end[: known - before].copy()
