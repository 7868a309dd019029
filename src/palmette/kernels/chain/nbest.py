"""The K best label sequences of a sentence, with scores and optionally probabilities. All sums are float64.

If labels have several states, a list of paths would repeat the same labels. So this is A* (see kbest.py) over labels,
each sequence ranked by the best path of states that has it: a candidate ends like an earlier sequence, branches off
from it at token j to another label, and is arbitrary before that. The states of the end are not fixed; R has the best
score of them, for each state from which the end can be entered:

    R[j, (f, k)] = max over states h of the label at i = j + order of L[i, f, k, h] + V[i, k, h] + R[j+1, k, h]

in the notation of forward_backward.py: f is the state at token j; k is the one at j+1 (of the label there) at order 2,
and empty at order 1. The best sequence with label y at token j and that end scores max over its states f of D[j, f] +
R[j, f] at order 1, and max over f and k of D[j+1, f, k] + R[j, f, k] at order 2. So every listed sequence is new,
however many paths it has.

Ties: of sequences with equal scores the one with the smaller label at the last token at which they differ comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.exact import ListedPaths, log_sum_of_labels, make_search_workspace
from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.forward_backward import Sums, edges_into, exp_edges, log_partition, make_sums
from palmette.kernels.chain.kbest import BestSequences, PathCandidates, insert_candidate, list_paths, make_candidates
from palmette.kernels.chain.max_recursion import best_scores
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import ABSENT
from palmette.kernels.core.types import F64, F64_3D, I64, struct


class Ends(NamedTuple):
    """The states of each label, and scratch space for the best ends from one token on."""

    begin: I64  # [Y+1]
    member: I64  # [H]          the states of label y are member[begin[y] : begin[y + 1]]
    R: F64_3D  # [2, 1 or H, H]    of a token and of the one after it
    tail: F64  # [H]            of one label's states: their own scores plus those of the best ends


def make_ends(m: Chain, n_labels: int) -> Ends:
    H = m.label_of.size
    begin, member = np.zeros(n_labels + 1, np.int64), np.empty(H, np.int64)
    k = 0
    for y in range(n_labels):
        for h in range(H):
            if m.label_of[h] == y:
                member[k] = h
                k += 1
        begin[y + 1] = k
    return Ends(begin, member, np.zeros((2, H if m.order == 2 else 1, H)), np.empty(H))


@part
def _best_ends(T: Trellis, L: np.ndarray, order: int, n: int, j: int, labels: np.ndarray, r: Ends) -> None:
    """R of token j from that of the next one, by the labels after it. L is `edges_into` of the trellis."""
    begin, member, tail, R, later = r.begin, r.member, r.tail, r.R[j % 2], r.R[(j + 1) % 2]
    i = j + order  # the token whose states are decided
    if order == 0 or i >= n:
        R[:] = 0.0
        return
    edge, u, e = L[i if L.shape[0] > 1 else 0], T.U[i], T.E[i if T.E.shape[0] > 1 else 0]
    first, last = begin[labels[i]], begin[labels[i] + 1]
    contexts = begin[labels[j + 1] + 1] - begin[labels[j + 1]] if order == 2 else 1
    for c in range(contexts):
        k = member[begin[labels[j + 1]] + c] if order == 2 else 0
        for p in range(first, last):
            tail[p] = later[k, member[p]] + u[member[p]]
            if order == 2:
                tail[p] += e[k, member[p]]
        for f in range(member.size):
            row = edge[f, k]
            top = -np.inf
            for p in range(first, last):
                top = max(top, row[member[p]] + tail[p])
            if order == 2:
                R[f, k] = top
            else:
                R[0, f] = top


@inline
def _best_with(u: np.ndarray, D: np.ndarray, order: int, j: int, h: int, after: int, r: Ends) -> float:
    """The best score with state h at token j and the labels after it (`after` is the next one, ABSENT at the last
    token), without terms that all states share. u f32[W] are the token's own scores."""
    if order == 0:
        return np.float64(u[h])
    R = r.R[j % 2]
    if order == 1 or (after == ABSENT and j == 0):
        return D[j, 0, h] + R[0, h]
    top = -np.inf
    if after == ABSENT:
        for g in range(D.shape[1]):
            top = max(top, D[j, g, h])
    else:
        for p in range(r.begin[after], r.begin[after + 1]):
            top = max(top, D[j + 1, h, r.member[p]] + R[h, r.member[p]])
    return top


