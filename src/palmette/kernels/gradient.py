"""What the likelihood of a chain needs: log Z minus the score of gold, and how often each feature is expected.

Each sentence leaves the difference of two tables: how probable its states (pairs, triples) are, and how probable they
are given what is known. Where gold is one path, the second is that path; for latent states and partial labels it is a
second pass under the mask. `M1[token, state]` and, where attributes are on them, `M2` and `M3` hold the differences;
bare weights are summed at once. A batch learner then adds up the tables of the tokens that an attribute occurs at
(kernels/gather.py); a stochastic one moves the weights after each sentence (kernels/stochastic.py).

Chains of order 0 and 1 whose edges are the same at all tokens go the fast way of kernels/products.py. Everything else,
and a sentence for which numbers become too small there, goes by the logarithms of kernels/forward.py. Sums over many
tokens are float64; a table of one token is float32, as the weights are, since gathering it is mostly reading it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compile import inline, kernel, part
from .forms import Chain, Data, Trellis
from .forward import Sums, exp_edges, room_for_sums
from .marginals import marginals, pair_marginals, triple_marginals
from .products import Scaled, backward_products, exp_all_edges, forward_products, room_for_products
from .score import restrict, score
from .train import make_room


class Expected(NamedTuple):
    """Where the differences go. M2 and M3 are of size 0 unless attributes are on pairs and triples."""

    M1: np.ndarray  # f32[N, W]
    M2: np.ndarray  # f32[N, H*W]
    M3: np.ndarray  # f32[N, H*H*W]
    end: np.ndarray  # f64[2, W]
    pair: np.ndarray  # f64[H, W]
    triple: np.ndarray  # f64[H, H, W]


@inline
def _add_states(out: Expected, P: np.ndarray, at: int, n: int, sign: float) -> None:
    p, to = P[:n].reshape(-1), out.M1[at : at + n].reshape(-1)
    for k in range(p.size):
        to[k] += sign * p[k]
    for h in range(out.end.shape[1]):
        out.end[0, h] += sign * P[0, h]
        out.end[1, h] += sign * P[n - 1, h]


@part
def _one_pass(
    T: Trellis, m: Chain, at: int, n: int, sign: float, fast: bool, r: Scaled, w: Sums, P: np.ndarray, two: np.ndarray,
    three: np.ndarray, out: Expected,
) -> float:  # fmt: skip
    """Add `sign` times the marginals of the trellis as it is, to the tables from token `at` on; log Z."""
    if fast:
        log_z = forward_products(T, m, n, r)
        if log_z == -np.inf:
            return log_z
        if not np.isnan(log_z):
            backward_products(m, n, r, sign, P)
            _add_states(out, P, at, n, sign)
            return log_z
        exp_edges(T, m, n, w)
    log_z = marginals(T, m, n, w, P)
    if log_z == -np.inf:
        return log_z
    _add_states(out, P, at, n, sign)
    if m.order >= 1:
        for i in range(1, n):
            pair_marginals(T, m, w, i, two)
            _add_table(out.pair.reshape(-1), out.M2, two.reshape(-1), at + i, sign)
    if m.order >= 2:
        for i in range(2, n):
            triple_marginals(T, m, w, i, three)
            _add_table(out.triple.reshape(-1), out.M3, three.reshape(-1), at + i, sign)
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
def _gold_score(T: Trellis, m: Chain, x: Data, lo: int, at: int, n: int, weight: float, out: Expected) -> float:
    """The score of a gold path that is known for sure; its features are taken off."""
    H, W = m.label_of.size, m.bias.size
    total_score = 0.0
    for i in range(n):
        h = x.known[lo + i]
        total_score += float(T.U[i, h])
        out.M1[at + i, h] -= weight
        if i == 0:
            out.end[0, h] -= weight
        if i == n - 1:
            out.end[1, h] -= weight
        if i >= 1 and m.order >= 1:
            g = x.known[lo + i - 1]
            total_score += float(T.E[i if T.E.shape[0] > 1 else 0, g, h])
            out.pair[g, h] -= weight
            if out.M2.shape[0] > 0:
                out.M2[at + i, g * W + h] -= weight
            if i >= 2 and m.order >= 2:
                f = x.known[lo + i - 2]
                total_score += float(T.S[i if T.S.shape[0] > 1 else 0, f, g, h])
                out.triple[f, g, h] -= weight
                if out.M3.shape[0] > 0:
                    out.M3[at + i, (f * H + g) * W + h] -= weight
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
        known = x.known[lo + i]
        if m.plain and known < x.allow.shape[1] and P[i, known] > 0.5:
            continue  # nothing else can be as probable
        best = 0
        for h in range(1, m.label_of.size):
            if P[i, h] > P[i, best]:
                best = h
        if not x.allow[known, m.label_of[best]]:
            wrong += 1
    return wrong


class Room(NamedTuple):
    """What a pass over one sentence needs."""

    r: Scaled
    w: Sums
    P: np.ndarray  # f64[n, W]
    two: np.ndarray  # f64[H, W]
    three: np.ndarray  # f64[H, H, W], of order 2 only


@part
def room_for_likelihood(T: Trellis, m: Chain, fast: bool) -> Room:
    H, W = m.label_of.size, m.bias.size
    P = np.zeros((T.U.shape[0], W))
    two, three = np.zeros((H, W)), np.zeros((H if m.order >= 2 else 0, H, W))
    return Room(room_for_products(T, m, fast), room_for_sums(T, m, True), P, two, three)


@inline
def goes_fast(m: Chain, x: Data) -> bool:
    """Whether edges are the same at all tokens and products suffice."""
    return m.order <= 1 and x.two.ptr.size == 0


@part
def sentence_likelihood(
    T: Trellis, m: Chain, x: Data, s: int, at: int, changed: bool, fast: bool, room: Room, out: Expected
) -> tuple[float, int]:
    """Add the differences of sentence s to the tables, from token `at` on: (weight * (log Z - log Z of what is known),
    tokens wrong). `changed`: whether weights have changed since the last sentence. -1 tokens wrong: there is no allowed
    path with what is known, and nothing was added."""
    n = score(T, m, x, s, changed)
    lo, weight = x.offset[s], float(x.weight[s])
    if changed and fast:
        exp_all_edges(T, m, room.r)
    if not fast and (changed or room.w.X.shape[0] > 1):
        exp_edges(T, m, n, room.w)
    if not possible(T, m, x, lo, n):
        return 0.0, -1
    log_z = _one_pass(T, m, at, n, weight, fast, room.r, room.w, room.P, room.two, room.three, out)
    if log_z == -np.inf:
        return 0.0, -1
    wrong = _wrong(m, x, lo, room.P, n)
    if _certain(m, x, lo, n):
        gold = _gold_score(T, m, x, lo, at, n, weight, out)
    else:
        restrict(T, m, x, lo, n)
        gold = _one_pass(T, m, at, n, -weight, fast, room.r, room.w, room.P, room.two, room.three, out)
    return weight * (log_z - gold), wrong


@part
def add_fast_pairs(m: Chain, r: Scaled, out: Expected) -> None:
    """The fast way keeps the sums of pairs without their edges; put them in and begin again."""
    H = m.label_of.size
    for g in range(H):
        for h in range(H):
            out.pair[g, h] += r.O[g, h] * r.X[g, h]
            r.O[g, h] = 0.0


@kernel
def expectations(m: Chain, x: Data, first: int, last: int, start: int, out: Expected) -> tuple:
    """Sentences first..last: (sum of weight * (log Z - log Z of what is known), tokens wrong, sentences without an
    allowed path, which add nothing). Row k of the tables, which must be 0 there, is for token start + k."""
    T = make_room(m, x, first, last, np.arange(x.offset.size - 1))
    fast = goes_fast(m, x)
    room = room_for_likelihood(T, m, fast)
    objective, wrong, impossible = 0.0, 0, 0
    for s in range(first, last):
        value, missed = sentence_likelihood(T, m, x, s, x.offset[s] - start, s == first, fast, room, out)
        if missed < 0:
            impossible += 1
        else:
            objective += value
            wrong += missed
    if fast and m.order >= 1:
        add_fast_pairs(m, room.r, out)
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
