"""Structures of views as chunks and back, and votes between views.

Votes are per token, in IOB2. On ties the label of the first view among those with most votes wins; the result is read
by conlleval's rule: an I after O or after another type starts a chunk.
"""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.forms import AFTER, BEFORE, ENDS, STARTS, Views, Workspace
from palmette.kernels.core.compile import part


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
