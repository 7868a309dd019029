"""Value and gradient of the likelihood of a chain: log Z minus the score of gold, and expected feature counts.

The gradient of a sentence is the difference of two tables: the marginals of its states (pairs, triples), and their
marginals given the label mask. If gold is a single path, the second is that path; for latent states and partial
labels it is a second pass under the mask. `tables[0][token, state]` and, if attributes are on them, `tables[1]` and
`tables[2]` hold the differences; those of transition weights are summed immediately. A batch learner then sums the
tables of the tokens of each attribute (gather.py); a stochastic one updates the weights after each sentence
(stochastic.py).

Chains of order 0 and 1 with the same edges at all tokens use these fast products. All others, and sentences for
which numbers become too small there, use the logarithms of forward_backward.py. Sums over many tokens are float64;
the table of one token is float32, like the weights, since gathering is limited by memory reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.forward_backward import (
    Sums,
    exp_edges,
    make_sums,
    marginals,
    pair_marginals,
    triple_marginals,
)
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.chain.viterbi import first_best
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32_2D, F64, F64_2D, F64_3D, aligned_zeros, struct
from palmette.kernels.core.vector import exp_of
from palmette.kernels.core.vector_sums import add_neighbours, below_largest, chain_step

# --- fast products ---------------------------------------------------------------------------------------------
# Forward-backward by products instead of logarithms, for chains of order 0 and 1 whose edges are the same at all
# tokens. With X = exp(edges) and V[i] = exp(states), both divided by their largest value,
#
#     Y[i] = A[i-1] X        A[i] = Y[i] * V[i] * c[i]       c[i] = 1 / sum of A[i-1]
#     B[i-1] = X Q[i]        Q[i] = B[i] * V[i] * c[i]       B[n-1] = 1 / sum of A[n-1]
#
#     P[i] = Y[i] * Q[i]     the pairs of i-1 and i: A[i-1] X Q[i]
#
# so that both directions use the same step (`chain_step`), and all numbers stay around 1. For sentences for which
# they become too small, forward_backward.py computes with logarithms.

SMALL = 1e-250  # sums below this may be inaccurate


class Scaled(NamedTuple):
    """Arrays for one sentence. The padding (h >= H) of all rows is 0."""

    X: F64_2D  # [H, W]    exp(edge - top)
    back: F64_2D  # [H, W] X transposed
    top: F64  # [1]     the largest edge
    V: F64_2D  # [n, W]
    A: F64_2D  # [n, W]
    Y: F64_2D  # [n, W]
    B: F64_2D  # [n, W]
    Q: F64_2D  # [n, W]
    c: F64  # [n]
    O: F64_2D  # [H, W]    sums of A[i-1] Q[i] over all tokens: times X the expected pairs


def make_products(T: Trellis, m: Chain, fast: bool) -> Scaled:
    """Arrays for sentences as long as T has room for; of no rows unless they go the fast way."""
    W = m.bias.size
    H, n = (m.label_of.size, T.U.shape[0]) if fast else (0, 0)
    X, back, O = (aligned_zeros((H, W), np.float64) for _ in range(3))
    V, A, Y, B, Q = (aligned_zeros((n, W), np.float64) for _ in range(5))
    return Scaled(X, back, np.zeros(1), V, A, Y, B, Q, np.zeros(n), O)


@part
def exp_all_edges(T: Trellis, m: Chain, r: Scaled) -> None:
    """Compute X from the edges of the trellis; without transitions all are 1."""
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
def _exp_states(U: np.ndarray, H: int, n: int, V: np.ndarray) -> float:
    """Fill V. Returns the sum of the subtracted values."""
    taken = 0.0
    for i in range(n):
        for h in range(H, U.shape[1]):
            U[i, h] = -np.inf
        taken += below_largest(V, U, i)
    if taken > -np.inf:
        all_states = V[:n].reshape(-1)  # one long loop becomes vector code, many short ones do not
        for k in range(all_states.size):
            all_states[k] = exp_of(all_states[k])
    return taken


@part
def forward_products(U: np.ndarray, n: int, r: Scaled) -> float:
    """Fill V, Y, A and c. Returns log Z; -inf if no path is allowed, NaN if numbers became too small. U is that of the
    trellis: passing the whole trellis would cost more than processing a token."""
    V, A, Y, X, c = r.V, r.A, r.Y, r.X, r.c
    H, W = X.shape
    log_z = _exp_states(U, H, n, V)
    if log_z == -np.inf:
        return log_z
    log_z += (n - 1) * r.top[0]
    total = 0.0
    for h in range(W):
        Y[0, h] = 1.0 if h < H else 0.0
        A[0, h] = V[0, h]
        total += V[0, h]
    if not total > SMALL:  # at least 1, unless a score is infinite
        return np.nan
    c[0] = 1.0
    scale = 1.0  # product of many sums, so that few logarithms are needed
    for i in range(1, n):
        c[i] = 1.0 / total
        scale *= total
        if scale < 1e-30 or scale > 1e30:
            log_z += np.log(scale)
            scale = 1.0
        total = chain_step(A, Y, V, i, i - 1, X, c[i])
        if not total > SMALL:
            return np.nan
    return log_z + np.log(scale) + np.log(total)


@part
def backward_products(n: int, r: Scaled, pairs: bool, weight: float, P: np.ndarray) -> None:
    """Write the marginals of states to P f64[n, W]; with `pairs`, add `weight` times the products of neighbours to
    O."""
    A, B, Q, V, Y, back, c = r.A, r.B, r.Q, r.V, r.Y, r.back, r.c
    total = 0.0
    for h in range(V.shape[1]):
        total += A[n - 1, h]
    last = c[n - 1] / total
    for h in range(V.shape[1]):
        Q[n - 1, h] = V[n - 1, h] * last
    for i in range(n - 1, 0, -1):
        chain_step(Q, B, V, i - 1, i, back, c[i - 1])
    before, after, out = Y[:n].reshape(-1), Q[:n].reshape(-1), P[:n].reshape(-1)
    for k in range(out.size):
        out[k] = before[k] * after[k]
    if pairs:
        if weight != 1.0:
            for k in range(after.size):
                after[k] *= weight
        add_neighbours(r.O, A, Q, n)


# --- the likelihood --------------------------------------------------------------------------------------------


@struct
class Expected(NamedTuple):
    """The target of the differences; in tuples the index is the arity minus 1. Tables of pairs and triples are of size
    0 unless attributes are on them."""

    tables: tuple[F32_2D, F32_2D, F32_2D]  # [N, width]
    transitions: tuple[F64_2D, F64_2D, F64_2D]  # [contexts, W]


@struct
class LikelihoodWorkspace(NamedTuple):
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
    T: Trellis, m: Chain, at: int, n: int, sign: float, fast: bool, workspace: LikelihoodWorkspace, out: Expected
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
def _by_logarithms(
    T: Trellis, m: Chain, at: int, n: int, sign: float, workspace: LikelihoodWorkspace, out: Expected
) -> float:
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
        if not allow[row, label_of[first_best(P[i], H)]]:
            wrong += 1
    return wrong


def make_likelihood_workspace(m: Chain, x: Data, longest: int) -> LikelihoodWorkspace:
    """For sentences of up to so many tokens. They go the fast way if edges are the same at all tokens."""
    H, W, T = m.label_of.size, m.bias.size, make_trellis(m, x, longest)
    fast = m.order <= 1 and x.features[1].ptr.size == 0
    P = np.zeros((T.U.shape[0], W))
    two, three = np.zeros((H, W)), np.zeros((H if m.order >= 2 else 0, H, W))
    return LikelihoodWorkspace(T, make_products(T, m, fast), make_sums(T, m, True), P, two, three)


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
def goes_fast(workspace: LikelihoodWorkspace) -> bool:
    """Whether edges are the same at all tokens and products suffice."""
    return workspace.r.c.size > 0


@part
def sentence_likelihood(
    m: Chain, x: Data, s: int, at: int, changed: bool, workspace: LikelihoodWorkspace, out: Expected
) -> tuple[float, int]:
    """Add the differences of sentence s to the tables, from token `at` on: (weight * (log Z - log Z under the mask),
    wrong tokens). `changed`: whether weights have changed since the last sentence. -1 wrong tokens: no allowed path
    agrees with the mask, and nothing was added."""
    T, fast = workspace.T, goes_fast(workspace)
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
    m: Chain, x: Data, workspace: LikelihoodWorkspace, first: int, last: int, start: int, out: Expected
) -> tuple[float, int, int]:
    """Sentences first..last: (sum of weight * (log Z - log Z under the mask), wrong tokens, sentences without an
    allowed path, which add nothing). Row k of the tables, which must be 0 there, is for token start + k."""
    objective, wrong, infeasible = 0.0, 0, 0
    for s in range(first, last):
        value, missed = sentence_likelihood(m, x, s, x.offset[s] - start, s == first, workspace, out)
        if missed < 0:
            infeasible += 1
        else:
            objective += value
            wrong += missed
    if goes_fast(workspace) and m.order >= 1:
        add_fast_pairs(m, workspace.r, out)
    return objective, wrong, infeasible


# --- locally normalised chains ---------------------------------------------------------------------------------
# Value and gradient of the likelihood of a locally normalised chain: a classifier per token, given the gold labels.
#
#     value = sum over tokens of weight * -log P(gold label | gold labels before it)
#
# Only one row of scores per token is needed, that of the gold history: there is no sum over paths. The tables are
# those of gradient.py, with differences only in the row of the gold history, and `gather` sums them.


@part
def _history_row(T: Trellis, m: Chain, x: Data, lo: int, i: int, row: np.ndarray) -> None:
    """row[h] = the score of state h at token i after the gold labels."""
    H, u = m.label_of.size, T.U[i]
    for h in range(H):
        row[h] = u[h]
    if i >= 1 and m.order >= 1:
        g = x.known[lo + i - 1]
        e = T.E[i if T.E.shape[0] > 1 else 0, g]
        for h in range(H):
            row[h] += e[h]
        if i >= 2 and m.order >= 2:
            s = T.S[i if T.S.shape[0] > 1 else 0, x.known[lo + i - 2], g]
            for h in range(H):
                row[h] += s[h]


@part
def _softmax(row: np.ndarray, H: int) -> float:
    """Replace scores by probabilities. Returns the log of the sum of their exponentials."""
    top = -np.inf
    for h in range(H):
        top = max(top, row[h])
    total = 0.0
    for h in range(H):
        row[h] = exp_of(row[h] - top)
        total += row[h]
    for h in range(H):
        row[h] /= total
    return top + np.log(total)


@inline
def _add(to: np.ndarray, at: int, row: np.ndarray) -> None:
    for h in range(row.size):
        to[at + h] += row[h]


@part
def _spread(m: Chain, x: Data, lo: int, at: int, i: int, n: int, row: np.ndarray, out: Expected) -> None:
    """Add the differences of token i to all tables that they belong to, those of the sentence being from `at` on."""
    H, W = m.label_of.size, m.bias.size
    states, pairs, triples = out.tables
    _add(states[at + i], 0, row)
    if i == 0:
        _add(out.transitions[0][0], 0, row)
    if i == n - 1:
        _add(out.transitions[0][1], 0, row)
    if i >= 1 and m.order >= 1:
        g = x.known[lo + i - 1]
        _add(out.transitions[1][g], 0, row)
        if pairs.shape[0] > 0:
            _add(pairs[at + i], g * W, row)
        if i >= 2 and m.order >= 2:
            before = x.known[lo + i - 2] * H + g
            _add(out.transitions[2][before], 0, row)
            if triples.shape[0] > 0:
                _add(triples[at + i], before * W, row)


@kernel
def local_expectations(
    m: Chain, x: Data, T: Trellis, first: int, last: int, start: int, out: Expected
) -> tuple[float, int, int]:
    """As `expectations`; all labels are known. `m.local` must be False, since this needs unnormalised scores."""
    H, row = m.label_of.size, np.zeros(m.bias.size)
    objective, wrong, infeasible = 0.0, 0, 0
    for s in range(first, last):
        n = score(T, m, x, s, s == first)
        lo, weight = x.offset[s], float(x.weight[s])
        if not path_allowed(T.U, m.order, m.forbid, x.known[lo : lo + n]):
            infeasible += 1
            continue
        for i in range(n):
            gold = x.known[lo + i]
            _history_row(T, m, x, lo, i, row)
            own = row[gold]
            objective += weight * (_softmax(row, H) - own)
            wrong += 1 if first_best(row, H) != gold else 0
            row[gold] -= 1.0
            for h in range(H):
                row[h] *= weight
            _spread(m, x, lo, lo - start, i, n, row, out)
    return objective, wrong, infeasible
