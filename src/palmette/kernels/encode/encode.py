"""Evaluation of templates on integers: from tokens to attribute numbers.

A template alternates literals and cells; its key is the composed hash of the string that CRF++
would build. Templates of two words are encoded separately (`Pairs`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import (
    ABSENT,
    FeatureIndex,
    bucket_of,
    fetch_early,
    find,
    find_or_add,
    find_sorted,
    grown,
    mixed,
)
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import F32, I32, I32_2D, I64, U8, U64, U64_2D, Bytes, struct

HERE, FIRST, LAST = 0, 1, 2  # the token that a macro's row is relative to
UNKNOWN = -2  # an attribute that has not been looked up


@struct
class Program(NamedTuple):
    """T templates of one order, M macros, R the largest distance past an edge."""

    macro: I32  # [T+1]   macros of template t: macro[t]..macro[t+1]
    row: I32  # [M]       which token
    anchor: I32  # [M]    HERE, FIRST or LAST
    sight: I32  # [M]     which view of a column (a row of Cells.column)
    before_hash: U64  # [M] the literal before the macro
    before_power: U64  # [M]
    tail_hash: U64  # [T] the literal after the last macro
    tail_power: U64  # [T]
    edge_hash: U64_2D  # [V, 2R+1] cells outside the sentence, index R + distance
    edge_power: U64_2D  # [V, 2R+1]
    skip: int  # tokens of a sentence that get no attribute: 0 for labels, 1 for pairs, 2 for triples


@struct
class TemplateCells(NamedTuple):
    """V views (a column through an atom) of C columns of N tokens."""

    ids: I32_2D  # [C, N]
    column: I32  # [V]    the column of a view
    start: I64  # [V+1]   start of a view's types in hash and power
    hash: U64  # [sum of types]
    power: U64  # [sum of types]  0 where the atom is absent


class KeyMemo(NamedTuple):
    """Memoised attributes of templates. The attribute of a template is a function of its cells; a template with few
    combinations of cells (a single cell, two or three parts of speech) has a place for each of them. Each distance
    outside the sentence counts as one more type."""

    start: I64  # [T]     the first place of a template, -1: it has too many combinations
    factor: I64  # [M]    of a macro's cell in the number of the place
    attribute: I32  # [places]  UNKNOWN, ABSENT or a number


class Chunk(NamedTuple):
    """Workspace for the tokens of some sentences."""

    out: I32_2D  # [tokens, T]  attributes, ABSENT where a template does not fire
    token: I64  # [tokens]   of one template: the tokens whose attribute is not in the memo,
    sentence: I64  # [tokens]  their sentences,
    key: U64  # [tokens]     their keys
    place: I64  # [tokens]   and their places in the memo, -1: none


class TokenRange(NamedTuple):
    """Sentences first..last - 1 of a corpus."""

    offset: I64  # [S+1]
    first: int
    last: int


# Templates of two cells with too many combinations for a memo, such as pairs of words: what each type adds to a key
# is computed once, so that a key takes one multiplication.


class Pairs(NamedTuple):
    """What the cells of templates of two cells add to a key, for those that are not memoised (pairs of words). The key
    of a template with the cells a, b is hash(a) * power(b) + hash(b): a counts from first[m], b from first[m + 1]. Each
    distance outside the sentence counts as one more type."""

    first: I64  # [M]     the first place of a macro, -1: it is not of such a template
    hash: U64  # [places]  with the literals beside the cell
    power: U64  # [places]  0 where the atom is absent


@part
def make_pairs(p: Program, c: TemplateCells, memo: KeyMemo) -> Pairs:
    firsts = np.full(p.row.size, -1, np.int64)
    E = p.edge_hash.shape[1]
    total = 0
    for t in range(p.macro.size - 1):
        m = p.macro[t]
        if memo.start[t] < 0 and p.macro[t + 1] - m == 2 and p.anchor[m] == HERE and p.anchor[m + 1] == HERE:
            for k in range(m, m + 2):
                firsts[k] = total
                total += c.start[p.sight[k] + 1] - c.start[p.sight[k]] + E
    hashes, powers = np.empty(total, np.uint64), np.empty(total, np.uint64)
    for t in range(p.macro.size - 1):
        for m in range(p.macro[t], p.macro[t + 1]):
            if firsts[m] < 0:
                continue
            v = p.sight[m]
            types = c.start[v + 1] - c.start[v]
            last = m + 1 == p.macro[t + 1]
            tail_hash, tail_power = (p.tail_hash[t], p.tail_power[t]) if last else (np.uint64(0), np.uint64(1))
            for k in range(types + E):
                by = c.power[c.start[v] + k] if k < types else p.edge_power[v, k - types]
                piece = c.hash[c.start[v] + k] if k < types else p.edge_hash[v, k - types]
                hashes[firsts[m] + k] = (p.before_hash[m] * by + piece) * tail_power + tail_hash
                powers[firsts[m] + k] = p.before_power[m] * by * tail_power
    return Pairs(firsts, hashes, powers)


@inline
def _cell_at(ids: np.ndarray, j: int, lo: int, hi: int, outside: int) -> int:
    """The type of token j; `outside`: the number of the edge itself."""
    if lo <= j < hi:
        return int(ids[j])
    return outside + (j - lo if j < lo else j - hi + 1)


@part
def compose_pairs(
    p: Program, c: TemplateCells, text: TokenRange, t: int, pairs: Pairs, x: FeatureIndex, r: Chunk
) -> int:
    """Compute the keys of template t of two cells. Returns how many tokens have one; their places in the table are
    prefetched."""
    offset, base, skip, m, R = text.offset, text.offset[text.first], p.skip, p.macro[t], p.edge_hash.shape[1] // 2
    va, vb = p.sight[m], p.sight[m + 1]
    ids_a, ids_b, row_a, row_b = c.ids[c.column[va]], c.ids[c.column[vb]], np.int64(p.row[m]), np.int64(p.row[m + 1])
    edge_a, edge_b = c.start[va + 1] - c.start[va] + R, c.start[vb + 1] - c.start[vb] + R
    hash_a, power_a = pairs.hash[pairs.first[m] :], pairs.power[pairs.first[m] :]
    hash_b, power_b = pairs.hash[pairs.first[m + 1] :], pairs.power[pairs.first[m + 1] :]
    keys, buckets, bits = x.keys, x.first, x.bits
    out, token, key, places = r.out, r.token, r.key, r.place
    waiting = 0
    for s in range(text.first, text.last):
        lo, hi = offset[s], offset[s + 1]
        for i in range(lo, min(hi, lo + skip)):
            out[i - base, t] = ABSENT
        for i in range(lo + skip, hi):
            a = _cell_at(ids_a, i + row_a, lo, hi, edge_a)
            b = _cell_at(ids_b, i + row_b, lo, hi, edge_b)
            by = power_b[b]
            if power_a[a] != np.uint64(0) and by != np.uint64(0):
                h = mixed(hash_a[a] * by + hash_b[b])
                fetch_early(keys, buckets, bits, h)
                token[waiting], key[waiting], places[waiting] = i, h, -1
                waiting += 1
            else:
                out[i - base, t] = ABSENT
    return waiting


CHUNK = 1024  # tokens that are encoded together; the order in which new attributes are numbered depends on it
SMALL_CHUNK = 256  # if no attributes are numbered: what is written stays in the nearest cache
QUICK = 3  # most cells of a template for the fast path
NOWHERE = 1 << 60
AHEAD = 4  # keys whose places are prefetched
MEMO = 1 << 17  # most combinations of cells in the memo of a template


@part
def _make_memo(p: Program, c: TemplateCells) -> KeyMemo:
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
    return KeyMemo(starts, factors, np.full(total, UNKNOWN, np.int32))


@part
def _make_chunk(tokens: int, T: int) -> Chunk:
    return Chunk(
        np.empty((tokens, T), np.int32), np.empty(tokens, np.int64), np.empty(tokens, np.int64),
        np.empty(tokens, np.uint64), np.empty(tokens, np.int64),
    )  # fmt: skip


@inline
def _reach(m0: int, m1: int, row: np.ndarray, anchor: np.ndarray) -> tuple[int, int]:
    """The largest distance of the macros backward and forward; a macro relative to an edge may read any token."""
    back, ahead = 0, 0
    for m in range(m0, m1):
        far = NOWHERE if anchor[m] != HERE else 0
        back, ahead = max(back, far, -row[m]), max(ahead, far, row[m])
    return back, ahead


@inline
def _quick_cell(
    p: Program, c: TemplateCells, factor: np.ndarray, used: bool, m: int
) -> tuple[np.ndarray, np.int64, np.int64]:
    """The column, distance and factor of macro m; factor 0 if the template does not have it."""
    if used:
        return c.ids[c.column[p.sight[m]]], np.int64(p.row[m]), factor[m]
    return c.ids[0], np.int64(0), np.int64(0)


@part
def _from_memo(p: Program, c: TemplateCells, text: TokenRange, t: int, memo: KeyMemo, r: Chunk) -> int:
    """Write memoised attributes of template t to r.out, and the other tokens to r.token and r.sentence. Returns the
    number of the others.

    This is the fast path, for templates of up to three cells within the sentence: most tokens of most templates."""
    offset, base, skip = text.offset, text.offset[text.first], p.skip
    own, m0, m1, known = memo.start[t], p.macro[t], p.macro[t + 1], memo.attribute
    back, ahead = _reach(m0, m1, p.row, p.anchor)
    quick = own >= 0 and 1 <= m1 - m0 <= QUICK
    ca, ra, fa = _quick_cell(p, c, memo.factor, quick, m0)
    cb, rb, fb = _quick_cell(p, c, memo.factor, quick and m0 + 1 < m1, m0 + 1)
    cc, rc, fc = _quick_cell(p, c, memo.factor, quick and m0 + 2 < m1, m0 + 2)
    out, token, sentence = r.out, r.token, r.sentence
    n = 0
    for s in range(text.first, text.last):
        lo, hi = offset[s], offset[s + 1]
        for i in range(lo, min(hi, lo + skip)):
            out[i - base, t] = ABSENT
        begin = min(hi, lo + skip)  # tokens begin..left - 1 and right..hi - 1 see an edge
        left = min(hi, max(begin, lo + back)) if quick else hi
        right = max(left, hi - ahead)
        for i in range(begin, left):
            token[n], sentence[n] = i, s
            n += 1
        if fb == 0 and fc == 0:  # most templates have one cell
            for i in range(left, right):
                a = known[own + ca[i + ra]]
                out[i - base, t] = a
                if a == UNKNOWN:
                    token[n], sentence[n] = i, s
                    n += 1
        else:
            for i in range(left, right):
                a = known[own + fa * ca[i + ra] + fb * cb[i + rb] + fc * cc[i + rc]]
                out[i - base, t] = a
                if a == UNKNOWN:
                    token[n], sentence[n] = i, s
                    n += 1
        for i in range(right, hi):
            token[n], sentence[n] = i, s
            n += 1
    return n


@part
def _compose_keys(
    p: Program, c: TemplateCells, text: TokenRange, t: int, memo: KeyMemo, x: FeatureIndex, n: int, r: Chunk
) -> int:
    """Compute the keys of the n remaining tokens of template t, with their places in the memo. Tokens with an absent
    cell, or with memoised cells (at the edges of a sentence), are finished. Returns the number of the others, whose
    places in the table are prefetched."""
    row, anchor, sight, before_hash, before_power = p.row, p.anchor, p.sight, p.before_hash, p.before_power
    edge_hash, edge_power, ids, column, start = p.edge_hash, p.edge_power, c.ids, c.column, c.start
    hash, power, factors, known = c.hash, c.power, memo.factor, memo.attribute
    offset, base, own = text.offset, text.offset[text.first], memo.start[t]
    m0, m1, tail_hash, tail_power = p.macro[t], p.macro[t + 1], p.tail_hash[t], p.tail_power[t]
    R, keys, buckets, bits = edge_hash.shape[1] // 2, x.keys, x.first, x.bits
    out, token, sentence, key, places = r.out, r.token, r.sentence, r.key, r.place
    waiting = 0
    for k in range(n):
        i, lo, hi = token[k], offset[sentence[k]], offset[sentence[k] + 1]
        h, place, fires = np.uint64(0), own, True
        for m in range(m0, m1):
            j = row[m] + (i if anchor[m] == HERE else lo if anchor[m] == FIRST else hi - 1)
            v = sight[m]
            if lo <= j < hi:
                cell = np.int64(ids[column[v], j])
                by, piece = power[start[v] + cell], hash[start[v] + cell]
            else:
                e = R + (j - lo if j < lo else j - hi + 1)
                cell = start[v + 1] - start[v] + e
                by, piece = edge_power[v, e], edge_hash[v, e]
            place += factors[m] * cell
            fires = fires and by != np.uint64(0)
            h = (h * before_power[m] + before_hash[m]) * by + piece
        a = known[place] if own >= 0 else UNKNOWN
        if a == UNKNOWN and fires:
            h = mixed(h * tail_power + tail_hash)
            fetch_early(keys, buckets, bits, h)
            token[waiting], key[waiting], places[waiting] = i, h, place if own >= 0 else -1
            waiting += 1
            continue
        if a == UNKNOWN:
            a = ABSENT
            if own >= 0:
                known[place] = a
        out[i - base, t] = a
    return waiting


@part
def _look_up(x: FeatureIndex, first: np.ndarray, base: int, t: int, memo: KeyMemo, n: int, r: Chunk) -> int:
    """Look up the n keys of template t. Returns the new number of attributes. The index grows if `first` is not
    empty."""
    keys, numbers, A, T, grow = x.keys, x.numbers, x.size, r.out.shape[1], first.size > 0
    buckets, low, bits = x.first, x.low, x.bits
    out, token, key, places, known = r.out, r.token, r.key, r.place, memo.attribute
    for k in range(n):
        i = token[k]
        if buckets.size > 0:
            if k + AHEAD < n:
                fetch_item(low, np.int64(buckets[bucket_of(bits, key[k + AHEAD])]))
            a = find_sorted(buckets, low, bits, key[k])
        elif grow:
            a = find_or_add(keys, numbers, key[k], A)
            if a == A:
                first[a] = i * T + t
                A += 1
        else:
            a = find(keys, numbers, key[k])
        out[i - base, t] = a
        if places[k] >= 0:
            known[places[k]] = a
    return A


@part
def _encode_chunk(
    p: Program,
    c: TemplateCells,
    text: TokenRange,
    x: FeatureIndex,
    first: np.ndarray,
    memo: KeyMemo,
    pairs: Pairs,
    r: Chunk,
) -> int:
    """Write the attributes of some sentences to r.out. Returns the new number of attributes.

    Templates are processed one after the other, so that their data stays in registers; keys that are not memoised are
    looked up together. Each step takes its arrays out of the tuples once per template: inside a loop over tokens each
    access would count a reference, and the loop would be four times slower."""
    A = x.size
    for t in range(p.macro.size - 1):
        m = p.macro[t]
        if m < p.macro[t + 1] and pairs.first[m] >= 0:
            n = compose_pairs(p, c, text, t, pairs, x, r)
        else:
            n = _from_memo(p, c, text, t, memo, r)
            if n > 0:
                n = _compose_keys(p, c, text, t, memo, x, n, r)
        if n > 0:
            A = _look_up(
                FeatureIndex(x.keys, x.numbers, A, x.first, x.low, x.bits, x.rest),
                first,
                text.offset[text.first],
                t,
                memo,
                n,
                r,
            )
    return A


@inline
def _end_of_chunk(offset: np.ndarray, s0: int, size: int) -> int:
    """The sentence after the chunk of about so many tokens that begins with s0."""
    s1 = s0 + 1
    while s1 < offset.size - 1 and offset[s1 + 1] - offset[s0] <= size:
        s1 += 1
    return s1


@kernel
def encode(
    p: Program, c: TemplateCells, offset: I64, feature_index: FeatureIndex, grow: bool
) -> tuple[I64, I32, U64, I32, I64]:
    """(ptr i64[N+1], att i32[z], keys, numbers, first i64[A]): the attributes of each token, and the feature index,
    which grows with `grow` (then it is a hash table). `first`: the first occurrence of an attribute (token * T +
    template; -1: it was in the index before)."""
    T = p.macro.size - 1
    N = offset[-1]
    ptr = np.empty(N + 1, np.int64)
    att = np.empty(N * T + 1, np.int32)  # one more: an absent attribute is written and then overwritten
    memo = _make_memo(p, c)
    pairs = make_pairs(p, c, memo)
    keys, numbers, A, buckets, low, bits, rest = feature_index
    first = np.full(max(1024, A * 2) if grow else 0, -1, np.int64)
    size = CHUNK if grow else SMALL_CHUNK
    r = _make_chunk(size, T)
    z = 0
    ptr[0] = 0
    s0 = 0
    while s0 < offset.size - 1:
        s1 = _end_of_chunk(offset, s0, size)
        base, n = offset[s0], offset[s1] - offset[s0]
        if n > r.token.size:
            r = _make_chunk(n, T)
        if grow:  # enough for the worst case: replacing arrays inside the loop would make it four times slower
            while (A + n * T) * 2 > keys.size:
                keys, numbers = grown(keys, numbers)
            while A + n * T > first.size:
                first = np.concatenate((first, np.full(first.size, -1, np.int64)))
        A = _encode_chunk(
            p,
            c,
            TokenRange(offset, s0, s1),
            FeatureIndex(keys, numbers, A, buckets, low, bits, rest),
            first,
            memo,
            pairs,
            r,
        )
        chunk = r.out
        for i in range(n):
            for t in range(T):
                att[z] = chunk[i, t]
                z += chunk[i, t] >= 0
            ptr[base + i + 1] = z
        s0 = s1
    return ptr, att[:z], keys, numbers, first[:A] if grow else first


@kernel
def keep_attributes(ptr: I64, att: I32, val: F32, new: I32) -> int:
    """Renumber the attributes of a corpus in place and drop those whose new number is ABSENT. Returns the new z."""
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


# The strings of attributes, from the first occurrence of each; needed only if a model is saved with names.


class Texts(NamedTuple):
    """Byte strings one after the other, with their offsets."""

    data: Bytes  # []
    offset: I64  # [n+1]


@struct
class AttributeTexts(NamedTuple):
    """The parts of attribute strings, in the order of Program and Cells."""

    cells: Texts
    before: Texts  # literals before the macros
    tail: Texts  # literals after the last macro of each template
    edge: Texts  # cells outside of the sentence


@inline
def _put(text: Texts, k: int, out: np.ndarray, at: int) -> int:
    """Write string k at out[at], or only measure it if `out` is of size 0; the position after it."""
    size = text.offset[k + 1] - text.offset[k]
    if out.size > 0:
        start = text.offset[k]
        for i in range(size):
            out[at + i] = text.data[start + i]
    return at + size


@inline
def _spell_one(
    p: Program, c: TemplateCells, pieces: AttributeTexts, t: int, i: int, lo: int, hi: int, out: np.ndarray, at: int
) -> int:
    """Write (or only measure) the string of template t at token i of the sentence lo..hi; the position after it."""
    R = p.edge_hash.shape[1] // 2
    for m in range(p.macro[t], p.macro[t + 1]):
        at = _put(pieces.before, m, out, at)
        j = i + p.row[m]
        if p.anchor[m] == FIRST:
            j = lo + p.row[m]
        elif p.anchor[m] == LAST:
            j = hi - 1 + p.row[m]
        v = p.sight[m]
        if lo <= j < hi:
            at = _put(pieces.cells, c.start[v] + c.ids[c.column[v], j], out, at)
        else:
            e = R + (j - lo if j < lo else j - hi + 1)
            at = _put(pieces.edge, v * (2 * R + 1) + e, out, at)
    return _put(pieces.tail, t, out, at)


@kernel
def spell(p: Program, c: TemplateCells, sentences: I64, first: I64, pieces: AttributeTexts) -> tuple[U8, I64]:
    """Bytes u8[] and offsets i64[A+1] of the strings of attributes that first occur at `first` i64[A] (token * T +
    template), in a corpus with sentence offsets `sentences` i64[S+1]."""
    T = p.macro.size - 1
    offset = np.zeros(first.size + 1, np.int64)
    out = np.empty(0, np.uint8)
    for write in (False, True):
        if write:
            out = np.empty(offset[-1], np.uint8)
        s = 0
        for a in range(first.size):
            i, t = first[a] // T, first[a] % T
            while (
                sentences[s + 1] <= i
            ):  # attributes are numbered roughly by first occurrence, so that few steps are needed
                s += 1
            while sentences[s] > i:
                s -= 1
            offset[a + 1] = _spell_one(p, c, pieces, t, i, sentences[s], sentences[s + 1], out, offset[a])
    return out, offset
