"""Several systems on the same gold: what every kind of model makes of its outputs, and their comparison.

`label_rivals` is for labels, `class_rivals` for classes, `tree_rivals` for trees. `compare` computes what `palmette
compare` shows, as values for tables and JSON; `lab/ablation.py` trains the systems first. The statistics are in
`significance.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from palmette.display import html_by, printed_by
from palmette.errors import DataError, counted
from palmette.evaluation import significance as test
from palmette.evaluation.attachment import METRICS, HasTrees, compared, score_trees, tallies
from palmette.evaluation.scores import LabelScores, score
from palmette.evaluation.significance import Difference, Interval, McNemar, Runs, Tally
from palmette.evaluation.spans import ChunkTables
from palmette.evaluation.tokens import Figures, sentence_sums, token_accuracy

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus


class Where(msgspec.Struct, frozen=True):
    """One kind of span, label, relation or word: its count in gold, each system's score, and the best systems."""

    kind: str  # "type", "label" and "relation" are scored by F1, "words" (seen, unseen) by accuracy
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


class Rivals(NamedTuple):
    """The outputs of several systems and what a comparison needs to know of them."""

    names: list[str]
    noun: str  # what a system is called
    sentences: int
    unit: str  # what is right or wrong: a token, a word, a sentence
    units: int
    done: str  # what systems do to sentences: "labelled"
    tallies: Mapping[str, Sequence[Tally] | None]  # by metric, one per system; None: the metric does not apply
    right: Sequence[np.ndarray]  # bool[units] of each system
    differing: np.ndarray  # i64[S]: the units of each sentence on which systems differ
    scores: Sequence[Mapping[str, Any]]  # of each system, as `palmette eval --json` prints them
    where: Sequence[Where] = ()
    shares: Sequence[float] | None = None  # sentences without an error, of each system
    shown: Callable[[int], Sentence] | None = None  # a sentence on which systems differ
    about: Mapping[str, Any] = {}  # more for people and JSON


# Labels


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


def label_rivals(outputs: SystemOutputs) -> Rivals:
    """Taggers on the same tokens: accuracy, and F1 of spans where labels are chunks."""
    gold, known, offset = outputs.gold, outputs.known, outputs.offset
    scores = [score(gold, guess, offset, outputs.labels, outputs.unseen, known=known) for guess in outputs.guesses]
    spans = None
    if scores[0].chunk_rules is not None:
        tables = ChunkTables.of(outputs.labels)
        spans = [test.span_tally(gold, guess, offset, tables, known) for guess in outputs.guesses]
    here = slice(None) if known is None else known
    return Rivals(
        outputs.names, "system", scores[0].sentences, "token", scores[0].tokens, "labelled",
        {"accuracy": [test.token_tally(gold, guess, offset, known) for guess in outputs.guesses], "f1": spans},
        [(gold == guess)[here] for guess in outputs.guesses], differing(outputs.guesses, offset),
        [found.to_dict() for found in scores], _where(outputs, scores), [found.sentence_accuracy for found in scores],
        lambda s: _sentence(outputs, s),
        {"chunk_rules": scores[0].chunk_rules, "unseen_for": outputs.unseen_for},
    )  # fmt: skip


def _where(outputs: SystemOutputs, scores: Sequence[LabelScores]) -> list[Where]:
    kind = "label" if scores[0].chunk_rules is None else "type"
    rows = where(outputs.names, kind, [found.by_label if kind == "label" else found.by_type for found in scores])
    known = outputs.known
    if outputs.unseen is not None:
        for name, mask in (("seen", ~outputs.unseen), ("unseen", outputs.unseen)):
            shares = [
                token_accuracy(outputs.gold, guess, mask if known is None else mask & known)
                for guess in outputs.guesses
            ]
            if shares[0].total:
                rows.append(_row(outputs.names, "words", name, shares[0].total, [s.fraction for s in shares]))
    return rows


def where(names: list[str], kind: str, each: Sequence[Mapping[str, Figures]]) -> list[Where]:
    """F1 of every system by type, label or relation, the most frequent in gold first."""
    gold = {name: figures.gold for by_name in each for name, figures in by_name.items()}
    return [
        _row(names, kind, name, gold[name], [by_name[name].f1 if name in by_name else 0.0 for by_name in each])
        for name in sorted(gold, key=lambda name: (-gold[name], name))
    ]


def _row(names: list[str], kind: str, name: str, gold: int, values: list[float]) -> Where:
    best = [names[k] for k, value in enumerate(values) if value == max(values)]
    return Where(kind, name, gold, values, best)


def differing(guesses: Sequence[np.ndarray], offset: np.ndarray) -> np.ndarray:
    """i64[S]: the tokens of each sentence at which some guess differs from the first."""
    return sentence_sums(np.any([guess != guesses[0] for guess in guesses], axis=0), offset)


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


# Classes


def class_rivals(gold: Sequence[str], guesses: Mapping[str, Sequence[str]]) -> Rivals:
    """Classifiers on the same sentences: the guessed classes of several systems by name, one per sentence each."""
    truth = np.asarray(gold, object)
    for name, guess in guesses.items():
        if len(guess) != truth.size:
            raise DataError(
                f"{name} has {counted(len(guess), 'class', 'classes')} for {counted(truth.size, 'sentence')}"
            )
    if not truth.size:
        raise DataError("no labelled sentence to compare on")
    given = [np.asarray(guess, object) for guess in guesses.values()]
    right, one = [guess == truth for guess in given], np.ones(truth.size, np.int64)
    return Rivals(
        list(guesses), "classifier", truth.size, "sentence", truth.size, "classified",
        {"accuracy": [Tally(each.astype(np.int64), one) for each in right]},
        right, differing(given, np.arange(truth.size + 1)),
        [{"accuracy": float(each.mean()), "right": int(each.sum())} for each in right],
    )  # fmt: skip


# Trees


def tree_rivals(gold: HasTrees, guesses: Mapping[str, HasTrees]) -> Rivals:
    """Parsers on the same words: LAS, UAS and CLAS; a word is right if its head and its relation are."""
    names, banks = list(guesses), list(guesses.values())
    scores = [score_trees(gold, bank) for bank in banks]
    apart = np.any([~compared(banks[0], bank).arc for bank in banks], axis=0)
    return Rivals(
        names, "parser", scores[0].sentences, "word", scores[0].words, "parsed",
        {metric: [tallies(gold, bank, metric) for bank in banks] for metric in METRICS},
        [compared(gold, bank).arc for bank in banks], sentence_sums(apart, gold.offset),
        [found.to_dict() for found in scores],
        where(names, "relation", [{name: row.labelled for name, row in found.by_relation.items()} for found in scores]),
    )  # fmt: skip


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
