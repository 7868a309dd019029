"""Calibration of confidences: a reliability table, and the expected calibration error.

Guesses are put into bins by their confidence. In each bin a calibrated model is right as often as its confidence: among
guesses of confidence 0.8, four of five. The expected calibration error (ECE) is the mean distance between the two,
weighted by how many guesses a bin has:

    ECE = sum over bins of n_b / n * |accuracy_b - confidence_b|
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from palmette.data.labels.schemes import are_chunk_labels
from palmette.errors import UsageError
from palmette.evaluation.scores import whole_sentences
from palmette.evaluation.spans import ChunkTables, lenient_chunks, matching
from palmette.evaluation.tokens import sentence_sums

BINS = 10


class Bin(msgspec.Struct, frozen=True):
    """Guesses whose confidence is from `low` on and below `high`; the last bin has 1 too."""

    low: float
    high: float
    count: int
    confidence: float  # mean
    accuracy: float  # share of them that is right


class Reliability(msgspec.Struct, frozen=True):
    """The bins that have guesses, and the figures derived from them."""

    count: int
    confidence: float
    accuracy: float
    ece: float
    bins: list[Bin]


def reliability(confidence: np.ndarray, right: np.ndarray, n_bins: int = BINS) -> Reliability:
    """The reliability table of guesses with confidences f64[n]; `right` bool[n]: which are correct."""
    if confidence.shape != right.shape:
        raise UsageError(f"{confidence.size} confidences for {right.size} guesses")
    if n_bins < 1:
        raise UsageError(f"a reliability table has at least 1 bin, not {n_bins}")
    if confidence.size and not (confidence.min() >= 0 and confidence.max() <= 1):
        raise UsageError("a confidence is a number between 0 and 1")
    # The edge 0.7 is 7 tenths, but 0.7 * 10 is a little more: a value on an edge belongs to the bin above it.
    edges = np.arange(n_bins + 1) / n_bins
    which = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, n_bins - 1)
    count = np.bincount(which, minlength=n_bins)
    sums = np.bincount(which, confidence, n_bins), np.bincount(which, right, n_bins)
    bins = [
        Bin(float(edges[b]), float(edges[b + 1]), int(count[b]), *(float(total[b] / count[b]) for total in sums))
        for b in np.flatnonzero(count).tolist()
    ]
    n = confidence.size
    ece = sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / max(1, n)
    mean, accuracy = (float(values.mean()) if n else 0.0 for values in (confidence, right))
    return Reliability(n, mean, accuracy, ece, bins)


def span_hits(
    gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, labels: Sequence[str], known: np.ndarray | None = None,
    scheme: str | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:  # fmt: skip
    """Of all guessed spans, in order: which are counted, and which of these are right, bool[K] each. None if the labels
    do not encode spans. `known` and `scheme` as for `score`: spans count in sentences that are known throughout."""
    if not are_chunk_labels(labels, scheme):
        return None
    tables = ChunkTables.of(labels, scheme)
    every = lenient_chunks(guess, offset, tables)
    counted = np.ones(every.start.size, np.bool_)
    if known is not None:
        whole = sentence_sums(known, offset) == np.diff(offset)
        counted = whole[np.searchsorted(offset + np.arange(offset.size), every.start, side="right") - 1]
        gold, guess, offset = whole_sentences(gold, guess, offset, known)
    found = lenient_chunks(guess, offset, tables)
    right = np.zeros(found.start.size, np.bool_)
    right[matching(found, lenient_chunks(gold, offset, tables))] = True
    return counted, right


def sentence_hits(
    gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, known: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which sentences are known throughout, bool[S], and which of these are right."""
    size = np.diff(offset)
    counted = np.ones(size.size, np.bool_) if known is None else sentence_sums(known, offset) == size
    return counted, (sentence_sums(gold == guess, offset) == size)[counted]
