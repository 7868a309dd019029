"""Structured prediction on CPUs: taggers, chunkers, entity recognisers and dependency parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "HMM",
    "Classifier",
    "FormatSpec",
    "Hypergraph",
    "LanguageModel",
    "LinearClassifier",
    "Parser",
    "Tagger",
    "Treebank",
    "__version__",
    "convert_file",
    "convert_labels",
    "jackknife",
    "load_acronyms",
    "load_demo",
    "load_grammaticality",
    "load_trees",
    "load_vowels",
    "read_treebank",
]

if TYPE_CHECKING:
    from palmette.data.convert import convert_file
    from palmette.data.formats.conllu import read_treebank
    from palmette.data.formats.registry import FormatSpec
    from palmette.data.labels.schemes import convert_labels
    from palmette.data.treebank import Treebank
    from palmette.datasets.demo import load_acronyms, load_demo, load_grammaticality, load_trees, load_vowels
    from palmette.estimators.classifier import Classifier
    from palmette.estimators.hmm import HMM
    from palmette.estimators.language_model import LanguageModel
    from palmette.estimators.linear_classifier import LinearClassifier
    from palmette.estimators.parser import Parser
    from palmette.estimators.retag import jackknife
    from palmette.estimators.tagger import Tagger
    from palmette.structures.hypergraph import Hypergraph

_HOMES = {
    "Classifier": "palmette.estimators.classifier",
    "HMM": "palmette.estimators.hmm",
    "Hypergraph": "palmette.structures.hypergraph",
    "LanguageModel": "palmette.estimators.language_model",
    "LinearClassifier": "palmette.estimators.linear_classifier",
    "Parser": "palmette.estimators.parser",
    "FormatSpec": "palmette.data.formats.registry",
    "Tagger": "palmette.estimators.tagger",
    "Treebank": "palmette.data.treebank",
    "convert_file": "palmette.data.convert",
    "convert_labels": "palmette.data.labels.schemes",
    "jackknife": "palmette.estimators.retag",
    "load_acronyms": "palmette.datasets.demo",
    "load_demo": "palmette.datasets.demo",
    "load_grammaticality": "palmette.datasets.demo",
    "load_trees": "palmette.datasets.demo",
    "load_vowels": "palmette.datasets.demo",
    "read_treebank": "palmette.data.formats.conllu",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `palmette --help` does not wait for Numba."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")
