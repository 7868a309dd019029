"""Scores of a binary classifier: accuracy, precision, recall and F of the positive class, area under the ROC."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from palmette.evaluation.record import Cell, Main, Part, Scores


class BinaryScores(Scores, frozen=True):
    """Scores of two classes. `auc` is the probability that a positive scores above a negative (a tie counts half);
    None if one of the classes has no sentence."""

    positives: int
    negatives: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    auc: float | None
    said_positive: int
    right_positive: int

    positive_class: str = "positive"

    told = ("positives", "negatives", "accuracy", "precision", "recall", "f1", "auc")

    def main(self) -> Main:
        return Main("accuracy", self.accuracy)

    def parts(self) -> Iterator[Part]:
        rows: list[tuple[Cell, ...]] = [
            ("sentences", self.positives + self.negatives, "accuracy", self.accuracy),
            (f"of class {self.positive_class}", self.positives, "precision", self.precision),
            ("predicted", self.said_positive, "recall", self.recall),
            ("correct", self.right_positive, "F1", self.f1),
            ("", "", "area under the ROC", self.auc),
        ]
        yield Part("", (), rows)


def binary_scores(truth: np.ndarray, scores: np.ndarray, positive_class: str = "positive") -> BinaryScores:
    """`truth` bool[S]: whether a sentence is positive; it is predicted to be if its score f64[S] is at least 0."""
    said = scores >= 0
    right = int((said & truth).sum())
    positives, claimed = int(truth.sum()), int(said.sum())
    precision, recall = right / max(1, claimed), right / max(1, positives)
    return BinaryScores(
        positives, truth.size - positives, float((said == truth).mean()) if truth.size else 0.0, precision, recall,
        2 * precision * recall / (precision + recall) if right else 0.0, area(truth, scores), claimed, right,
        positive_class=positive_class,
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
