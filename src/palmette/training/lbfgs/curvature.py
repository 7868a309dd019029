"""The curvature pairs of L-BFGS, and the two loops over them done on a small matrix of dot products.

The textbook loops read and write the direction once per pair. All they need are dot products between the pairs and the
gradient, and their result is a linear combination of these vectors (Chen, Wang & Zhou 2014). So one pass over memory
computes the new dot products, the loops run on scalars, and a second pass sums up the direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.training.lbfgs.blocks import TILE, blocks

FLAT = 1e-16  # a pair with s.y below this fraction of y.y has no usable curvature: none, or a negative one


class Place(NamedTuple):
    """A point and the gradient of the smooth part there."""

    point: np.ndarray  # f64[n]
    gradient: np.ndarray  # f64[n]


class History:
    """Up to `memory` pairs: the moves `s` of the point and the changes `y` of the gradient of the smooth part.

    Slot k is the rows 2k (s) and 2k+1 (y). A row is cut into tiles, the last one filled up with zeros;
    the tiles of all rows at one place lie together, so that sums over the rows stay in the first caches.
    """

    def __init__(self, memory: int, n: int) -> None:
        self.rows = np.empty((-(-n // TILE), 2 * memory, TILE))  # f64[tiles, 2 memory, TILE]
        self.dots = np.zeros((2 * memory, 2 * memory))  # rows with rows; see `add`
        self.downhill = np.zeros(2 * memory)  # rows with the (pseudo-)gradient
        self.slots: list[int] = []  # oldest first
        self.used = 0  # slots that ever held a pair

    def forget(self) -> None:
        """Start again without pairs."""
        self.slots.clear()
        self.dots[:] = 0.0

    def add(self, old: Place, new: Place, pseudo: np.ndarray | None) -> None:
        """Keep the pair of this move in place of the oldest one, if it shows curvature.

        The loops over the pairs need only the products of a `y` with itself and with older rows; the others are not
        updated, and their coefficients are zero. Without a pseudo-gradient (None) the gradient itself is used, whose
        products follow from those with its change, so that only those of the new pair are computed. Every move must
        therefore be added.
        """
        slot = self._free_slot()
        s, y = 2 * slot, 2 * slot + 1
        fresh = slice(s, s + 2) if pseudo is None else slice(0, 2 * self.used)
        leads = new.gradient if pseudo is None else pseudo
        with_y, downhill = np.zeros((2, 2 * self.used))
        for part in blocks(len(leads)):
            rows = self._tiles(part)
            rows[:, s] = _tiled(new.point[part] - old.point[part])
            rows[:, y] = _tiled(new.gradient[part] - old.gradient[part])
            with_y += np.einsum("tji,ti->j", rows, rows[:, y])
            downhill[fresh] += np.einsum("tji,ti->j", rows[:, fresh], _tiled(leads[part]))
        self.dots[y, : 2 * self.used] = self.dots[: 2 * self.used, y] = with_y
        self.downhill[: 2 * self.used] += with_y
        self.downhill[fresh] = downhill[fresh]
        if with_y[s] > FLAT * with_y[y]:
            self.slots.append(slot)

    def _free_slot(self) -> int:
        free = set(range(self.used)).difference(self.slots)
        if free:
            return min(free)
        if 2 * self.used == len(self.downhill):
            return self.slots.pop(0)
        self.used += 1
        return self.used - 1

    def combination(self) -> tuple[np.ndarray, float]:
        """Coefficients of the rows f64[2 used] and of the (pseudo-)gradient in the quasi-Newton direction."""
        share = np.zeros(2 * self.used)
        if not self.slots:
            return share, -1.0
        dots, downhill = self.dots[: 2 * self.used, : 2 * self.used], self.downhill
        alpha = {}
        for slot in reversed(self.slots):
            s, y = 2 * slot, 2 * slot + 1
            alpha[slot] = (downhill[s] + dots[s] @ share) / dots[s, y]
            share[y] -= alpha[slot]
        s, y = 2 * self.slots[-1], 2 * self.slots[-1] + 1
        scale = float(dots[s, y] / dots[y, y])
        share *= scale
        for slot in self.slots:
            s, y = 2 * slot, 2 * slot + 1
            share[s] += alpha[slot] - (scale * downhill[y] + dots[y] @ share) / dots[s, y]
        return -share, -scale

    def combine(self, share: np.ndarray, part: slice, out: np.ndarray) -> None:
        """One part of the linear combination of the rows with these coefficients."""
        out[:] = np.einsum("j,tji->ti", share, self._tiles(part)).reshape(-1)[: len(out)]

    def _tiles(self, part: slice) -> np.ndarray:
        return self.rows[part.start // TILE : -(-part.stop // TILE), : 2 * self.used]


def _tiled(vector: np.ndarray) -> np.ndarray:
    if len(vector) % TILE:
        vector = np.append(vector, np.zeros(-len(vector) % TILE))
    return vector.reshape(-1, TILE)
