"""All scores of a tagged corpus in one value, and its most frequent errors.

Training calls `score` after each epoch on the development data, and evaluation shows its result. `errors` lists the
most frequent errors with an example each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec
import numpy as np

from palmette.data.labels.schemes import Bare, Grobid, are_chunk_labels, reading
from palmette.errors import UsageError
from palmette.evaluation.record import FIGURES, Main, Part, Scores, Strong, figure_cells
from palmette.evaluation.spans import ChunkTables, SpanCounts, span_counts, strict_span_counts
from palmette.evaluation.tokens import (
    Figures,
    counted,
    figures,
    label_counts,
    sentence_accuracy,
    sentence_sums,
    token_accuracy,
    top_confusions,
    unseen_accuracy,
)

CONFUSIONS = 12  # that are shown


class Confusion(msgspec.Struct, frozen=True):
    """A gold label, the label guessed instead, and its count."""

    gold: str
    guess: str
    count: int


class LabelScores(Scores, frozen=True):
    """Scores of labels, one per token. None: not available (unseen words without a mask, chunks of word classes)."""

    tokens: int
    left_out: int  # tokens without a full gold label, which no score counts
    sentences: int
    accuracy: float
    sentence_accuracy: float
    unseen_tokens: int | None
    unseen_accuracy: float | None
    chunk_rules: str | None  # whose rules the chunk figures follow: "conlleval", "strict IOB2", "GROBID", ...
    precision: float | None
    recall: float | None
    f1: float | None
    macro_f1: float | None  # mean over the types
    by_type: dict[str, Figures]
    by_label: dict[str, Figures]
    confusions: list[Confusion]

    told = ("tokens", "sentences", "accuracy", "precision", "recall", "f1")

    def main(self) -> Main:
        return Main("accuracy", self.accuracy) if self.f1 is None else Main("F1", self.f1)

    def parts(self) -> Iterator[Part]:
        """Totals, figures by type of span or by label, confusions."""
        totals: list[tuple[Any, ...]] = [("tokens", self.tokens, "accuracy", self.accuracy)]
        if self.left_out:
            totals.append(("left out", self.left_out, "their gold label is not fully known", ""))
        totals.append(("sentences", self.sentences, "all right", self.sentence_accuracy))
        if self.unseen_tokens is not None:
            totals.append(("unseen words", self.unseen_tokens, "accuracy on them", self.unseen_accuracy))
        if self.f1 is not None:
            totals.append(("precision", self.precision, "recall", self.recall))
            totals.append(("macro F1", self.macro_f1, Strong("F1"), Strong(self.f1)))
        yield Part("", (), totals)
        if self.by_type:
            yield by_name(f"spans by type ({rules_said(self.chunk_rules)})", self.by_type)
        yield by_name("labels", self.by_label)._replace(folded=bool(self.by_type), notebook=bool(self.by_type))
        if self.confusions:
            pairs = self.confusions[:CONFUSIONS]
            count = {(c.gold, c.guess): c.count for c in pairs}
            columns = list(dict.fromkeys(c.guess for c in pairs))
            rows = [
                (row, *(count.get((row, column), "") for column in columns))
                for row in dict.fromkeys(c.gold for c in pairs)
            ]
            yield Part("confusions (gold in rows, guess in columns)", ["", *columns], rows, folded=True)


def by_name(title: str, rows: Mapping[str, Figures], most: int = 30) -> Part:
    """Figures of the most frequent types or labels."""
    ordered = sorted(rows.items(), key=lambda item: -item[1].gold)
    cells = [(name or "(no type)", *figure_cells(found)) for name, found in ordered[:most]]
    return Part(title, ("", *FIGURES), cells, max(0, len(ordered) - most))


def rules_said(rules: str | None) -> str:
    """Whose rules spans are counted by, or which these are."""
    return f"{rules}" if rules is None or " of " in rules else f"{rules}'s rules"


class Mistake(msgspec.Struct, frozen=True):
    """A kind of error: its count, and its first place (sentence and token, counted from 0)."""

    gold: str
    guess: str
    word: str | None
    count: int
    sentence: int
    token: int


def score(
    gold: np.ndarray,
    guess: np.ndarray,
    offset: np.ndarray,
    labels: Sequence[str],
    unseen: np.ndarray | None = None,
    scheme: str | None = None,
    *,
    strict: bool = False,
    known: np.ndarray | None = None,
) -> LabelScores:
    """Score `guess` against `gold` (i32[N] ids of `labels`), sentences in `offset` (i64[S+1]).

    Chunks are scored if the labels look like chunk labels or `scheme` is given, as it must be for bare labels: by
    conlleval's rules, or with `strict` by seqeval's strict reading of `scheme`. `known` (bool[N]) leaves
    tokens without a gold label out; chunks are then scored in the sentences that are known throughout.
    """
    Y = len(labels)
    all_tokens = token_accuracy(gold, guess, known)
    sentences = sentence_accuracy(gold, guess, offset, known)
    new_words = None if unseen is None else unseen_accuracy(gold, guess, unseen, known)
    chunks = _chunk_counts(gold, guess, offset, labels, scheme, strict, known)
    total = None if chunks is None else chunks.total
    counts = zip(labels, *label_counts(gold, guess, Y, known), strict=True)
    return LabelScores(
        tokens=all_tokens.total,
        left_out=len(gold) - all_tokens.total,
        sentences=sentences.total,
        accuracy=all_tokens.fraction,
        sentence_accuracy=sentences.fraction,
        unseen_tokens=None if new_words is None else new_words.total,
        unseen_accuracy=new_words.fraction if new_words and new_words.total else None,
        chunk_rules=None if chunks is None else _rules(labels, scheme, strict),
        precision=None if total is None else total.precision,
        recall=None if total is None else total.recall,
        f1=None if total is None else total.f1,
        macro_f1=None if chunks is None else chunks.macro_f1,
        by_type={} if chunks is None else chunks.by_type(),
        by_label={name: figures(int(c), int(g), int(a)) for name, c, g, a in counts if g or a},
        confusions=[Confusion(labels[a], labels[b], count) for a, b, count in top_confusions(gold, guess, Y, known)],
    )


def _chunk_counts(
    gold: np.ndarray,
    guess: np.ndarray,
    offset: np.ndarray,
    labels: Sequence[str],
    scheme: str | None,
    strict: bool,
    known: np.ndarray | None,
) -> SpanCounts | None:
    if strict and scheme is None:
        raise UsageError("strict chunk scores need a tag scheme, for instance scheme='IOB2'")
    if scheme is None and not are_chunk_labels(labels):
        return None
    if known is not None:
        gold, guess, offset = whole_sentences(gold, guess, offset, known)
        if len(offset) < 2:  # no sentence is known throughout
            return None
    if strict and scheme is not None:
        return strict_span_counts(gold, guess, offset, labels, scheme)
    return span_counts(gold, guess, offset, ChunkTables.of(labels, scheme))


def _rules(labels: Sequence[str], scheme: str | None, strict: bool) -> str:
    notation = reading(labels, scheme)
    if notation is not None and notation.kind == Bare.kind:
        return "runs of equal labels"
    if strict:
        return f"strict {scheme}"
    return "GROBID" if notation is not None and notation.kind == Grobid.kind else "conlleval"


def whole_sentences(
    gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sentences in which every token is known: next to an unknown label the edge of a chunk is uncertain."""
    lengths = np.diff(offset)
    whole = sentence_sums(known, offset) == lengths
    kept = np.repeat(whole, lengths)
    return gold[kept], guess[kept], np.concatenate([[0], np.cumsum(lengths[whole])])


