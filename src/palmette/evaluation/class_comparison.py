"""Classifiers on the same labelled sentences: accuracies with intervals, and tests of their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from palmette.display import drawn_by
from palmette.errors import DataError, counted
from palmette.evaluation import significance as test
from palmette.evaluation.comparison import CompareOptions, Pair, paired
from palmette.evaluation.significance import Interval, Tally


class ClassifierSystem(msgspec.Struct, frozen=True):
    """The accuracy of one classifier."""

    name: str
    accuracy: float
    accuracy_interval: Interval
    right: int


class ClassComparison(msgspec.Struct, frozen=True):
    """All systems, and each against the first (or all pairs). Figures are fractions of 1."""

    sentences: int
    rounds: int
    seed: int
    level: float
    systems: list[ClassifierSystem]
    pairs: list[Pair]
    differing_sentences: int

    _repr_html_ = drawn_by("notebook_scores:class_comparison")


def compare_classes(
    gold: Sequence[str],
    guesses: Mapping[str, Sequence[str]],
    options: CompareOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> ClassComparison:
    """Compare the guessed classes of several systems by name, one class per sentence each."""
    options, names, truth = options or CompareOptions(), list(guesses), np.asarray(gold, object)
    for name, guess in guesses.items():
        if len(guess) != truth.size:
            raise DataError(
                f"{name} has {counted(len(guess), 'class', 'classes')} for {counted(truth.size, 'sentence')}"
            )
    if not truth.size:
        raise DataError("no labelled sentence to compare on")
    given = [np.asarray(guess, object) for guess in guesses.values()]
    right = [guess == truth for guess in given]
    one = np.ones(truth.size, np.int64)
    runs = [[Tally(each.astype(np.int64), one)] for each in right]
    pairs, values = paired(names, {"accuracy": runs}, options, progress or (lambda message: None))
    place = {name: k for k, name in enumerate(names)}
    pairs = [
        msgspec.structs.replace(pair, mcnemar=test.mcnemar(right[place[pair.first]], right[place[pair.second]]))
        for pair in pairs
    ]
    systems = [
        ClassifierSystem(name, float(right[k].mean()), test.interval(values["accuracy"][:, k]), int(right[k].sum()))
        for k, name in enumerate(names)
    ]
    differing = int(np.any([guess != given[0] for guess in given[1:]], axis=0).sum())
    return ClassComparison(truth.size, options.rounds, options.seed, test.LEVEL, systems, pairs, differing)
