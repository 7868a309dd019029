"""Structured prediction on CPUs: taggers, chunkers, entity recognisers, dependency parsers, sentence classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from palmette import metrics
    from palmette.classification.classifier import Classifier
    from palmette.classification.linear_classifier import LinearClassifier
    from palmette.errors import DataError, ModelError, PalmetteError, TemplateError, UsageError
    from palmette.estimators.tagger import Tagger
    from palmette.lab.hmm.estimator import HMM
    from palmette.lab.lm.language_model import LanguageModel
    from palmette.models import load
    from palmette.options.chain import LabelHistory, Latent, Plain
    from palmette.options.learners import *  # noqa: F403
    from palmette.options.search import Beam, Viterbi
    from palmette.parsing.parser import Parser
    from palmette.pipeline.pipeline import Pipeline

# What most programs need, by group: where each name is defined. Imported on first use, so that nothing waits for NumPy
_HOMES = {
    "Estimators": {
        "Tagger": "estimators.tagger",
        "Parser": "parsing.parser",
        "Pipeline": "pipeline.pipeline",
        "Classifier": "classification.classifier",
        "LinearClassifier": "classification.linear_classifier",
        "HMM": "lab.hmm.estimator",
        "LanguageModel": "lab.lm.language_model",
    },
    "Models": {"load": "models"},
    "Learners, searches and states": {  # and every learner that options/learners.py lists
        "Viterbi": "options.search",
        "Beam": "options.search",
        "Plain": "options.chain",
        "Latent": "options.chain",
        "LabelHistory": "options.chain",
    },
    "Errors": dict.fromkeys(("PalmetteError", "DataError", "ModelError", "TemplateError", "UsageError"), "errors"),
}
# The other public names: `from palmette.data import read_treebank`
_ROOMS = {
    "data": (
        "read_treebank", "convert_file", "convert_labels", "Treebank", "FormatSpec", "TextSpec", "Conversion",
        "Candidate", "TaggedSentence", "ParsedSentence", "Document", "TextSpan",
    ),
    "datasets": ("load_demo", "load_trees", "load_vowels", "load_acronyms", "load_grammaticality"),
    "estimators": ("check", "pick", "pick_file"),
    "training": ("learn_clusters",),
    "tuning": ("tune", "tune_file", "TuneResult"),
    "reports": ("plot",),
    "connect": ("read_documents", "write_documents"),
    "parsing": ("jackknife", "Hypergraph"),
    "pipeline": ("ParsedDocument",),
}  # fmt: skip
_LEARNERS = "palmette.options.learners"


def _groups() -> dict[str, list[str]]:
    """The names of `__all__` by group."""
    from importlib import import_module

    found = {title: list(names) for title, names in _HOMES.items()}
    found["Learners, searches and states"][:0] = import_module(_LEARNERS).__all__
    return found | {"Scores": ["metrics"]}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return ["__version__", *(each for names in _groups().values() for each in names)]
    for homes in _HOMES.values():
        if name in homes:
            return getattr(import_module(f"palmette.{homes[name]}"), name)
    if name == "metrics" or name in _ROOMS:
        return import_module(f"palmette.{name}")
    if not name.startswith("_") and name in import_module(_LEARNERS).__all__:
        return getattr(import_module(_LEARNERS), name)
    room = next((room for room, names in _ROOMS.items() if name in names), None)
    hint = "" if room is None else f"; it is palmette.{room}.{name}"
    raise AttributeError(f"module 'palmette' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), *_ROOMS]
