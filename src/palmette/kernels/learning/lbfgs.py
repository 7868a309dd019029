"""The passes of L-BFGS and OWL-QN over their vectors: few, each with all that it can do while numbers are in the cache.

Vectors are float32 and sums float64. A vector is processed in blocks of fixed size. Each block leaves its own sums in a
row of `sums`, so that threads can share the blocks, and the total, added up in the order of the blocks, is the same for
any number of threads.

    move        trial = point + step * direction, for OWL-QN inside the orthant of the point
    measure     slope and promised decrease at the trial, L1 norm of the trial
    absorb      the trial becomes the point; its pair becomes a move s and a change y of the gradient; dot products
    combine     direction = a linear combination of all s and y and of the leading vector

The leading vector is the gradient, with an L1 term the pseudo-gradient, which is computed where it is needed.
Row 2k of the history is the s of pair k, row 2k+1 its y. During a search the trial and its gradient are in the rows of
the next pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F32, F32_2D, F64, F64_2D, struct
from palmette.kernels.core.vector_sums import dot_run

BLOCK = 4096  # numbers: blocks of several vectors fit into the caches, and are long enough for prefetching
LINE = 16  # numbers of a line of the cache, to which rows are rounded up


@struct
class Place(NamedTuple):
    """A point, the gradient of the smooth part there, and the L1 penalty."""

    point: F32  # [n]
    gradient: F32  # [n]
    l1: float


def n_blocks(n: int) -> int:
    """Blocks of a vector of n numbers."""
    return -(-n // BLOCK)


@inline
def _lead(at: Place, lo: int, size: int, out: np.ndarray) -> None:
    """The leading vector of a block. With an L1 term: the gradient plus the slope of the L1 term, which is
    l1 * sign(w), and at zero the number from -l1 to l1 that brings the sum nearest to zero."""
    point, gradient, l1, zero = (
        at.point[lo : lo + size],
        at.gradient[lo : lo + size],
        np.float32(at.l1),
        np.float32(0.0),
    )
    if l1 == zero:
        for k in range(size):
            out[k] = gradient[k]
        return
    for k in range(size):  # selections and no branches, so that it becomes vector code
        w, g = point[k], gradient[k]
        right, left = g + l1, g - l1
        at_zero = left if left > zero else (right if right < zero else g * zero)
        out[k] = right if w > zero else (left if w < zero else at_zero)


@part
def _norms(at: Place, lead: np.ndarray, lo: int, size: int, sums: np.ndarray) -> None:
    """sums = |leading vector|^2, |point|^2 of a block."""
    sums[0] = dot_run(lead, 0, lead, 0, size)
    sums[1] = dot_run(at.point, lo, at.point, lo, size)


@kernel
def squares(vector: F32, sums: F64_2D, first: int, last: int) -> None:
    """sums f64[blocks, 1] = |vector|^2, for the blocks first..last."""
    for block in range(first, last):
        lo = block * BLOCK
        sums[block, 0] = dot_run(vector, lo, vector, lo, min(BLOCK, vector.size - lo))


@kernel
def survey(at: Place, sums: F64_2D, first: int, last: int) -> None:
    """sums f64[blocks, 2] = |leading vector|^2, |point|^2, for the blocks first..last."""
    lead = np.empty(BLOCK, np.float32)
    for block in range(first, last):
        lo = block * BLOCK
        size = min(BLOCK, at.point.size - lo)
        _lead(at, lo, size, lead)
        _norms(at, lead, lo, size, sums[block])


@kernel
def move(at: Place, direction: F32, step: float, trial: F32, first: int, last: int) -> None:
    """trial = point + step * direction. With an L1 term, what would change its sign is zero: where the point is zero
    the orthant is that of minus the pseudo-gradient, and the direction cannot leave it."""
    lo, hi, zero = first * BLOCK, min(last * BLOCK, at.point.size), np.float32(0.0)
    point, along, there = at.point[lo:hi], direction[lo:hi], trial[lo:hi]
    for k in range(point.size):
        there[k] = np.float32(np.float64(point[k]) + step * np.float64(along[k]))
    if at.l1 > 0.0:
        for k in range(point.size):
            there[k] = zero if there[k] * point[k] < zero else there[k]


@kernel
def measure(at: Place, direction: F32, trial: F32, found: F32, sums: F64_2D, first: int, last: int) -> None:
    """sums f64[blocks, 3]: the gradient that was found at the trial times the direction. With an L1 term: times the
    move; the leading vector at the point times the move; the L1 norm of the trial."""
    point, l1 = at.point, at.l1
    lead, moved = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    for block in range(first, last):
        lo = block * BLOCK
        size = min(BLOCK, point.size - lo)
        if l1 == 0.0:
            sums[block, 0] = dot_run(found, lo, direction, lo, size)
            continue
        there, here = trial[lo : lo + size], point[lo : lo + size]
        for k in range(size):
            moved[k] = there[k] - here[k]
        _lead(at, lo, size, lead)
        sums[block, 0] = dot_run(found, lo, moved, 0, size)
        sums[block, 1] = dot_run(lead, 0, moved, 0, size)
        for k in range(size):
            moved[k] = np.float32(1.0) if there[k] > np.float32(0.0) else np.float32(-1.0)
        sums[block, 2] = dot_run(trial, lo, moved, 0, size)


@inline
def _replace(at: Place, s: np.ndarray, y: np.ndarray, lo: int, size: int) -> None:
    """The trial and its gradient become the point and the gradient; what they were becomes the differences."""
    point, gradient = at.point[lo : lo + size], at.gradient[lo : lo + size]
    for k in range(size):
        new = s[k]
        s[k] = new - point[k]
        point[k] = new
    for k in range(size):
        new = y[k]
        y[k] = new - gradient[k]
        gradient[k] = new


@kernel
def absorb(at: Place, rows: F32_2D, used: int, slot: int, sums: F64_2D, first: int, last: int) -> None:
    """The trial, which is in the rows of `slot`, becomes the point, and the rows the move and the change of the
    gradient. sums f64[blocks, 4 used + 2]: the new y with the rows of `used` pairs, the leading vector with these rows,
    then those of `survey`. Without an L1 term the new y is multiplied with the rows of `slot` alone: its other products
    are changes of those of the gradient."""
    flat, stride, lead = rows.reshape(-1), rows.shape[1], np.empty(BLOCK, np.float32)
    of_y = (2 * slot + 1) * stride
    for block in range(first, last):
        lo = block * BLOCK
        size, own = min(BLOCK, at.point.size - lo), sums[block]
        _replace(at, rows[2 * slot, lo : lo + size], rows[2 * slot + 1, lo : lo + size], lo, size)
        _lead(at, lo, size, lead)
        for row in range(2 * used):
            here = row * stride + lo
            own[2 * used + row] = dot_run(flat, here, lead, 0, size)
            if at.l1 > 0.0 or row // 2 == slot:
                own[row] = dot_run(flat, here, flat, of_y + lo, size)
        _norms(at, lead, lo, size, own[4 * used :])


@inline
def _add_rows(total: np.ndarray, rows: np.ndarray, share: np.ndarray, lo: int, size: int) -> None:
    """total += sum of share[row] * rows[row, lo : lo + size], four rows at a time."""
    row, n = 0, rows.shape[0]
    while row < share.size:
        c = share[row : row + 4]
        a, b = rows[row, lo : lo + size], rows[min(row + 1, n - 1), lo : lo + size]
        e, f = rows[min(row + 2, n - 1), lo : lo + size], rows[min(row + 3, n - 1), lo : lo + size]
        if c.size == 4:
            for k in range(size):
                total[k] += (c[0] * a[k] + c[1] * b[k]) + (c[2] * e[k] + c[3] * f[k])
        else:
            for k in range(size):
                total[k] += c[0] * a[k] + c[1] * b[k]
        row += 4


@kernel
def combine(
    at: Place, rows: F32_2D, share: F64, of_lead: float, direction: F32, sums: F64_2D, first: int, last: int
) -> None:
    """direction = sum of share[row] * rows[row], plus of_lead times the leading vector; with an L1 term, what does not
    point downhill is zero. sums f64[blocks, 1] = direction . leading vector."""
    lead, total = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float64)
    for block in range(first, last):
        lo = block * BLOCK
        size = min(BLOCK, at.point.size - lo)
        _lead(at, lo, size, lead)
        for k in range(size):
            total[k] = of_lead * np.float64(lead[k])
        _add_rows(total, rows, share, lo, size)
        if at.l1 > 0.0:
            for k in range(size):
                total[k] = total[k] if total[k] * np.float64(lead[k]) < 0.0 else 0.0
        out = direction[lo : lo + size]
        for k in range(size):
            out[k] = np.float32(total[k])
        sums[block, 0] = dot_run(direction, lo, lead, 0, size)
