"""Iterative parameter mixing: find the rows of weights that a shard has changed, and mix those of all shards.

Shards begin a pass with the same weights w at clock c and with accumulators of zero. Shard k ends it with weights w_k,
accumulators a_k and its own clock c_k = c + its examples. With shares m_k that sum to 1 and d_k = w_k - w,

    w'  =  w + sum over k of m_k * d_k
    a'  =  a + sum over k of (a_k - c_k * d_k)  +  c' * (w' - w)          c' = c + all examples

after which w' - a' / c' is the mean of all weight vectors so far: the first one, and the one that each shard had after
each of its examples. For one shard this is w_1 and a + a_1, as without shards. Rows that no shard has changed stay as
they are.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F32_2D, F64_2D, I64


@inline
def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    same = True
    for j in range(one.size):
        same = same and one[j] == other[j]
    return not same


@kernel
def changed_rows(w: F32_2D, a: F64_2D, base: F32_2D, state: F32_2D, base_state: F32_2D, used: int) -> I64:
    """The rows below `used` whose weights or state differ from those of the base, or whose accumulators are not zero;
    state and base_state of size 0: the learner has none."""
    width = w.shape[1]
    keeps_state = state.shape[0] > 0
    out = np.empty(used, np.int64)
    n = 0
    for r in range(used):
        changed = _differ(w[r], base[r])
        if not changed:
            sums = a[r]
            for j in range(width):
                if sums[j] != 0.0:
                    changed = True
                    break
        if not changed and keeps_state:
            changed = _differ(state[r], base_state[r])
        if changed:
            out[n] = r
            n += 1
    return out[:n].copy()


@kernel
def add_shard(
    w: F32_2D, rows: I64, places: I64, own: F32_2D, sums: F64_2D, share: float, clock: float, moved: F64_2D,
    total: F64_2D,
) -> None:  # fmt: skip
    """Add the changes of one shard to `moved` and `total`: its weights own[k] and accumulators sums[k] are those of
    row rows[k] of w and belong to row places[k] of both. sums of size 0: a table without accumulators."""
    has_sums = sums.shape[0] > 0
    for k in range(rows.size):
        before, after, to, into = w[rows[k]], own[k], moved[places[k]], total[places[k]]
        for j in range(before.size):
            d = np.float64(after[j]) - np.float64(before[j])
            to[j] += share * d
            if has_sums:
                into[j] += sums[k, j] - clock * d


@kernel
def mix_rows(w: F32_2D, a: F64_2D, rows: I64, moved: F64_2D, total: F64_2D, clock: float) -> None:
    """Move the rows of w, and set their accumulators for the clock after the pass. a of size 0: none."""
    has_sums = a.shape[0] > 0
    for k in range(rows.size):
        own, step, add = w[rows[k]], moved[k], total[k]
        for j in range(own.size):
            new = np.float32(np.float64(own[j]) + step[j])
            if has_sums:
                a[rows[k], j] += add[j] + clock * (np.float64(new) - np.float64(own[j]))
            own[j] = new
