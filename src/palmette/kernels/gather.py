"""From tokens to attributes: the tokens that an attribute occurs at, and the sums of their tables.

Attribute by attribute nothing is shared between threads, and the result is the same for any number of them.
"""

from __future__ import annotations

import numpy as np

from .compile import kernel
from .forms import Active, Chain, Rows
from .score import gather_for
from .vector import add_run


@kernel
def inverted(x: Active, n_attributes: int) -> Active:
    """The tokens of each attribute, in their order: `ptr` by attribute, `att` the tokens."""
    ptr = np.zeros(n_attributes + 1, np.int64)
    for k in range(x.att.size):
        ptr[x.att[k] + 1] += 1
    for a in range(n_attributes):
        ptr[a + 1] += ptr[a]
    at = ptr[:-1].copy()
    tokens = np.empty(x.att.size, np.int32)
    val = np.empty(x.val.size, np.float32)
    for i in range(x.ptr.size - 1):
        for k in range(x.ptr[i], x.ptr[i + 1]):
            place = at[x.att[k]]
            tokens[place] = i
            if val.size > 0:
                val[place] = x.val[k]
            at[x.att[k]] = place + 1
    return Active(ptr, tokens, val)


@kernel
def gather(G: np.ndarray, r: Rows, m: Chain, order: int, of: Active, M: np.ndarray, first: int, last: int) -> None:
    """G f64[rows, width] += the tables M[token] of the tokens of the attributes first..last."""
    out, tables, width = G.reshape(-1), M.reshape(-1), np.int64(M.shape[1])
    ptr, tokens, val, slot = of.ptr, of.att, of.val, r.slot
    if r.first.size == 0:
        for a in range(first, last):
            row = np.int64(slot[a]) * width
            for k in range(ptr[a], ptr[a + 1]):
                v = float(val[k]) if val.size > 0 else 1.0
                add_run(out, row, tables, tokens[k] * width, width, v)
        return
    place, block, per = gather_for(m, r, order).place, np.int64(G.shape[1]), np.int64(m.per)
    H, W = m.label_of.size, m.bias.size
    for a in range(first, last):
        for k in range(ptr[a], ptr[a + 1]):
            v = float(val[k]) if val.size > 0 else 1.0
            table = tokens[k] * width
            for p in range(r.first[a], r.first[a + 1]):
                at = table + place[r.combo[p]]
                for run in range(block // per):
                    before, previous = run // per, run % per
                    add_run(out, p * block + run * per, tables, at + (before * H + previous) * W, per, v)
