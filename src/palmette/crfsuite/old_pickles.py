"""Pickles of sklearn-crfsuite's estimators, read as ours: neither that package nor python-crfsuite need be there.

As any pickle, these run code when they are read: read only those that you trust."""

from __future__ import annotations

import os
import pickle
from importlib import import_module
from typing import IO, Any

from palmette.data.files import FilePath

# Where the classes in such a pickle are here
_HOMES = {
    ("sklearn_crfsuite.estimator", "CRF"): "estimator",
    ("sklearn_crfsuite._fileresource", "FileResource"): "model_resource",
    ("sklearn_crfsuite.trainer", "LinePerIterationTrainer"): "line_trainer",
    ("pycrfsuite._logparser", "TrainLogParser"): "log_parser",
    ("pycrfsuite._logparser", "LabelScore"): "log_parser",
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        home = _HOMES.get((module, name))
        if home is None:
            return super().find_class(module, name)
        return getattr(import_module(f"palmette.crfsuite.{home}"), name)


def load_pickle(file: FilePath | IO[bytes]) -> Any:
    """What `pickle.dump` has written, or `joblib.dump` without compression: an estimator of sklearn-crfsuite, or
    something that holds some, with our `CRF` in its place."""
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            return _Unpickler(opened).load()
    return _Unpickler(file).load()
