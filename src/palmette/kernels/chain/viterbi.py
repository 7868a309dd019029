"""The best path through a trellis, exactly. Ties go to the smaller state, from the last token backwards.

    order 0, 1:  D[i, h]    = U[i, h] + max over g of D[i-1, g] + E[i, g, h]
    order 2:     D[i, g, h] = U[i, h] + E[i, g, h] + max over f of D[i-1, f, g] + S[i, f, g, h]

The inner loop runs over the contiguous current state h, with four previous states at a time. There are no
back-pointers: backtracking computes one column again per token, which is cheaper than storing them. float32 sums
lose small differences in a long sentence, so every 64 tokens the best score is moved into a float64 (D is comparable
within one token only). Rows are taken as views before the inner loop: computed indexes are checked for being
negative at each step, which prevents vector code. Many states: see below.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Skips, Trellis
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, I32
from palmette.kernels.core.vector import best_previous, max_four

RESCALE = 64


@inline
def first_best(row: np.ndarray, size: int) -> int:
    """The first of the largest numbers."""
    best = 0
    for h in range(1, size):
        if row[h] > row[best]:
            best = h
    return best


@inline
def _taken_out(D: np.ndarray, H: int) -> float:
    """Subtract the best score from all of D[.., W] and return it (0 if all are forbidden)."""
    top = np.float32(-np.inf)
    for g in range(D.shape[0]):
        for h in range(H):
            if D[g, h] > top:
                top = D[g, h]
    if top == np.float32(-np.inf):
        return 0.0
    for g in range(D.shape[0]):
        for h in range(D.shape[1]):
            D[g, h] -= top
    return float(top)


@inline
def _came_from(before: np.ndarray, e: np.ndarray, h: int) -> int:
    """The smallest g with the largest before[g] + e[g, h].

    Four independent searches: in a single one each comparison waits for the last."""
    H = e.shape[0]
    low = np.float32(-np.inf)
    t0, t1, t2, t3 = before[0] + e[0, h], low, low, low
    g0, g1, g2, g3 = 0, H, H, H
    g = 1
    while g + 4 <= H:
        v0, v1 = before[g] + e[g, h], before[g + 1] + e[g + 1, h]
        v2, v3 = before[g + 2] + e[g + 2, h], before[g + 3] + e[g + 3, h]
        t0, g0 = (v0, g) if v0 > t0 else (t0, g0)
        t1, g1 = (v1, g + 1) if v1 > t1 else (t1, g1)
        t2, g2 = (v2, g + 2) if v2 > t2 else (t2, g2)
        t3, g3 = (v3, g + 3) if v3 > t3 else (t3, g3)
        g += 4
    while g < H:
        v0 = before[g] + e[g, h]
        t0, g0 = (v0, g) if v0 > t0 else (t0, g0)
        g += 1
    t0, g0 = (t1, g1) if t1 > t0 or (t1 == t0 and g1 < g0) else (t0, g0)
    t2, g2 = (t3, g3) if t3 > t2 or (t3 == t2 and g3 < g2) else (t2, g2)
    return g2 if t2 > t0 or (t2 == t0 and g2 < g0) else g0


@part
def viterbi_states(T: Trellis, n: int, H: int, path: np.ndarray) -> float:
    total = 0.0
    for i in range(n):
        path[i] = first_best(T.U[i], H)
        total += T.U[i, path[i]]
    return total


@part
def viterbi_pairs(U: np.ndarray, E: np.ndarray, D: np.ndarray, n: int, H: int, path: np.ndarray) -> float:
    total = 0.0
    several = E.shape[0] > 1
    for h in range(D.shape[2]):
        D[0, 0, h] = U[0, h]
    for i in range(1, n):
        best_previous(D, i, E, i if several else 0, U)
        if i % RESCALE == 0:
            total += _taken_out(D[i], H)
    h = first_best(D[n - 1, 0], H)
    total += D[n - 1, 0, h]
    path[n - 1] = h
    for i in range(n - 1, 0, -1):
        h = _came_from(D[i - 1, 0], E[i if several else 0], h)
        path[i - 1] = h
    return total


@part
def _viterbi_skipping(T: Trellis, n: int, H: int, path: np.ndarray) -> float:
    """As viterbi_pairs, for edges that all tokens share."""
    total = 0.0
    U, E, D, skips = T.U, T.E, T.D, T.skips
    for h in range(H):
        D[0, 0, h] = U[0, h]
    for i in range(1, n):
        best_by_bounds(D[i - 1, 0], E[0], U[i], skips, D[i, 0])
        if i % RESCALE == 0:
            total += _taken_out(D[i], H)
    h = first_best(D[n - 1, 0], H)
    total += D[n - 1, 0, h]
    path[n - 1] = h
    for i in range(n - 1, 0, -1):
        h = came_from_by_bounds(D[i - 1, 0], E[0], skips.top, h)
        path[i - 1] = h
    return total


@inline
def _best_before(before: np.ndarray, s: np.ndarray, e: np.ndarray, u: np.ndarray, out: np.ndarray, H: int) -> None:
    """out[g, h] = u[h] + e[g, h] + max over f of before[f, g] + s[f, g, h]

    Pairs that are forbidden or excluded by the mask are skipped four at a time."""
    low = np.float32(-np.inf)
    for g in range(H):
        o, edge = out[g], e[g]
        a = before[0, g]
        s0 = s[0, g]
        for h in range(o.size):
            o[h] = a + s0[h]
        f = 1
        while f + 4 <= H:
            a, b, c, d = before[f, g], before[f + 1, g], before[f + 2, g], before[f + 3, g]
            if max(max(a, b), max(c, d)) == low:
                f += 4
                continue
            max_four(o, (a, b, c, d), s[f, g], s[f + 1, g], s[f + 2, g], s[f + 3, g])
            f += 4
        while f < H:
            a = before[f, g]
            s0 = s[f, g]
            for h in range(o.size):
                o[h] = max(o[h], a + s0[h])
            f += 1
        for h in range(o.size):
            o[h] += edge[h] + u[h]


@part
def viterbi_triples(T: Trellis, n: int, H: int, path: np.ndarray) -> float:
    if n == 1:
        return viterbi_states(T, n, H, path)
    total = 0.0
    U, E, S, D = T.U, T.E, T.S, T.D
    e_several = E.shape[0] > 1
    s_several = S.shape[0] > 1
    e = E[1 if e_several else 0]
    for g in range(H):
        for h in range(D.shape[2]):
            D[1, g, h] = U[0, g] + e[g, h] + U[1, h]
    for i in range(2, n):
        _best_before(D[i - 1], S[i if s_several else 0], E[i if e_several else 0], U[i], D[i], H)
        if i % RESCALE == 0:
            total += _taken_out(D[i], H)
    g, h = 0, 0
    for a in range(H):
        b = first_best(D[n - 1, a], H)
        if D[n - 1, a, b] > D[n - 1, g, h] or (D[n - 1, a, b] == D[n - 1, g, h] and b < h):
            g, h = a, b
    total += D[n - 1, g, h]
    path[n - 1] = h
    path[n - 2] = g
    for i in range(n - 1, 1, -1):
        before, s = D[i - 1], S[i if s_several else 0]
        best = 0
        top = before[0, g] + s[0, g, h]
        for f in range(1, H):
            value = before[f, g] + s[f, g, h]
            if value > top:
                top = value
                best = f
        h = g
        g = best
        path[i - 2] = g
    return total


@part
def viterbi(T: Trellis, m: Chain, n: int, path: np.ndarray) -> float:
    """Write the best path to path[:n]. Returns its score (-inf: no path is allowed)."""
    H = m.label_of.size
    if m.order == 0:
        return viterbi_states(T, n, H, path)
    if m.order == 1 and T.skips.top.size > 0:
        return _viterbi_skipping(T, n, H, path)
    if m.order == 1:
        return viterbi_pairs(T.U, T.E, T.D, n, H, path)
    return viterbi_triples(T, n, H, path)


# --- many states -----------------------------------------------------------------------------------------------
# The best path over hundreds of states or more, exactly, without looking at all pairs of states.
#
#     D[i, h] = U[i, h] + max over g of D[i-1, g] + E[g, h]
#
# A previous state g can give no more than D[i-1, g] + top[g], its score and its largest edge. Previous states are
# taken in falling order of this bound, until it is not larger than the least of the maxima found so far: rounding is
# monotone, so that the rest cannot change any of them. States that may follow only a few others (I-X only B-X and
# I-X) would keep that least at minus infinity; they do not count for it, and look at their few previous states alone.
# The result is that of viterbi.py to the last bit, ties included: backtracking computes one column again, of the
# previous states whose bound allows it. It needs edges that all tokens share.

ROWS = 4  # rows between two looks at the least maximum


@inline
def _least(out: np.ndarray, u: np.ndarray, few: np.ndarray, H: int) -> np.float32:
    """The least maximum of the states that count for it: not excluded by the mask, and with many previous states."""
    least = np.float32(np.inf)
    for h in range(H):
        if out[h] < least and u[h] > np.float32(-np.inf) and not few[h]:
            least = out[h]
    return least


@part
def sift_down(bound: np.ndarray, heap: np.ndarray, at: int, size: int) -> None:
    """Move heap[at] down a heap of numbers of bounds with the largest bound on top."""
    own = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and bound[heap[child + 1]] > bound[heap[child]]:
            child += 1
        if bound[heap[child]] <= bound[own]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = own


@part
def _raise(out: np.ndarray, row: np.ndarray, score: np.float32, H: int) -> None:
    for h in range(H):
        out[h] = max(out[h], score + row[h])


@part
def best_by_bounds(before: np.ndarray, e: np.ndarray, u: np.ndarray, skips: Skips, out: np.ndarray) -> None:
    """out[h] = u[h] + max over g of before[g] + e[g, h]"""
    top, few, first, previous, bound, heap = skips
    H = top.size
    best = first_best(before, H)
    for h in range(H):
        out[h] = before[best] + e[best, h]
    least = _least(out, u, few, H)
    size = 0
    for g in range(H):
        bound[g] = before[g] + top[g]
        if bound[g] > least and g != best:
            heap[size] = g
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(bound, heap, at, size)
    done = 0
    while size > 0 and bound[heap[0]] > least:
        g = heap[0]
        size -= 1
        heap[0] = heap[size]
        sift_down(bound, heap, 0, size)
        _raise(out, e[g], before[g], H)
        done += 1
        if done % ROWS == 0:
            least = _least(out, u, few, H)
    for h in range(H):
        if few[h]:
            for p in range(first[h], first[h + 1]):
                g = previous[p]
                out[h] = max(out[h], before[g] + e[g, h])
        out[h] += u[h]


@part
def came_from_by_bounds(before: np.ndarray, e: np.ndarray, top: np.ndarray, h: int) -> int:
    """The smallest g with the largest before[g] + e[g, h]."""
    H = top.size
    likely = first_best(before, H)
    low, most, best = before[likely] + e[likely, h], np.float32(-np.inf), 0
    for g in range(H):
        bound = before[g] + top[g]
        if bound >= low and bound > most:
            value = before[g] + e[g, h]
            if value > most:
                most, best = value, g
    return best


# --- tagging ---------------------------------------------------------------------------------------------------


@kernel
def decode(m: Chain, x: Data, T: Trellis, out: I32, scores: F64, restricted: bool) -> None:
    """Write the best state of each token to out i32[N] and the score of each sentence to scores f64[S]."""
    for s in range(x.offset.size - 1):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        if restricted:
            restrict(T, m, x, lo, n)
        scores[s] = viterbi(T, m, n, out[lo : lo + n])
