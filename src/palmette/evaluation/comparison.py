"""Comparison of systems on the same gold: what `palmette compare` computes, as values for tables and JSON.

`compare` takes the labels that several systems predicted for the same sentences; `lab/ablation.py` trains the
systems first. The statistics are in `significance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.display import drawn_by
from palmette.evaluation import significance as test
from palmette.evaluation.scores import Scores, score
from palmette.evaluation.significance import Difference, Interval, McNemar, Runs
from palmette.evaluation.spans import ChunkTables
from palmette.evaluation.tokens import sentence_sums, token_accuracy


class SystemLabels(NamedTuple):
    """One label per token."""

    ids: np.ndarray  # i32[N], numbers of `labels`
    labels: Sequence[str]


class SystemOutputs(NamedTuple):
    """Sentences with the labels of gold and of several systems."""

    names: list[str]
    gold: np.ndarray  # i32[N]: numbers of `labels`, as in each guess
    guesses: list[np.ndarray]  # i32[N] each
    offset: np.ndarray  # i64[S+1]
    labels: list[str]
    words: list[str]  # N; empty if there are only attributes
    lines: np.ndarray | None = None  # i64[N]: of the tokens in the gold file
    known: np.ndarray | None = None  # bool[N]: gold is a single label; None: everywhere
    unseen: np.ndarray | None = None  # bool[N]: words that are not in the training data of `unseen_for`
    unseen_for: str | None = None

    @classmethod
    def of(cls, names: list[str], corpus: Corpus, gold: SystemLabels, guesses: Sequence[SystemLabels]) -> SystemOutputs:
        """From gold and guesses with separate label lists to one list of the labels that occur."""
        numbers: dict[str, int] = {}
        columns = []
        for ids, labels in (gold, *guesses):
            used, places = np.unique(ids, return_inverse=True)
            new = [numbers.setdefault(labels[k], len(numbers)) for k in used.tolist()]
            columns.append(np.array(new, np.int32)[places])
        words = corpus.columns[0].cells() if corpus.columns else []
        lines = None if corpus.lines is None else corpus.lines.tokens + corpus.lines.first_line
        return cls(names, columns[0], columns[1:], corpus.offset, list(numbers), words, lines)


class CompareOptions(NamedTuple):
    """Options of a comparison."""

    rounds: int = test.ROUNDS
    seed: int = 1
    all_pairs: bool = False
    differences: int = 5


class System(msgspec.Struct, frozen=True):
    """The figures of one system; `scores` as in `palmette eval --json`."""

    name: str
    accuracy: float
    accuracy_interval: Interval
    f1: float | None
    f1_interval: Interval | None
    scores: dict[str, Any]


class Pair(msgspec.Struct, frozen=True):
    """The comparison of two systems."""

    first: str
    second: str
    accuracy: Difference
    f1: Difference | None
    mcnemar: McNemar | None


class Where(msgspec.Struct, frozen=True):
    """One kind of span, label or word: its count in gold, each system's score, and the best systems."""

    kind: str  # "type" and "label" are scored by F1, "words" (seen, unseen) by accuracy
    name: str
    gold: int
    scores: list[float]
    best: list[str]


class Token(msgspec.Struct, frozen=True):
    """A token that systems label differently."""

    token: int  # counted from 0 in its sentence
    word: str | None
    gold: str
    guesses: list[str]


class Sentence(msgspec.Struct, frozen=True):
    """A sentence (counted from 0) on which systems differ; `line` is that of its first token in the gold file."""

    sentence: int
    line: int | None
    text: list[str]
    tokens: list[Token]


class Comparison(msgspec.Struct, frozen=True):
    """The result of a comparison. Figures are fractions of 1."""

    tokens: int
    sentences: int
    chunk_rules: str | None
    rounds: int
    seed: int
    level: float
    unseen_for: str | None
    systems: list[System]
    pairs: list[Pair]
    where: list[Where]
    differing_sentences: int
    differences: list[Sentence]

    _repr_html_ = drawn_by("notebook_scores:comparison")


# Outputs side by side