@part
def list_labels(
    T: Trellis, m: Chain, D: np.ndarray, n: int, ends: Ends, r: PathCandidates, sequences: np.ndarray
) -> int:
    """Write the best label sequences to the rows of sequences i32[K, at least n] and their losses against the best one
    to r.loss. Returns their number. D f64[n, 1 or H, H or more] is filled, and a path is allowed. r.choice is at least
    f64[Y]."""
    K, Y = sequences.shape[0], ends.begin.size - 1
    U, L, order, begin, member = T.U, edges_into(T, m), m.order, ends.begin, ends.member
    loss, leaves, choice = r.loss[:K], r.leaves, r.choice
    taken, size = 0, 1
    loss[0], leaves[0] = 0.0, n * Y
    while taken < size:
        what, base = leaves[taken], loss[taken]
        labels = sequences[taken]
        first = n
        if taken > 0:
            first = (what // Y) % n
            for i in range(first + 1, n):
                labels[i] = sequences[what // Y // n, i]
            labels[first] = what % Y
        taken += 1
        for j in range(n - 1, -1, -1):
            _best_ends(T, L, order, n, j, labels, ends)
            if j >= first:
                continue
            after = labels[j + 1] if j + 1 < n else ABSENT
            best = 0
            for y in range(Y):
                choice[y] = -np.inf
                for p in range(begin[y], begin[y + 1]):
                    choice[y] = max(choice[y], _best_with(U[j], D, order, j, member[p], after, ends))
                if choice[y] > choice[best]:
                    best = y
            labels[j] = best
            for y in range(Y):
                value = base + (choice[best] - choice[y])
                if y != best and value < np.inf and taken < K:
                    what = ((taken - 1) * n + j) * Y + y
                    size = insert_candidate(loss, leaves, taken, size, value, what, sequences, n, Y)
    return taken


# --- tagging ---------------------------------------------------------------------------------------------------


@struct
class ListWorkspace(NamedTuple):
    """Arrays for the best label sequences of one sentence."""

    trellis: Trellis
    sums: Sums
    search: ListedPaths
    candidates: PathCandidates
    ends: Ends


def make_list_workspace(m: Chain, x: Data, K: int) -> ListWorkspace:
    """For any sentence of the corpus and K label sequences."""
    T = make_trellis(m, x)
    w, n_labels = make_sums(T, m, False), x.allow.shape[1]
    candidates = make_candidates(K, max(T.U.shape[1], n_labels))
    return ListWorkspace(T, w, make_search_workspace(T, w), candidates, make_ends(m, n_labels))


@kernel
def decode_nbest(
    m: Chain, x: Data, workspace: ListWorkspace, first: int, last: int, out: BestSequences, restricted: bool
) -> None:
    """Write the best label sequences of the sentences first..last - 1 to out. The score is that of the best path with
    these labels, the probability the sum over all paths with them, with `restricted` given the mask."""
    T, w, search, r, ends = workspace
    labels, scores, probability, found = out
    edges_made = False
    for s in range(first, last):
        n = score(T, m, x, s, s == first)
        if restricted:
            restrict(T, m, x, x.offset[s], n)
        lo = x.offset[s] - x.offset[first]
        own = labels[:, lo : lo + n]
        top = best_scores(T, m, n, w.V, search.D)
        found[s - first] = 0
        if top == -np.inf:
            continue
        count = list_paths(T, m, search.D, n, r, own) if m.plain else list_labels(T, m, search.D, n, ends, r, own)
        found[s - first] = count
        for k in range(count):
            scores[s - first, k] = top - r.loss[k]
        if probability.size > 0:
            if not edges_made or w.X.shape[0] > 1:
                exp_edges(T, m, n, w)
                edges_made = True
            log_z = log_partition(T, m, n, w)
            for k in range(count):
                log_sum = scores[s - first, k]
                if not m.plain:
                    log_sum = log_sum_of_labels(T, m, n, own[k], search.U, w)
                probability[s - first, k] = min(1.0, np.exp(log_sum - log_z))
