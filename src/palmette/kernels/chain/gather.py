"""From tokens to attributes: the tokens of each attribute, and the sums of their tables.

Threads work on disjoint attributes, so that the result is the same for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, FeatureWeights
from palmette.kernels.chain.score import gather_for
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F32_2D, F64_2D, struct
from palmette.kernels.core.vector import add_run, fetch_early
from palmette.kernels.core.vector_sums import sum_listed

AHEAD = 16  # tables that are prefetched: they are scattered over the memory


@kernel
def inverted(x: Active, n_attributes: int, first: int, last: int) -> Active:
    """The tokens of each attribute among the tokens first..last, in their order and counted from the first one: `ptr`
    by attribute, `att` the tokens."""
    ptr = np.zeros(n_attributes + 1, np.int64)
    for k in range(x.ptr[first], x.ptr[last]):
        ptr[x.att[k] + 1] += 1
    for a in range(n_attributes):
        ptr[a + 1] += ptr[a]
    at = ptr[:-1].copy()
    tokens = np.empty(ptr[n_attributes], np.int32)
    val = np.empty(ptr[n_attributes] if x.val.size > 0 else 0, np.float32)
    for i in range(first, last):
        for k in range(x.ptr[i], x.ptr[i + 1]):
            place = at[x.att[k]]
            tokens[place] = i - first
            if val.size > 0:
                val[place] = x.val[k]
            at[x.att[k]] = place + 1
    return Active(ptr, tokens, val)


@struct
class Rows(NamedTuple):
    """The target of sums: G = factor * base + sums."""

    G: F64_2D  # [rows, width]
    base: F64_2D  # [rows, width], may be G itself
    factor: float


@part
def _gather_ones(out: Rows, slot: np.ndarray, of: Active, M: np.ndarray, first: int, last: int) -> None:
    """Dense rows, all values 1. Most attributes occur once or twice; of the others AHEAD tables at a time."""
    G, base, factor, ptr, tokens = out.G, out.base, out.factor, of.ptr, of.att
    asked, stop = ptr[first], ptr[last]
    for a in range(first, last):
        row, k, end = np.int64(slot[a]), ptr[a], ptr[a + 1]
        now = min(k + AHEAD, end)
        while asked < min(now + AHEAD, stop):
            fetch_early(M, np.int64(tokens[asked]))
            asked += 1
        sum_listed(G, row, base, factor, M, tokens, k, now)
        while now < end:
            k, now = now, min(now + AHEAD, end)
            while asked < min(now + AHEAD, stop):
                fetch_early(M, np.int64(tokens[asked]))
                asked += 1
            sum_listed(G, row, G, 1.0, M, tokens, k, now)


@part
def _gather_seen(
    G: np.ndarray, r: FeatureWeights, m: Chain, arity: int, of: Active, M: np.ndarray, first: int, last: int
) -> None:
    """Blocks of seen combinations, which are runs of adjacent states in a table."""
    out, tables, width = G.reshape(-1), M.reshape(-1), np.int64(M.shape[1])
    ptr, tokens, val, begins, combo = of.ptr, of.att, of.val, r.first, r.combo
    place, block, states_per_label = gather_for(m, r, arity).place, np.int64(G.shape[1]), np.int64(m.states_per_label)
    H, W = m.label_of.size, m.bias.size
    for a in range(first, last):
        for k in range(ptr[a], ptr[a + 1]):
            v = float(val[k]) if val.size > 0 else 1.0
            table = tokens[k] * width
            for p in range(begins[a], begins[a + 1]):
                at = table + place[combo[p]]
                for run in range(block // states_per_label):
                    before, previous = run // states_per_label, run % states_per_label
                    begin = p * block + run * states_per_label
                    add_run(out, begin, tables, at + (before * H + previous) * W, states_per_label, v)


@kernel
def gather(out: Rows, r: FeatureWeights, m: Chain, arity: int, of: Active, M: F32_2D, first: int, last: int) -> None:
    """Sum the tables M f32[tokens, width] of the tokens of the attributes first..last into their rows. `of` is the
    result of `inverted`."""
    G, base, factor = out.G, out.base, out.factor
    ptr, tokens, val, slot = of.ptr, of.att, of.val, r.slot
    if r.first.size > 0:
        for p in range(r.first[first], r.first[last]):
            sum_listed(G, np.int64(p), base, factor, M, tokens, 0, 0)
        _gather_seen(G, r, m, arity, of, M, first, last)
    elif val.size == 0:
        _gather_ones(out, slot, of, M, first, last)
    else:
        flat, tables, width = G.reshape(-1), M.reshape(-1), np.int64(M.shape[1])
        for a in range(first, last):
            row = np.int64(slot[a])
            sum_listed(G, row, base, factor, M, tokens, 0, 0)
            for k in range(ptr[a], ptr[a + 1]):
                add_run(flat, row * width, tables, tokens[k] * width, width, float(val[k]))
