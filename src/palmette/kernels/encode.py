"""Templates evaluated with integers: tokens in, attribute numbers out.

A template is literal pieces and cells in turn; its key is the composed hash of the string that CRF++
would build. `Program` is a template set compiled to arrays, `Cells` the hashes of the distinct cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compile import inline, kernel, part
from .hashing import mixed
from .table import ABSENT, find, find_or_add, grown

HERE, FIRST, LAST = 0, 1, 2  # what a macro's row counts from
UNKNOWN = -2
CHUNK = 1024  # tokens that are encoded together


class Program(NamedTuple):
    """T templates of one order, M macros, R the largest distance past an edge."""

    macro: np.ndarray  # i32[T+1]   macros of template t: macro[t]..macro[t+1]
    row: np.ndarray  # i32[M]       which token
    anchor: np.ndarray  # i32[M]    HERE, FIRST or LAST
    sight: np.ndarray  # i32[M]     which view of a column (a row of Cells.column)
    before_hash: np.ndarray  # u64[M] the literal before the macro
    before_power: np.ndarray  # u64[M]
    tail_hash: np.ndarray  # u64[T] the literal after the last macro
    tail_power: np.ndarray  # u64[T]
    edge_hash: np.ndarray  # u64[V, 2R+1] what a view shows outside of the sentence, index R + distance
    edge_power: np.ndarray  # u64[V, 2R+1]
    skip: int  # tokens of a sentence that get no attribute: 0 for labels, 1 for pairs, 2 for triples


class Cells(NamedTuple):
    """V views (a column through an atom) of C columns of N tokens."""

    ids: np.ndarray  # i32[C, N]
    column: np.ndarray  # i32[V]    the column of a view
    start: np.ndarray  # i64[V+1]   where a view's types start in hash and power
    hash: np.ndarray  # u64[sum of types]
    power: np.ndarray  # u64[sum of types]  0 where the atom is absent


class Alphabet(NamedTuple):
    """Attribute key -> number. A locked one only finds."""

    keys: np.ndarray  # u64[size]
    numbers: np.ndarray  # i32[size]
    size: int


@inline
def _template_hash(p: Program, c: Cells, t: int, i: int, lo: int, hi: int) -> tuple[bool, np.uint64]:
    """Whether template t fires at token i of the sentence lo..hi, and the hash of its string."""
    h = np.uint64(0)
    R = p.edge_hash.shape[1] // 2
    for m in range(p.macro[t], p.macro[t + 1]):
        h = h * p.before_power[m] + p.before_hash[m]
        j = i + p.row[m]
        if p.anchor[m] == FIRST:
            j = lo + p.row[m]
        elif p.anchor[m] == LAST:
            j = hi - 1 + p.row[m]
        v = p.sight[m]
        if lo <= j < hi:
            x = c.start[v] + c.ids[c.column[v], j]
            power, piece = c.power[x], c.hash[x]
        else:
            e = R + (j - lo if j < lo else j - hi + 1)
            power, piece = p.edge_power[v, e], p.edge_hash[v, e]
        if power == np.uint64(0):
            return False, h
        h = h * power + piece
    return True, h * p.tail_power[t] + p.tail_hash[t]


@part
def _memo_starts(p: Program, c: Cells) -> tuple[np.ndarray, int]:
    """Templates of one cell get the same attribute for the same type, and for the same distance outside: where
    each remembers them (-1: a template of several cells), and how many places there are."""
    T = p.macro.size - 1
    starts = np.full(T, -1, np.int64)
    total = 0
    for t in range(T):
        m = p.macro[t]
        if p.macro[t + 1] - m == 1 and p.anchor[m] == HERE:
            starts[t] = total
            total += c.start[p.sight[m] + 1] - c.start[p.sight[m]] + p.edge_hash.shape[1]
    return starts, total


@inline
def _number(
    p: Program, c: Cells, t: int, i: int, lo: int, hi: int,
    keys: np.ndarray, numbers: np.ndarray, A: int, grow: bool, first: np.ndarray,
) -> int:
    """The number of the attribute that template t makes at token i; with `grow` an unknown one gets A."""
    fires, h = _template_hash(p, c, t, i, lo, hi)
    if not fires:
        return ABSENT
    if not grow:
        return find(keys, numbers, mixed(h))
    a = find_or_add(keys, numbers, mixed(h), A)
    if first[a] < 0:
        first[a] = i * (p.macro.size - 1) + t
    return a


@part
def _encode_chunk(
    p: Program, c: Cells, offset: np.ndarray, s0: int, s1: int, starts: np.ndarray, memo: np.ndarray,
    keys: np.ndarray, numbers: np.ndarray, A: int, grow: bool, first: np.ndarray, out: np.ndarray,
) -> int:
    """The attributes of the sentences s0..s1 into out i32[tokens, T] (ABSENT where there is none); the new A.

    Template by template, so that what belongs to one stays in registers."""
    base = offset[s0]
    R = p.edge_hash.shape[1] // 2
    for t in range(p.macro.size - 1):
        m = p.macro[t]
        start, row, beyond = starts[t], 0, np.int64(0)
        ids = c.ids[0]
        if start >= 0:
            v = p.sight[m]
            row = p.row[m]
            ids = c.ids[c.column[v]]
            beyond = start + c.start[v + 1] - c.start[v] + R
        for s in range(s0, s1):
            lo, hi = offset[s], offset[s + 1]
            for i in range(lo, min(hi, lo + p.skip)):
                out[i - base, t] = ABSENT
            for i in range(lo + p.skip, hi):
                a = UNKNOWN
                place = np.int64(0)
                if start >= 0:
                    j = i + row
                    if j < lo:
                        place = beyond + j - lo
                    elif j >= hi:
                        place = beyond + j - hi + 1
                    else:
                        place = start + ids[j]
                    a = memo[place]
                if a == UNKNOWN:
                    a = _number(p, c, t, i, lo, hi, keys, numbers, A, grow, first)
                    if a == A:
                        A += 1
                    if start >= 0:
                        memo[place] = a
                out[i - base, t] = a
    return A


@inline
def _end_of_chunk(offset: np.ndarray, s0: int) -> int:
    """The sentence after the chunk of about CHUNK tokens that begins with s0."""
    s1 = s0 + 1
    while s1 < offset.size - 1 and offset[s1 + 1] - offset[s0] <= CHUNK:
        s1 += 1
    return s1


@kernel
def encode(p: Program, c: Cells, offset: np.ndarray, alphabet: Alphabet, grow: bool) -> tuple:
    """(ptr i64[N+1], att i32[z], keys, numbers, first i64[A]): the attributes of each token, and the
    alphabet, which has new ones with `grow`. `first` tells where an attribute was made first (token * T +
    template; -1: it was there before)."""
    T = p.macro.size - 1
    N = offset[-1]
    ptr = np.empty(N + 1, np.int64)
    att = np.empty(N * T, np.int32)
    starts, total = _memo_starts(p, c)
    memo = np.full(total, UNKNOWN, np.int32)
    keys, numbers, A = alphabet.keys, alphabet.numbers, alphabet.size
    first = np.full(max(1024, A * 2) if grow else 0, -1, np.int64)
    chunk = np.empty((CHUNK, T), np.int32)
    z = 0
    ptr[0] = 0
    s0 = 0
    while s0 < offset.size - 1:
        s1 = _end_of_chunk(offset, s0)
        base, n = offset[s0], offset[s1] - offset[s0]
        if n > chunk.shape[0]:
            chunk = np.empty((n, T), np.int32)
        if grow:  # make room for the worst case here: arrays that change inside the loop slow it down 4x
            while (A + n * T) * 2 > keys.size:
                keys, numbers = grown(keys, numbers)
            while A + n * T > first.size:
                first = np.concatenate((first, np.full(first.size, -1, np.int64)))
        A = _encode_chunk(p, c, offset, s0, s1, starts, memo, keys, numbers, A, grow, first, chunk)
        for i in range(n):
            for t in range(T):
                a = chunk[i, t]
                if a >= 0:
                    att[z] = a
                    z += 1
            ptr[base + i + 1] = z
        s0 = s1
    return ptr, att[:z], keys, numbers, first[:A] if grow else first


@kernel
def keep_attributes(ptr: np.ndarray, att: np.ndarray, val: np.ndarray, new: np.ndarray) -> int:
    """Renumber the attributes of a corpus in place and drop those whose new number is ABSENT; new z."""
    z = 0
    lo = ptr[0]
    for i in range(ptr.size - 1):
        hi = ptr[i + 1]
        for k in range(lo, hi):
            a = new[att[k]]
            if a != ABSENT:
                att[z] = a
                if val.size > 0:
                    val[z] = val[k]
                z += 1
        lo = hi
        ptr[i + 1] = z
    return z
