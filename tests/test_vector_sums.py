"""Sums of rows written as vector code against NumPy: every width, since strips, half strips and single items differ."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.vector_sums import add_neighbours, below_largest, chain_step, sum_listed

pytestmark = pytest.mark.jit


@kernel
def _all_four(
    U: np.ndarray, V: np.ndarray, A: np.ndarray, sums: np.ndarray, X: np.ndarray, O: np.ndarray, G: np.ndarray,
    table: np.ndarray, rows: np.ndarray,
) -> tuple:  # fmt: skip
    top = below_largest(V, U, 2)
    total = chain_step(A, sums, V, 2, 1, X, 0.25)
    add_neighbours(O, A, V, A.shape[0])
    sum_listed(G, 1, G, 0.5, table, rows, 1, rows.size - 1)
    sum_listed(G, 3, V, 2.0, table, rows, 2, 2)
    return top, total


@pytest.mark.parametrize("W", [1, 2, 3, 4, 5, 7, 8, 16, 24, 32, 48, 56])
def test_against_numpy(W: int) -> None:
    rng = np.random.default_rng(W)
    H = W if W < 8 else W - 3
    U = rng.normal(size=(4, W)).astype(np.float32)
    V, A, sums, G = (rng.random((4, W)) for _ in range(4))
    A[1, : H // 2] = 0.0  # left out
    X, O = rng.random((H, W)), rng.random((H, W))
    table, rows = rng.normal(size=(9, W)).astype(np.float32), np.array([0, 3, 3, 8, 1, 2], np.int32)
    known = {name: array.copy() for name, array in (("V", V), ("A", A), ("O", O), ("G", G), ("sums", sums))}

    top, total = _all_four(U, V, A, sums, X, O, G, table, rows)

    assert top == U[2].max()
    known["V"][2] = U[2].astype(np.float64) - top
    assert V.tobytes() == known["V"].tobytes()
    known["sums"][2] = known["A"][1, :H] @ X
    assert sums == pytest.approx(known["sums"])
    known["A"][2] = known["sums"][2] * V[2] * 0.25
    assert np.allclose(A, known["A"])
    assert total == pytest.approx(known["A"][2].sum())
    wanted = known["O"] + sum(np.outer(A[i - 1, :H], V[i]) for i in range(1, 4))
    assert np.allclose(O, wanted)
    known["G"][1] = 0.5 * known["G"][1] + table[rows[1:-1]].astype(np.float64).sum(axis=0)
    known["G"][3] = 2.0 * V[3]
    assert np.allclose(G, known["G"])
