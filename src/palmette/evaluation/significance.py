"""Significance of differences between systems: intervals and tests, in NumPy.

Accuracy and F are both a ratio of sums over sentences: correct tokens over tokens, and twice the correct spans over
spans guessed plus spans in gold. A `Tally` holds the two sums of each sentence, so that resampling sentences or
exchanging two systems' outputs is a product of a 0/1/2/... matrix with a few columns: 10,000 rounds over 2,000
sentences take less than a second. Sentences, not tokens, are drawn and exchanged, because the labels of a sentence
depend on each other. All random figures are determined by a seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.errors import UsageError
from palmette.evaluation.spans import ChunkTables, lenient_chunks, matching
from palmette.evaluation.tokens import counted, sentence_sums
from palmette.options.declare import OptionError

ROUNDS = 10_000
LEVEL = 0.95
_BLOCK = 1 << 22  # entries of a matrix of rounds and sentences: 32 MB at a time
_TIE = 1e-12  # two differences that are equal on paper may differ in their last bits


class Tally(NamedTuple):
    """A score of one system as a ratio of sums: i64[S] each."""

    top: np.ndarray
    bottom: np.ndarray

    @property
    def value(self) -> float:
        """The score of the whole corpus; a share of nothing is 0."""
        return float(_ratio(self.top.sum(), self.bottom.sum()))


class Interval(msgspec.Struct, frozen=True):
    """The ends of a confidence interval."""

    low: float
    high: float


class Difference(msgspec.Struct, frozen=True):
    """Second minus first with its bootstrap interval, and p of approximate randomisation: plain, and by Holm's
    correction for the number of pairs."""

    value: float
    interval: Interval
    p: float
    p_holm: float


class McNemar(msgspec.Struct, frozen=True):
    """McNemar's test: the tokens that only one of two systems has right, and two-sided p-values."""

    only_first: int
    only_second: int
    exact: float
    chi2: float
    corrected: float


# Tallies


def token_tally(gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, known: np.ndarray | None = None) -> Tally:
    """Correct tokens over tokens of each sentence. `gold`, `guess`: i32[N]; `offset`: i64[S+1]; `known` (bool[N])
    excludes tokens without a gold label."""
    counted(gold, guess, known)
    here = np.ones(len(gold), dtype=bool) if known is None else known
    return Tally(sentence_sums((gold == guess) & here, offset), sentence_sums(here, offset))


def span_tally(
    gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, tables: ChunkTables, known: np.ndarray | None = None
) -> Tally:
    """Twice the correct spans over guessed and gold spans of each sentence, by conlleval's rules; nothing in a
    sentence that is not `known` throughout."""
    counted(gold, guess, known)
    right, found = (lenient_chunks(ids, offset, tables) for ids in (gold, guess))
    # A span's start counts tokens and the marks between sentences; sentence s begins at its mark.
    marks = offset[:-1] + np.arange(len(offset) - 1)
    correct, guessed, wanted = (
        _by_sentence(at, marks) for at in (right.start[matching(right, found)], found.start, right.start)
    )
    whole = 1 if known is None else sentence_sums(known, offset) == np.diff(offset)
    return Tally(2 * correct * whole, (guessed + wanted) * whole)


def _by_sentence(start: np.ndarray, marks: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(marks, start, side="right") - 1, minlength=len(marks))


# Intervals


def bootstrap(tallies: Sequence[Tally], rounds: int = ROUNDS, seed: int = 1) -> np.ndarray:
    """Scores of K systems on resampled corpora: f64[rounds, K].

    A round draws S of the S sentences with replacement, the same ones for all systems, so that columns may be
    subtracted: the difference of two systems varies less than either.
    """
    columns, S = _columns(tallies), _sentences(tallies, rounds)
    draw = np.random.default_rng([seed, 1])
    found = []
    for n in _blocks(rounds, S):
        drawn = draw.integers(0, S, size=(n, S), dtype=np.int64)
        drawn += np.arange(n)[:, None] * S
        times = np.bincount(drawn.ravel(), minlength=n * S).reshape(n, S)
        sums = times.astype(np.float64) @ columns
        found.append(_ratio(sums[:, 0::2], sums[:, 1::2]))
    return np.concatenate(found)


