"""The curvature pairs of L-BFGS, and the two loops over them done on a small matrix of dot products.

The textbook loops read and write the direction once per pair. All they need are dot products between the pairs and the
gradient, and their result is a linear combination of these vectors (Chen, Wang & Zhou 2014). So one pass over memory
computes the new dot products, the loops run on scalars, and a second pass sums up the direction.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.aligned import aligned_zeros
from palmette.kernels.lbfgs.vectors import LINE

FLAT = 1e-16  # a pair with s.y below this fraction of y.y has no usable curvature: none, or a negative one


class History:
    """Up to `memory` pairs: the moves `s` of the point and the changes `y` of the gradient of the smooth part.

    Slot k is the rows 2k (s) and 2k+1 (y). The rows of the open slot hold the trial and its gradient during a search;
    the pass that makes the trial the point turns them into the pair (see `kernels/lbfgs/vectors.py`).
    """

    def __init__(self, memory: int, n: int) -> None:
        self.n = n
        self.rows = aligned_zeros((2 * memory, -(-n // LINE) * LINE), np.float32)  # no memory until they are used
        self.dots = np.zeros((2 * memory, 2 * memory))  # rows with rows; see `close`
        self.lead = np.zeros(2 * memory)  # rows with the leading vector
        self.slots: list[int] = []  # oldest first
        self.used = 0  # slots that ever held a pair
        self.slot = -1  # the open one

    def forget(self) -> None:
        """Start again without pairs."""
        self.slots.clear()
        self.dots[:] = 0.0

    def open(self) -> None:
        """Make room for the next pair, in place of the oldest one if there is no other."""
        free = set(range(self.used)).difference(self.slots)
        if free:
            self.slot = min(free)
        elif 2 * self.used == len(self.rows):
            self.slot = self.slots.pop(0)
        else:
            self.used += 1
            self.slot = self.used - 1

    @property
    def trial(self) -> np.ndarray:
        return self.rows[2 * self.slot, : self.n]

    @property
    def found(self) -> np.ndarray:
        """The gradient at the trial."""
        return self.rows[2 * self.slot + 1, : self.n]

    def close(self, with_y: np.ndarray, lead: np.ndarray, lead_is_gradient: bool) -> None:
        """Keep the pair of the open slot, if it shows curvature, given the products of all used rows with its y and
        with the leading vector.

        The loops over the pairs need only the products of a `y` with itself and with older rows; the others are not
        updated, and their coefficients are zero. If the gradient leads, `with_y` holds the products of the open slot
        alone: those with the other rows are the changes of their products with the gradient."""
        rows = 2 * self.used
        s, y = 2 * self.slot, 2 * self.slot + 1
        if lead_is_gradient:
            own = with_y[s], with_y[y]
            with_y = lead - self.lead[:rows]
            with_y[s], with_y[y] = own
        self.lead[:rows] = lead
        self.dots[y, :rows] = self.dots[:rows, y] = with_y
        if with_y[s] > FLAT * with_y[y]:
            self.slots.append(self.slot)

    def combination(self) -> tuple[np.ndarray, float]:
        """Coefficients of the rows f64[2 used], none without pairs, and of the leading vector in the quasi-Newton
        direction."""
        if not self.slots:
            return np.zeros(0), -1.0
        share = np.zeros(2 * self.used)
        dots, lead = self.dots[: 2 * self.used, : 2 * self.used], self.lead
        alpha = {}
        for slot in reversed(self.slots):
            s, y = 2 * slot, 2 * slot + 1
            alpha[slot] = (lead[s] + dots[s] @ share) / dots[s, y]
            share[y] -= alpha[slot]
        s, y = 2 * self.slots[-1], 2 * self.slots[-1] + 1
        scale = float(dots[s, y] / dots[y, y])
        share *= scale
        for slot in self.slots:
            s, y = 2 * slot, 2 * slot + 1
            share[s] += alpha[slot] - (scale * lead[y] + dots[y] @ share) / dots[s, y]
        return -share, -scale
