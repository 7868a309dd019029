"""Templates of two cells with too many combinations for a memo, such as pairs of words: what each type adds to a key is
computed once, so that a key takes one multiplication."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.hashing import mixed
from palmette.kernels.core.index import FeatureIndex, fetch_early
from palmette.kernels.core.table import ABSENT
from palmette.kernels.core.types import I64, U64
from palmette.kernels.encode.forms import HERE, Cells, Chunk, Memo, Program, Range


class Pairs(NamedTuple):
    """What the cells of templates of two cells add to a key, for those that are not memoised (pairs of words). The key
    of a template with the cells a, b is hash(a) * power(b) + hash(b): a counts from first[m], b from first[m + 1]. Each
    distance outside the sentence counts as one more type."""

    first: I64  # [M]     the first place of a macro, -1: it is not of such a template
    hash: U64  # [places]  with the literals beside the cell
    power: U64  # [places]  0 where the atom is absent


@part
def make_pairs(p: Program, c: Cells, memo: Memo) -> Pairs:
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
def compose_pairs(p: Program, c: Cells, text: Range, t: int, pairs: Pairs, x: FeatureIndex, r: Chunk) -> int:
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
