"""The K best LABEL sequences of a model with latent states, each ranked by the best path of states that has it.

A list of paths would name the same labels again and again. So this is A* (see astar.py) over labels: a candidate has
the labels of an earlier sequence at its end, leaves it at token j for another label, and goes on as it likes. The
states of the end are left open; R has the best of them, for each state that the end can be entered from:

    order 1:  R[j, h]    = max over the states k of the label at j+1 of E[j+1, h, k] + U[j+1, k] + R[j+1, k]
    order 2:  R[j, g, h] = max over the states k of the label at j+2 of S[j+2, g, h, k] + E[j+2, h, k] + U[j+2, k]
                           + R[j+1, h, k]

and the best sequence with label y at token j and that end scores max over its states h of D[j, h] + R[j, h] (of order
2: over h and the states k of the label at j+1 of D[j+1, h, k] + R[j, h, k]). So nothing is ever listed in vain, however
many paths a label sequence has. All sums are float64.

Ties: of sequences with equal scores the one with the smaller label at the last token at which they differ comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.astar import Candidates, insert_candidate
from palmette.kernels.chain.forms import Chain, Trellis
from palmette.kernels.core.compile import part


class Ends(NamedTuple):
    """Which states a label has, and room for the best ends from one token on."""

    begin: np.ndarray  # i64[Y+1]
    member: np.ndarray  # i64[H]          the states of label y are member[begin[y] : begin[y + 1]]
    R: np.ndarray  # f64[2, 1 or H, H]    of a token and of the one after it


@part
def room_for_ends(m: Chain, n_labels: int) -> Ends:
    H = m.label_of.size
    begin, member = np.zeros(n_labels + 1, np.int64), np.empty(H, np.int64)
    k = 0
    for y in range(n_labels):
        for h in range(H):
            if m.label_of[h] == y:
                member[k] = h
                k += 1
        begin[y + 1] = k
    return Ends(begin, member, np.zeros((2, H if m.order == 2 else 1, H)))


@part
def _best_ends(T: Trellis, order: int, n: int, j: int, labels: np.ndarray, r: Ends) -> None:
    """R of token j from that of the next one, by the labels after it."""
    H = r.member.size
    begin, member, R, later = r.begin, r.member, r.R[j % 2], r.R[(j + 1) % 2]
    if order == 0 or j >= n - order:
        R[:] = 0.0
        return
    i = j + order  # the token whose states are decided
    u, e = T.U[i], T.E[i if T.E.shape[0] > 1 else 0]
    first, last = begin[labels[i]], begin[labels[i] + 1]
    if order == 1:
        for h in range(H):
            top = -np.inf
            for p in range(first, last):
                k = member[p]
                top = max(top, float(e[h, k]) + float(u[k]) + later[0, k])
            R[0, h] = top
        return
    s = T.S[i if T.S.shape[0] > 1 else 0]
    for q in range(begin[labels[j + 1]], begin[labels[j + 1] + 1]):
        h = member[q]
        for g in range(H):
            top = -np.inf
            for p in range(first, last):
                k = member[p]
                top = max(top, float(s[g, h, k]) + float(e[h, k]) + float(u[k]) + later[h, k])
            R[g, h] = top


@part
def _best_with(T: Trellis, D: np.ndarray, order: int, n: int, j: int, h: int, labels: np.ndarray, r: Ends) -> float:
    """The best score with state h at token j and the labels after it, but for what all states have in common."""
    R = r.R[j % 2]
    if order == 0 or n == 1:
        return float(T.U[j, h])
    if order == 1:
        return float(D[j, 0, h] + R[0, h])
    top = -np.inf
    if j == n - 1:
        for g in range(D.shape[1]):
            top = max(top, D[j, g, h])
        return top
    for p in range(r.begin[labels[j + 1]], r.begin[labels[j + 1] + 1]):
        top = max(top, D[j + 1, h, r.member[p]] + R[h, r.member[p]])
    return top


@part
def list_labels(T: Trellis, D: np.ndarray, order: int, n: int, ends: Ends, r: Candidates, sequences: np.ndarray) -> int:
    """The best label sequences into the rows of sequences i32[K, at least n], their losses against the best one into
    r.loss; how many there are. D f64[n, 1 or H, H or more] is filled, and a path is allowed. r.choice has room for
    the labels."""
    K, Y = sequences.shape[0], ends.begin.size - 1
    loss, leaves, choice = r.loss[:K], r.leaves, r.choice
    taken, size = 0, 1
    loss[0], leaves[0] = 0.0, n * Y
    while taken < size:
        what, base = leaves[taken], loss[taken]
        labels = sequences[taken]
        first = n
        if taken > 0:
            first = (what // Y) % n
            labels[first + 1 : n] = sequences[what // Y // n, first + 1 : n]
            labels[first] = what % Y
        taken += 1
        for j in range(n - 1, -1, -1):
            _best_ends(T, order, n, j, labels, ends)
            if j >= first:
                continue
            best = 0
            for y in range(Y):
                choice[y] = -np.inf
                for p in range(ends.begin[y], ends.begin[y + 1]):
                    choice[y] = max(choice[y], _best_with(T, D, order, n, j, ends.member[p], labels, ends))
                if choice[y] > choice[best]:
                    best = y
            labels[j] = best
            for y in range(Y):
                value = base + (choice[best] - choice[y])
                if y != best and value < np.inf and taken < K:
                    what = ((taken - 1) * n + j) * Y + y
                    size = insert_candidate(loss, leaves, taken, size, value, what, sequences, n, Y)
    return taken
