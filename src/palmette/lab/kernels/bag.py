"""Logistic regression over bags of words, by AdaGrad, sentence by sentence: a baseline without structure.

score = bias + sum over tokens of w[token]      slope = 1 / (1 + exp(-score)) - label
each weight of the sentence, once per token: G += slope^2, w -= rate * slope / sqrt(G)
"""

from __future__ import annotations

import math

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F64, I32, I64


@inline
def _score(ids: np.ndarray, start: int, end: int, w: np.ndarray) -> float:
    total = w[w.size - 1]  # the bias
    for i in range(start, end):
        total += w[ids[i]]
    return total


@inline
def _move(w: np.ndarray, squares: np.ndarray, k: int, slope: float, rate: float) -> None:
    squares[k] += slope * slope
    if slope != 0.0:
        w[k] -= rate * slope / math.sqrt(squares[k])


@kernel
def bag_pass(
    ids: I32, offset: I64, label: F64, order: I64, w: F64, squares: F64,
    rate: float,
) -> None:  # fmt: skip
    """One pass over the sentences `order` i64[]; label f64[S] is 0 or 1; w, squares f64[T+1] are updated, the bias is
    the last."""
    bias = w.size - 1
    for k in range(order.size):
        s = order[k]
        start, end = offset[s], offset[s + 1]
        slope = 1.0 / (1.0 + math.exp(-_score(ids, start, end, w))) - label[s]
        for i in range(start, end):
            _move(w, squares, ids[i], slope, rate)
        _move(w, squares, bias, slope, rate)


@kernel
def bag_scores(ids: I32, offset: I64, w: F64) -> F64:
    """The score of each sentence, f64[S]."""
    out = np.empty(offset.size - 1, np.float64)
    for s in range(out.size):
        out[s] = _score(ids, offset[s], offset[s + 1], w)
    return out
