"""The best chunking of all views together, exactly: one Viterbi search over the states that all views share.

A role is "outside", or a chunk type with the position of a token in its chunk (STARTS, ENDS, AFTER, BEFORE; nine of
them). The role of a token determines its state in every view, so with K = 9 types + 1 roles

    U[i, k] = sum over views of the score of its state for role k at token i
    E[j, k] = sum over views of the score of its pair of states, -inf where role k cannot follow role j
"""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.forms import Views, Workspace
from palmette.kernels.chain.viterbi import viterbi_pairs
from palmette.kernels.core.compile import part


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
