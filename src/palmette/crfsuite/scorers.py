"""Scorers for `scoring=` of scikit-learn's searches and cross-validations, under sklearn-crfsuite's names.

They are made on first use, so that importing this module does not need scikit-learn.
"""

from __future__ import annotations

from typing import Any

from palmette.crfsuite import metrics

_SCORES = {"flat_accuracy": metrics.flat_accuracy_score, "sequence_accuracy": metrics.sequence_accuracy_score}

__all__ = ["flat_accuracy", "sequence_accuracy"]  # noqa: F822 (made by __getattr__)


def __getattr__(name: str) -> Any:
    if name not in _SCORES:
        raise AttributeError(f"module 'palmette.crfsuite.scorers' has no attribute {name!r}")
    from sklearn.metrics import make_scorer

    made = globals()[name] = make_scorer(_SCORES[name])
    return made


def __dir__() -> list[str]:
    return __all__
