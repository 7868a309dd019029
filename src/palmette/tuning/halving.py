"""Successive halving (Jamieson and Talwalkar 2016), by thirds: all settings get a little, the best third of them three
times as much, and so on up to a training in full.

Less is a third of the passes, and then a third of the sentences, as long as enough are left: small data has two levels,
and large data up to four.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from palmette.tuning.trial import FULL, Level, Trial

KEPT = 3  # one of so many goes on
MOST_LEVELS = 4
LEAST_SENTENCES = 1_000  # of a share of the data: a score of a model of fewer tells little about one of all


def levels(n_settings: int, n_sentences: int) -> list[Level]:
    """The levels for so many settings, from the least to the full one."""
    found = [FULL]
    if n_settings >= KEPT:
        found.append(Level(1.0, 1.0 / KEPT))
    while len(found) < MOST_LEVELS and n_settings >= KEPT ** len(found):
        share = found[-1].share / KEPT
        if share * n_sentences < LEAST_SENTENCES:
            break
        found.append(Level(share, 1.0 / KEPT))
    return found[::-1]


def survivors(trials: Iterable[Trial]) -> list[Trial]:
    """The best third of the trials of a level, best first; of equal ones those that were drawn first."""
    scored = sorted((t for t in trials if t.score is not None), key=rank)
    return scored[: math.ceil(len(scored) / KEPT)]


def rank(trial: Trial) -> tuple[float, float, int]:
    """Sorts trials: the best score first, then more passes, then the number."""
    return (-(trial.score if trial.score is not None else -math.inf), -trial.level.effort, trial.number)


def highest(trials: Iterable[Trial]) -> list[Trial]:
    """Of each setting the training that got most; those that got most first, and of these the best."""
    most: dict[int, Trial] = {}
    for trial in sorted(trials, key=lambda trial: (trial.level.share, trial.level.effort)):
        most[trial.number] = trial
    return sorted(most.values(), key=lambda trial: (-trial.level.share, -trial.level.effort, *rank(trial)))


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """The best trial that learnt from all sentences: its score is that of a command."""
    return min((t for t in trials if t.in_full), key=rank, default=None)
