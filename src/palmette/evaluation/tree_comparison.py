"""Comparison of parsers on the same gold trees: scores with intervals, and tests of their differences. Only NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from palmette.display import drawn_by
from palmette.evaluation import significance as test
from palmette.evaluation.attachment import METRICS, HasTrees, compared, score_trees, tallies
from palmette.evaluation.significance import Difference, Interval, McNemar
from palmette.evaluation.tokens import sentence_sums


class TreeSystem(msgspec.Struct, frozen=True):
    """The figures of one parser; `scores` as in `palmette parser eval --json`."""

    name: str
    intervals: dict[str, Interval]  # by metric
    scores: dict[str, Any]


class TreePair(msgspec.Struct, frozen=True):
    """The comparison of two parsers by metric, and the words whose arc and relation only one of them has right."""

    first: str
    second: str
    differences: dict[str, Difference]
    mcnemar: McNemar


class TreeComparison(msgspec.Struct, frozen=True):
    """The result of a comparison. Figures are fractions of 1."""

    words: int
    sentences: int
    rounds: int
    seed: int
    level: float
    systems: list[TreeSystem]
    pairs: list[TreePair]
    differing_sentences: int

    _repr_html_ = drawn_by("notebook_scores:tree_comparison")


def compare_trees(
    gold: HasTrees,
    guesses: Mapping[str, HasTrees],
    rounds: int = test.ROUNDS,
    seed: int = 1,
    *,
    all_pairs: bool = False,
    report: Callable[[str], None] = lambda message: None,
) -> TreeComparison:
    """Compare each parser with the first one, or all pairs."""
    names = list(guesses)
    scores = [score_trees(gold, guess) for guess in guesses.values()]
    runs = {metric: [[tallies(gold, guess, metric)] for guess in guesses.values()] for metric in METRICS}
    report("resampling sentences")
    drawn = test.bootstrap([tally for each in runs.values() for (tally,) in each], rounds, seed)
    values = {metric: drawn[:, m * len(names) : (m + 1) * len(names)] for m, metric in enumerate(METRICS)}
    chosen = [pair for pair in combinations(range(len(names)), 2) if all_pairs or pair[0] == 0]
    found = {metric: test.differences(chosen, runs[metric], values[metric], rounds, seed, report) for metric in METRICS}
    right = [compared(gold, guess).arc for guess in guesses.values()]
    systems = [
        TreeSystem(name, {m: test.interval(values[m][:, k]) for m in METRICS}, scores[k].to_dict())
        for k, name in enumerate(names)
    ]
    pairs = [
        TreePair(names[a], names[b], {m: found[m][k] for m in METRICS}, test.mcnemar(right[a], right[b]))
        for k, (a, b) in enumerate(chosen)
    ]
    return TreeComparison(
        scores[0].words, scores[0].sentences, rounds, seed, test.LEVEL, systems, pairs, _differing(gold, guesses)
    )


def _differing(gold: HasTrees, guesses: Mapping[str, HasTrees]) -> int:
    """The sentences that the parsers parse differently."""
    first, *others = guesses.values()
    apart = [~compared(first, other).arc for other in others]
    return int((sentence_sums(np.logical_or.reduce(apart), gold.offset) > 0).sum()) if apart else 0