def interval(values: np.ndarray, level: float = LEVEL) -> Interval:
    """The percentile interval of bootstrapped values: the middle `level` of them."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


# Tests


def randomisation(first: Sequence[Tally], second: Sequence[Tally], rounds: int = ROUNDS, seed: int = 1) -> float:
    """Two-sided p-value of approximate randomisation (Noreen 1989; Yeh 2000) between two systems.

    Null hypothesis: the assignment of the two outputs of a sentence to the systems is arbitrary. A round exchanges the
    two outputs of each sentence with probability 1/2.
    p = (1 + rounds whose |difference| is at least the observed one) / (1 + rounds).

    Several runs of each system (seeds) are strata: `first[k]` is paired with `second[k]`, the difference is the
    mean of the strata's, and a round exchanges a sentence in all strata or in none. Runs of one system resemble
    each other on a sentence: exchanged one by one they would count the same evidence several times.
    """
    if len(first) != len(second) or not first:
        raise UsageError(f"runs to compare come in pairs; there are {len(first)} and {len(second)}")
    _sentences([*first, *second], rounds)
    a, b = _columns(first), _columns(second)
    whole = a.sum(axis=0), b.sum(axis=0)
    observed = abs(float(_mean_difference(*whole)))
    moved = (b - a)[(a != b).any(axis=1)]  # f64[D, 2K]: other sentences do not change the difference
    draw = np.random.default_rng([seed, 2])
    as_large = 0
    for n in _blocks(rounds, len(moved)):
        bits = draw.integers(0, 256, size=(n, (len(moved) + 7) // 8), dtype=np.uint8)
        exchanged = np.unpackbits(bits, axis=1, count=len(moved)).astype(np.float64) @ moved
        differences = np.abs(_mean_difference(whole[0] + exchanged, whole[1] - exchanged))
        as_large += int((differences >= observed - _TIE).sum())
    return (1 + as_large) / (1 + rounds)


Runs = list[list[Tally]]  # per system, its runs: one output, or one per seed


def differences(
    chosen: Sequence[tuple[int, int]], runs: Runs, values: np.ndarray, rounds: int = ROUNDS, seed: int = 1,
    report: Callable[[str], None] = lambda message: None,
) -> list[Difference]:  # fmt: skip
    """The chosen pairs of systems tested; `values` f64[rounds, systems] are their bootstrapped scores."""
    p = []
    for number, (a, b) in enumerate(chosen, 1):
        report(f"randomisation, pair {number} of {len(chosen)}")
        p.append(randomisation(runs[a], runs[b], rounds, seed))
    score_of = [float(np.mean([tally.value for tally in each])) for each in runs]
    return [
        Difference(score_of[b] - score_of[a], interval(values[:, b] - values[:, a]), one, adjusted)
        for (a, b), one, adjusted in zip(chosen, p, holm(p), strict=True)
    ]


def _mean_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of sums [..., 2K] (top, bottom, top, bottom, ...) of two systems: second minus first, mean over strata."""
    scores = [_ratio(sums[..., 0::2], sums[..., 1::2]) for sums in (first, second)]
    return (scores[1] - scores[0]).mean(axis=-1)


def mcnemar(first_right: np.ndarray, second_right: np.ndarray) -> McNemar:
    """McNemar's test of two systems on the same tokens: bool[N] each, True where the label is right."""
    if len(first_right) != len(second_right):
        raise UsageError(f"the systems have {len(first_right)} and {len(second_right)} tokens; expected the same ones")
    return mcnemar_of(int((first_right & ~second_right).sum()), int((~first_right & second_right).sum()))


def mcnemar_of(b: int, c: int) -> McNemar:
    """The test from its two counts: b tokens that only the first system has right, c tokens that only the second has.

    Under the null hypothesis b is binomial with b + c trials of probability 1/2. `exact` is twice the smaller tail
    of that, at most 1. `chi2` is (|b - c| - 1)^2 / (b + c), with Edwards' continuity correction, and `corrected` its
    p-value with one degree of freedom.
    """
    n = b + c
    chi2 = max(abs(b - c) - 1, 0) ** 2 / n if n else 0.0
    return McNemar(b, c, min(1.0, 2 * _lower_tail(min(b, c), n)), chi2, math.erfc(math.sqrt(chi2 / 2)))


def _lower_tail(m: int, n: int) -> float:
    """P(X <= m) of n fair coins, m <= n/2. From the largest term down: P(k - 1) / P(k) = k / (n - k + 1) <= 1, so that
    nothing overflows, and what underflows is too small to matter."""
    largest = math.exp(math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1) - n * math.log(2))
    k = np.arange(m, 0, -1, dtype=np.float64)
    return largest * (1.0 + float(np.cumprod(k / (n - k + 1)).sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests at once: the smallest p times their number, the next times one less, ..."""
    adjusted, least, m = [0.0] * len(p_values), 0.0, len(p_values)
    for rank, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        least = max(least, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted


# Shared


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.zeros(np.shape(top)), where=bottom != 0)


def _columns(tallies: Sequence[Tally]) -> np.ndarray:
    """f64[S, 2K]: top and bottom of each. Sums of whole numbers are exact in float64."""
    return np.stack([column for tally in tallies for column in tally], axis=1).astype(np.float64)


def _sentences(tallies: Sequence[Tally], rounds: int) -> int:
    """The number of sentences, after checking the arguments."""
    if rounds < 1:
        raise OptionError("rounds", f"{rounds} is not a whole number of at least 1")
    sizes = {len(column) for tally in tallies for column in tally}
    if len(sizes) != 1 or 0 in sizes:
        raise UsageError(f"systems are compared on the same sentences, at least one; their numbers are {sorted(sizes)}")
    return sizes.pop()


def _blocks(rounds: int, S: int) -> Iterator[int]:
    """Rounds in portions that keep the matrix small."""
    most = max(1, _BLOCK // max(1, S))
    for begin in range(0, rounds, most):
        yield min(most, rounds - begin)
