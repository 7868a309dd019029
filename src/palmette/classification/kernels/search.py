"""The best structure of a sentence in each view, and the combination of all views.

U[i, h]  = sum over attributes of w[attribute, h]   (+ start, end), for the states h of all views side by side
z_r      = the best path of view r
path_r   = z_r (add), the vote of all views (vote), or that of the others (cotrain), written in view r's tags;
           or the best chunking of all views together (joint)

Votes are per token, in IOB2. On ties the label of the first view among those with most votes wins; the result is read
by conlleval's rule: an I after O or after another type starts a chunk.

The best chunking of all views together is one exact Viterbi search over the states that all views share. A role is
"outside", or a chunk type with the position of a token in its chunk (STARTS, ENDS, AFTER, BEFORE; nine of them). The
role of a token determines its state in every view, so with K = 9 types + 1 roles

    U[i, k] = sum over views of the score of its state for role k at token i
    E[j, k] = sum over views of the score of its pair of states, -inf where role k cannot follow role j
"""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.forms import (
    ADD,
    AFTER,
    BEFORE,
    COTRAIN,
    ENDS,
    JOINT,
    STARTS,
    Decoding,
    Sentences,
    Views,
    Weights,
    Workspace,
)
from palmette.kernels.chain.score import add_rows
from palmette.kernels.chain.viterbi import viterbi_pairs
from palmette.kernels.core.compile import part

# --- chunks and votes ----------------------------------------------------------------------------------------


@part
def read_chunks(v: Views, workspace: Workspace, r: int, n: int) -> None:
    """Read the best path of view r as chunks: types of tokens, and where chunks begin, by conlleval's rule."""
    column, best, kind, starts = v.column[r], workspace.best[r], workspace.kind[r], workspace.starts[r]
    for i in range(n):
        h = column + best[i]
        kind[i] = v.kind[h]
        starts[i] = kind[i] >= 0 and (i == 0 or kind[i - 1] != kind[i] or v.opens[h] or v.closes[column + best[i - 1]])


@part
def vote(kind: np.ndarray, starts: np.ndarray, n: int, without: int, won: np.ndarray, begins: np.ndarray) -> None:
    """The vote of all views but `without` (-1: of all): types into won i32[n], beginnings of chunks into begins."""
    R = kind.shape[0]
    for i in range(n):
        most, winner = 0, 0
        for r in range(R):
            if r == without:
                continue
            votes = 0
            for q in range(R):
                if q != without and kind[q, i] == kind[r, i] and starts[q, i] == starts[r, i]:
                    votes += 1
            if votes > most:
                most, winner = votes, r
        won[i] = kind[winner, i]
        begins[i] = won[i] >= 0 and (starts[winner, i] or i == 0 or won[i - 1] != won[i])


@part
def write_chunks(v: Views, r: int, kind: np.ndarray, starts: np.ndarray, n: int, path: np.ndarray) -> None:
    """Write chunks as states of view r."""
    outside = v.written.shape[1] - 1
    for i in range(n):
        if kind[i] < 0:
            path[i] = v.written[r, outside, 0]
            continue
        role = STARTS if starts[i] else 0
        if i + 1 == n or kind[i + 1] != kind[i] or starts[i + 1]:
            role |= ENDS
            if i + 1 < n and kind[i + 1] == kind[i]:
                role |= BEFORE
        if starts[i] and i > 0 and kind[i - 1] == kind[i]:
            role |= AFTER
        path[i] = v.written[r, kind[i], role]


# --- all views together --------------------------------------------------------------------------------------


@part
def _score_pairs(v: Views, workspace: Workspace) -> None:
    product, E = workspace.product, workspace.product.E
    K, W = product.state.shape[1], product.follow.shape[1]
    for j in range(K):
        for k in range(K):
            total = product.follow[j, k]
            if total == 0.0:
                for r in range(v.size.size):
                    state = product.state[r]
                    total += workspace.E[v.edge[r] + state[j] * v.stride[r] + state[k]]
            E[j * W + k] = total


@part
def search_product(v: Views, workspace: Workspace, n: int, changed: bool) -> None:
    """Write the best chunking to workspace.path; `changed`: weights have changed since the last search."""
    product = workspace.product
    K, W = product.state.shape[1], product.follow.shape[1]
    if changed:
        _score_pairs(v, workspace)
    U = product.U[: n * W].reshape(n, W)
    for i in range(n):
        for k in range(K):
            total = np.float32(0.0)
            for r in range(v.size.size):
                total += workspace.U[i, v.column[r] + product.state[r, k]]
            U[i, k] = total
    for k in range(K):
        U[0, k] += product.border[0, k]
        U[n - 1, k] += product.border[1, k]
    viterbi_pairs(U, product.E.reshape(1, K, W), product.D[: n * W].reshape(n, 1, W), n, K, product.path)
    for r in range(v.size.size):
        for i in range(n):
            workspace.path[r, i] = product.state[r, product.path[i]]


# --- the search of a sentence --------------------------------------------------------------------------------


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
