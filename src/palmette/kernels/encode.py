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
    """Templates of one cell get the same attribute for the same type: a place for each to remember it."""
    T = p.macro.size - 1
    starts = np.full(T, -1, np.int64)
    total = 0
    for t in range(T):
        m = p.macro[t]
        if p.macro[t + 1] - m == 1 and p.anchor[m] == HERE:
            starts[t] = total
            total += c.start[p.sight[m] + 1] - c.start[p.sight[m]]
    return starts, total


@inline
def _encode_token(
    p: Program,
    c: Cells,
    i: int,
    lo: int,
    hi: int,
    starts: np.ndarray,
    memo: np.ndarray,
    keys: np.ndarray,
    numbers: np.ndarray,
    A: int,
    grow: bool,
    first: np.ndarray,
    out: np.ndarray,
) -> tuple[int, int]:
    """The attributes of token i into `out`: (how many, A). With `grow` an unknown one gets the number A."""
    T = p.macro.size - 1
    z = 0
    for t in range(T):
        place = -1
        a = UNKNOWN
        if starts[t] >= 0:
            j = i + p.row[p.macro[t]]
            if lo <= j < hi:
                place = starts[t] + c.ids[c.column[p.sight[p.macro[t]]], j]
                a = memo[place]
        if a == UNKNOWN:
            fires, h = _template_hash(p, c, t, i, lo, hi)
            a = ABSENT
            if fires:
                if grow:
                    a = find_or_add(keys, numbers, mixed(h), A)
                    if a == A:
                        first[a] = i * T + t
                        A += 1
                else:
                    a = find(keys, numbers, mixed(h))
            if place >= 0:
                memo[place] = a
        if a >= 0:
            out[z] = a
            z += 1
    return z, A


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
    z = 0
    ptr[0] = 0
    for s in range(offset.size - 1):
        lo, hi = offset[s], offset[s + 1]
        if grow:  # make room for the worst case here: arrays that change inside the loop slow it down 4x
            while (A + (hi - lo) * T) * 2 > keys.size:
                keys, numbers = grown(keys, numbers)
            while A + (hi - lo) * T > first.size:
                first = np.concatenate((first, np.full(first.size, -1, np.int64)))
        for i in range(lo, hi):
            if i - lo >= p.skip:
                more, A = _encode_token(p, c, i, lo, hi, starts, memo, keys, numbers, A, grow, first, att[z : z + T])
                z += more
            ptr[i + 1] = z
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
