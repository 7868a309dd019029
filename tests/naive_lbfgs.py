"""L-BFGS and OWL-QN step by step, in float64, as their papers define them."""

from __future__ import annotations

import numpy as np


def pseudo_gradient(point: np.ndarray, gradient: np.ndarray, l1: float) -> np.ndarray:
    """Andrew & Gao 2007, equation 4: the one-sided slope that leads downhill, or zero if none does."""
    out = np.zeros(point.size)
    for k, (w, g) in enumerate(zip(point.tolist(), gradient.tolist(), strict=True)):
        right, left = g + l1 * (1 if w >= 0 else -1), g + l1 * (1 if w > 0 else -1)
        out[k] = left if left > 0 else right if right < 0 else 0.0
    return out


def aligned(direction: np.ndarray, pseudo: np.ndarray) -> np.ndarray:
    """Only coordinates that have the sign of the steepest descent."""
    return np.where(np.sign(direction) == -np.sign(pseudo), direction, 0.0)


def projected(trial: np.ndarray, point: np.ndarray, pseudo: np.ndarray) -> np.ndarray:
    """Only coordinates that are in the orthant of the point; at zero it is that of the steepest descent."""
    orthant = np.where(point != 0, np.sign(point), -np.sign(pseudo))
    return np.where(np.sign(trial) == orthant, trial, 0.0)


def two_loops(pairs: list[tuple[np.ndarray, np.ndarray]], lead: np.ndarray) -> np.ndarray:
    """Nocedal & Wright 2006, algorithm 7.4, with the sign of a descent."""
    q, alphas = lead.copy(), []
    for s, y in reversed(pairs):
        alphas.append((s @ q) / (s @ y))
        q -= alphas[-1] * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q += s * (alpha - (y @ q) / (s @ y))
    return -q
