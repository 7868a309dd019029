"""The best paths of a sentence as a learner sees them: gold first, then the candidates, best first, with their scores.

Gold is the best path that agrees with what is known. It may also be among the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.astar import Candidates, kbest_astar, room_for_candidates
from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.train import gold_path, wrong_labels
from palmette.kernels.core.compile import part


class Listed(NamedTuple):
    """Room for gold and K candidates."""

    paths: np.ndarray  # i32[K + 1, longest sentence]
    scores: np.ndarray  # f64[K + 1]
    search: Candidates


@part
def room_for_listed(T: Trellis, m: Chain, K: int) -> Listed:
    paths = np.zeros((K + 1, T.U.shape[0]), np.int32)
    return Listed(paths, np.zeros(K + 1), room_for_candidates(K, T.U.shape[1]))


@part
def score_of_path(T: Trellis, m: Chain, n: int, path: np.ndarray) -> float:
    """The score of one path of the trellis."""
    total = 0.0
    for i in range(n):
        h = path[i]
        total += T.U[i, h]
        if i >= 1 and m.order >= 1:
            total += T.E[i if T.E.shape[0] > 1 else 0, path[i - 1], h]
            if i >= 2 and m.order >= 2:
                total += T.S[i if T.S.shape[0] > 1 else 0, path[i - 2], path[i - 1], h]
    return total


@part
def list_candidates(T: Trellis, m: Chain, x: Data, lo: int, n: int, r: Listed) -> tuple[int, int]:
    """Fill the list for a scored sentence: (how many candidates, tokens that the best of them has wrong). -1
    candidates: no path agrees with what is known. The scores in T.U may be destroyed."""
    found = kbest_astar(T, m, n, r.search, r.paths[1:], r.scores[1:])
    if found == 0:
        return -1, 0
    missed = wrong_labels(m, x, lo, n, r.paths[1])
    if not gold_path(T, m, x, lo, n, r.paths[0]):
        return -1, missed
    r.scores[0] = score_of_path(T, m, n, r.paths[0])  # gold's own states are never restricted
    return (found if r.scores[0] > -np.inf else -1), missed


@part
def is_gold(r: Listed, n: int, k: int) -> bool:
    """Whether candidate k is the gold path."""
    for i in range(n):  # noqa: SIM110
        if r.paths[k, i] != r.paths[0, i]:
            return False
    return True
