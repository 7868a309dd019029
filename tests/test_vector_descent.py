"""A step of AdaGrad written as vector code against the definition in NumPy: every width, since strips differ."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.vector_sums import FLOOR, adapt_row

pytestmark = pytest.mark.jit


@kernel
def _adapt(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, M: np.ndarray, value: np.float32, decay: np.float32, c: float
) -> None:
    factors = np.float32(value), np.float32(decay), np.float32(0.1)
    adapt_row(w, a, squares, np.int64(1), M, np.int64(2), factors, c)


@pytest.mark.parametrize("W", [1, 3, 4, 7, 8, 12, 24, 29, 48])
@pytest.mark.parametrize("averages", [False, True])
def test_a_step(W: int, averages: bool) -> None:
    rng = np.random.default_rng(W)
    w, squares, M = (rng.random((3, W)).astype(np.float32) for _ in range(3))
    a = rng.random((3, W)) if averages else np.zeros((0, 1))
    value, decay, rate, c = np.float32(0.5), np.float32(0.25), np.float32(0.1), 7.0
    expected_w, expected_squares, expected_a = w.copy(), squares.copy(), a.copy()
    slope = value * M[2] + decay * w[1]
    expected_squares[1] += slope * slope
    change = -rate * slope / np.sqrt(expected_squares[1] + FLOOR)
    expected_w[1] += change
    if averages:
        expected_a[1] += c * change.astype(np.float64)
    _adapt(w, a, squares, M, value, decay, c)
    for found, expected in ((w, expected_w), (squares, expected_squares), (a, expected_a)):
        assert found.tobytes() == expected.tobytes()
