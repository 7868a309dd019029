"""What a check of labelled data sees and finds: corpora with common numbers, and plain records that become JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.spec import ANYTHING
from palmette.data.labels.mask import partial_looks
from palmette.display import html_by, printed_by

KINDS = {
    "columns": "lines with more or fewer cells than the others",
    "cells": "odd cells",
    "trees": "sentences whose heads are not a tree",
    "spans": "annotations that training leaves out or moves",
    "tags": "ill-formed tag sequences",
    "once": "labels that occur once",
    "spelling": "labels that differ only in case or spelling",
    "conflicts": "equal sentences with different labels",
    "duplicates": "equal sentences with equal labels",
    "overlap": "sentences that other data has too",
    "labels": "labels that only other data has",
    "variation": "equal words in equal contexts with different labels",
    "noise": "doubtful labels, by cross-validation",
}
_SHOWN = 50  # characters of a sentence in a message


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. `line` counts from 1; None: the format has no lines. `details` depend on the kind."""

    kind: str
    file: str
    line: int | None
    message: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many sentences of other data are in a file."""

    file: str
    sentences: int
    shared: int


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What was found in one file. `counts` are complete; `findings` has the first ones of each kind only."""

    file: str
    format: str
    sentences: int
    tokens: int
    labels: int
    scheme: str | None  # the tag scheme that the labels are taken to be in
    counts: dict[str, int]
    findings: list[Finding]
    overlaps: list[Overlap]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of `palmette.check`."""

    files: list[FileCheck]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(sum(one.counts.values()) for one in self.files)

    @property
    def findings(self) -> list[Finding]:
        """Those of all files."""
        return [finding for one in self.files for finding in one.findings]

    def to_dict(self) -> dict[str, Any]:
        """Everything as built-in types, for JSON."""
        return {"clean": self.clean, **asdict(self)}

    __str__ = printed_by("reports.checking:print_check")
    _repr_html_ = html_by("reports.checking:print_check")


class DataView(msgspec.Struct, eq=False, dict=True):
    """The tokens of a corpus: equal tokens have equal hashes, of words (the first column) or of all attributes."""

    corpus: Corpus

    @property
    def labels(self) -> Column:
        """The labels of a corpus that has some."""
        assert self.corpus.labels is not None
        return self.corpus.labels

    @cached_property
    def words(self) -> np.ndarray:
        """u64[N]."""
        if self.corpus.columns:
            column = self.corpus.columns[0].nfc
            return np.asarray(column.hash[column.ids])
        given = self.corpus.attributes
        if given is None:
            return np.zeros(self.corpus.n_tokens, np.uint64)
        value = given.val.view(np.uint32).astype(np.uint64) if given.val.size else np.uint64(0)
        ends = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed(given.names.hash[given.names.ids] + value))))
        return np.asarray(ends[given.ptr[1:]] - ends[given.ptr[:-1]])  # of a set: the order does not matter

    @cached_property
    def sentence_words(self) -> list[bytes]:
        """What is equal for sentences of equal words."""
        return _pieces(self.words, self.corpus.offset)

    @cached_property
    def sentence_labels(self) -> list[bytes]:
        """What is equal for equal label sequences."""
        labels = self.corpus.labels
        if labels is None:
            return [b""] * self.corpus.n_sentences
        return _pieces(labels.hash[labels.ids], self.corpus.offset)

    @cached_property
    def unknown(self) -> np.ndarray:
        """Labels bool[T] that say that the label is not fully known: `?`, `_`, and `A|B` of two labels."""
        types = self.labels.types
        looks = {*partial_looks(types), *ANYTHING}
        return np.array([label in looks for label in types], np.bool_)

    def line(self, token: int) -> int | None:
        return self.corpus.line_of(token)

    def line_of_sentence(self, s: int) -> int | None:
        return self.corpus.line_of(int(self.corpus.offset[s]))

    def word(self, token: int) -> str:
        """A token for people: its word, or its first attribute."""
        if self.corpus.columns:
            return cell(self.corpus.columns[0], token)
        given = self.corpus.attributes
        if given is None or given.ptr[token] == given.ptr[token + 1]:
            return "(no attribute)"
        return cell(given.names, int(given.ptr[token]))

    def label(self, token: int) -> str:
        return cell(self.labels, token)

    def sentence(self, s: int) -> str:
        """The beginning of a sentence, for messages."""
        start, end = int(self.corpus.offset[s]), int(self.corpus.offset[s + 1])
        text = " ".join(self.word(token) for token in range(start, min(end, start + _SHOWN)))
        return text if len(text) <= _SHOWN and end - start <= _SHOWN else text[: _SHOWN - 3] + "..."


def cell(column: Column, token: int) -> str:
    return column.types[int(column.ids[token])]


def _pieces(hashes: np.ndarray, offset: np.ndarray) -> list[bytes]:
    data = np.ascontiguousarray(hashes).tobytes()
    return [data[8 * start : 8 * end] for start, end in pairwise(offset.tolist())]


def mixed(hashes: np.ndarray) -> np.ndarray:
    """Numbers u64[] whose sums tell sets apart."""
    made = hashes ^ (hashes >> np.uint64(31))
    made = made * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(made ^ (made >> np.uint64(29)))
