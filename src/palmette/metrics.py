"""Scores of label sequences as functions of two lists, for scikit-learn's searches and for programs of your own.

    from palmette.metrics import span_f1_score, span_scorer
    span_f1_score(gold, guess)                            # lists of label lists; F1 of spans as conlleval counts them
    GridSearchCV(tagger, space, scoring=span_scorer)      # what `Tagger.score` gives without it
    print(span_overlap_scores(gold, guess))               # also spans whose edges or type differ

A model's own figures are in `Tagger.evaluate`, which knows the scheme of its labels and the words that are new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.labels.schemes import are_chunk_labels
from palmette.errors import DataError, UsageError, counted
from palmette.evaluation.record import Main, Part, Scores
from palmette.evaluation.scores import LabelScores, score
from palmette.evaluation.spans import ChunkTables, lenient_chunks

__all__ = [
    "OverlapFigures",
    "OverlapScores",
    "label_scores",
    "span_f1_score",
    "span_overlap_scores",
    "span_precision_score",
    "span_recall_score",
    "span_scorer",
    "token_accuracy_score",
]

Sequences = Iterable[Iterable[str]]
AVERAGES = ("micro", "macro")


class Numbered(NamedTuple):
    """Two labellings of the same sentences as numbers."""

    gold: np.ndarray  # i32[N]
    guess: np.ndarray  # i32[N]
    offset: np.ndarray  # i64[S+1]: where sentences begin
    labels: list[str]


def label_scores(
    y_true: Sequences, y_pred: Sequences, *, scheme: str | None = None, strict: bool = False
) -> LabelScores:
    """All scores of predicted labels: accuracy, spans, figures by type and by label.

    `scheme` is needed for labels that are types without B and I (`"BARE"`), and with `strict`, which counts as
    seqeval's strict mode does: a span that is ill-formed in the scheme does not count."""
    found = _numbered(y_true, y_pred)
    return score(found.gold, found.guess, found.offset, found.labels, scheme=scheme, strict=strict)


def token_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """The share of tokens whose label is right."""
    found = _numbered(y_true, y_pred)
    return float(np.mean(found.gold == found.guess)) if found.gold.size else 0.0


def span_precision_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> float:
    """The share of predicted spans that are right; the options are those of `span_f1_score`."""
    return _of_spans("precision", y_true, y_pred, **options)


def span_recall_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> float:
    """The share of gold spans that were found; the options are those of `span_f1_score`."""
    return _of_spans("recall", y_true, y_pred, **options)


def span_f1_score(y_true: Sequences, y_pred: Sequences, **options: Any) -> float:
    """F1 of spans: a span is right if its edges and its type are.

    `average`: micro (over all spans) or macro (the mean over the types). `scheme`, `strict`: see `label_scores`."""
    return _of_spans("f1", y_true, y_pred, **options)


def span_scorer(estimator: Any, X: Any, y: Any) -> float:
    """F1 of spans of an estimator's predictions: a scorer for `scoring=` of scikit-learn."""
    return span_f1_score(y, estimator.predict(X))


def _of_spans(figure: str, y_true: Sequences, y_pred: Sequences, *, average: str = "micro", **options: Any) -> float:
    if average not in AVERAGES:
        raise UsageError(f"average={average!r}: expected {' or '.join(map(repr, AVERAGES))}")
    found = label_scores(y_true, y_pred, **options)
    if found.f1 is None:
        raise DataError("the labels mark no spans: expected O, and B, I, E or S with -TYPE; or give scheme='BARE'")
    if average == "micro":
        return float(getattr(found, figure))
    rows = [getattr(one, figure) for one in found.by_type.values()]
    return sum(rows) / len(rows) if rows else 0.0


def _numbered(y_true: Sequences, y_pred: Sequences) -> Numbered:
    """Both labellings as numbers, if they have the same sentences and lengths."""
    gold, guess = [[list(one) for one in each] for each in (y_true, y_pred)]
    if len(gold) != len(guess):
        raise DataError(f"{counted(len(gold), 'gold sequence')} and {counted(len(guess), 'predicted one')}")
    for k, (one, two) in enumerate(zip(gold, guess, strict=True)):
        if len(one) != len(two):
            raise DataError(f"sequence {k}: {counted(len(one), 'gold label')} and {counted(len(two), 'predicted one')}")
    numbers: dict[str, int] = {}
    ids = [
        np.array([numbers.setdefault(str(label), len(numbers)) for one in each for label in one], np.int32)
        for each in (gold, guess)
    ]
    offset = np.cumsum([0, *map(len, gold)], dtype=np.int64)
    return Numbered(ids[0], ids[1], offset, list(numbers))


