"""CQDB, the table of strings in CRFsuite's models: from a string to its number by hashing, and back by an array.

    header    "CQDB", size, flag, byte order, size and place of the backward array      6 numbers of 32 bits
    refs      256 times: place and size of a hash table
    records   number, size, the string and a zero byte
    tables    for each record its hash and its place; twice as many places as records, filled by linear probing
    backward  for each number the place of its record

Places count from the header. All numbers have the byte order of the machine that wrote the file; little-endian ones are
read, and written.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.io.columns import join_types
from palmette.structures.chain.imported.parts import Part, names_of, within_groups
from palmette.structures.stored_features import Names

MARK, ORDER = b"CQDB", 0x62445371
HEADER, TABLES = 24, 256
DATA = HEADER + 8 * TABLES


def read_names(part: Part, count: int, what: str) -> Names:
    """The first `count` strings, by the backward array."""
    part.tag(0, MARK)
    size, _, order, _, backward = part.numbers(4, 5, "its header").tolist()
    if order != ORDER:
        raise part.damaged(f"byte order {order:#x} instead of {ORDER:#x}: a file of a big-endian machine?")
    if size > part.data.size:
        raise part.damaged(f"it should have {size:,} bytes, and the file has {part.data.size:,} there: truncated?")
    if count and not backward:
        raise part.damaged("it has no array from numbers to strings")
    place = part.numbers(backward, count, "the array from numbers to strings")
    if (place == 0).any():
        raise part.damaged(f"{what} {int(np.argmin(place))} has no string")
    number, length = part.numbers_at(place, "a string"), part.numbers_at(place + 4, "a string")
    wrong = np.flatnonzero(number != np.arange(count))
    if wrong.size:
        raise part.damaged(f"{what} {int(wrong[0])} has the string of {what} {int(number[wrong[0]])}")
    _check_apart(part, place, length, what)
    begin, text = place + 8, length - 1
    data, offset = join_types(part.data, begin, begin + text)
    data = data[: offset[-1]]
    if (data == 0).any() or part.data[begin + text].any():
        raise part.damaged(f"a string of {what}s that does not end with its zero byte")
    return names_of(data, offset, what, part.source)


def _check_apart(part: Part, place: np.ndarray, length: np.ndarray, what: str) -> None:
    """Records lie within the file and do not overlap, so that all strings together are not larger than it."""
    if not place.size:
        return
    order = np.argsort(place, kind="stable")
    begin, end = place[order], place[order] + 8 + length[order]
    if length.min() < 1 or end.max() > part.data.size or (end[:-1] > begin[1:]).any():
        raise part.damaged(f"the strings of {what}s overlap, or lie outside of the file")


# --- writing ------------------------------------------------------------------------------------------------


def cqdb_bytes(names: Names) -> bytes:
    """The table of strings numbered 0, 1, 2, ..."""
    data, offset = names.data, names.offset
    length = np.diff(offset)
    size = 9 + length  # of a record
    place = DATA + np.cumsum(size) - size
    records = np.zeros(int(size.sum()), np.uint8)
    at = place - DATA
    _put_numbers(records, at, np.arange(length.size))
    _put_numbers(records, at + 4, length + 1)
    records[np.repeat(at + 8, length) + within_groups(length)] = data[: offset[-1]]
    hashes = string_hashes(data, offset)
    refs, tables = _hash_tables(hashes, place, DATA + records.size)
    backward = DATA + records.size + tables.size * 4
    total = backward + 4 * length.size
    there = backward if length.size else 0
    header = np.array([total, 0, ORDER, length.size, there], "<u4")
    return b"".join(
        (MARK, *(part.tobytes() for part in (header, refs, records, tables, place.astype("<u4"))))
    )  # fmt: skip


def _put_numbers(data: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    for k in range(4):
        data[places + k] = values >> (8 * k) & 0xFF


def _hash_tables(hashes: np.ndarray, place: np.ndarray, begin: int) -> tuple[np.ndarray, np.ndarray]:
    """The references to 256 tables u32[512], and the tables u32[2 * places]."""
    which = (hashes % TABLES).astype(np.int64)
    count = np.bincount(which, minlength=TABLES)
    first = np.cumsum(2 * count) - 2 * count
    refs = np.zeros((TABLES, 2), "<u4")
    refs[:, 0], refs[:, 1] = np.where(count > 0, begin + 8 * first, 0), 2 * count
    tables = np.zeros((2 * hashes.size, 2), "<u4")
    slots = _slots(which, (hashes >> np.uint32(8)).astype(np.int64), 2 * count)
    tables[first[which] + slots, 0], tables[first[which] + slots, 1] = hashes, place
    return refs.reshape(-1), tables.reshape(-1)


def _slots(which: np.ndarray, wanted: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The place of each record in its table: `wanted` modulo the size, or the next free one."""
    taken: list[set[int]] = [set() for _ in range(sizes.size)]
    slots = np.zeros(which.size, np.int64)
    for k, (table, start) in enumerate(
        zip(which.tolist(), (wanted % np.maximum(sizes[which], 1)).tolist(), strict=True)
    ):
        own, size = taken[table], int(sizes[table])
        while start in own:
            start = (start + 1) % size
        own.add(start)
        slots[k] = start
    return slots


def _rotated(x: np.ndarray, by: int) -> np.ndarray:
    return x << np.uint32(by) | x >> np.uint32(32 - by)


def string_hashes(data: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Bob Jenkins' lookup3 of each string with its zero byte, u32[]: twelve bytes at a time into three numbers."""
    length = np.diff(offset) + 1
    start = np.uint32(0xDEADBEEF) + length.astype(np.uint32)
    state = [start.copy(), start.copy(), start.copy()]
    padded = np.concatenate((data[: offset[-1]], np.zeros(1, np.uint8)))
    for block in range(int(-(-length.max(initial=0) // 12))):
        here = np.flatnonzero(length > 12 * block)
        last = length[here] <= 12 * (block + 1)
        place = offset[:-1][here, None] + 12 * block + np.arange(12)
        inside = place < offset[1:][here, None]
        words = np.ascontiguousarray(np.where(inside, padded[np.where(inside, place, -1)], 0), np.uint8).view("<u4")
        a, b, c = (state[k][here] + words[:, k] for k in range(3))
        for rows, step in ((~last, _mix), (last, _finish)):
            for k, part in enumerate(step(a[rows], b[rows], c[rows])):
                state[k][here[rows]] = part
    return state[2]


def _mix(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c) ^ _rotated(c, first)
        c = c + b
        b = (b - a) ^ _rotated(a, second)
        a = a + c
        c = (c - b) ^ _rotated(b, third)
        b = b + a
    return a, b, c


def _finish(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c = (c ^ b) - _rotated(b, 14)
    a = (a ^ c) - _rotated(c, 11)
    b = (b ^ a) - _rotated(a, 25)
    c = (c ^ b) - _rotated(b, 16)
    a = (a ^ c) - _rotated(c, 4)
    b = (b ^ a) - _rotated(a, 14)
    c = (c ^ b) - _rotated(b, 24)
    return a, b, c
