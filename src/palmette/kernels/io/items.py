"""Attributes of tokens from MessagePack bytes: names are hashed where they lie, and no string is built.

    block   = array of sentences;  sentence = array of tokens
    token   = map (name -> value), or array of names
    value   = string, number, boolean, map or array of names

With P the prefix of a map or array ("" for a token's own), its attributes are

    P + key + ":" + text    with value 1        for a string
    P + key                 with the number     for a number or boolean; none for 0, unless the caller asks for zeros
    P + key + ":" is the prefix of what is in   a map or array
    P + name                with value 1        for a name in an array

Bytes may hold anything: what has another form, or is cut off, gives a status, and Python looks at the data itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import (
    ABSENT,
    BASE,
    RANDOM,
    FeatureIndex,
    fetch_early,
    find,
    find_or_add,
    find_sorted,
    mixed,
)
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import F32, F64, I32, I32_2D, I64, I64_2D, U8, U64, Bytes, struct

FINE, ODD, NO_ROOM = 0, 1, 2  # ODD: not of the form above; NO_ROOM: more tokens or attributes than the arrays take
DEPTH = 16  # of maps within maps
# Places in ItemRoom.counts: those of the caller first
SIZE, ZEROS, EXACT, STATUS, TOKENS, FOUND, VALUED, NESTED, TEXT, PREFIX = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
COUNTS = 10
STRING, MAP, ARRAY, NUMBER, OTHER = 0, 1, 2, 3, 4  # kinds of values
COLON = RANDOM[58]
LARGEST = np.float64(np.finfo(np.float32).max)
AHEAD = 8  # keys that are fetched before they are looked up
# RANDOM times the powers of BASE: four bytes are hashed with one multiplication in sequence
BASE_2 = np.uint64(int(BASE) ** 2 % 2**64)
BASE_3 = np.uint64(int(BASE) ** 3 % 2**64)
BASE_4 = np.uint64(int(BASE) ** 4 % 2**64)
RANDOM_1, RANDOM_2, RANDOM_3 = RANDOM * BASE, RANDOM * BASE_2, RANDOM * BASE_3


@struct
class ItemRoom(NamedTuple):
    """What a block of tokens becomes: z attributes of n tokens, and space to find them. The caller owns the arrays and
    makes them larger if a kernel says NO_ROOM."""

    # [COUNTS] in: SIZE, bytes of the block; ZEROS, 1: attributes of value 0 count; EXACT, 1: what float32 leaves of a
    # value is the value of the same attribute once more. Out: STATUS, tokens, attributes, whether some value is not 1,
    # whether an array lies within a map, bytes of all names, bytes of prefixes
    counts: I64
    ptr: I64  # [most tokens + 1]
    hash: U64  # [most]     of names
    val: F32  # [most]
    span: I32_2D  # [most, 6] or [0, 6]: prefix, key and text of a name: from and to; the prefix is in `prefix`
    prefix: U8  # []        prefixes that nesting makes, with their colons
    stack: I64_2D  # [DEPTH, 4] outer maps: entries left, whether a map, prefix from and to
    outer: U64  # [DEPTH]   hashes of their prefixes
    number: F64  # [1]


def make_item_room(tokens: int, attributes: int, *, spans: bool) -> ItemRoom:
    """Arrays for blocks of so many tokens and attributes; `spans` if names are to be kept."""
    return ItemRoom(
        np.zeros(COUNTS, np.int64), np.zeros(tokens + 1, np.int64), np.empty(attributes, np.uint64),
        np.empty(attributes, np.float32), np.zeros((attributes if spans else 0, 6), np.int32),
        np.empty(attributes if spans else 0, np.uint8), np.zeros((DEPTH, 4), np.int64), np.zeros(DEPTH, np.uint64),
        np.zeros(1),
    )  # fmt: skip


@inline
def _hashed(h: np.uint64, data: np.ndarray, start: int, end: int) -> np.uint64:
    """The hash of a string that ends in these bytes, h being the hash of what comes before them."""
    i = start
    while i + 4 <= end:
        piece = RANDOM_3[data[i]] + RANDOM_2[data[i + 1]] + RANDOM_1[data[i + 2]] + RANDOM[data[i + 3]]
        h = h * BASE_4 + piece
        i += 4
    while i < end:
        h = h * BASE + RANDOM[data[i]]
        i += 1
    return h


@inline
def _big_endian(data: np.ndarray, at: int, n: int) -> Any:
    value = np.int64(0)
    for k in range(n):
        value = (value << np.int64(8)) | np.int64(data[at + k])
    return value


@inline
def _head(data: np.ndarray, at: int, size: int) -> Any:
    """The kind of the value at `at`, its length (bytes of a string, entries of a map or array) and where its content
    begins. OTHER if it does not end within `size` bytes; entries are not looked at."""
    if at >= size:
        return OTHER, 0, at
    first = np.int64(data[at])
    kind, length, wide = NUMBER, np.int64(0), np.int64(0)
    if first >= 0xA0 and first < 0xC0:
        kind, length = STRING, first & np.int64(31)
    elif first >= 0x80 and first < 0x90:
        kind, length = MAP, first & np.int64(15)
    elif first >= 0x90 and first < 0xA0:
        kind, length = ARRAY, first & np.int64(15)
    elif first >= 0xD9 and first <= 0xDB:
        kind, wide = STRING, np.int64(1) << (first - np.int64(0xD9))
    elif first == 0xDC or first == 0xDD:
        kind, wide = ARRAY, np.int64(2) << (first - np.int64(0xDC))
    elif first == 0xDE or first == 0xDF:
        kind, wide = MAP, np.int64(2) << (first - np.int64(0xDE))
    at += 1
    if wide > 0:
        if wide > size - at:
            return OTHER, 0, at
        length = _big_endian(data, at, wide)
        at += int(wide)
    if length > size - at:  # an entry takes at least a byte
        return OTHER, 0, at
    return kind, length, at


@part
def _read_number(data: np.ndarray, at: int, size: int, number: np.ndarray) -> Any:
    """Write the number or boolean whose first byte is before `at` to number[0]; where it ends, -1 if it is none."""
    first = np.int64(data[at - 1])
    if first < 0x80 or first >= 0xE0:
        number[0] = np.float64(first if first < 0x80 else first - 256)
        return at
    if first == 0xC2 or first == 0xC3:
        number[0] = np.float64(first - 0xC2)
        return at
    wide = np.int64(0)
    if first == 0xCB:
        wide = np.int64(8)
    elif first >= 0xCC and first <= 0xCF:
        wide = np.int64(1) << (first - np.int64(0xCC))
    elif first >= 0xD0 and first <= 0xD3:
        wide = np.int64(1) << (first - np.int64(0xD0))
    if wide == 0 or wide > size - at:
        return -1
    bits = _big_endian(data, at, wide)
    if first == 0xCB:
        number.view(np.int64)[0] = bits
    elif first == 0xCF:
        number[0] = np.float64(np.uint64(bits))
    elif first < 0xD0:
        number[0] = np.float64(bits)
    else:
        unused = np.int64(64) - np.int64(8) * wide
        number[0] = np.float64((bits << unused) >> unused)
    return at + wide


@part
def _nested_prefix(data: np.ndarray, p0: int, p1: int, k0: int, k1: int, r: ItemRoom) -> tuple[int, int]:
    """Write the prefix p0..p1 with the key k0..k1 and a colon after it: from, to. To is -1 if there is no room."""
    text = r.prefix
    start = r.counts[PREFIX]
    end = start + (p1 - p0) + (k1 - k0) + 1
    if end > text.size:
        return start, -1
    for i in range(p1 - p0):
        text[start + i] = text[p0 + i]
    for i in range(k1 - k0):
        text[start + p1 - p0 + i] = data[k0 + i]
    text[end - 1] = 58
    r.counts[PREFIX] = end
    return start, end


@part
def _read_token(data: np.ndarray, at: int, size: int, z: int, r: ItemRoom) -> tuple[int, int]:
    """Read the token at `at`, whose attributes are numbered from z on: where it ends, or minus a status; and the number
    after its last attribute."""
    count, hashes, val, span, stack, outer, number = r.counts, r.hash, r.val, r.span, r.stack, r.outer, r.number
    spans = span.shape[0] > 0
    exact = count[EXACT] == 1 and not spans
    kind, left, at = _head(data, at, size)
    if kind != MAP and kind != ARRAY:
        return -ODD, z
    is_map, depth, p0, p1, P, text = kind == MAP, 0, 0, 0, np.uint64(0), 0
    while True:
        while left == 0 and depth > 0:
            depth -= 1
            left, is_map, p0, p1 = stack[depth, 0], stack[depth, 1] == MAP, stack[depth, 2], stack[depth, 3]
            P = outer[depth]
        if left == 0:
            count[TEXT] += text
            return at, z
        left -= 1
        kind, length, k0 = _head(data, at, size)
        if kind != STRING:
            return -ODD, z
        k1 = k0 + length
        h = _hashed(P, data, k0, k1)
        at, t0, t1, value = k1, -1, -1, np.float64(1.0)
        if is_map:
            kind, length, at = _head(data, at, size)
            if kind == STRING:
                t0, t1 = at, at + length
                h = _hashed(h * BASE + COLON, data, t0, t1)
                at = t1
            elif kind == NUMBER:
                at = _read_number(data, at, size, number)
                value = number[0]
                if at < 0 or not np.abs(value) <= LARGEST:
                    return -ODD, z
                if np.float32(value) == np.float32(0.0) and count[ZEROS] == 0:
                    continue
                if value != 1.0:
                    count[VALUED] = 1
            elif kind == OTHER or depth == DEPTH:
                return -ODD, z
            else:
                stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = left, MAP, p0, p1
                outer[depth] = P
                depth += 1
                if spans:
                    p0, p1 = _nested_prefix(data, p0, p1, k0, k1, r)
                    if p1 < 0:
                        return -NO_ROOM, z
                if kind == ARRAY:
                    count[NESTED] = 1
                P, left, is_map = h * BASE + COLON, length, kind == MAP
                continue
        if z == hashes.size:
            return -NO_ROOM, z
        hashes[z], val[z] = h, value
        if spans:
            span[z, 0], span[z, 1], span[z, 2], span[z, 3], span[z, 4], span[z, 5] = p0, p1, k0, k1, t0, t1
            text += p1 - p0 + k1 - k0 + (1 + t1 - t0 if t0 >= 0 else 0)
        z += 1
        if exact:
            left_over = value - np.float64(np.float32(value))
            if left_over != 0.0:
                if z == hashes.size:
                    return -NO_ROOM, z
                hashes[z], val[z] = h, left_over
                z += 1


@part
def _read_block(data: np.ndarray, r: ItemRoom) -> int:
    """Read all tokens; the status, which is also in the counts."""
    count, ptr = r.counts, r.ptr
    size = min(count[SIZE], data.size)
    for k in range(STATUS, COUNTS):
        count[k] = 0
    kind, sentences, at = _head(data, 0, size)
    status, n, z = FINE if kind == ARRAY else ODD, 0, 0
    while status == FINE and sentences > 0:
        sentences -= 1
        kind, tokens, at = _head(data, at, size)
        if kind != ARRAY:
            status = ODD
        while status == FINE and tokens > 0:
            tokens -= 1
            if n + 1 >= ptr.size:
                status = NO_ROOM
                break
            at, z = _read_token(data, at, size, z, r)
            if at < 0:
                status = -at
            n += 1
            ptr[n] = z
    if status == FINE and at != size:
        status = ODD
    count[STATUS], count[TOKENS], count[FOUND] = status, n, z
    return status


@kernel
def read_items(data: Bytes, room: ItemRoom) -> None:
    """The attributes of a block, with the places of their names if room.span has places for them."""
    _read_block(data, room)


@part
def _look_up(room: ItemRoom, x: FeatureIndex, att: np.ndarray) -> None:
    """Write the numbers of the attributes of all tokens to att, with the values at the same places of room.val;
    attributes that are not in the index are dropped."""
    count, ptr, hashes, val, total = room.counts, room.ptr, room.hash, room.val, room.counts[FOUND]
    keys, numbers, first, low, bits = x.keys, x.numbers, x.first, x.low, x.bits
    for k in range(total):
        hashes[k] = mixed(hashes[k])
    for k in range(min(AHEAD, total)):
        fetch_early(keys, first, bits, hashes[k])
    kept, k = 0, 0
    for i in range(count[TOKENS]):
        end = ptr[i + 1]
        while k < end:
            if k + AHEAD < total:
                fetch_early(keys, first, bits, hashes[k + AHEAD])
            a = find_sorted(first, low, bits, hashes[k]) if first.size > 0 else find(keys, numbers, hashes[k])
            att[kept], val[kept] = a, val[k]
            kept += a != ABSENT
            k += 1
        ptr[i + 1] = kept
    count[FOUND] = kept


@kernel
def find_items(data: Bytes, room: ItemRoom, index: FeatureIndex, att: I32) -> None:
    """The attributes of a block that an index has, as numbers in att i32[z], with room.ptr and room.val."""
    if _read_block(data, room) == FINE:
        if att.size < room.counts[FOUND]:
            room.counts[STATUS] = NO_ROOM
        else:
            _look_up(room, index, att)


@kernel
def look_up_items(room: ItemRoom, index: FeatureIndex, att: I32) -> None:
    """As find_items, for attributes whose hashes, values and ptr are in the room already."""
    if room.counts[FOUND] <= min(att.size, room.hash.size, room.val.size) and room.counts[TOKENS] < room.ptr.size:
        _look_up(room, index, att)


@struct
class NameTable(NamedTuple):
    """Distinct names, numbered by first occurrence. Names with the same hash of 64 bits count as one, as they do in a
    feature index."""

    size: I64  # [1]      names so far
    keys: U64  # [places]
    numbers: I32  # [places]
    offset: I64  # [most + 1]
    text: U8  # []


@inline
def _append(text: np.ndarray, at: int, data: np.ndarray, start: int, end: int) -> int:
    for i in range(start, end):
        text[at + i - start] = data[i]
    return at + end - start


@kernel
def number_items(data: Bytes, room: ItemRoom, names: NameTable, ids: I32) -> None:
    """Number the names of a block that read_items has read: ids i32[z]. The table has room for all of them: places for
    twice as many names, and as many bytes as counts[TEXT] says."""
    hashes, span, prefix = room.hash, room.span, room.prefix
    keys, numbers, offset, text = names.keys, names.numbers, names.offset, names.text
    T, total, mask = names.size[0], room.counts[FOUND], np.uint64(names.keys.size - 1)
    for k in range(total):
        hashes[k] = mixed(hashes[k])
    for k in range(total):
        if k + AHEAD < total:
            fetch_item(keys, np.int64(hashes[k + AHEAD] & mask))
        ids[k] = find_or_add(keys, numbers, hashes[k], T)
        if ids[k] == T:
            at = _append(text, offset[T], prefix, span[k, 0], span[k, 1])
            at = _append(text, at, data, span[k, 2], span[k, 3])
            if span[k, 4] >= 0:
                text[at] = 58
                at = _append(text, at + 1, data, span[k, 4], span[k, 5])
            offset[T + 1] = at
            T += 1
    names.size[0] = T
