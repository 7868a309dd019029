"""Weights exist only where features have their arity: what a chain of many labels takes before it has learnt."""

from __future__ import annotations

import tracemalloc

import numpy as np

from palmette.structures import Shape, everything_allowed, new_chain

LABELS = 700


def allocated(shape: Shape, sizes: dict[int, int]) -> int:
    """Bytes that NumPy has asked for."""
    tracemalloc.start()
    chain = new_chain(shape, sizes, everything_allowed(shape.n_labels), {})
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert chain.weights[0].slot.size == sizes[1]
    return size


def test_an_order_1_model_of_many_labels_is_small() -> None:
    """Its transition weights are labels squared; nothing is labels cubed (which would be gigabytes)."""
    found = allocated(Shape(LABELS, 1), {1: 1000})
    assert found < 100 << 20
    pairs = LABELS * 704 * (4 + 8)  # weights and accumulators of float32 and float64
    assert found > pairs


def test_pairs_and_triples_are_allocated_where_features_have_them() -> None:
    few = Shape(10, 2, triples=True)
    plain, with_pairs = allocated(few, {1: 5}), allocated(few, {1: 5, 2: 1000})
    assert with_pairs - plain > 1000 * few.width(2) * 12
    chain = new_chain(few, {1: 5, 2: 7}, everything_allowed(10), {})
    assert [r.w.shape for r in chain.weights] == [(6, 16), (8, 160), (1, 1)]
    assert [t.w.shape for t in chain.transitions] == [(2, 16), (10, 16), (100, 16)]
    assert all(not np.any(part.w) and part.state.size == 0 for part in (*chain.weights, *chain.transitions))
