"""A corpus with labels, as the write function of a format takes it, and what several of these functions share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.confidence import (
    NO_CONFIDENCE,
    NO_SPAN,
    NOT_CALIBRATED,
    Confidence,
    ConfidenceOutput,
    confidence_cells,
    confidence_records,
    empty_record,
    n_cells,
)
from palmette.data.formats.spec import ANNOTATORS
from palmette.errors import DataError, UsageError

MARK = "O"  # the label of document marks
BREAKING = re.compile(r"[\t\n\r]")
SCORE = "score"


class Labelling(msgspec.Struct, frozen=True):
    """A corpus with one label per token and, if they are to be written, scores and confidences."""

    corpus: Corpus
    ids: np.ndarray  # i32[N]  numbers of labels
    labels: Sequence[str]
    scores: np.ndarray | None = None  # f64[S]
    confidence: Confidence | None = None
    wanted: ConfidenceOutput = NO_CONFIDENCE

    def tags(self) -> list[str]:
        """The label of each token."""
        return [self.labels[k] for k in self.ids.tolist()]

    def cells(self) -> list[list[str]]:
        """The confidences of each token as further columns."""
        assert self.confidence is not None
        return confidence_cells(self.corpus.offset, self.confidence, self.labels, self.wanted)

    def texts(self, between: str) -> tuple[np.ndarray, Sequence[str], str]:
        """What follows each token in columns: numbers i32[N] of texts, the texts, and the text of document marks."""
        if self.confidence is None:
            return self.ids, self.labels, MARK
        texts = [between.join([tag, *row]) for tag, row in zip(self.tags(), self.cells(), strict=True)]
        mark = between.join([MARK, *[NO_SPAN] * n_cells(self.confidence, self.labels, self.wanted)])
        return np.arange(len(texts), dtype=np.int32), texts, mark

    def comments(self, equals: str = "") -> list[list[str]] | None:
        """The comment lines before each sentence: its score and its confidence; None: none."""
        notes: list[list[str]] = [[] for _ in range(self.corpus.n_sentences)]
        for name, values in self._numbers():
            for note, value in zip(notes, values, strict=True):
                note.append(f"# {name} {equals}{value:.6g}")
        if self.confidence is not None and not self.wanted.confidence and not self.confidence.calibrated:
            for note in notes:  # marginals alone
                note.append(f"# {NOT_CALIBRATED}")
        return notes if any(notes) else None

    def _numbers(self) -> Iterator[tuple[str, list[float]]]:
        """The numbers of whole sentences that are written, by name."""
        if self.scores is not None:
            yield SCORE, self.scores.tolist()
        if self.confidence is not None and self.wanted.confidence:
            yield self.confidence.called, self.confidence.sentences.tolist()

    def records(self) -> Iterator[dict[str, Any]]:
        """What the JSON object of each sentence gets besides its tags."""
        scores = [{}] * self.corpus.n_sentences if self.scores is None else [{SCORE: s} for s in self.scores.tolist()]
        if self.confidence is None:
            yield from scores
            return
        more = confidence_records(self.corpus.offset, self.confidence, self.labels, self.wanted)
        for one, other in zip(scores, more, strict=True):
            yield one | other

    def empty_record(self) -> dict[str, Any]:
        """What a JSON object without tokens gets besides its tags."""
        score: dict[str, Any] = {} if self.scores is None else {SCORE: 0.0}
        return score if self.confidence is None else score | empty_record(self.confidence, self.wanted)


def check_labels(labels: Sequence[str], format: str) -> None:
    """Raise UsageError if a label cannot be written in lines."""
    broken = next(filter(BREAKING.search, labels), None)
    if broken is not None and format != "jsonl" and format not in ANNOTATORS:
        raise UsageError(f"the label {broken!r} holds a TAB or line end: write jsonl instead of {format}")


def checked_columns(corpus: Corpus) -> list[Column]:
    """The columns; DataError if a cell cannot be written in lines."""
    for column in corpus.columns:
        if cell := next(filter(BREAKING.search, column.types), None):
            raise DataError(f"the cell {cell[:20]!r} holds a TAB or a line end", file=corpus.source, hint="write jsonl")
    return corpus.columns


def cell_rows(corpus: Corpus, labels: Sequence[str]) -> tuple[list[bytes], bytes]:
    """The columns of each token joined by TAB, and the separator before a label."""
    if not corpus.columns:
        return [b""] * corpus.n_tokens, b""
    cells = zip(*(column.cells() for column in checked_columns(corpus)), strict=True)
    return ["\t".join(row).encode() for row in cells], b"\t"


class RowTexts(NamedTuple):
    """The text before the labels on the line of each token, data[start:end], and the separator."""

    data: np.ndarray  # u8[]
    start: np.ndarray  # i64[N]
    end: np.ndarray  # i64[N]
    between: bytes


def row_texts(corpus: Corpus, labels: Sequence[str]) -> RowTexts:
    """The columns of each token joined by TAB."""
    if len(corpus.columns) == 1:
        (column,) = checked_columns(corpus)
        return RowTexts(column.data, column.start[column.ids], column.end[column.ids], b"\t")
    rows, between = cell_rows(corpus, labels)
    end = np.cumsum([len(row) for row in rows], dtype=np.int64)
    return RowTexts(np.frombuffer(b"".join(rows) + b"\n", np.uint8), np.append(0, end[:-1]), end, between)


def write_cells(given: Labelling) -> bytes:
    """The columns of the corpus and the label, separated by TAB, with a blank line after each sentence."""
    rows, between = cell_rows(given.corpus, given.labels)
    return _sentences(given, [row + between for row in rows])


def write_labels(given: Labelling) -> bytes:
    """One label per line, as `crfsuite tag` writes them, with a blank line after each sentence."""
    return _sentences(given, [b""] * given.corpus.n_tokens)


def _sentences(given: Labelling, starts: Sequence[bytes]) -> bytes:
    """Lines of a start and a label."""
    ids, texts, _ = given.texts("\t")
    ends = [text.encode() + b"\n" for text in texts]
    rows = [start + ends[k] for start, k in zip(starts, ids.tolist(), strict=True)]
    comments = given.comments()
    made: list[bytes] = []
    for s, (first, end) in enumerate(pairwise(given.corpus.offset.tolist())):
        if comments is not None:
            made += [f"{line}\n".encode() for line in comments[s]]
        made += rows[first:end]
        made.append(b"\n")
    return b"".join(made)


def token_records(corpus: Corpus) -> Iterator[tuple[dict[str, Any], int]]:
    """A JSON object per sentence: its tokens (the first column); of raw text also the text itself and the characters
    where each token starts and ends."""
    words = corpus.columns[0].cells() if corpus.columns else []
    for s, (start, end) in enumerate(pairwise(corpus.offset.tolist())):
        fields: dict[str, Any] = {} if corpus.surface is None else {"text": corpus.surface.sentences[s]}
        fields["tokens"] = words[start:end]
        if corpus.surface is not None:
            fields["offsets"] = corpus.surface.span[start:end].tolist()
        yield fields, end - start


def labelling_of(corpus: Corpus) -> tuple[Labelling, bool]:
    """A corpus with its own labels, and whether it has any; else all are O."""
    if corpus.labels is None:
        return Labelling(corpus, np.zeros(corpus.n_tokens, np.int32), ["O"]), False
    return Labelling(corpus, corpus.labels.ids, corpus.labels.types), True
