"""Step sizes along the feature differences between gold and candidates, independent of the structure.

A passive-aggressive step removes one loss: fully (PA), with a step of at most C (PA-I), or with a soft limit (PA-II).
MIRA removes several losses at once: a small quadratic program, solved by Hildreth's method if the step of each
candidate is capped, by moving pairs if their sum is. probPerc distributes a rate over the candidates by their scores.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.rule import CAPPED, LINEAR, SOFT, SOFTMAX

LEAST = 1e-3  # weight of the lowest candidate before normalisation; the best one has 1 + LEAST
ROUNDS = 1000
CLOSE = 1e-10
TINY = 1e-12


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
def _worst_pair(A: np.ndarray, slope: np.ndarray, K: int, alpha: np.ndarray, left: float) -> tuple[int, int]:
    """The candidate with the largest slope, and the one that gives to it with the largest gain; K is the slack."""
    up, top = K, 0.0
    for k in range(K):
        if A[k, k] > 0.0 and slope[k] > top:
            up, top = k, slope[k]
    down, most = -1, 0.0
    for k in range(K + 1):
        own = slope[k] if k < K else 0.0
        if k != up and top - own > CLOSE and (alpha[k] if k < K else left) > 0.0:
            gain = (top - own) ** 2 / max(_curvature(A, up, k, K), TINY)
            if gain > most:
                down, most = k, gain
    return up, down


@inline
def _curvature(A: np.ndarray, i: int, j: int, K: int) -> float:
    """The second derivative when weight moves from j to i; the slack K has none of its own."""
    return (A[i, i] if i < K else 0.0) + (A[j, j] if j < K else 0.0) - (2.0 * A[i, j] if max(i, j) < K else 0.0)


@part
def within_sum(A: np.ndarray, b: np.ndarray, K: int, C: float, alpha: np.ndarray, slope: np.ndarray) -> None:
    """The alphas >= 0 with a sum of at most C that maximise b . alpha - alpha A alpha / 2.

    The slack C - sum is one more alpha, with slope 0: what one gets another gives. The pair with the largest gain moves
    until no pair gains anything (sequential minimal optimisation). slope f64[K] is overwritten; it may be b."""
    for k in range(K):
        alpha[k], slope[k] = 0.0, b[k]
    left = C
    for _ in range(ROUNDS * (K + 1)):
        i, j = _worst_pair(A, slope, K, alpha, left)
        if j < 0:
            break
        rise = (slope[i] if i < K else 0.0) - (slope[j] if j < K else 0.0)
        step = min(rise / max(_curvature(A, i, j, K), TINY), alpha[j] if j < K else left)
        for k in range(K):
            slope[k] -= step * ((A[k, i] if i < K else 0.0) - (A[k, j] if j < K else 0.0))
        if i < K:
            alpha[i] += step
        if j < K:
            alpha[j] -= step
        left += step * (int(i == K) - int(j == K))


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
