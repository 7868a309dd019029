"""Comparison of systems on the same gold: what `palmette compare` computes, as values for tables and JSON.

`compare` takes what several systems of one kind predicted for the same sentences (`rivals.py`); `lab/ablation.py`
trains the systems first. The statistics are in `significance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.display import html_by, printed_by
from palmette.evaluation import significance as test
from palmette.evaluation.rivals import Rivals, Sentence, Where
from palmette.evaluation.significance import Difference, Interval, McNemar, Runs


class CompareOptions(NamedTuple):
    """Options of a comparison."""

    rounds: int = test.ROUNDS
    seed: int = 1
    all_pairs: bool = False
    differences: int = 5


class Metric(msgspec.Struct, frozen=True):
    """A score with its bootstrap interval."""

    value: float
    interval: Interval


class System(msgspec.Struct, frozen=True):
    """The figures of one system."""

    name: str
    metrics: dict[str, Metric | None]
    right: int  # units
    share: float | None  # of sentences without an error
    scores: Mapping[str, Any]  # as in `palmette eval --json`

    def to_dict(self) -> dict[str, Any]:
        """A metric is `accuracy` and `accuracy_interval`."""
        made: dict[str, Any] = {"name": self.name}
        for name, metric in self.metrics.items():
            made |= {name: metric and metric.value, f"{name}_interval": metric and msgspec.to_builtins(metric.interval)}
        return made | {"right": self.right, "scores": self.scores}


class Pair(msgspec.Struct, frozen=True):
    """The comparison of two systems by metric, and of the units that only one of them has right."""

    first: str
    second: str
    differences: dict[str, Difference | None]
    mcnemar: McNemar | None

    def to_dict(self) -> dict[str, Any]:
        made = msgspec.to_builtins(self)
        return {"first": self.first, "second": self.second, **made["differences"], "mcnemar": made["mcnemar"]}


class Comparison(msgspec.Struct, frozen=True):
    """The result of a comparison. Figures are fractions of 1."""

    noun: str  # what a system is called
    unit: str  # what is right or wrong: token, word, sentence
    units: int
    done: str
    sentences: int
    rounds: int
    seed: int
    level: float
    systems: list[System]
    pairs: list[Pair]
    where: list[Where]
    differing_sentences: int
    differences: list[Sentence]
    about: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        return {
            f"{self.unit}s": self.units, "sentences": self.sentences, **self.about,
            "rounds": self.rounds, "seed": self.seed, "level": self.level,
            "systems": [system.to_dict() for system in self.systems], "pairs": [pair.to_dict() for pair in self.pairs],
            "where": msgspec.to_builtins(self.where), "differing_sentences": self.differing_sentences,
            "differences": msgspec.to_builtins(self.differences),
        }  # fmt: skip

    __str__ = printed_by("reports.comparison:print_comparison")
    _repr_html_ = html_by("reports.comparison:print_comparison")


def compare(
    rivals: Rivals, options: CompareOptions | None = None, progress: Callable[[str], None] | None = None
) -> Comparison:
    """Scores, intervals and tests of the systems, the best system by kind, and the sentences on which they differ."""
    options, names = options or CompareOptions(), rivals.names
    runs = {name: None if each is None else [[tally] for tally in each] for name, each in rivals.tallies.items()}
    pairs, drawn = paired(names, runs, options, progress or (lambda message: None), rivals.right)
    systems = []
    for k, name in enumerate(names):
        metrics = {
            metric: None if each is None else Metric(rivals.scores[k][metric], test.interval(drawn[metric][:, k]))
            for metric, each in rivals.tallies.items()
        }
        share = None if rivals.shares is None else rivals.shares[k]
        systems.append(System(name, metrics, int(rivals.right[k].sum()), share, rivals.scores[k]))
    # The sentences with the most differing units first, ties in order.
    apart = np.flatnonzero(rivals.differing)
    apart = apart[np.argsort(-rivals.differing[apart], kind="stable")]
    shown = [] if rivals.shown is None else map(rivals.shown, apart[: max(0, options.differences)].tolist())
    return Comparison(
        rivals.noun, rivals.unit, rivals.units, rivals.done, rivals.sentences, options.rounds, options.seed, test.LEVEL,
        systems, pairs, list(rivals.where), apart.size, list(shown), rivals.about,
    )  # fmt: skip


def paired(
    names: list[str], metrics: Mapping[str, Runs | None], options: CompareOptions, report: Callable[[str], None],
    right: Sequence[np.ndarray] | None = None,
) -> tuple[list[Pair], dict[str, np.ndarray]]:  # fmt: skip
    """The pairs with the first system (or all pairs), and the bootstrapped scores f64[rounds, systems] of each metric.

    A system's score is the mean over its runs; the runs of two systems are strata (see `randomisation`). `right`: which
    units each system has right, for McNemar's test."""
    report("resampling sentences")
    there = {name: runs for name, runs in metrics.items() if runs is not None}
    flat = [tally for runs in there.values() for each in runs for tally in each]
    drawn = test.bootstrap(flat, options.rounds, options.seed)
    means = drawn.reshape(options.rounds, len(there), len(names), -1).mean(axis=3)
    values = {metric: means[:, m] for m, metric in enumerate(there)}
    chosen = [pair for pair in combinations(range(len(names)), 2) if options.all_pairs or pair[0] == 0]
    found = {
        metric: test.differences(chosen, runs, values[metric], options.rounds, options.seed, report)
        for metric, runs in there.items()
    }
    pairs = [
        Pair(
            names[a], names[b], {metric: found[metric][k] if metric in found else None for metric in metrics},
            None if right is None else test.mcnemar(right[a], right[b]),
        )
        for k, (a, b) in enumerate(chosen)
    ]  # fmt: skip
    return pairs, values
