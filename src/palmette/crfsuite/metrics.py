"""Scores of label sequences under sklearn-crfsuite's names: those of scikit-learn over the tokens of all sequences.

`flat_*` take the keywords of the function of scikit-learn with the same name (labels, average, zero_division, ...);
scikit-learn is imported when one is called. For spans, as conlleval and seqeval count them, see `palmette.evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

from palmette.errors import DataError, counted

T = TypeVar("T")


def flatten(y: Iterable[Iterable[T]]) -> list[T]:
    """The elements of all sequences in one list."""
    return list(chain.from_iterable(y))


__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "flatten",
    "sequence_accuracy_score",
]

Sequences = Iterable[Iterable[Any]]


def _of_tokens(name: str, y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """A function of sklearn.metrics over the tokens of all sequences."""
    try:
        from sklearn import metrics
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "sklearn":
            raise
        raise ImportError(f"{name} is a function of scikit-learn: pip install 'palmette[sklearn]'") from None

    return getattr(metrics, name)(flatten(y_true), flatten(y_pred), **kwargs)


def flat_accuracy_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> float:
    """The share of tokens whose label is right."""
    return float(_of_tokens("accuracy_score", y_true, y_pred, **kwargs))


def flat_precision_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Precision of labels over all tokens; with several labels say `average=`."""
    return _of_tokens("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """Recall of labels over all tokens; with several labels say `average=`."""
    return _of_tokens("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Sequences, y_pred: Sequences, **kwargs: Any) -> Any:
    """F1 of labels over all tokens; with several labels say `average=`."""
    return _of_tokens("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Sequences, y_pred: Sequences, beta: float, **kwargs: Any) -> Any:
    """F-beta of labels over all tokens; with several labels say `average=`."""
    return _of_tokens("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(
    y_true: Sequences, y_pred: Sequences, labels: Sequence[Any] | None = None, **kwargs: Any
) -> Any:
    """scikit-learn's table of precision, recall and F1 of each label; a dict with `output_dict=True`."""
    return _of_tokens("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Sequences, y_pred: Sequences) -> float:
    """The share of sequences that are right from the first label to the last; 0 if there are none."""
    gold, guess = [list(one) for one in y_true], [list(one) for one in y_pred]
    if len(gold) != len(guess):
        raise DataError(f"{counted(len(gold), 'true sequence')} and {counted(len(guess), 'predicted one')}")
    return sum(a == b for a, b in zip(gold, guess, strict=True)) / len(gold) if gold else 0.0
