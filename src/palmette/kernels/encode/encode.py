"""Templates evaluated with integers: tokens in, attribute numbers out.

A template is literal pieces and cells in turn; its key is the composed hash of the string that CRF++
would build. `Program` is a template set compiled to arrays, `Cells` the hashes of the distinct cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import mixed
from palmette.kernels.core.table import ABSENT, find, find_or_add, grown
from palmette.kernels.core.vector import fetch_early

HERE, FIRST, LAST = 0, 1, 2  # what a macro's row counts from
UNKNOWN = -2
CHUNK = 1024  # tokens that are encoded together
QUICK = 3  # cells that a template may have for the short way
NOWHERE = 1 << 60
MEMO = 1 << 17  # combinations of cells that a template may remember


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


class FeatureIndex(NamedTuple):
    """Attribute key -> number. A locked one only finds."""

    keys: np.ndarray  # u64[size]
    numbers: np.ndarray  # i32[size]
    size: int


@part
def _memo_plan(p: Program, c: Cells) -> tuple[np.ndarray, np.ndarray, int]:
    """A template gets the same attribute for the same cells. One whose combinations of cells are few (a single cell,
    two or three parts of speech) remembers them: memo start i64[T] (-1: too many), factor i64[M] of each macro's cell
    in the place, and how many places there are. A cell outside of the sentence is a type more for each distance."""
    T = p.macro.size - 1
    starts = np.full(T, -1, np.int64)
    factors = np.zeros(p.row.size, np.int64)
    total = 0
    for t in range(T):
        size = 1
        for m in range(p.macro[t], p.macro[t + 1]):
            factors[m] = size
            size *= c.start[p.sight[m] + 1] - c.start[p.sight[m]] + p.edge_hash.shape[1]
            if size > MEMO:
                break
        if size <= MEMO or p.macro[t + 1] - p.macro[t] == 1:
            starts[t] = total
            total += size
    return starts, factors, total


@inline
def _memo_place(
    own: int, m0: int, m1: int, i: int, lo: int, hi: int, R: int, factors: np.ndarray, row: np.ndarray,
    anchor: np.ndarray, sight: np.ndarray, ids: np.ndarray, column: np.ndarray, start: np.ndarray,
) -> int:  # fmt: skip
    """Where the template that owns the places from `own` remembers its cells at token i."""
    place = own
    for m in range(m0, m1):
        j = row[m] + (i if anchor[m] == HERE else lo if anchor[m] == FIRST else hi - 1)
        v = sight[m]
        if lo <= j < hi:
            place += factors[m] * ids[column[v], j]
        else:
            place += factors[m] * (start[v + 1] - start[v] + R + (j - lo if j < lo else j - hi + 1))
    return place


@inline
def _spelled(
    m0: int, m1: int, i: int, lo: int, hi: int, row: np.ndarray, anchor: np.ndarray, sight: np.ndarray,
    before_hash: np.ndarray, before_power: np.ndarray, edge_hash: np.ndarray, edge_power: np.ndarray, ids: np.ndarray,
    column: np.ndarray, start: np.ndarray, hash: np.ndarray, power: np.ndarray,
) -> tuple[bool, np.uint64]:  # fmt: skip
    """The hash of what the macros m0..m1 and the literals before them spell at token i of the sentence lo..hi; False
    where one of them is absent."""
    h = np.uint64(0)
    R = edge_hash.shape[1] // 2
    for m in range(m0, m1):
        h = h * before_power[m] + before_hash[m]
        j = row[m] + (i if anchor[m] == HERE else lo if anchor[m] == FIRST else hi - 1)
        v = sight[m]
        if lo <= j < hi:
            x = start[v] + ids[column[v], j]
            factor, piece = power[x], hash[x]
        else:
            e = R + (j - lo if j < lo else j - hi + 1)
            factor, piece = edge_power[v, e], edge_hash[v, e]
        if factor == np.uint64(0):
            return False, h
        h = h * factor + piece
    return True, h


@inline
def _reach(m0: int, m1: int, row: np.ndarray, anchor: np.ndarray) -> tuple[int, int]:
    """How many tokens the macros look back and ahead; a macro that counts from an edge may look anywhere."""
    back, ahead = 0, 0
    for m in range(m0, m1):
        far = NOWHERE if anchor[m] != HERE else 0
        back, ahead = max(back, far, -row[m]), max(ahead, far, row[m])
    return back, ahead


@inline
def _quick_cell(
    quick: bool, m: int, m1: int, row: np.ndarray, sight: np.ndarray, column: np.ndarray, ids: np.ndarray,
    factors: np.ndarray,
) -> tuple[np.ndarray, np.int64, np.int64]:  # fmt: skip
    """The column, distance and factor of macro m; nothing for one that the template does not have."""
    if quick and m < m1:
        return ids[column[sight[m]]], np.int64(row[m]), factors[m]
    return ids[0], np.int64(0), np.int64(0)


@part
def _look_up(
    t: int, T: int, base: int, spelled: np.ndarray, waiting: np.ndarray, places: np.ndarray, n: int, keys: np.ndarray,
    numbers: np.ndarray, A: int, grow: bool, first: np.ndarray, memo: np.ndarray, out: np.ndarray,
) -> int:  # fmt: skip
    """Attributes for the n hashes of template t, which were asked for while they were computed; the new A."""
    for k in range(n):
        i = waiting[k]
        a = find_or_add(keys, numbers, spelled[k], A) if grow else find(keys, numbers, spelled[k])
        if a == A and grow:
            first[a] = (base + i) * T + t
            A += 1
        out[i, t] = a
        if places[k] >= 0:
            memo[places[k]] = a
    return A


@part
def _encode_chunk(
    macro: np.ndarray, row: np.ndarray, anchor: np.ndarray, sight: np.ndarray, before_hash: np.ndarray,
    before_power: np.ndarray, tail_hash: np.ndarray, tail_power: np.ndarray, edge_hash: np.ndarray,
    edge_power: np.ndarray, skip: int, ids: np.ndarray, column: np.ndarray, start: np.ndarray, hash: np.ndarray,
    power: np.ndarray, offset: np.ndarray, s0: int, s1: int, memo_start: np.ndarray, factors: np.ndarray,
    memo: np.ndarray, keys: np.ndarray, numbers: np.ndarray, A: int, grow: bool, first: np.ndarray, out: np.ndarray,
    spelled: np.ndarray, waiting: np.ndarray, places: np.ndarray,
) -> int:  # fmt: skip
    """The attributes of the sentences s0..s1 into out i32[tokens, T] (ABSENT where there is none); the new A.

    Template by template, so that what belongs to one stays in registers; the keys that no memo knows are looked up
    together, when the memory has had time to bring their places. The arrays of Program and Cells come one by one:
    taken out of a tuple inside the loop, each would be counted as a reference each time, and it runs 4x slower.
    """
    base = offset[s0]
    R = edge_hash.shape[1] // 2
    T = macro.size - 1
    mask = np.uint64(keys.size - 1)
    table = keys.reshape(keys.size, 1)
    for t in range(T):
        own, m0, m1 = memo_start[t], macro[t], macro[t + 1]
        back, ahead = _reach(m0, m1, row, anchor)
        # Up to three cells within the sentence: most tokens of most templates. A missing one counts nothing.
        quick = own >= 0 and 1 <= m1 - m0 <= QUICK
        ca, ra, fa = _quick_cell(quick, m0, m1, row, sight, column, ids, factors)
        cb, rb, fb = _quick_cell(quick, m0 + 1, m1, row, sight, column, ids, factors)
        cc, rc, fc = _quick_cell(quick, m0 + 2, m1, row, sight, column, ids, factors)
        n = 0
        for s in range(s0, s1):
            lo, hi = offset[s], offset[s + 1]
            for i in range(lo, min(hi, lo + skip)):
                out[i - base, t] = ABSENT
            for i in range(lo + skip, hi):
                a = UNKNOWN
                place = np.int64(-1)
                if quick and i - lo >= back and hi - i > ahead:
                    place = own + fa * ca[i + ra] + fb * cb[i + rb] + fc * cc[i + rc]
                    a = memo[place]
                elif own >= 0:
                    place = _memo_place(own, m0, m1, i, lo, hi, R, factors, row, anchor, sight, ids, column, start)
                    a = memo[place]
                if a == UNKNOWN:
                    fires, h = _spelled(
                        m0, m1, i, lo, hi, row, anchor, sight, before_hash, before_power,
                        edge_hash, edge_power, ids, column, start, hash, power,
                    )  # fmt: skip
                    a = ABSENT
                    if fires:
                        h = mixed(h * tail_power[t] + tail_hash[t])
                        fetch_early(table, np.int64(h & mask))
                        spelled[n], waiting[n], places[n] = h, i - base, place
                        n += 1
                    elif own >= 0:
                        memo[place] = a
                out[i - base, t] = a
        A = _look_up(t, T, base, spelled, waiting, places, n, keys, numbers, A, grow, first, memo, out)
    return A


@inline
def _end_of_chunk(offset: np.ndarray, s0: int) -> int:
    """The sentence after the chunk of about CHUNK tokens that begins with s0."""
    s1 = s0 + 1
    while s1 < offset.size - 1 and offset[s1 + 1] - offset[s0] <= CHUNK:
        s1 += 1
    return s1


@kernel
def encode(p: Program, c: Cells, offset: np.ndarray, alphabet: FeatureIndex, grow: bool) -> tuple:
    """(ptr i64[N+1], att i32[z], keys, numbers, first i64[A]): the attributes of each token, and the
    alphabet, which has new ones with `grow`. `first` tells where an attribute was made first (token * T +
    template; -1: it was there before)."""
    T = p.macro.size - 1
    N = offset[-1]
    ptr = np.empty(N + 1, np.int64)
    att = np.empty(N * T + 1, np.int32)  # one more: an absent attribute is written and then written over
    starts, factors, total = _memo_plan(p, c)
    memo = np.full(total, UNKNOWN, np.int32)
    keys, numbers, A = alphabet.keys, alphabet.numbers, alphabet.size
    first = np.full(max(1024, A * 2) if grow else 0, -1, np.int64)
    chunk = np.empty((CHUNK, T), np.int32)
    spelled, waiting, places = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    z = 0
    ptr[0] = 0
    s0 = 0
    while s0 < offset.size - 1:
        s1 = _end_of_chunk(offset, s0)
        base, n = offset[s0], offset[s1] - offset[s0]
        if n > chunk.shape[0]:
            chunk = np.empty((n, T), np.int32)
            spelled, waiting, places = np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.int64)
        if grow:  # make room for the worst case here: arrays that change inside the loop slow it down 4x
            while (A + n * T) * 2 > keys.size:
                keys, numbers = grown(keys, numbers)
            while A + n * T > first.size:
                first = np.concatenate((first, np.full(first.size, -1, np.int64)))
        A = _encode_chunk(
            p.macro, p.row, p.anchor, p.sight, p.before_hash, p.before_power, p.tail_hash, p.tail_power, p.edge_hash,
            p.edge_power, p.skip, c.ids, c.column, c.start, c.hash, c.power, offset, s0, s1, starts, factors, memo,
            keys, numbers, A, grow, first, chunk, spelled, waiting, places,
        )  # fmt: skip
        for i in range(n):
            for t in range(T):
                att[z] = chunk[i, t]
                z += chunk[i, t] >= 0
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
