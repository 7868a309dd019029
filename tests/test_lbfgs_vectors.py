"""The passes of L-BFGS over its vectors, against the definitions in naive_lbfgs.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_lbfgs import aligned, projected, pseudo_gradient, two_loops

from palmette.kernels.learning.lbfgs import BLOCK, Place, absorb, combine, measure, move, n_blocks, survey
from palmette.training import Workers
from palmette.training.lbfgs import History, over_blocks, squared_norm

SIZES = [1, 7, 31, 33, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5]
ROUNDING = 1e-6  # of vectors in float32
ONE = Workers()


def totals(n, columns, kernel, *arguments):
    """The sums of a kernel over all blocks."""
    return over_blocks(ONE, n, lambda sums, first, last: kernel(*arguments, sums, first, last), columns)


def some(random, n, zeros=0.3):
    """Numbers of which some are zero, as float32 and as float64."""
    made = (random.normal(size=n) * (random.random(n) >= zeros)).astype(np.float32)
    return made, made.astype(np.float64)


def close(found, wanted, scale=None):
    size = np.abs(wanted).max(initial=0.0) if scale is None else scale
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING, atol=ROUNDING * max(size, 1e-30))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("l1", [0.0, 0.4])
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_trial_and_its_slopes(n, l1, seed):
    random = np.random.default_rng(seed)
    (point, w), (gradient, g), (found, new), (raw, d) = (some(random, n) for _ in range(4))
    lead = pseudo_gradient(w, g, l1)
    if l1:
        raw, d = (aligned(d, lead).astype(np.float32), aligned(d, lead))
    place, trial = Place(point, gradient, l1), np.empty(n, np.float32)
    over_blocks(ONE, n, lambda sums, first, last: move(place, raw, 0.5, trial, first, last), 0)
    wanted = projected(w + 0.5 * d, w, lead) if l1 else w + 0.5 * d
    close(trial, wanted)
    t = trial.astype(np.float64)
    sums = totals(n, 3, measure, place, raw, trial, found)
    if not l1:
        assert sums[0] == pytest.approx(new @ d, rel=1e-9, abs=1e-9)
        return
    scale = ROUNDING * np.sqrt(n)
    assert sums[0] == pytest.approx(new @ (t - w), rel=ROUNDING, abs=scale)
    assert sums[1] == pytest.approx(lead @ (t - w), rel=ROUNDING, abs=scale)
    assert sums[2] == pytest.approx(np.abs(t).sum(), rel=1e-9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("l1", [0.0, 0.4])
def test_norms(n, l1):
    (point, w), (gradient, g) = (some(np.random.default_rng(n), n) for _ in range(2))
    lead = pseudo_gradient(w, g, l1)
    found = totals(n, 2, survey, Place(point, gradient, l1))
    assert found == pytest.approx([lead @ lead, w @ w], rel=ROUNDING)
    assert squared_norm(ONE, point) == pytest.approx(w @ w, rel=1e-12)


@pytest.mark.parametrize("l1", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 7, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), memory=st.integers(1, 4), moves=st.integers(0, 9))
def test_direction_is_that_of_the_two_loops(n, l1, seed, memory, moves):
    """Some moves show negative curvature: they are no pairs, but take the place of the oldest one."""
    random = np.random.default_rng(seed)
    (point, _), (gradient, _) = (some(random, n) for _ in range(2))
    place, history, kept = Place(point, gradient, l1), History(memory, n), []
    for _ in range(moves):
        history.open()
        before = point.copy(), gradient.copy()
        s = random.normal(size=n)
        history.trial[:] = point + s
        history.found[:] = gradient + s * random.uniform(0.5, 2.0, size=n) * random.choice([1.0, 1.0, -1.0])
        wanted = history.trial.copy(), history.found.copy()
        sums = totals(n, 4 * history.used + 2, absorb, place, history.rows, history.used, history.slot)
        used = 2 * history.used
        history.close(sums[:used], sums[used : 2 * used], l1 == 0.0)
        assert (point.tobytes(), gradient.tobytes()) == (wanted[0].tobytes(), wanted[1].tobytes())
        s, y = (new.astype(np.float64) - old for new, old in zip(wanted, before, strict=True))
        kept = kept[1:] if len(kept) == memory else kept
        kept += [(s, y)] if s @ y > 0.0 else []
    lead = pseudo_gradient(point.astype(np.float64), gradient.astype(np.float64), l1)
    expected = two_loops(kept, lead)
    direction = np.empty(n, np.float32)
    share, of_lead = history.combination()
    slope = totals(n, 1, combine, place, history.rows, share, of_lead, direction)[0]
    exact = aligned(expected, lead) if l1 else expected
    size = np.abs(expected).max(initial=0.0)
    clear = np.abs(expected) > 1e-3 * size  # elsewhere rounding decides the sign
    np.testing.assert_allclose(direction[clear], exact[clear], rtol=1e-2, atol=1e-4 * max(size, 1e-30))
    assert slope == pytest.approx(direction.astype(np.float64) @ lead, rel=1e-5, abs=1e-6 * n * max(size, 1e-30))


def test_what_is_not_finite_shows_in_the_sums():
    """Also where the point is zero, and the L1 term would hide a small gradient."""
    for bad in (np.nan, np.inf):
        gradient = np.zeros(9, np.float32)
        gradient[4] = bad
        assert not np.isfinite(totals(9, 2, survey, Place(np.zeros(9, np.float32), gradient, 0.5))[0])


def test_every_block_leaves_its_own_sums():
    n = 3 * BLOCK + 1
    vector = np.ones(n, np.float32)
    sums = np.zeros((n_blocks(n), 2))
    survey(Place(vector, vector, 0.0), sums, 1, 3)
    assert sums[:, 0].tolist() == [0.0, BLOCK, BLOCK, 0.0]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_workers_keep_the_order(threads):
    workers = Workers(threads)
    for n in (0, 1, 7):
        assert workers.each(lambda k: k * k, n) == [k * k for k in range(n)]
