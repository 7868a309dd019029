"""OWL-QN, the extension of L-BFGS by an L1 term (Andrew & Gao 2007), on blocks of vectors.

`l1 * sum |w|` has a kink at zero. Inside an orthant (fixed signs) it is linear, so each iteration picks an orthant
by the pseudo-gradient, moves as if the function were smooth, and sets coordinates that would leave the orthant to zero.
"""

from __future__ import annotations

import numpy as np


def pseudo_gradient(point: np.ndarray, gradient: np.ndarray, l1: float) -> np.ndarray:
    """The gradient of the smooth part plus the slope of the L1 term.

    That is l1 * sign(w), and at zero the number from -l1 to l1 that brings the sum nearest to zero.
    """
    least = (point > 0.0) * (2.0 * l1) - l1  # arithmetic on masks: np.where and np.sign take twice as long
    most = l1 - (point < 0.0) * (2.0 * l1)
    return gradient + np.minimum(np.maximum(-gradient, least), most)


def align(direction: np.ndarray, pseudo: np.ndarray) -> None:
    """Set coordinates that do not point downhill to zero, in place."""
    direction *= direction * pseudo < 0.0


def project(trial: np.ndarray, point: np.ndarray) -> None:
    """Set coordinates that changed their sign to zero, in place.

    Where `point` is zero, the orthant is that of minus the pseudo-gradient, and an aligned direction cannot leave it.
    """
    trial *= trial * point >= 0.0
