"""Sums of rows and best previous states written as vector code against NumPy: every width, since strips differ."""

from __future__ import annotations

import numpy as np
import pytest

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.vector import add_attribute_rows, best_previous

pytestmark = pytest.mark.jit


@kernel
def _sums(out: np.ndarray, w: np.ndarray, slot: np.ndarray, att: np.ndarray, end: int) -> None:
    add_attribute_rows(out, 1, w, slot, att, 2, end)


@kernel
def _best(D: np.ndarray, E: np.ndarray, U: np.ndarray) -> None:
    best_previous(D, 2, E, 1, U)


WIDTHS = [1, 2, 3, 5, 7, 8, 16, 24, 32, 48, 56, 80]


@pytest.mark.parametrize("W", WIDTHS)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 9])
def test_sums_of_rows(W: int, count: int) -> None:
    rng = np.random.default_rng(W)
    w = rng.normal(size=(8, W)).astype(np.float32)
    w[0] = 0
    slot = rng.integers(0, 8, 6).astype(np.int32)
    att = rng.integers(0, 6, 12).astype(np.int32)
    out = rng.normal(size=(5, W)).astype(np.float32)
    before = out.copy()
    _sums(out, w, slot, att, 2 + count)
    some = att[2 : 2 + count]
    before[1] += w[slot[some]].sum(axis=0)
    assert np.allclose(out, before, rtol=1e-5, atol=1e-4)
    assert out[[0, 2, 3, 4]].tobytes() == before[[0, 2, 3, 4]].tobytes()


@pytest.mark.parametrize("H", [1, 2, 3, 4, 5, 6, 7, 8, 9, 22, 50])
def test_best_previous(H: int) -> None:
    rng = np.random.default_rng(H)
    W = H if H < 8 else -(-H // 8) * 8
    D, E, U = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 1, W), (3, H, W), (4, W)))
    D[1, 0, H // 2] = -np.inf
    before = D.copy()
    _best(D, E, U)
    before[2, 0] = (before[1, 0, :H, None] + E[1]).max(axis=0) + U[2]
    assert D.tobytes() == before.tobytes()
