"""Passes to the same score, from the curves of two ways to learn."""

from __future__ import annotations

import numpy as np
import pytest

from bench.equal import passes_to, same_score


def test_passes_are_counted_on_straight_lines() -> None:
    curve = np.array([80.0, 90.0, 88.0, 92.0])
    assert passes_to(curve, 79.0) == 1.0
    assert passes_to(curve, 85.0) == 1.5
    assert passes_to(curve, 90.0) == 2.0
    assert passes_to(curve, 91.0) == 3.75


@pytest.mark.parametrize(("many", "expected"), [
    ([70.0, 90.0, 94.0], (92.0, 3.0, 2.5)),  # reaches the score that the other ends with
    ([70.0, 91.0, 90.5], (91.0, 2.5, 2.0)),  # stays below: its best score counts
])  # fmt: skip
def test_the_score_that_both_reach(many: list[float], expected: tuple[float, float, float]) -> None:
    assert same_score(np.array([80.0, 90.0, 92.0]), np.array(many)) == expected
