"""The K best paths of a trellis by A*: partial paths from the last token to the first, D as the exact heuristic.

A candidate is a set of paths: those that end like an earlier path, branch off from it at token j (backwards) to
another state, and are arbitrary before that. D gives the best of them without search, so its loss against the best
path is known exactly:

    loss = loss of the path that it leaves + difference between its state and the choice of that path at token j

The list of K candidates is sorted; its first part has been expanded and is the result. Expanding a candidate writes
its path (the end of the path that it leaves, its own state, then the best choice at each token), and every other
choice at these last tokens becomes a candidate. So no path is listed twice, and candidates beyond the K best are
not needed.

Ties: of paths with equal scores the one with the smaller state at the last token at which they differ comes first.
The first path is that of `viterbi`. Losses are float64 sums of differences in the precision of D.

Cost: one pass over the sentence with H states per token, and K shorter passes that examine only tokens where they
differ from the best path, or where another choice has a small enough loss for the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Trellis
from palmette.kernels.chain.viterbi import first_best, viterbi
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.types import F64, F64_2D, I32_2D, I64, struct

# --- choices at a token ----------------------------------------------------------------------------------------
# Scores of the states of a token given the states after it, from a searched trellis.
#
# A search for more than the best path runs from the last token to the first, over the table D of best scores up to a
# token. Only two states after token j matter, `one_on` and `two_on`:
#
#     order 0:   U[j, h]
#     order 1:   D[j, h] + E[j+1, h, one_on]                        D[j, h] at the last token
#     order 2:   D[j+1, h, one_on] + S[j+2, h, one_on, two_on]         D[j+1, h, one_on] at the last but one token,
#                                                                 max over g of D[j, g, h] at the last one
#
# Terms that all choices of a token share are left out, so that only differences within a token are meaningful; these
# do not depend on the rescaling of D. D is the float32 table of `viterbi` or a float64 one; sums have its precision
# and the order of `viterbi`, so that both have the same ties.


@inline
def choices_at(
    U: np.ndarray, E: np.ndarray, S: np.ndarray, D: np.ndarray, order: int, H: int, j: int, path: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """out[h] = the score of state h at token j, given the states after it in path i32[n]."""
    n = path.size
    one_on = path[j + 1] if j + 1 < n else 0
    two_on = path[j + 2] if j + 2 < n else 0
    if order == 0 or n == 1:
        u = U[j]
        for h in range(H):
            out[h] = u[h]
    elif order == 1:
        d = D[j, 0]
        if j == n - 1:
            for h in range(H):
                out[h] = d[h]
        else:
            e = E[j + 1 if E.shape[0] > 1 else 0]
            for h in range(H):
                out[h] = d[h] + e[h, one_on]
    elif j == n - 1:
        d2 = D[j]
        for h in range(H):
            out[h] = d2[0, h]
            for g in range(1, H):
                out[h] = max(out[h], d2[g, h])
    else:
        d2 = D[j + 1]
        if j == n - 2:
            for h in range(H):
                out[h] = d2[h, one_on]
        else:
            s = S[j + 2 if S.shape[0] > 1 else 0]
            for h in range(H):
                out[h] = d2[h, one_on] + s[h, one_on, two_on]


# --- the search ------------------------------------------------------------------------------------------------


@struct
class BestSequences(NamedTuple):
    """The best label sequences of some sentences: at most K of each, best first."""

    labels: I32_2D  # [K, tokens of the sentences]
    scores: F64_2D  # [sentences, K]
    probability: F64_2D  # [sentences, K]; of size 0: not computed
    found: I64  # [sentences]  how many a sentence has


class PathCandidates(NamedTuple):
    """The sorted list, and scratch space for the choices at one token."""

    loss: F64  # [K]
    leaves: I64  # [K]   (number of the path that it leaves * n + token) * H + state
    choice: F64  # [W]


def make_candidates(K: int, W: int) -> PathCandidates:
    return PathCandidates(np.empty(K), np.empty(K, np.int64), np.empty(W))


@inline
def _state_at(paths: np.ndarray, n: int, H: int, what: int, t: int) -> int:
    """The state of a candidate at a token not before the one where it leaves."""
    return what % H if (what // H) % n == t else paths[what // H // n, t]


@part
def _comes_first(paths: np.ndarray, n: int, H: int, a: int, b: int) -> bool:
    """Whether candidate a comes before b, which has the same loss. No path is in both, so they differ at or after the
    later of the two branching tokens."""
    if a // H // n == b // H // n:
        t = max((a // H) % n, (b // H) % n)
        return _state_at(paths, n, H, a, t) < _state_at(paths, n, H, b, t)
    t = n - 1
    while _state_at(paths, n, H, a, t) == _state_at(paths, n, H, b, t):
        t -= 1
    return _state_at(paths, n, H, a, t) < _state_at(paths, n, H, b, t)


@part
def insert_candidate(
    loss: np.ndarray, leaves: np.ndarray, taken: int, size: int, value: float, what: int, paths: np.ndarray, n: int,
    H: int,
) -> int:  # fmt: skip
    """Insert a candidate after the expanded ones; a full list drops its last one. Returns the new size."""
    K = loss.size
    k = size
    while k > taken and (
        loss[k - 1] > value or (loss[k - 1] == value and _comes_first(paths, n, H, what, leaves[k - 1]))
    ):
        if k < K:
            loss[k], leaves[k] = loss[k - 1], leaves[k - 1]
        k -= 1
    if k < K:
        loss[k], leaves[k] = value, what
    return min(K, size + 1)


@inline
def _as_before(paths: np.ndarray, k: int, order: int, n: int, j: int) -> bool:
    """Whether path k equals the best path after token j: then its choice at token j and the losses of other choices are
    the same."""
    if order >= 1 and j + 1 < n and paths[k, j + 1] != paths[0, j + 1]:
        return False
    return not (order >= 2 and j + 2 < n and paths[k, j + 2] != paths[0, j + 2])


@part
def list_paths(T: Trellis, m: Chain, D: np.ndarray, n: int, r: PathCandidates, paths: np.ndarray) -> int:
    """Write the best paths to the rows of paths i32[K, at least n] and their losses to r.loss. Returns their number. D
    is filled, and a path is allowed."""
    U, E, S, order, H = T.U, T.E, T.S, m.order, m.label_of.size
    K = paths.shape[0]
    loss, leaves, choice = r.loss[:K], r.leaves, r.choice
    gap = np.empty(n)  # of the best path: loss of the second choice at a token
    taken, size = 0, 1
    loss[0], leaves[0] = 0.0, n * H
    while taken < size:
        what, base = leaves[taken], loss[taken]
        path = paths[taken, :n]
        first = n  # the token where it branches off; n for the best path
        if taken > 0:
            first, parent = (what // H) % n, paths[what // H // n]
            for t in range(first + 1, n):
                path[t] = parent[t]
            path[first] = what % H
        taken += 1
        for j in range(first - 1, -1, -1):
            if taken > 1 and _as_before(paths, taken - 1, order, n, j):
                path[j] = paths[0, j]
                if taken == K or (size == K and base + gap[j] > loss[K - 1]):
                    continue
            choices_at(U, E, S, D, order, H, j, path, choice)
            best = first_best(choice, H)
            path[j] = best
            if taken == K:
                continue
            top = choice[best]
            floor = loss[K - 1] if size == K else np.inf
            least = np.inf
            for h in range(H):
                value = base + (top - choice[h])
                if h != best:
                    least = min(least, value)
                    if value <= floor and value < np.inf:
                        size = insert_candidate(
                            loss, leaves, taken, size, value, ((taken - 1) * n + j) * H + h, paths, n, H
                        )
                        floor = loss[K - 1] if size == K else np.inf
            if taken == 1:
                gap[j] = least
    return taken


@part
def kbest_astar(T: Trellis, m: Chain, n: int, r: PathCandidates, paths: np.ndarray, scores: np.ndarray) -> int:
    """Search a scored trellis: write the best paths to paths i32[K, at least n], best first, and their scores to scores
    f64[K]. Returns their number (fewer than K: there are no more; 0: none is allowed)."""
    scores[0] = viterbi(T, m, n, paths[0])
    if scores[0] == -np.inf:
        return 0
    if paths.shape[0] == 1:
        return 1
    found = list_paths(T, m, T.D, n, r, paths)
    for k in range(1, found):
        scores[k] = scores[0] - r.loss[k]
    return found
