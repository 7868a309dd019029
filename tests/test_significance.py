"""Intervals and tests against definitions: enumeration, exact fractions, SciPy, and slow twins that loop."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette.errors import UsageError
from palmette.evaluation import (
    ChunkTables,
    randomisation,
    score,
    significance,
    span_counts,
)
from palmette.evaluation.significance import (
    Tally,
    bootstrap,
    holm,
    interval,
    mcnemar,
    mcnemar_of,
    span_tally,
    token_tally,
)

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y", "S-X", "E-Y"]


def tally(top: list[int], bottom: list[int]) -> Tally:
    return Tally(np.array(top), np.array(bottom))


def random_tallies(seed: int, S: int, K: int = 1, gap: float = 0.0) -> tuple[list[Tally], list[Tally]]:
    """Two systems with K runs each on S sentences; the second has `gap` more right."""
    draw = np.random.default_rng(seed)
    size = draw.integers(1, 12, S)
    runs = []
    for share in (0.8, 0.8 + gap):
        runs.append([Tally(2 * draw.binomial(size, share), size + draw.binomial(2 * size, 0.5)) for _ in range(K)])
    return runs[0], runs[1]


# --- tallies ------------------------------------------------------------------------------------------------


@st.composite
def corpora(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gold, guess, which are known, and offsets; empty sentences too."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    n = sum(sizes)
    ids = st.lists(st.integers(0, len(LABELS) - 1), min_size=n, max_size=n)
    gold, guess = (np.array(draw(ids), np.int32) for _ in range(2))
    known = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    return gold, guess, known, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@few(2)
@given(corpora())
def test_tallies_are_the_counts_of_each_sentence(case) -> None:
    gold, guess, known, offset = case
    tables = ChunkTables.of(LABELS)
    for mask in (None, known):
        spans = span_tally(gold, guess, offset, tables, mask)
        tokens = token_tally(gold, guess, offset, mask)
        for s, (lo, hi) in enumerate(itertools.pairwise(offset.tolist())):
            one, other = gold[lo:hi], guess[lo:hi]
            here = np.ones(hi - lo, bool) if mask is None else mask[lo:hi]
            assert tokens.top[s] == sum(a == b and k for a, b, k in zip(one, other, here, strict=True))
            assert tokens.bottom[s] == here.sum()
            counts = span_counts(one, other, np.array([0, hi - lo]), tables)
            whole = bool(here.all())
            assert spans.top[s] == whole * 2 * counts.correct.sum()
            assert spans.bottom[s] == whole * (counts.guessed.sum() + counts.gold.sum())
        found = score(gold, guess, offset, LABELS, scheme="IOBES", known=mask)
        assert tokens.value == pytest.approx(found.accuracy)
        assert spans.value == pytest.approx(found.f1 or 0.0)  # None: no sentence is known throughout


# --- McNemar ------------------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.integers(0, 40))
def test_exact_mcnemar_is_the_binomial(b: int, c: int) -> None:
    n = b + c
    tail = Fraction(sum(math.comb(n, k) for k in range(min(b, c) + 1)), 2**n)
    found = mcnemar_of(b, c)
    assert found.exact == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-9)
    assert found.exact == mcnemar_of(c, b).exact
    if n:
        assert found.chi2 == pytest.approx(max(abs(b - c) - 1, 0) ** 2 / n)


@pytest.mark.parametrize(("b", "c"), [(10, 25), (0, 9), (700, 801), (100_000, 101_234), (3_000_000, 3_001_000)])
def test_mcnemar_agrees_with_scipy(b: int, c: int) -> None:
    from scipy import stats

    found = mcnemar_of(b, c)
    assert found.exact == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue, rel=1e-6)
    assert found.corrected == pytest.approx(stats.chi2.sf((abs(b - c) - 1) ** 2 / (b + c), 1), rel=1e-9)


def test_mcnemar_of_large_counts_neither_overflows_nor_stops() -> None:
    assert mcnemar_of(10**6, 10**6).exact == 1.0
    assert 0.0 <= mcnemar_of(10, 10**6).exact < 1e-300
    assert mcnemar_of(0, 0).exact == mcnemar_of(0, 0).corrected == 1.0
    assert mcnemar_of(0, 1).exact == mcnemar_of(0, 1).corrected == 1.0


def test_mcnemar_counts_tokens_that_one_side_has_right() -> None:
    first, second = np.array([1, 1, 1, 0, 0, 1], bool), np.array([1, 0, 0, 1, 0, 0], bool)
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (3, 1)
    assert found.exact == pytest.approx(2 * 5 / 16)


# --- randomisation ------------------------------------------------------------------------------------------


def exact_randomisation(first: list[Tally], second: list[Tally]) -> float:
    """All 2^S ways to exchange sentences, in every run alike."""

    def mean(systems: list[list[tuple[int, int]]]) -> Fraction:
        scores = []
        for rows in systems:
            top, bottom = sum(row[0] for row in rows), sum(row[1] for row in rows)
            scores.append(Fraction(int(top), int(bottom)) if bottom else Fraction(0))
        return sum(scores, Fraction(0)) / len(scores)

    a, b = ([list(zip(*run, strict=True)) for run in runs] for runs in (first, second))
    S = len(a[0])
    differences = []
    for flips in itertools.product((False, True), repeat=S):
        one = [[y if flip else x for x, y, flip in zip(u, v, flips, strict=True)] for u, v in zip(a, b, strict=True)]
        two = [[x if flip else y for x, y, flip in zip(u, v, flips, strict=True)] for u, v in zip(a, b, strict=True)]
        differences.append(abs(mean(two) - mean(one)))
    return sum(d >= differences[0] for d in differences) / len(differences)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [1, 3])
def test_randomisation_comes_near_all_exchanges(seed: int, K: int) -> None:
    first, second = random_tallies(seed, S=7, K=K, gap=0.1 * (seed % 2))
    exact = exact_randomisation(first, second)
    found = randomisation(first, second, rounds=20_000)
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_randomisation_is_two_sided_seeded_and_never_zero() -> None:
    first, second = random_tallies(0, S=60, gap=0.03)
    assert randomisation(first, second) == randomisation(second, first) == randomisation(first, second)
    assert randomisation(first, second, seed=2) != randomisation(first, second, seed=3)
    assert randomisation(first, first) == 1.0
    best = [Tally(first[0].bottom, first[0].bottom)]
    worst = [Tally(0 * first[0].bottom, first[0].bottom)]
    assert randomisation(best, worst, rounds=999) == 1 / 1000


def test_runs_that_repeat_each_other_are_no_more_evidence() -> None:
    first, second = random_tallies(3, S=50, gap=0.04)
    once = randomisation(first, second)
    assert 0.001 < once < 0.9
    assert randomisation(first * 5, second * 5) == once


def test_p_values_of_equal_systems_are_even() -> None:
    p = [randomisation(*random_tallies(seed, S=30), rounds=400) for seed in range(300)]
    for share in (0.1, 0.3, 0.5):
        assert np.mean(np.array(p) <= share) == pytest.approx(share, abs=3.5 * math.sqrt(share * (1 - share) / 300))


def test_p_values_are_even_when_runs_resemble_each_other() -> None:
    """Five runs of a system fail on much the same sentences. To exchange each run alone would give p <= 0.1 to
    four in ten of these equal systems."""
    draw = np.random.default_rng(1)
    p = []
    for _ in range(300):
        size = draw.integers(2, 12, 30)
        systems = []
        for _ in range(2):
            shared = draw.binomial(size, 0.8)
            systems.append([Tally(np.minimum(size, shared + draw.integers(0, 2, 30)), size) for _ in range(5)])
        p.append(randomisation(systems[0], systems[1], rounds=400))
    for share in (0.1, 0.3, 0.5):
        assert np.mean(np.array(p) <= share) == pytest.approx(share, abs=3.5 * math.sqrt(share * (1 - share) / 300))


# --- bootstrap ----------------------------------------------------------------------------------------------


def slow_bootstrap(given: Tally, rounds: int) -> np.ndarray:
    draw = np.random.default_rng(99)
    values = []
    for _ in range(rounds):
        chosen = [int(draw.integers(len(given.top))) for _ in given.top]
        bottom = sum(int(given.bottom[s]) for s in chosen)
        values.append(sum(int(given.top[s]) for s in chosen) / bottom if bottom else 0.0)
    return np.array(values)


@pytest.mark.parametrize("block", [1 << 22, 300])
def test_bootstrap_has_the_distribution_of_its_slow_twin(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "_BLOCK", block)
    (one,), (other,) = random_tallies(5, S=40)
    drawn = bootstrap([one, other], rounds=4000)
    assert drawn.shape == (4000, 2)
    slow = slow_bootstrap(one, 4000)
    error = slow.std() / math.sqrt(4000)
    assert drawn[:, 0].mean() == pytest.approx(slow.mean(), abs=6 * error)
    assert drawn[:, 0].std() == pytest.approx(slow.std(), rel=0.08)
    fast, twin = interval(drawn[:, 0]), interval(slow)
    assert fast.low == pytest.approx(twin.low, abs=10 * error)
    assert fast.high == pytest.approx(twin.high, abs=10 * error)


def test_all_systems_get_the_same_sentences() -> None:
    (one,), (other,) = random_tallies(6, S=40)
    drawn = bootstrap([one, other, one], rounds=200, seed=7)
    assert np.array_equal(drawn[:, 0], drawn[:, 2])
    assert not np.array_equal(drawn[:, 0], drawn[:, 1])
    assert np.array_equal(drawn, bootstrap([one, other, one], rounds=200, seed=7))
    assert not np.array_equal(drawn, bootstrap([one, other, one], rounds=200, seed=8))


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    draw = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        size = draw.integers(5, 30, 100)
        found = interval(bootstrap([Tally(draw.binomial(size, 0.9), size)], rounds=300)[:, 0])
        hits += found.low <= 0.9 <= found.high
    assert 0.88 <= hits / 200 <= 0.99


def test_an_interval_leaves_the_same_share_out_at_both_ends() -> None:
    found = interval(np.arange(1001) / 1000)
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    assert interval(np.arange(1001) / 1000, level=0.5).low == pytest.approx(0.25)


def test_nothing_to_count_is_zero() -> None:
    nothing = tally([0, 0], [0, 0])
    assert nothing.value == 0.0
    assert not bootstrap([nothing], rounds=10).any()
    assert randomisation([nothing], [nothing], rounds=10) == 1.0


# --- several tests at once, and bad input -------------------------------------------------------------------


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_what_cannot_be_compared() -> None:
    one, two = tally([1, 2], [3, 3]), tally([1], [3])
    with pytest.raises(UsageError, match="same sentences"):
        randomisation([one], [two])
    with pytest.raises(UsageError, match="in pairs"):
        randomisation([one], [one, one])
    with pytest.raises(UsageError, match="rounds"):
        bootstrap([one], rounds=0)
    with pytest.raises(UsageError, match="same sentences"):
        bootstrap([tally([], [])])
    with pytest.raises(UsageError, match="tokens"):
        mcnemar(np.ones(2, bool), np.ones(3, bool))
