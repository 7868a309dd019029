"""The most probable LABEL sequence of a model with latent states, with proof (after Sun & Tsujii 2009).

The probability of a label sequence is the sum over all latent paths that project to it, and no recursion finds the best
one. But paths can be listed, best first, and the probability of each new label sequence can be computed exactly by a
forward pass over its states. The best one so far is the best of all as soon as

- it is at least as probable as all sequences that are not listed yet together: 1 - the sum of the listed ones, or
- no other sequence can reach it: each of its paths scores at most as much as the next path, and their number is at most
  the product over tokens of the states per label. With one state per label the first path is proven at once.

The list: D[i, k, h] is the best score of a path up to token i (max_recursion.py), so that the best path with
a given end is known without search. A path is stored as the token where it branches off from an earlier one, from the
last token to the first; before that token it is the best one. When it is popped from the queue, every other choice at
every token before that one becomes a candidate with its exact score. No path is listed twice, and the first one is that
of Viterbi. At most `cap` paths are popped, so a queue of the best `cap` candidates is enough: memory is O(cap + n).
(kbest.py uses the same method for short lists. Here thousands may be popped: the sorted list is replaced by a heap, and
paths are reconstructed instead of stored.)

Label sequences are identified by a 64-bit hash. If two have the same, the second counts as not listed, and its
probability remains in that of the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.forward_backward import Sums, log_partition, make_sum_workspace, scored
from palmette.kernels.chain.kbest import choices_at
from palmette.kernels.chain.max_recursion import best_scores
from palmette.kernels.chain.viterbi import first_best, sift_down
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import ABSENT, find_or_add, mixed
from palmette.kernels.core.types import F32_2D, F64, F64_3D, I32, I64, U64, Bool, struct

NEAR = 1e-9  # log probabilities that differ by less are a tie
ROUNDING = 1e-13  # relative rounding error of float64 sums in another order
ROOT = -1  # the first path, which branches off from none


class Queue(NamedTuple):
    """A binary heap of candidates, best on top, and the list of popped paths.

    A candidate is a number: ((popped path that it leaves) * n + token) * H + state."""

    score: F64  # [size]
    leaves: I64  # [size]
    size: I64  # [1]
    floor: F64  # [1]    candidates below this score are dropped
    taken: I64  # [cap]
    keys: U64  # [places]  hash table of the listed label sequences
    numbers: I32  # [places]


@struct
class ListedPaths(NamedTuple):
    """Arrays for one sentence."""

    D: F64_3D  # [n, K, W]
    U: F32_2D  # [n, W]   a copy of T.U, which is masked for the sum of one label sequence
    path: I32  # [n]
    labels: I32  # [n]
    forced: I32  # [n]   the state where the path branches off from an earlier one, or ABSENT
    choice: F64  # [W]   the score of each state at one token


def make_queue(cap: int) -> Queue:
    places = 16
    while places < 2 * cap:
        places *= 2
    size = 2 * cap + 16
    return Queue(
        np.empty(size),
        np.empty(size, np.int64),
        np.zeros(1, np.int64),
        np.empty(1),
        np.empty(cap, np.int64),
        np.zeros(places, np.uint64),
        np.empty(places, np.int32),
    )


def make_search_workspace(T: Trellis, w: Sums) -> ListedPaths:
    n, W = T.U.shape
    return ListedPaths(
        np.empty(w.A.shape), np.empty_like(T.U), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32),
        np.empty(W),
    )  # fmt: skip


@struct
class ExactWorkspace(NamedTuple):
    """Arrays for the list of paths of one sentence and the sums over paths with the same labels."""

    trellis: Trellis
    sums: Sums
    search: ListedPaths
    queue: Queue


def make_exact_workspace(m: Chain, x: Data, cap: int) -> ExactWorkspace:
    """For any sentence of the corpus and up to `cap` paths."""
    T, w = make_sum_workspace(m, x)
    return ExactWorkspace(T, w, make_search_workspace(T, w), make_queue(cap))


# --- the queue ----------------------------------------------------------------------------------------------


@part
def _sort_by(score: np.ndarray, order: np.ndarray) -> None:
    """Sort the numbers in `order` by rising score (heapsort)."""
    for at in range(order.size // 2 - 1, -1, -1):
        sift_down(score, order, at, order.size)
    for size in range(order.size - 1, 0, -1):
        order[0], order[size] = order[size], order[0]
        sift_down(score, order, 0, size)


@part
def _prune(q: Queue) -> None:
    """Keep the best half, sorted by descending score, which is a heap."""
    keep = q.taken.size
    size = q.size[0]
    score, leaves, permutation = q.score[:size].copy(), q.leaves[:size].copy(), np.arange(size)
    _sort_by(score, permutation)
    for k in range(keep):
        q.score[k] = score[permutation[size - 1 - k]]
        q.leaves[k] = leaves[permutation[size - 1 - k]]
    q.size[0] = keep
    q.floor[0] = q.score[keep - 1]


@part
def _push(q: Queue, value: float, what: int) -> None:
    if q.size[0] == q.score.size:
        _prune(q)
    score, leaves = q.score, q.leaves
    k = q.size[0]
    q.size[0] += 1
    while k > 0 and score[(k - 1) // 2] < value:
        score[k], leaves[k] = score[(k - 1) // 2], leaves[(k - 1) // 2]
        k = (k - 1) // 2
    score[k], leaves[k] = value, what


@part
def _pop(q: Queue) -> int:
    score, leaves = q.score, q.leaves
    top = leaves[0]
    q.size[0] -= 1
    size = q.size[0]
    value, what = score[size], leaves[size]
    k = 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and score[child + 1] > score[child]:
            child += 1
        if score[child] <= value:
            break
        score[k], leaves[k] = score[child], leaves[child]
        k = child
    score[k], leaves[k] = value, what
    return top


# --- paths, best first --------------------------------------------------------------------------------------


@part
def _force(q: Queue, what: int, n: int, H: int, forced: np.ndarray) -> int:
    """Set forced to the states where the path branches off from earlier ones. Returns the first such token (n:
    none)."""
    for i in range(n):
        forced[i] = ABSENT
    first = n if what == ROOT else (what // H) % n
    while what != ROOT:
        forced[(what // H) % n] = what % H
        what = q.taken[what // H // n]
    return first


@part
def start_list(T: Trellis, m: Chain, n: int, V: np.ndarray, r: ListedPaths, q: Queue) -> None:
    """Queue the best path, if there is any. V f64[K, W] is overwritten."""
    q.size[0] = 0
    q.floor[0] = -np.inf
    top = best_scores(T, m, n, V, r.D)
    if top > -np.inf:
        _push(q, top, ROOT)


@part
def take_best(T: Trellis, m: Chain, n: int, r: ListedPaths, q: Queue, count: int) -> float:
    """Pop the best candidate as path number `count`, write it to r.path, and queue its branches. Returns its score."""
    order, H, path, choice = m.order, m.label_of.size, r.path[:n], r.choice
    U, E, S, D = T.U, T.E, T.S, r.D
    score = q.score[0]
    what = _pop(q)
    q.taken[count] = what
    first = _force(q, what, n, H, r.forced)
    for j in range(n - 1, -1, -1):
        choices_at(U, E, S, D, order, H, j, path, choice)
        best = r.forced[j]
        if best == ABSENT:
            best = first_best(choice, H)
        path[j] = best
        if j < first:
            for h in range(H):
                value = score - (choice[best] - choice[h])
                if h != best and value > q.floor[0]:
                    _push(q, value, (count * n + j) * H + h)
    return score


# --- label sequences ----------------------------------------------------------------------------------------


@part
def _is_new(m: Chain, n: int, path: np.ndarray, q: Queue, count: int) -> bool:
    """Whether the labels of the path are not listed yet; they are then added."""
    key = np.uint64(0)
    for i in range(n):
        key = mixed(key ^ np.uint64(m.label_of[path[i]] + 1))
    return find_or_add(q.keys, q.numbers, key, count) == count


@inline
def _copy_rows(of: np.ndarray, to: np.ndarray, n: int) -> None:
    for i in range(n):
        for h in range(to.shape[1]):
            to[i, h] = of[i, h]


@part
def log_sum_of_labels(T: Trellis, m: Chain, n: int, labels: np.ndarray, keep: np.ndarray, w: Sums) -> float:
    """log of the sum over all paths with these labels; keep f32[at least n, W] is scratch space for a copy of T.U."""
    U, label_of = T.U, m.label_of
    _copy_rows(U, keep, n)
    for i in range(n):
        for h in range(label_of.size):
            if label_of[h] != labels[i]:
                U[i, h] = -np.inf
    total = log_partition(T, m, n, w)
    _copy_rows(keep, U, n)
    return total


@part
def _log_paths_per_sequence(T: Trellis, m: Chain, n: int, of_label: np.ndarray) -> float:
    """log of the largest possible number of paths of a label sequence."""
    total = 0.0
    for i in range(n):
        for y in range(of_label.size):
            of_label[y] = 0
        for h in range(m.label_of.size):
            if T.U[i, h] > -np.inf:
                of_label[m.label_of[h]] += 1
        total += np.log(of_label.max())
    return total


@part
def _best_labels(
    T: Trellis, m: Chain, n: int, log_z: float, r: ListedPaths, q: Queue, w: Sums, of_label: np.ndarray, out: np.ndarray
) -> tuple[float, bool]:
    """Write the best label sequence to out[:n]. Returns its log probability, and whether it is proven to be the
    best."""
    start_list(T, m, n, w.V, r, q)
    q.keys[:] = np.uint64(0)
    most = _log_paths_per_sequence(T, m, n, of_label)
    best, left = -np.inf, 1.0
    count = 0
    while q.size[0] > 0:
        reach = q.score[0] + most - log_z  # an upper bound of the log probability of all other label sequences
        slack = NEAR + ROUNDING * abs(log_z)
        if count > 0 and (best >= reach - slack or np.exp(best) >= left):
            return best, True
        if count == q.taken.size:
            return best, False
        take_best(T, m, n, r, q, count)
        if _is_new(m, n, r.path, q, count):
            for i in range(n):
                r.labels[i] = m.label_of[r.path[i]]
            found = log_sum_of_labels(T, m, n, r.labels, r.U, w) - log_z
            left -= np.exp(found)
            if found > best + NEAR:
                best = found
                for i in range(n):
                    out[i] = r.labels[i]
        count += 1
    return best, True  # there is no other path


@kernel
def decode_exact(
    m: Chain, x: Data, workspace: ExactWorkspace, out: I32, proven: Bool, probability: F64,
    restricted: bool,
) -> None:  # fmt: skip
    """Write the most probable label sequence of each sentence to out i32[N] (with `restricted` among those that the
    mask allows), its probability (given the mask) to probability f64[S], and whether it is proven to be the best to
    proven bool[S]. When the capacity of the workspace for paths is used up, the result is the best so far, not proven.
    If no path is allowed: label 0, probability 0, not proven."""
    T, w, r, q = workspace
    of_label = np.empty(m.label_of.max() + 1, np.int64)
    for s in range(x.offset.size - 1):
        n = scored(T, m, x, s, w, restricted)
        labels = out[x.offset[s] : x.offset[s] + n]
        log_z = log_partition(T, m, n, w)
        if log_z == -np.inf:
            labels[:] = 0
            proven[s] = False
            probability[s] = 0.0
        else:
            best, proven[s] = _best_labels(T, m, n, log_z, r, q, w, of_label, labels)
            probability[s] = min(1.0, np.exp(best))
