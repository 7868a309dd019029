"""Value and gradient of the likelihood of a chain: log Z minus the score of gold, and expected feature counts.

The gradient of a sentence is the difference of two tables: the marginals of its states (pairs, triples), and their
marginals given the label mask. If gold is a single path, the second is that path; for latent states and partial labels
it is a second pass under the mask. `tables[0][token, state]` and, if attributes are on them, `tables[1]` and
`tables[2]` hold the differences; those of transition weights are summed immediately. A batch learner then sums the
tables of the tokens of each attribute (gather.py); a stochastic one updates the weights after each sentence
(stochastic.py).

Chains of order 0 and 1 with the same edges at all tokens use the fast products of products.py. All others, and
sentences for which numbers become too small there, use the logarithms of forward.py. Sums over many tokens are float64;
the table of one token is float32, like the weights, since gathering is limited by memory reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.forward import Sums, exp_edges, make_sums
from palmette.kernels.chain.marginals import marginals, pair_marginals, triple_marginals
from palmette.kernels.chain.products import (
    Scaled,
    backward_products,
    exp_all_edges,
    forward_products,
    make_products,
)
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32_2D, F64_2D, F64_3D, struct


@struct
class Expected(NamedTuple):
    """The target of the differences; in tuples the index is the arity minus 1. Tables of pairs and triples are of size
    0 unless attributes are on them."""

    tables: tuple[F32_2D, F32_2D, F32_2D]  # [N, width]
    transitions: tuple[F64_2D, F64_2D, F64_2D]  # [contexts, W]


@struct
class Workspace(NamedTuple):
    """Arrays for a pass over one sentence."""

    T: Trellis
    r: Scaled  # of no rows unless all sentences go the fast way
    w: Sums
    P: F64_2D  # [n, W]
    two: F64_2D  # [H, W]
    three: F64_3D  # [H, H, W], of order 2 only


@inline
def _add_states(out: Expected, P: np.ndarray, at: int, n: int, sign: float) -> None:
    p, to, end = P[:n].reshape(-1), out.tables[0][at : at + n].reshape(-1), out.transitions[0]
    for k in range(p.size):
        to[k] += sign * p[k]
    for h in range(end.shape[1]):
        end[0, h] += sign * P[0, h]
        end[1, h] += sign * P[n - 1, h]


@part
def _one_pass(
    T: Trellis, m: Chain, at: int, n: int, sign: float, fast: bool, workspace: Workspace, out: Expected
) -> float:
    """Add `sign` times the marginals of the trellis to the tables from token `at` on. Returns log Z."""
    if fast:
        log_z = forward_products(T.U, n, workspace.r)
        if not np.isnan(log_z):
            if log_z > -np.inf:
                backward_products(n, workspace.r, m.order >= 1, sign, workspace.P)
                _add_states(out, workspace.P, at, n, sign)
            return log_z
        exp_edges(T, m, n, workspace.w)
    return _by_logarithms(T, m, at, n, sign, workspace, out)


@part
def _by_logarithms(T: Trellis, m: Chain, at: int, n: int, sign: float, workspace: Workspace, out: Expected) -> float:
    """As `_one_pass`, for all orders and scores of any size."""
    w, two, three = workspace.w, workspace.two, workspace.three
    log_z = marginals(T, m, n, w, workspace.P)
    if log_z == -np.inf:
        return log_z
    _add_states(out, workspace.P, at, n, sign)
    if m.order >= 1:
        for i in range(1, n):
            pair_marginals(T, m, w, i, two)
            _add_table(out.transitions[1].reshape(-1), out.tables[1], two.reshape(-1), at + i, sign)
    if m.order >= 2:
        for i in range(2, n):
            triple_marginals(T, m, w, i, three)
            _add_table(out.transitions[2].reshape(-1), out.tables[2], three.reshape(-1), at + i, sign)
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
def _gold_score(T: Trellis, order: int, H: int, known: np.ndarray, at: int, weight: float, out: Expected) -> float:
    """The score of a gold path that is a single path; its features are subtracted from the tables."""
    n, W = known.size, T.U.shape[1]
    U, M1, end = T.U, out.tables[0], out.transitions[0]
    total_score = 0.0
    for i in range(n):
        h = known[i]
        total_score += float(U[i, h])
        M1[at + i, h] -= weight
    end[0, known[0]] -= weight
    end[1, known[n - 1]] -= weight
    if order >= 1:
        E, pair, M2 = T.E, out.transitions[1], out.tables[1]
        for i in range(1, n):
            g, h = known[i - 1], known[i]
            total_score += float(E[i if E.shape[0] > 1 else 0, g, h])
            pair[g, h] -= weight
            if M2.shape[0] > 0:
                M2[at + i, g * W + h] -= weight
    if order >= 2:
        S, triple, M3 = T.S, out.transitions[2], out.tables[2]
        for i in range(2, n):
            f, g, h = known[i - 2], known[i - 1], known[i]
            total_score += float(S[i if S.shape[0] > 1 else 0, f, g, h])
            triple[f * H + g, h] -= weight
            if M3.shape[0] > 0:
                M3[at + i, (f * H + g) * W + h] -= weight
    return total_score


@inline
def are_labels(known: np.ndarray, Y: int) -> bool:
    """Whether the mask of each token is a single label."""
    for i in range(known.size):  # noqa: SIM110
        if known[i] >= Y:
            return False
    return True


@inline
def path_allowed(U: np.ndarray, order: int, forbid: np.ndarray, path: np.ndarray) -> bool:
    for i in range(path.size):
        h = path[i]
        if U[i, h] == -np.inf or (i > 0 and order > 0 and forbid[path[i - 1], h] == -np.inf):
            return False
    return True


@part
def _wrong(plain: bool, label_of: np.ndarray, known: np.ndarray, allow: np.ndarray, P: np.ndarray) -> int:
    """The number of tokens whose most probable state has a label that the mask excludes."""
    H, Y, wrong = label_of.size, allow.shape[1], 0
    for i in range(known.size):
        row = known[i]
        if plain and row < Y and P[i, row] > 0.5:
            continue  # no other state is as probable
        best = 0
        for h in range(1, H):
            if P[i, h] > P[i, best]:
                best = h
        if not allow[row, label_of[best]]:
            wrong += 1
    return wrong


def make_likelihood_workspace(m: Chain, x: Data, longest: int) -> Workspace:
    """For sentences of up to so many tokens. They go the fast way if edges are the same at all tokens."""
    H, W, T = m.label_of.size, m.bias.size, make_trellis(m, x, longest)
    fast = m.order <= 1 and x.features[1].ptr.size == 0
    P = np.zeros((T.U.shape[0], W))
    two, three = np.zeros((H, W)), np.zeros((H if m.order >= 2 else 0, H, W))
    return Workspace(T, make_products(T, m, fast), make_sums(T, m, True), P, two, three)


@part
def _possible(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> bool:
    """Whether any path that agrees with the mask is allowed, by reachable states per token."""
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
        for h in range(H):
            before[h] = now[h]
    return True


@inline
def goes_fast(workspace: Workspace) -> bool:
    """Whether edges are the same at all tokens and products suffice."""
    return workspace.r.c.size > 0


@part
def sentence_likelihood(
    T: Trellis, m: Chain, x: Data, s: int, at: int, changed: bool, fast: bool, workspace: Workspace, out: Expected
) -> tuple[float, int]:
    """Add the differences of sentence s to the tables, from token `at` on: (weight * (log Z - log Z under the mask),
    wrong tokens). `changed`: whether weights have changed since the last sentence. -1 wrong tokens: no allowed path
    agrees with the mask, and nothing was added."""
    n = score(T, m, x, s, changed)
    lo, weight = x.offset[s], float(x.weight[s])
    known = x.known[lo : lo + n]
    if changed and fast:
        exp_all_edges(T, m, workspace.r)
    if not fast and (changed or workspace.w.X.shape[0] > 1):
        exp_edges(T, m, n, workspace.w)
    certain = m.plain and are_labels(known, x.allow.shape[1])
    if not (path_allowed(T.U, m.order, m.forbid, known) if certain else _possible(T, m, x, lo, n)):
        return 0.0, -1
    log_z = _one_pass(T, m, at, n, weight, fast, workspace, out)
    if log_z == -np.inf:
        return 0.0, -1
    wrong = _wrong(m.plain, m.label_of, known, x.allow, workspace.P)
    if certain:
        gold = _gold_score(T, m.order, m.label_of.size, known, at, weight, out)
    else:
        restrict(T, m, x, lo, n)
        gold = _one_pass(T, m, at, n, -weight, fast, workspace, out)
    return weight * (log_z - gold), wrong


@part
def add_fast_pairs(m: Chain, r: Scaled, out: Expected) -> None:
    """Add the expected pairs of the fast products, whose sums are without edges, to out, and reset the sums."""
    H = m.label_of.size
    for g in range(H):
        for h in range(H):
            out.transitions[1][g, h] += r.O[g, h] * r.X[g, h]
            r.O[g, h] = 0.0


@kernel
def expectations(
    m: Chain, x: Data, workspace: Workspace, first: int, last: int, start: int, out: Expected
) -> tuple[float, int, int]:
    """Sentences first..last: (sum of weight * (log Z - log Z under the mask), wrong tokens, sentences without an
    allowed path, which add nothing). Row k of the tables, which must be 0 there, is for token start + k."""
    T, fast = workspace.T, goes_fast(workspace)
    objective, wrong, infeasible = 0.0, 0, 0
    for s in range(first, last):
        value, missed = sentence_likelihood(T, m, x, s, x.offset[s] - start, s == first, fast, workspace, out)
        if missed < 0:
            infeasible += 1
        else:
            objective += value
            wrong += missed
    if fast and m.order >= 1:
        add_fast_pairs(m, workspace.r, out)
    return objective, wrong, infeasible
