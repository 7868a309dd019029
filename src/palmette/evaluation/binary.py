"""Scores of a binary classifier: accuracy, precision, recall and F of the positive class, area under the ROC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.display import drawn


class BinaryScores(NamedTuple):
    """Fractions of 1. `auc` is the probability that a positive scores above a negative (a tie counts half); None if one
    of the classes has no sentence."""

    positives: int
    negatives: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    auc: float | None
    said_positive: int
    right_positive: int

    def _repr_html_(self) -> str:
        return drawn(self, "notebook_scores:binary")


def binary_scores(truth: np.ndarray, scores: np.ndarray) -> BinaryScores:
    """`truth` bool[S]: whether a sentence is positive; it is predicted to be if its score f64[S] is at least 0."""
    said = scores >= 0
    right = int((said & truth).sum())
    positives, claimed = int(truth.sum()), int(said.sum())
    precision, recall = right / max(1, claimed), right / max(1, positives)
    return BinaryScores(
        positives, truth.size - positives, float((said == truth).mean()) if truth.size else 0.0, precision, recall,
        2 * precision * recall / (precision + recall) if right else 0.0, area(truth, scores), claimed, right,
    )  # fmt: skip


def area(truth: np.ndarray, scores: np.ndarray) -> float | None:
    """By ranks (Mann and Whitney), equal scores sharing the mean of their ranks."""
    n = int(truth.sum())
    if not 0 < n < truth.size:
        return None
    _, inverse, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    above = rank[inverse][truth].sum() - n * (n + 1) / 2
    return float(above / (n * (truth.size - n)))
