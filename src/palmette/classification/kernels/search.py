"""The best structure of a sentence in each view, and the combination of all views.

U[i, h]  = sum over attributes of w[attribute, h]   (+ start, end), for the states h of all views side by side
z_r      = the best path of view r
path_r   = z_r (add), the vote of all views (vote), or that of the others (cotrain), written in view r's tags;
           or the best chunking of all views together (joint, see product.py)
"""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.chunks import read_chunks, vote, write_chunks
from palmette.classification.kernels.forms import ADD, COTRAIN, JOINT, Decoding, Sentences, Views, Weights, Workspace
from palmette.classification.kernels.product import search_product
from palmette.kernels.chain.score import add_rows
from palmette.kernels.chain.viterbi import viterbi_pairs
from palmette.kernels.core.compile import part


@part
def _score(v: Views, w: Weights, x: Sentences, s: int, workspace: Workspace, changed: bool) -> int:
    """Fill U (and E, if weights have changed) for sentence s. Returns its length."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    U, E = workspace.U[:n], workspace.E
    for i in range(n):
        u = U[i]
        for h in range(u.size):
            u[h] = 0.0
    add_rows(U, w.one, x.one, lo, 0)
    for h in range(v.kind.size):
        U[0, h] += v.first[h] + w.end[0, h]
        U[n - 1, h] += v.last[h] + w.end[1, h]
    if changed:
        for k in range(E.size):
            E[k] = v.forbid[k] + w.pair[k]
    return n


@part
def _best_path(v: Views, workspace: Workspace, r: int, n: int) -> None:
    """The best path of view r."""
    H, W, column, edge = v.size[r], v.stride[r], v.column[r], v.edge[r]
    U = workspace.own[: n * W].reshape(n, W)
    for i in range(n):
        for h in range(W):
            U[i, h] = workspace.U[i, column + h]
    D = workspace.D[: n * W].reshape(n, 1, W)
    viterbi_pairs(U, workspace.E[edge : v.edge[r + 1]].reshape(1, H, W), D, n, H, workspace.best[r])


@part
def _path_score(v: Views, workspace: Workspace, n: int, path: np.ndarray) -> float:
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
def _combine(v: Views, workspace: Workspace, n: int, how: int) -> None:
    R = v.size.size
    if how == ADD:
        for r in range(R):
            for i in range(n):
                workspace.path[r, i] = workspace.best[r, i]
        return
    for r in range(R):
        read_chunks(v, workspace, r, n)
    won, begins = workspace.won, workspace.begins
    for r in range(R):
        if how == COTRAIN or r == 0:
            vote(workspace.kind, workspace.starts, n, r if how == COTRAIN else -1, won, begins)
        write_chunks(v, r, won, begins, n, workspace.path[r])


@part
def search(v: Views, w: Weights, x: Sentences, s: int, workspace: Workspace, how: Decoding, changed: bool) -> float:
    """Find the structures of sentence s and write them to workspace.path. Returns their score."""
    n = _score(v, w, x, s, workspace, changed)
    if how.combine == JOINT:
        search_product(v, workspace, n, changed)
    else:
        for r in range(v.size.size):
            _best_path(v, workspace, r, n)
        _combine(v, workspace, n, how.combine)
    return _path_score(v, workspace, n, workspace.path)
