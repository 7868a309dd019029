"""Step sizes along the feature differences between gold and candidates, independent of the structure.

A passive-aggressive step removes one loss: fully (PA), with a step of at most C (PA-I), or with a soft limit (PA-II).
MIRA removes several losses at once: a small quadratic program, solved by Hildreth's method. probPerc distributes a rate
over the candidates by their scores.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import part
from palmette.kernels.learning.rule import CAPPED, LINEAR, SOFT, SOFTMAX

LEAST = 1e-3  # weight of the lowest candidate before normalisation; the best one has 1 + LEAST
ROUNDS = 1000
CLOSE = 1e-10


@part
def pa_step(variant: int, loss: float, square: float, C: float) -> float:
    """The step of PA along a difference of squared length `square` that removes the loss."""
    if variant == SOFT:
        return loss / (square + 0.5 / C)
    return min(C, loss / square) if variant == CAPPED else loss / square


@part
def hildreth(A: np.ndarray, b: np.ndarray, K: int, C: float, alpha: np.ndarray) -> None:
    """The alphas in [0, C] that maximise b . alpha - alpha A alpha / 2, by coordinate ascent until convergence."""
    for k in range(K):
        alpha[k] = 0.0
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(K):
            if A[k, k] <= 0.0:  # the same features as gold: no step separates them
                continue
            slope = b[k]
            for j in range(K):
                slope -= A[k, j] * alpha[j]
            new = min(max(alpha[k] + slope / A[k, k], 0.0), C)
            moved = max(moved, abs(new - alpha[k]) * np.sqrt(A[k, k]))
            alpha[k] = new
        if moved < CLOSE:
            break


@part
def shares(kind: int, degree: float, scores: np.ndarray, out: np.ndarray) -> None:
    """The probability of each candidate by its score; they sum to 1."""
    top, low = scores.max(), scores.min()
    spread = top - low
    total = 0.0
    for k in range(scores.size):
        if kind == SOFTMAX:
            out[k] = np.exp(scores[k] - top)
        elif spread == 0.0:
            out[k] = 1.0
        else:
            above = (scores[k] - low) / spread + LEAST
            out[k] = above if kind == LINEAR else above**degree
        total += out[k]
    for k in range(scores.size):
        out[k] /= total