def compare(
    outputs: SystemOutputs, options: CompareOptions | None = None, progress: Callable[[str], None] | None = None
) -> Comparison:
    """Scores, intervals and tests of the systems, the best system by kind, and the sentences on which they differ."""
    options, names, offset = options or CompareOptions(), outputs.names, outputs.offset
    report = progress or (lambda message: None)
    gold, known = outputs.gold, outputs.known
    scores = [score(gold, guess, offset, outputs.labels, outputs.unseen, known=known) for guess in outputs.guesses]
    metrics = {"accuracy": [[test.token_tally(gold, guess, offset, known)] for guess in outputs.guesses]}
    if scores[0].chunk_rules is not None:
        tables = ChunkTables.of(outputs.labels)
        metrics["f1"] = [[test.span_tally(gold, guess, offset, tables, known)] for guess in outputs.guesses]
    pairs, values = paired(names, metrics, options, report)
    here = slice(None) if known is None else known
    right = [(gold == guess)[here] for guess in outputs.guesses]
    places = {name: k for k, name in enumerate(names)}
    pairs = [
        msgspec.structs.replace(pair, mcnemar=test.mcnemar(right[places[pair.first]], right[places[pair.second]]))
        for pair in pairs
    ]
    differing = _differing(outputs)
    return Comparison(
        tokens=scores[0].tokens, sentences=scores[0].sentences, chunk_rules=scores[0].chunk_rules,
        rounds=options.rounds, seed=options.seed, level=test.LEVEL, unseen_for=outputs.unseen_for,
        systems=[_system(k, name, scores[k], values) for k, name in enumerate(names)],
        pairs=pairs, where=_where(outputs, scores), differing_sentences=len(differing),
        differences=[_sentence(outputs, int(s)) for s in differing[: max(0, options.differences)]],
    )  # fmt: skip


def paired(
    names: list[str], metrics: Mapping[str, Runs], options: CompareOptions, report: Callable[[str], None]
) -> tuple[list[Pair], dict[str, np.ndarray]]:
    """The pairs with the first system (or all pairs), and the bootstrapped scores f64[rounds, systems] of each metric.

    A system's score is the mean over its runs; the runs of two systems are strata (see `randomisation`)."""
    report("resampling sentences")
    flat = [tally for runs in metrics.values() for each in runs for tally in each]
    drawn = test.bootstrap(flat, options.rounds, options.seed)
    means = drawn.reshape(options.rounds, len(metrics), len(names), -1).mean(axis=3)
    values = {metric: means[:, m] for m, metric in enumerate(metrics)}
    chosen = [pair for pair in combinations(range(len(names)), 2) if options.all_pairs or pair[0] == 0]
    found = {
        metric: test.differences(chosen, runs, values[metric], options.rounds, options.seed, report)
        for metric, runs in metrics.items()
    }
    f1 = found.get("f1")
    pairs = [
        Pair(names[a], names[b], found["accuracy"][k], None if f1 is None else f1[k], None)
        for k, (a, b) in enumerate(chosen)
    ]
    return pairs, values


def _system(k: int, name: str, scores: Scores, values: Mapping[str, np.ndarray]) -> System:
    spans = test.interval(values["f1"][:, k]) if "f1" in values else None
    tokens = test.interval(values["accuracy"][:, k])
    return System(name, scores.accuracy, tokens, scores.f1, spans, scores.to_dict())


def _where(outputs: SystemOutputs, scores: Sequence[Scores]) -> list[Where]:
    kind = "label" if scores[0].chunk_rules is None else "type"
    each = [found.by_label if kind == "label" else found.by_type for found in scores]
    gold = {name: figures.gold for by_name in each for name, figures in by_name.items()}
    rows = []
    for name in sorted(gold, key=lambda name: (-gold[name], name)):
        values = [by_name[name].f1 if name in by_name else 0.0 for by_name in each]
        rows.append(_row(kind, name, gold[name], values, outputs.names))
    known = outputs.known
    if outputs.unseen is not None:
        for name, mask in (("seen", ~outputs.unseen), ("unseen", outputs.unseen)):
            shares = [
                token_accuracy(outputs.gold, guess, mask if known is None else mask & known)
                for guess in outputs.guesses
            ]
            if shares[0].total:
                rows.append(_row("words", name, shares[0].total, [s.fraction for s in shares], outputs.names))
    return rows


def _row(kind: str, name: str, gold: int, values: list[float], names: list[str]) -> Where:
    best = [names[k] for k, value in enumerate(values) if value == max(values)]
    return Where(kind, name, gold, values, best)


def _differing(outputs: SystemOutputs) -> np.ndarray:
    """The sentences in which two guesses differ: those with the most differing tokens first, ties in order."""
    tokens = sentence_sums(_tokens_that_differ(outputs), outputs.offset)
    found = np.flatnonzero(tokens)
    return found[np.argsort(-tokens[found], kind="stable")]


def _tokens_that_differ(outputs: SystemOutputs) -> np.ndarray:
    return np.any([guess != outputs.guesses[0] for guess in outputs.guesses[1:]], axis=0)


def _sentence(outputs: SystemOutputs, s: int) -> Sentence:
    lo, hi = int(outputs.offset[s]), int(outputs.offset[s + 1])
    tokens = []
    for i in range(lo, hi):
        guesses = [outputs.labels[int(guess[i])] for guess in outputs.guesses]
        if len(set(guesses)) > 1:
            word = outputs.words[i] if outputs.words else None
            tokens.append(Token(i - lo, word, outputs.labels[int(outputs.gold[i])], guesses))
    line = None if outputs.lines is None else int(outputs.lines[lo])
    return Sentence(s, line, outputs.words[lo:hi], tokens)
