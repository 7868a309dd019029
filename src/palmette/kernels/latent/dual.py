"""The best chunking of all views together, by dual decomposition.

    maximise   sum over views r of score_r(z_r)      where all z_r are the same chunking

Let l_r(i) be the IOB2 label that z_r gives to token i. For multipliers u with sum over r of u[r, i, l] = 0,

    L(u) = sum over r of max over z_r of ( score_r(z_r) + sum over i of u[r, i, l_r(i)] )

is at least the best joint score, since the multipliers cancel where views agree. Each maximum is a Viterbi search of
one view, with u on its edges: a label depends on a state and the one before it. A step along a subgradient of L,

    u[r, i, l] -= step * ( [l_r(i) = l] - share of views with the label l at i )
    step        = (L(u) - best) / |subgradient|^2 / (1 + number of steps after which L rose)

drives the views towards each other; `best` is the score of the best chunking so far, of those of the views and of their
vote. If all views agree, or if `best` reaches L(u), the result is the exact joint maximum: this is the certificate.
Otherwise the best chunking after a limited number of rounds is taken.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.viterbi import viterbi_pairs
from palmette.kernels.core.compile import part
from palmette.kernels.latent.chunks import read_chunks, vote, write_chunks
from palmette.kernels.latent.forms import CERTIFIED, ROUNDS, Views, Workspace

ROUNDING = 1e-6  # relative: scores are sums of float32 weights


@part
def best_path(v: Views, workspace: Workspace, r: int, n: int, priced: bool) -> None:
    """The best path of view r; if `priced`, with its multipliers."""
    H, W, column, edge = v.size[r], v.stride[r], v.column[r], v.edge[r]
    U = workspace.own[: n * W].reshape(n, W)
    for i in range(n):
        for h in range(W):
            U[i, h] = workspace.U[i, column + h]
    D = workspace.D[: n * W].reshape(n, 1, W)
    E = workspace.E[edge : v.edge[r + 1]].reshape(1, H, W)
    if priced:
        _add_prices(v, workspace, r, n, U)
        E = workspace.dual.edges[: n * H * W].reshape(n, H, W)
    viterbi_pairs(U, E, D, n, H, workspace.best[r])


@part
def _add_prices(v: Views, workspace: Workspace, r: int, n: int, U: np.ndarray) -> None:
    """Add the multipliers of view r to the states of the first token and to the edges into the others."""
    H, W, column, edge = v.size[r], v.stride[r], v.column[r], v.edge[r]
    dual, L = workspace.dual, n_labels(v)
    u = dual.u[r * n * L : (r + 1) * n * L].reshape(n, L)
    E, label, edges = workspace.E, dual.label, dual.edges
    for h in range(H):
        U[0, h] += u[0, dual.first[column + h]]
    for i in range(1, n):
        price, to = u[i], i * H * W
        for k in range(H * W):
            edges[to + k] = E[edge + k] + price[label[edge + k]]


@part
def n_labels(v: Views) -> int:
    """IOB2 labels: O, and two per type."""
    return 2 * v.written.shape[1] - 1


@part
def _label(workspace: Workspace, r: int, i: int) -> int:
    """The number of the IOB2 label that view r gives to token i."""
    kind = workspace.kind[r, i]
    return 0 if kind < 0 else 1 + 2 * kind + workspace.starts[r, i]


@part
def path_score(v: Views, workspace: Workspace, n: int, path: np.ndarray) -> float:
    """The score of paths i32[R, n] of all views together, from the tables of this sentence."""
    total = 0.0
    for r in range(v.size.size):
        column, edge, W, own = v.column[r], v.edge[r], v.stride[r], path[r]
        for i in range(n):
            total += workspace.U[i, column + own[i]]
            if i > 0:
                total += workspace.E[edge + own[i - 1] * W + own[i]]
    return total


@part
def _prices(v: Views, workspace: Workspace, n: int) -> float:
    """The sum of the multipliers of the labels that the views give."""
    L, total, u = n_labels(v), 0.0, workspace.dual.u
    for r in range(v.size.size):
        for i in range(n):
            total += u[(r * n + i) * L + _label(workspace, r, i)]
    return total


@part
def _disagreement(workspace: Workspace, R: int, n: int) -> float:
    """The squared length of the subgradient; 0: the views agree."""
    total = 0.0
    for i in range(n):
        for r in range(R):
            own, same = _label(workspace, r, i), 0
            for q in range(R):
                if _label(workspace, q, i) == own:
                    same += 1
            total += 1.0 - same / R
    return total


@part
def _step(v: Views, workspace: Workspace, n: int, step: float) -> None:
    R, L, u = v.size.size, n_labels(v), workspace.dual.u
    for i in range(n):
        for r in range(R):
            at = (r * n + i) * L
            u[at + _label(workspace, r, i)] -= step
            for q in range(R):
                u[at + _label(workspace, q, i)] += step / R


@part
def _try(v: Views, workspace: Workspace, n: int, kind: np.ndarray, starts: np.ndarray, best: float) -> float:
    """Write chunks in all views; they become workspace.path if they score more than `best`. Returns the better
    score."""
    trial = workspace.dual.trial
    for r in range(v.size.size):
        write_chunks(v, r, kind, starts, n, trial[r])
    score = path_score(v, workspace, n, trial)
    if score <= best:
        return best
    for r in range(v.size.size):
        for i in range(n):
            workspace.path[r, i] = trial[r, i]
    return score


@part
def search_together(v: Views, workspace: Workspace, n: int, rounds: int) -> None:
    """Write the best chunking found to workspace.path, and whether it is certified, and after how many rounds, to
    workspace.dual.proof."""
    R, dual = v.size.size, workspace.dual
    for k in range(R * n * n_labels(v)):
        dual.u[k] = 0.0
    best, least, rises = -np.inf, np.inf, 0
    dual.proof[CERTIFIED], dual.proof[ROUNDS] = 0, rounds
    for t in range(rounds):
        for r in range(R):
            best_path(v, workspace, r, n, t > 0)
            read_chunks(v, workspace, r, n)
        bound = path_score(v, workspace, n, workspace.best) + _prices(v, workspace, n)
        apart = _disagreement(workspace, R, n)
        for r in range(R):
            if r == 0 or apart > 0.0:
                best = _try(v, workspace, n, workspace.kind[r], workspace.starts[r], best)
        if apart > 0.0:
            vote(workspace.kind, workspace.starts, n, -1, workspace.won, workspace.begins)
            best = _try(v, workspace, n, workspace.won, workspace.begins, best)
        if apart == 0.0 or bound - best <= ROUNDING * (1.0 + abs(bound)):
            dual.proof[CERTIFIED], dual.proof[ROUNDS] = 1, t + 1
            return
        if bound > least:
            rises += 1
        least = min(least, bound)
        _step(v, workspace, n, (bound - best) / apart / (1.0 + rises))