class OverlapFigures(msgspec.Struct, frozen=True):
    """Spans under one rule: right, wrong, half right, not found, found where there is none."""

    correct: int
    incorrect: int
    partial: int
    missing: int
    spurious: int

    @property
    def precision(self) -> float:
        return self._of(self.correct + self.incorrect + self.partial + self.spurious)

    @property
    def recall(self) -> float:
        return self._of(self.correct + self.incorrect + self.partial + self.missing)

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def _of(self, spans: int) -> float:
        return (self.correct + self.partial / 2) / spans if spans else 0.0


class OverlapScores(Scores, frozen=True):
    """Spans by the four rules of SemEval 2013, task 9 (Segura-Bedmar et al. 2013), as nervaluate reports them.

    A predicted span is paired with one gold span: one with the same edges and type, else with the same edges, else the
    one of its type that it overlaps most, else the one it overlaps most.

    strict: edges and type must be the same. exact: the edges. partial: the edges, and half a point for an overlap.
    type: the type, where the two overlap."""

    strict: OverlapFigures
    exact: OverlapFigures
    partial: OverlapFigures
    type: OverlapFigures

    told = ()

    def main(self) -> Main:
        return Main("F1", self.strict.f1)

    def parts(self) -> Iterator[Part]:
        heads = ("", "precision", "recall", "F1", "correct", "incorrect", "partial", "missing", "spurious")
        rows = [(name, one.precision, one.recall, one.f1, *msgspec.structs.astuple(one)) for name, one in self._rules()]
        yield Part("", heads, rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        return {
            name: {"precision": one.precision, "recall": one.recall, "f1": one.f1, **msgspec.to_builtins(one)}
            for name, one in self._rules()
        }

    def __repr__(self) -> str:
        return f"OverlapScores({', '.join(f'{name}={one.f1:.4f}' for name, one in self._rules())})"

    def _rules(self) -> list[tuple[str, OverlapFigures]]:
        return [(name, getattr(self, name)) for name in ("strict", "exact", "partial", "type")]


class Span(NamedTuple):
    """A span among the tokens of all sentences."""

    first: int
    end: int  # the token after it
    type: int


def span_overlap_scores(y_true: Sequences, y_pred: Sequences, *, scheme: str | None = None) -> OverlapScores:
    """Scores of spans that also count those whose edges or type differ from a gold span that they overlap."""
    found = _numbered(y_true, y_pred)
    if scheme is None and not are_chunk_labels(found.labels):
        raise DataError("the labels mark no spans: expected O, and B, I, E or S with -TYPE; or give scheme='BARE'")
    tables = ChunkTables.of(found.labels, scheme)
    gold, guess = (_spans(ids, found.offset, tables) for ids in (found.gold, found.guess))
    counts: dict[str, Counter[str]] = {rule: Counter() for rule in ("strict", "exact", "partial", "type")}
    pairs = _paired(gold, guess)
    for one, two in pairs:
        edges, kind = one[:2] == two[:2], one.type == two.type
        counts["strict"]["correct" if edges and kind else "incorrect"] += 1
        counts["exact"]["correct" if edges else "incorrect"] += 1
        counts["partial"]["correct" if edges else "partial"] += 1
        counts["type"]["correct" if kind else "incorrect"] += 1
    for each in counts.values():
        each["missing"], each["spurious"] = len(gold) - len(pairs), len(guess) - len(pairs)
    names = OverlapFigures.__struct_fields__
    return OverlapScores(**{rule: OverlapFigures(*(each[name] for name in names)) for rule, each in counts.items()})


def _spans(ids: np.ndarray, offset: np.ndarray, tables: ChunkTables) -> list[Span]:
    chunks = lenient_chunks(ids, offset, tables)
    pair_of = np.arange(ids.size) + np.repeat(np.arange(offset.size - 1), np.diff(offset))  # one more per sentence
    token_at = {int(pair): token for token, pair in enumerate(pair_of)}
    return [
        Span(token_at[start], token_at[end - 1] + 1, kind)
        for start, end, kind in zip(chunks.start.tolist(), chunks.end.tolist(), chunks.type.tolist(), strict=True)
    ]


def _paired(gold: Sequence[Span], guess: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Pairs of a gold span and a predicted one, each in one pair at most, the best agreement first."""
    ends = [one.end for one in gold]
    candidates = []
    for p, two in enumerate(guess):
        g = bisect_right(ends, two.first)  # the first gold span that ends after this one begins
        while g < len(gold) and gold[g].first < two.end:
            one = gold[g]
            agreement = 2 * (one[:2] == two[:2]) + (one.type == two.type)
            shared = min(one.end, two.end) - max(one.first, two.first)
            candidates.append((-agreement, -shared, g, p))
            g += 1
    pairs: list[tuple[Span, Span]] = []
    left, right = set(range(len(gold))), set(range(len(guess)))
    for _, _, g, p in sorted(candidates):
        if g in left and p in right:
            left.remove(g)
            right.remove(p)
            pairs.append((gold[g], guess[p]))
    return pairs
