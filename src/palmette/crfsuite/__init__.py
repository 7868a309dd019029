"""What users of python-crfsuite and sklearn-crfsuite call, under the same names: change the import, keep the program.

import palmette.crfsuite as pycrfsuite                # Trainer, Tagger, ItemSequence
from palmette.crfsuite import CRF, metrics, scorers   # sklearn-crfsuite
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.crfsuite import metrics, scorers
    from palmette.crfsuite.estimator import CRF

# Where the names are defined: imported on first use
_HOMES = {"CRF": "palmette.crfsuite.estimator"}
_MODULES = ("metrics", "scorers")

__all__ = ["CRF", "metrics", "scorers"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"palmette.crfsuite.{name}")
    raise AttributeError(f"module 'palmette.crfsuite' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