def errors(
    gold: np.ndarray,
    guess: np.ndarray,
    offset: np.ndarray,
    labels: Sequence[str],
    words: Sequence[str] | None = None,
    *,
    known: np.ndarray | None = None,
    most: int = 20,
) -> list[Mistake]:
    """The most frequent errors, each with the first place where it was made; ties by that place.

    An error is a pair (gold label, guessed label), or with `words` (N of them) a triple with the word.
    """
    counted(gold, guess, known)
    if words is not None and len(words) != len(gold):
        raise UsageError(f"there are {len(words)} words for {len(gold)} labels; expected one word per token")
    wrong = (gold != guess) if known is None else (gold != guess) & known
    tokens = np.flatnonzero(wrong)
    ids, n_words = _word_numbers(words, tokens)
    kinds = (gold[tokens].astype(np.int64) * len(labels) + guess[tokens]) * n_words + ids
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    found = []
    for k in np.lexsort((first, -counts))[:most].tolist():
        i, count = int(tokens[first[k]]), int(counts[k])
        a, b, word = int(gold[i]), int(guess[i]), None if words is None else words[i]
        # The last sentence that begins at or before i: empty sentences share an offset with the next.
        sentence = int(np.searchsorted(offset, i, side="right")) - 1
        found.append(Mistake(labels[a], labels[b], word, count, sentence, i - int(offset[sentence])))
    return found


def _word_numbers(words: Sequence[str] | None, tokens: np.ndarray) -> tuple[np.ndarray, int]:
    """The words of some tokens as numbers i64[], and how many numbers there are."""
    if words is None:
        return np.zeros(tokens.size, np.int64), 1
    if isinstance(words, CellTexts):
        return words.ids[tokens], max(1, len(words.types))
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(words[i], len(numbers)) for i in tokens.tolist()]
    return np.array(ids, np.int64), max(1, len(numbers))


class CellTexts(Sequence[str]):
    """The strings types[ids[i]]."""

    def __init__(self, ids: np.ndarray, types: Sequence[str]) -> None:
        self.ids, self.types = ids, types

    def __len__(self) -> int:
        return int(self.ids.size)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self.types[i] for i in self.ids[at].tolist()]
        return self.types[int(self.ids[at])]
