"""Learners that ask for a margin: passive-aggressive (PA) and MIRA.

Gold shall score better than a candidate by its cost at least. The smallest change of the weights that does it,

    w += sum over k of alpha_k * (f(gold) - f(candidate k))

PA takes one candidate, the best one when every wrong token scores 1 more (cost-augmented search); alpha in one step:
loss / |difference|^2, at most C (PA-I), or loss / (|difference|^2 + 1 / 2C) (PA-II). MIRA takes the n best paths, and
the alphas of the small quadratic program by Hildreth's method, each between 0 and C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.blend import add_weighted_paths, room_for_sums
from palmette.kernels.chain.candidates import list_candidates, room_for_listed, score_of_path
from palmette.kernels.chain.differences import gram
from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.score import score
from palmette.kernels.chain.train import gold_path, make_workspace, wrong_labels
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.learning.steps import hildreth, pa_step


class Chunks(NamedTuple):
    """Where chunks begin and end, by pairs of labels; index Y is outside. Of size 0: the cost is that of tokens."""

    starts: np.ndarray  # bool[Y+1, Y+1]
    ends: np.ndarray  # bool[Y+1, Y+1]
    type_of: np.ndarray  # i64[Y+1]


@part
def span_cost(m: Chain, n: int, gold: np.ndarray, path: np.ndarray, c: Chunks) -> int:
    """Chunks that only one of two paths has."""
    outside = c.type_of.size - 1
    count = 0
    opened, other = -1, -1  # where the open chunk of each began
    g0, p0 = outside, outside
    for i in range(n + 1):
        g = m.label_of[gold[i]] if i < n else outside
        p = m.label_of[path[i]] if i < n else outside
        g_ends, p_ends = c.ends[g0, g], c.ends[p0, p]
        same = g_ends and p_ends and opened == other and c.type_of[g0] == c.type_of[p0]
        if not same:
            count += int(g_ends) + int(p_ends)
        if c.starts[g0, g]:
            opened = i
        if c.starts[p0, p]:
            other = i
        g0, p0 = g, p
    return count


@part
def augment(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> None:
    """Every state whose label is not among those known scores 1 more."""
    for i in range(n):
        known = x.known[lo + i]
        for h in range(m.label_of.size):
            if not x.allow[known, m.label_of[h]]:
                T.U[i, h] += np.float32(1.0)


@kernel
def train_pa(
    m: Chain, x: Data, order: np.ndarray, first: int, last: int, clock: float, variant: int, C: float
) -> tuple:
    """One slice of a pass: (clock, updates, tokens wrong, sentences without an allowed path)."""
    T = make_workspace(m, x, first, last, order)
    paths = np.zeros((2, T.U.shape[0]), np.int32)
    sums = room_for_sums(m, 2)
    factors = np.zeros(2)
    keys, values, A = np.zeros(64, np.uint64), np.zeros((64, 1)), np.zeros((1, 1))
    updates, wrong, infeasible = 0, 0, 0
    changed = True
    for k in range(first, last):
        s = order[k]
        lo = x.offset[s]
        n = score(T, m, x, s, changed)
        changed = False
        viterbi(T, m, n, paths[1])
        wrong += wrong_labels(m, x, lo, n, paths[1])
        augment(T, m, x, lo, n)
        top = viterbi(T, m, n, paths[1])
        clock += 1.0
        if not gold_path(T, m, x, lo, n, paths[0]):
            infeasible += 1
            continue
        gold = score_of_path(T, m, n, paths[0])
        if gold == -np.inf:
            infeasible += 1
            continue
        loss = top - gold
        if loss <= 0.0 or wrong_labels(m, x, lo, n, paths[1]) == 0:
            continue
        keys, values = gram(m, x, s, paths, 1, keys, values, A)
        if A[0, 0] <= 0.0:
            continue
        alpha = pa_step(variant, loss, A[0, 0], C) * float(x.weight[s])
        factors[0], factors[1] = alpha, -alpha
        add_weighted_paths(m, x, s, paths, factors, 2, clock - 1.0, sums)
        updates += 1
        changed = True
    return clock, updates, wrong, infeasible


@kernel
def train_mira(
    m: Chain, x: Data, order: np.ndarray, first: int, last: int, clock: float, K: int, C: float, chunks: Chunks
) -> tuple:
    """One slice of a pass: (clock, updates, tokens wrong, sentences without an allowed path)."""
    T = make_workspace(m, x, first, last, order)
    r = room_for_listed(T, m, K)
    sums = room_for_sums(m, K + 1)
    factors, b, alpha = np.zeros(K + 1), np.zeros(K), np.zeros(K)
    keys, values, A = np.zeros(64, np.uint64), np.zeros((64, K)), np.zeros((K, K))
    updates, wrong, infeasible = 0, 0, 0
    changed = True
    for number in range(first, last):
        s = order[number]
        lo = x.offset[s]
        n = score(T, m, x, s, changed)
        changed = False
        found, missed = list_candidates(T, m, x, lo, n, r)
        wrong += missed
        clock += 1.0
        if found < 0:
            infeasible += 1
            continue
        broken = False
        for k in range(found):
            cost = wrong_labels(m, x, lo, n, r.paths[k + 1])
            if cost > 0 and chunks.type_of.size > 0:
                cost = span_cost(m, n, r.paths[0], r.paths[k + 1], chunks)
            b[k] = cost - (r.scores[0] - r.scores[k + 1]) if cost > 0 else -np.inf
            broken = broken or b[k] > 0.0
        if not broken:
            continue
        keep = _drop_right_ones(r.paths, b, found, n)
        keys, values = gram(m, x, s, r.paths, keep, keys, values, A)
        hildreth(A, b, keep, C, alpha)
        factors[0] = 0.0
        for k in range(keep):
            factors[k + 1] = -alpha[k] * float(x.weight[s])
            factors[0] -= factors[k + 1]
        if factors[0] > 0.0:
            add_weighted_paths(m, x, s, r.paths, factors, keep + 1, clock - 1.0, sums)
            updates += 1
            changed = True
    return clock, updates, wrong, infeasible


@part
def _drop_right_ones(paths: np.ndarray, b: np.ndarray, found: int, n: int) -> int:
    """Leave out candidates without a cost, which have nothing to be told apart from; how many are left."""
    keep = 0
    for k in range(found):
        if b[k] > -np.inf:
            b[keep] = b[k]
            for i in range(n):
                paths[keep + 1, i] = paths[k + 1, i]
            keep += 1
    return keep
