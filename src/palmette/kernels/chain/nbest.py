"""The K best label sequences of each sentence, with scores and optionally probabilities. All sums are float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.astar import Candidates, list_paths, make_candidates
from palmette.kernels.chain.exact import Workspace, log_sum_of_labels, make_search_workspace
from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.forward import Sums, exp_edges, log_partition, make_sums
from palmette.kernels.chain.label_lists import Ends, list_labels, make_ends
from palmette.kernels.chain.max_recursion import best_scores
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import F64_2D, I32_2D, I64, struct


@struct
class ListWorkspace(NamedTuple):
    """Arrays for the best label sequences of one sentence."""

    trellis: Trellis
    sums: Sums
    search: Workspace
    candidates: Candidates
    ends: Ends


def make_list_workspace(m: Chain, x: Data, K: int) -> ListWorkspace:
    """For any sentence of the corpus and K label sequences."""
    T = make_trellis(m, x)
    w, n_labels = make_sums(T, m, False), x.allow.shape[1]
    candidates = make_candidates(K, max(T.U.shape[1], n_labels))
    return ListWorkspace(T, w, make_search_workspace(T, w), candidates, make_ends(m, n_labels))


@kernel
def decode_nbest(
    m: Chain, x: Data, workspace: ListWorkspace, first: int, last: int, out: I32_2D, scores: F64_2D,
    probability: F64_2D, found: I64, restricted: bool,
) -> None:  # fmt: skip
    """Write the best label sequences of the sentences first..last - 1, best first: labels to out i32[K, their tokens],
    scores (of the best path with these labels) to scores f64[sentences, K], their number to found i64[sentences].
    probability f64[sentences, K] is filled unless it is of size 0: the sum over all paths with these labels, with
    `restricted` given the mask."""
    T, w, search, r, ends = workspace
    edges_made = False
    for s in range(first, last):
        n = score(T, m, x, s, s == first)
        if restricted:
            restrict(T, m, x, x.offset[s], n)
        lo = x.offset[s] - x.offset[first]
        own = out[:, lo : lo + n]
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
