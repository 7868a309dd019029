"""python-crfsuite's interface: `import palmette.crfsuite as pycrfsuite`, and sklearn-crfsuite's classes.

    Trainer, BaseTrainer, Tagger, ItemSequence, CRFSuiteError      as in pycrfsuite
    CRF, metrics, scorers                                          as in sklearn_crfsuite

docs/crfsuite.md says what is the same and what differs. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.crfsuite import metrics, scorers
    from palmette.crfsuite.estimator import CRF, load_pickle
    from palmette.crfsuite.sequences import ItemSequence
    from palmette.crfsuite.tagger import CRFSuiteError, Tagger
    from palmette.crfsuite.trainer import BaseTrainer, LinePerIterationTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"  # of the CRFsuite whose behaviour this follows

_HOMES = {
    "CRF": "estimator",
    "LinePerIterationTrainer": "trainer",
    "load_pickle": "estimator",
    "BaseTrainer": "trainer",
    "CRFSuiteError": "tagger",
    "ItemSequence": "sequences",
    "Tagger": "tagger",
    "Trainer": "trainer",
}
_MODULES = ("metrics", "scorers")
__all__ = [
    "CRF", "CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "LinePerIterationTrainer", "Tagger",
    "Trainer", "load_pickle", "metrics", "scorers",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"palmette.crfsuite.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"palmette.crfsuite.{name}")
    raise AttributeError(f"module 'palmette.crfsuite' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
