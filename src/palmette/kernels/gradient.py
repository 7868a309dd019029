"""What the likelihood of a chain needs: log Z minus the score of gold, and how often each feature is expected.

Each sentence leaves the difference of two tables: how probable its states (pairs, triples) are, and how probable they
are given what is known. Where gold is one path, the second is that path; for latent states and partial labels it is a
second pass under the mask. `M1[token, state]` and, where attributes are on them, `M2` and `M3` hold the differences;
bare weights are summed at once. `gather` then adds up the tables of the tokens that an attribute occurs at, attribute
by attribute, so that nothing is shared and the result is the same for any number of threads.

Chains of order 0 and 1 whose edges are the same at all tokens go the fast way: products instead of logarithms, scaled
to sum to one at each token,

    A[i] = (A[i-1] X) * V[i] / z[i]      B[i-1] = X (V[i] * B[i]) / z[i]      P[i] = A[i] * B[i]

with X = exp(edges), V[i] = exp(states). Everything else, and a sentence for which numbers become too small, goes by
the logarithms of kernels/forward.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compile import inline, kernel, part
from .exponent import exp_of
from .forms import Active, Chain, Data, Rows, Trellis
from .forward import Sums, exp_edges, room_for_sums
from .marginals import marginals, pair_marginals, total_of, triple_marginals
from .score import gather_for, restrict, score
from .train import make_room
from .vector import add_run

SMALL = 1e-250  # a sum below may have lost something


class Scaled(NamedTuple):
    """Room for the fast way. Places h >= H of all rows are 0."""

    X: np.ndarray  # f64[H, W]    exp(edge - top)
    back: np.ndarray  # f64[H, W] the same the other way round
    top: np.ndarray  # f64[1]     the largest edge
    V: np.ndarray  # f64[n, W]
    A: np.ndarray  # f64[n, W]
    B: np.ndarray  # f64[n, W]
    z: np.ndarray  # f64[n]
    t: np.ndarray  # f64[W]
    O: np.ndarray  # f64[H, W]    sums of A[i-1] (V[i] B[i] / z[i]) over all tokens: times X the expected pairs


@part
def room_for_products(T: Trellis, m: Chain, fast: bool) -> Scaled:
    H, W, n = m.label_of.size, m.bias.size, T.U.shape[0] if fast else 0
    square = (H if fast else 0, W)
    return Scaled(
        np.zeros(square), np.zeros(square), np.zeros(1), np.zeros((n, W)), np.zeros((n, W)), np.zeros((n, W)),
        np.zeros(n), np.zeros(W), np.zeros(square),
    )  # fmt: skip


@part
def _prepare(T: Trellis, m: Chain, r: Scaled) -> None:
    """X of the edges of the trellis; without transitions all are 1."""
    H = m.label_of.size
    top = -np.inf
    for g in range(H):
        for h in range(H):
            top = max(top, float(T.E[0, g, h]) if m.order >= 1 else 0.0)
    r.top[0] = top if top > -np.inf else 0.0
    for g in range(H):
        for h in range(H):
            x = exp_of((float(T.E[0, g, h]) if m.order >= 1 else 0.0) - r.top[0])
            r.X[g, h] = x
            r.back[h, g] = x


@part
def _products(T: Trellis, m: Chain, n: int, r: Scaled) -> float:
    """Fill V, A and z; log Z, -inf where no path is allowed, NaN where numbers became too small."""
    H, W = m.label_of.size, np.int64(m.bias.size)
    U, V, A, z, X = T.U, r.V, r.A, r.z, r.X.reshape(-1)
    log_z = 0.0
    for i in range(n):
        u, v, a = U[i], V[i], A[i]
        top = np.float32(-np.inf)
        for h in range(H):
            top = max(top, u[h])
        if top == np.float32(-np.inf):
            return -np.inf
        for h in range(H):
            v[h] = exp_of(float(u[h]) - float(top))
        for h in range(W):
            a[h] = 1.0 if i == 0 and h < H else 0.0
        if i > 0:
            before = A[i - 1]
            for g in range(H):
                if before[g] != 0.0:
                    add_run(a, np.int64(0), X, g * W, W, before[g])
            log_z += r.top[0]
        for h in range(W):
            a[h] *= v[h]
        z[i] = total_of(a)
        if not z[i] > SMALL:
            return np.nan
        scale = 1.0 / z[i]
        for h in range(W):
            a[h] *= scale
        log_z += np.log(z[i]) + float(top)
    return log_z


@part
def _products_back(m: Chain, n: int, r: Scaled, sign: float) -> None:
    """Fill B, and add `sign` times the products of neighbours to O."""
    H, W = m.label_of.size, np.int64(m.bias.size)
    V, A, B, z, t, back, O = r.V, r.A, r.B, r.z, r.t, r.back.reshape(-1), r.O.reshape(-1)
    last = B[n - 1]
    for h in range(W):
        last[h] = 1.0 if h < H else 0.0
    for i in range(n - 1, 0, -1):
        v, b, before, a = V[i], B[i], B[i - 1], A[i - 1]
        scale = 1.0 / z[i]
        for h in range(W):
            t[h] = v[h] * b[h] * scale
            before[h] = 0.0
        for h in range(H):
            if t[h] != 0.0:
                add_run(before, np.int64(0), back, h * W, W, t[h])
        for g in range(H):
            if a[g] != 0.0:
                add_run(O, g * W, t, np.int64(0), W, sign * a[g])


class Expected(NamedTuple):
    """Where the differences go. M2 and M3 are of size 0 unless attributes are on pairs and triples."""

    M1: np.ndarray  # f64[N, W]
    M2: np.ndarray  # f64[N, H*W]
    M3: np.ndarray  # f64[N, H*H*W]
    end: np.ndarray  # f64[2, W]
    pair: np.ndarray  # f64[H, W]
    triple: np.ndarray  # f64[H, H, W]


@inline
def _add_states(out: Expected, P: np.ndarray, lo: int, n: int, sign: float) -> None:
    for i in range(n):
        p, to = P[i], out.M1[lo + i]
        for h in range(p.size):
            to[h] += sign * p[h]
    for h in range(out.end.shape[1]):
        out.end[0, h] += sign * P[0, h]
        out.end[1, h] += sign * P[n - 1, h]


@part
def _one_pass(
    T: Trellis, m: Chain, lo: int, n: int, sign: float, fast: bool, r: Scaled, w: Sums, P: np.ndarray, two: np.ndarray,
    three: np.ndarray, out: Expected,
) -> float:  # fmt: skip
    """Add `sign` times the marginals of the trellis as it is; log Z."""
    if fast:
        log_z = _products(T, m, n, r)
        if log_z == -np.inf:
            return log_z
        if not np.isnan(log_z):
            _products_back(m, n, r, sign)
            for i in range(n):
                p, a, b = P[i], r.A[i], r.B[i]
                for h in range(p.size):
                    p[h] = a[h] * b[h]
            _add_states(out, P, lo, n, sign)
            return log_z
        exp_edges(T, m, n, w)
    log_z = marginals(T, m, n, w, P)
    if log_z == -np.inf:
        return log_z
    _add_states(out, P, lo, n, sign)
    if m.order >= 1:
        for i in range(1, n):
            pair_marginals(T, m, w, i, two)
            _add_table(out.pair.reshape(-1), out.M2, two.reshape(-1), lo + i, sign)
    if m.order >= 2:
        for i in range(2, n):
            triple_marginals(T, m, w, i, three)
            _add_table(out.triple.reshape(-1), out.M3, three.reshape(-1), lo + i, sign)
    return log_z


@inline
def _add_table(bare: np.ndarray, M: np.ndarray, table: np.ndarray, token: int, sign: float) -> None:
    for k in range(table.size):
        bare[k] += sign * table[k]
    if M.shape[0] > 0:
        row = M[token]
        for k in range(table.size):
            row[k] += sign * table[k]


@part
def _gold_score(T: Trellis, m: Chain, x: Data, lo: int, n: int, weight: float, out: Expected) -> float:
    """The score of a gold path that is known for sure; its features are taken off."""
    H, W = m.label_of.size, m.bias.size
    total_score = 0.0
    for i in range(n):
        h = x.known[lo + i]
        total_score += float(T.U[i, h])
        out.M1[lo + i, h] -= weight
        if i == 0:
            out.end[0, h] -= weight
        if i == n - 1:
            out.end[1, h] -= weight
        if i >= 1 and m.order >= 1:
            g = x.known[lo + i - 1]
            total_score += float(T.E[i if T.E.shape[0] > 1 else 0, g, h])
            out.pair[g, h] -= weight
            if out.M2.shape[0] > 0:
                out.M2[lo + i, g * W + h] -= weight
            if i >= 2 and m.order >= 2:
                f = x.known[lo + i - 2]
                total_score += float(T.S[i if T.S.shape[0] > 1 else 0, f, g, h])
                out.triple[f, g, h] -= weight
                if out.M3.shape[0] > 0:
                    out.M3[lo + i, (f * H + g) * W + h] -= weight
    return total_score


@inline
def _certain(m: Chain, x: Data, lo: int, n: int) -> bool:
    """Whether gold is one path."""
    if not m.plain:
        return False
    for i in range(n):  # noqa: SIM110
        if x.known[lo + i] >= x.allow.shape[1]:
            return False
    return True


@part
def _wrong(m: Chain, x: Data, lo: int, P: np.ndarray, n: int) -> int:
    """Tokens whose most probable state has a label that is not among those known."""
    wrong = 0
    for i in range(n):
        best = 0
        for h in range(1, m.label_of.size):
            if P[i, h] > P[i, best]:
                best = h
        if not x.allow[x.known[lo + i], m.label_of[best]]:
            wrong += 1
    return wrong


@kernel
def expectations(m: Chain, x: Data, first: int, last: int, out: Expected) -> tuple:
    """Sentences first..last: (sum of weight * (log Z - log Z of what is known), tokens wrong, sentences without an
    allowed path, which add nothing). The tables of their tokens in `out` must be 0."""
    H, W = m.label_of.size, m.bias.size
    T = make_room(m, x, first, last, np.arange(x.offset.size - 1))
    fast = m.order <= 1 and x.two.ptr.size == 0
    r = room_for_products(T, m, fast)
    w = room_for_sums(T, m, True)
    P = np.zeros((T.U.shape[0], W))
    two, three = np.zeros((H, W)), np.zeros((H if m.order >= 2 else 0, H, W))
    objective, wrong, impossible = 0.0, 0, 0
    for s in range(first, last):
        n = score(T, m, x, s, s == first)
        lo, weight = x.offset[s], float(x.weight[s])
        if s == first and fast:
            _prepare(T, m, r)
        if not fast and (s == first or w.X.shape[0] > 1):
            exp_edges(T, m, n, w)
        certain = _certain(m, x, lo, n)
        if not possible(T, m, x, lo, n):
            impossible += 1
            continue
        log_z = _one_pass(T, m, lo, n, weight, fast, r, w, P, two, three, out)
        if log_z == -np.inf:
            impossible += 1
            continue
        wrong += _wrong(m, x, lo, P, n)
        if certain:
            gold = _gold_score(T, m, x, lo, n, weight, out)
        else:
            restrict(T, m, x, lo, n)
            gold = _one_pass(T, m, lo, n, -weight, fast, r, w, P, two, three, out)
        objective += weight * (log_z - gold)
    if fast and m.order >= 1:
        for g in range(H):
            for h in range(H):
                out.pair[g, h] += r.O[g, h] * r.X[g, h]
    return objective, wrong, impossible


@part
def possible(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> bool:
    """Whether a path with what is known is allowed at all: by the states that can be reached, token by token."""
    if _certain(m, x, lo, n):
        for i in range(n):
            h = x.known[lo + i]
            if T.U[i, h] == -np.inf or (i > 0 and m.order > 0 and m.forbid[x.known[lo + i - 1], h] == -np.inf):
                return False
        return True
    H = m.label_of.size
    before, now = np.ones(H, np.bool_), np.zeros(H, np.bool_)
    for i in range(n):
        some = False
        for h in range(H):
            now[h] = False
            if T.U[i, h] == -np.inf or not x.allow[x.known[lo + i], m.label_of[h]]:
                continue
            for g in range(H):
                if before[g] and (i == 0 or m.order == 0 or m.forbid[g, h] > -np.inf):
                    now[h] = True
                    some = True
                    break
        if not some:
            return False
        before[:] = now
    return True


# --- from tokens to attributes ------------------------------------------------------------------------------


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
