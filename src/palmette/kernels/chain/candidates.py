"""The candidate list of a sentence: gold first, then up to K of the best paths that are not gold.

Gold is the best path that agrees with the label mask. If the search lists it too, it is removed from the
candidates. For rules with costs, paths without a cost (gold labels with other latent states, the same chunks in
another encoding) are removed as well; for probPerc they stay in the list with the cost 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.kbest import PathCandidates, kbest_astar, make_candidates
from palmette.kernels.chain.score import restrict
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.types import I32_2D, I64, Bool_2D, struct
from palmette.kernels.learning.coefficients import asks_for_costs, searches_with_costs
from palmette.kernels.learning.rule import PROBPERC, CandidateList, Rule, candidate_list

# --- costs -----------------------------------------------------------------------------------------------------
# Costs of wrong paths, for margin learners: wrong tokens, or chunks that only one of two paths has.


@struct
class Chunks(NamedTuple):
    """Where chunks begin and end, by pairs of labels; index Y is outside. Of size 0: the cost is that of tokens."""

    starts: Bool_2D  # [Y+1, Y+1]
    ends: Bool_2D  # [Y+1, Y+1]
    type_of: I64  # [Y+1]


def no_chunks() -> Chunks:
    """Empty tables: the cost is the number of wrong tokens."""
    square = np.zeros((0, 0), np.bool_)
    return Chunks(square, square, np.zeros(0, np.int64))


@part
def wrong_labels(m: Chain, x: Data, lo: int, n: int, path: np.ndarray) -> int:
    """The number of tokens whose label the mask excludes."""
    wrong = 0
    for i in range(n):
        if not x.allow[x.known[lo + i], m.label_of[path[i]]]:
            wrong += 1
    return wrong


@part
def span_cost(m: Chain, n: int, gold: np.ndarray, path: np.ndarray, c: Chunks) -> int:
    """Chunks that only one of two paths has."""
    outside = c.type_of.size - 1
    count = 0
    opened, other = -1, -1  # first tokens of the open chunks
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
def path_cost(m: Chain, n: int, gold: np.ndarray, path: np.ndarray, tokens: int, c: Chunks) -> int:
    """The cost of a path with `tokens` wrong tokens: 0 for correct paths, whatever their chunks are."""
    return span_cost(m, n, gold, path, c) if tokens > 0 and c.type_of.size > 0 else tokens


@part
def augment(T: Trellis, m: Chain, x: Data, lo: int, n: int) -> None:
    """Add 1 to the scores of all states whose label the mask excludes."""
    for i in range(n):
        known = x.known[lo + i]
        for h in range(m.label_of.size):
            if not x.allow[known, m.label_of[h]]:
                T.U[i, h] += np.float32(1.0)


# --- the candidate list ----------------------------------------------------------------------------------------


class PathList(NamedTuple):
    """Gold and K candidates: their states, their numbers, and scratch space for the search."""

    paths: I32_2D  # [K + 1, longest sentence]
    numbers: CandidateList
    search: PathCandidates


def make_path_list(T: Trellis, K: int) -> PathList:
    return PathList(np.zeros((K + 1, T.U.shape[0]), np.int32), candidate_list(K), make_candidates(K, T.U.shape[1]))


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


@inline
def same_path(one: np.ndarray, other: np.ndarray, n: int) -> bool:
    for i in range(n):  # noqa: SIM110
        if one[i] != other[i]:
            return False
    return True


@inline
def keep_candidate(paths: np.ndarray, score: np.ndarray, k: int, kept: int, n: int) -> None:
    """Move candidate k to place `kept` <= k."""
    if kept != k:
        score[kept] = score[k]
        for i in range(n):
            paths[kept, i] = paths[k, i]


@part
def _drop_right(m: Chain, x: Data, lo: int, n: int, found: int, with_costs: bool, chunks: Chunks, c: PathList) -> int:
    """Compute costs, and keep the candidates with a positive cost. Returns their number. with_costs: scores contain 1
    per wrong token, which is subtracted."""
    paths, score, cost = c.paths, c.numbers.score, c.numbers.cost
    kept = 0
    for k in range(1, found + 1):
        tokens = wrong_labels(m, x, lo, n, paths[k])
        own = path_cost(m, n, paths[0], paths[k], tokens, chunks)
        if own > 0:
            kept += 1
            keep_candidate(paths, score, k, kept, n)
            cost[kept] = own
            if with_costs:
                score[kept] -= tokens
    return kept


@inline
def _drop_gold(paths: np.ndarray, score: np.ndarray, n: int, found: int) -> tuple[int, bool]:
    """Keep the candidates that are not gold. Returns (their number, whether gold was listed). If it was, gold gets its
    score in the list, so that scores are comparable."""
    kept, listed = 0, False
    for k in range(1, found + 1):
        if same_path(paths[k], paths[0], n):
            listed = True
            score[0] = score[k]
        else:
            kept += 1
            keep_candidate(paths, score, k, kept, n)
    return kept, listed


@part
def _mark_right(m: Chain, x: Data, lo: int, n: int, found: int, c: PathList) -> None:
    """Costs of 0 for candidates whose labels the mask allows, and of 1 for the others."""
    for k in range(1, found + 1):
        path, wrong = c.paths[k], False
        for i in range(n):
            if not x.allow[x.known[lo + i], m.label_of[path[i]]]:
                wrong = True
                break
        c.numbers.cost[k] = 1.0 if wrong else 0.0


@inline
def drop_candidates(
    m: Chain, x: Data, lo: int, n: int, found: int, rule: Rule, chunks: Chunks, c: PathList
) -> tuple[int, bool]:
    """Keep the candidates that the rule can use, with costs if it needs them. Returns (their number, whether gold was
    listed)."""
    if asks_for_costs(rule):
        return _drop_right(m, x, lo, n, found, searches_with_costs(rule), chunks, c), False
    kept, listed = _drop_gold(c.paths, c.numbers.score, n, found)
    if rule.kind == PROBPERC:
        _mark_right(m, x, lo, n, kept, c)
    return kept, listed


@part
def list_candidates(
    T: Trellis, m: Chain, x: Data, lo: int, n: int, rule: Rule, chunks: Chunks, c: PathList
) -> tuple[int, int, bool]:
    """Fill the list for a scored sentence: (number of candidates, wrong tokens of the best path, whether gold was
    listed). -1 candidates: no path agrees with the label mask. T.U may be overwritten."""
    paths, score = c.paths, c.numbers.score
    found = kbest_astar(T, m, n, c.search, paths[1:], score[1:])
    if found == 0:
        return -1, 0, False
    missed = wrong_labels(m, x, lo, n, paths[1])
    if searches_with_costs(rule):
        augment(T, m, x, lo, n)
        found = kbest_astar(T, m, n, c.search, paths[1:], score[1:])
    if not gold_path(T, m, x, lo, n, paths[0]):
        return -1, missed, False
    score[0] = score_of_path(T, m, n, paths[0])  # neither costs nor the label mask change the scores of gold's states
    if score[0] == -np.inf:
        return -1, missed, False
    kept, listed = drop_candidates(m, x, lo, n, found, rule, chunks, c)
    return kept, missed, listed


@part
def gold_path(T: Trellis, m: Chain, x: Data, lo: int, n: int, path: np.ndarray) -> bool:
    """Find the best path under the label mask. False: none is allowed."""
    Y = x.allow.shape[1]
    certain = m.plain
    for i in range(n):
        path[i] = x.known[lo + i]
        certain = certain and x.known[lo + i] < Y
    if certain:
        return True
    restrict(T, m, x, lo, n)
    return viterbi(T, m, n, path) > -np.inf
