"""From tokens to attributes: the tokens of each attribute, and the sums of their tables.

Threads work on disjoint attributes, so that the result is the same for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, FeatureWeights
from palmette.kernels.chain.score import gather_for
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.prefetch import fetch_row
from palmette.kernels.core.types import F32, F32_2D, I32, I64, struct
from palmette.kernels.core.vector import add_run
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


@kernel
def seen_labels(of: Active, known: I32, n_labels: int, least: int) -> tuple[I64, I32]:
    """The labels that at least `least` tokens of each attribute have: (places i64[A+1], labels i32[places], ascending
    for each attribute). Tokens whose label is not fully known are left out. `of` is the result of `inverted` for all
    tokens."""
    n_attributes = of.ptr.size - 1
    first, owner = np.zeros(n_attributes + 1, np.int64), np.full(n_labels, -1, np.int64)
    count = np.zeros(n_labels, np.int64)
    for a in range(n_attributes):
        first[a + 1] = first[a]
        for k in range(of.ptr[a], of.ptr[a + 1]):
            label = known[of.att[k]]
            if label < n_labels:
                count[label] = 1 if owner[label] != a else count[label] + 1
                owner[label] = a
                first[a + 1] += 1 if count[label] == least else 0
    labels = np.empty(first[n_attributes], np.int32)
    owner[:] = -1
    for a in range(n_attributes):
        size = 0
        for k in range(of.ptr[a], of.ptr[a + 1]):
            label = known[of.att[k]]
            if label < n_labels:
                count[label] = 1 if owner[label] != a else count[label] + 1
                owner[label] = a
                if count[label] == least:
                    at = first[a] + size
                    while at > first[a] and labels[at - 1] > label:
                        labels[at] = labels[at - 1]
                        at -= 1
                    labels[at] = label
                    size += 1
    return first, labels


@struct
class Columns(NamedTuple):
    """Where the weights of attributes of one arity are in the vector of an optimiser, which has no padding. Either all
    numbers of a row (or block), or those that are listed."""

    start: int  # place of the first weight
    states: int  # H: numbers of a row of states, without padding
    ptr: I64  # [A+1] places of each attribute, counted from `start`; of size 0: all numbers
    column: I32  # [places] the number within the row, or within the blocks, of the attribute


@struct
class GatherTarget(NamedTuple):
    """gradient = factor * weights + sums, at the places of `Columns`; with `more`, gradient += sums."""

    gradient: F32
    weights: F32
    factor: float
    more: bool


@inline
def _finish_listed(out: GatherTarget, c: Columns, a: int, total: np.ndarray) -> None:
    gradient, column, start = out.gradient, c.column, c.start
    base, factor = (gradient, 1.0) if out.more else (out.weights, out.factor)
    for p in range(c.ptr[a], c.ptr[a + 1]):
        at = start + p
        gradient[at] = np.float32(factor * np.float64(base[at]) + total[column[p]])


@inline
def _finish_run(out: GatherTarget, at: int, total: np.ndarray, begin: int, size: int) -> None:
    gradient, sums = out.gradient[at : at + size], total[begin : begin + size]
    base, factor = (gradient, 1.0) if out.more else (out.weights[at : at + size], out.factor)
    for k in range(size):
        gradient[k] = np.float32(factor * np.float64(base[k]) + sums[k])


@inline
def _finish_row(out: GatherTarget, c: Columns, a: int, total: np.ndarray, stride: int) -> None:
    """Write the gradient of an attribute with a dense row."""
    if c.ptr.size > 0:
        _finish_listed(out, c, a, total)
        return
    contexts, H = total.size // stride, c.states
    for context in range(contexts):
        _finish_run(out, c.start + (a * contexts + context) * H, total, context * stride, H)


@part
def _gather_ones(out: GatherTarget, c: Columns, W: int, of: Active, M: np.ndarray, first: int, last: int) -> None:
    """Dense rows, all values 1. Most attributes occur once or twice; of the others AHEAD tables at a time."""
    sums, zeros = np.zeros((1, M.shape[1])), np.zeros((1, M.shape[1]))
    total, ptr, tokens = sums.reshape(-1), of.ptr, of.att
    asked, stop = ptr[first], ptr[last]
    for a in range(first, last):
        k, end = ptr[a], ptr[a + 1]
        if k == end and out.more:
            continue
        now = min(k + AHEAD, end)
        while asked < min(now + AHEAD, stop):
            fetch_row(M, np.int64(tokens[asked]))
            asked += 1
        sum_listed(sums, np.int64(0), zeros, 0.0, M, tokens, k, now)
        while now < end:
            k, now = now, min(now + AHEAD, end)
            while asked < min(now + AHEAD, stop):
                fetch_row(M, np.int64(tokens[asked]))
                asked += 1
            sum_listed(sums, np.int64(0), sums, 1.0, M, tokens, k, now)
        _finish_row(out, c, a, total, W)


@part
def _gather_valued(out: GatherTarget, c: Columns, W: int, of: Active, M: np.ndarray, first: int, last: int) -> None:
    """Dense rows, values of any size."""
    total, tables, width = np.zeros(M.shape[1]), M.reshape(-1), np.int64(M.shape[1])
    ptr, tokens, val = of.ptr, of.att, of.val
    for a in range(first, last):
        if ptr[a] == ptr[a + 1] and out.more:
            continue
        total[:] = 0.0
        for k in range(ptr[a], ptr[a + 1]):
            add_run(total, np.int64(0), tables, tokens[k] * width, width, np.float64(val[k]))
        _finish_row(out, c, a, total, W)


@part
def _gather_seen(
    out: GatherTarget, c: Columns, r: FeatureWeights, m: Chain, arity: int, of: Active, M: np.ndarray, first: int,
    last: int,
) -> None:  # fmt: skip
    """Blocks of seen combinations, which are runs of adjacent states in a table."""
    tables, width = M.reshape(-1), np.int64(M.shape[1])
    ptr, tokens, val, begins, combo = of.ptr, of.att, of.val, r.first, r.combo
    place, block, states_per_label = gather_for(m, r, arity).place, np.int64(r.w.shape[1]), np.int64(m.states_per_label)
    H, W = m.label_of.size, m.bias.size
    most = np.int64(0)
    for a in range(first, last):
        most = max(most, begins[a + 1] - begins[a])
    total = np.zeros(most * block)
    for a in range(first, last):
        if ptr[a] == ptr[a + 1] and out.more:
            continue
        total[:] = 0.0
        for k in range(ptr[a], ptr[a + 1]):
            v = np.float64(val[k]) if val.size > 0 else 1.0
            table = tokens[k] * width
            for p in range(begins[a], begins[a + 1]):
                at = table + place[combo[p]]
                for run in range(block // states_per_label):
                    before, previous = run // states_per_label, run % states_per_label
                    begin = (p - begins[a]) * block + run * states_per_label
                    add_run(total, begin, tables, at + (before * H + previous) * W, states_per_label, v)
        if c.ptr.size > 0:
            _finish_listed(out, c, a, total)
        else:
            _finish_run(out, c.start + begins[a] * block, total, 0, (begins[a + 1] - begins[a]) * block)


@kernel
def gather(
    out: GatherTarget, c: Columns, r: FeatureWeights, m: Chain, arity: int, of: Active, M: F32_2D, first: int, last: int
) -> None:
    """Sum the tables M f32[tokens, width] of the tokens of the attributes first..last. `of` is the result of
    `inverted`; rows of dense weights are in the order of their attributes."""
    if r.first.size > 0:
        _gather_seen(out, c, r, m, arity, of, M, first, last)
    elif of.val.size == 0:
        _gather_ones(out, c, m.bias.size, of, M, first, last)
    else:
        _gather_valued(out, c, m.bias.size, of, M, first, last)


@kernel
def fill_rows(vector: F32, c: Columns, w: F32_2D, stride: int, first: int, last: int) -> None:
    """Copy the weights of the attributes first..last from the vector, which has all of them, to their dense rows: row
    a + 1 for attribute a, as row 0 stays zero."""
    contexts, H = w.shape[1] // stride, c.states
    for a in range(first, last):
        row = w[a + 1]
        for context in range(contexts):
            at = c.start + (a * contexts + context) * H
            source, target = vector[at : at + H], row[context * stride : context * stride + H]
            for h in range(H):
                target[h] = source[h]
