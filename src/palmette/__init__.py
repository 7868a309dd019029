"""Structured prediction on CPUs: taggers, chunkers, entity recognisers and dependency parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "HMM",
    "Classifier",
    "Hypergraph",
    "LanguageModel",
    "LinearClassifier",
    "Parser",
    "Reading",
    "Tagger",
    "Treebank",
    "__version__",
    "load_acronyms",
    "load_demo",
    "load_grammaticality",
    "load_trees",
    "load_vowels",
    "read_treebank",
]

if TYPE_CHECKING:
    from palmette.classifier import Classifier
    from palmette.demo_data import load_acronyms, load_demo, load_grammaticality, load_trees, load_vowels
    from palmette.hmm import HMM
    from palmette.hypergraph import Hypergraph
    from palmette.linear_classifier import LinearClassifier
    from palmette.lm import LanguageModel
    from palmette.parser import Parser
    from palmette.tagger import Tagger
    from palmette.text.read import Reading
    from palmette.text.treebank import Treebank, read_treebank

_HOMES = {
    "Classifier": "palmette.classifier",
    "HMM": "palmette.hmm",
    "Hypergraph": "palmette.hypergraph",
    "LanguageModel": "palmette.lm",
    "LinearClassifier": "palmette.linear_classifier",
    "Parser": "palmette.parser",
    "Reading": "palmette.text.read",
    "Tagger": "palmette.tagger",
    "Treebank": "palmette.text.treebank",
    "load_acronyms": "palmette.demo_data",
    "load_demo": "palmette.demo_data",
    "load_grammaticality": "palmette.demo_data",
    "load_trees": "palmette.demo_data",
    "load_vowels": "palmette.demo_data",
    "read_treebank": "palmette.text.treebank",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `palmette --help` does not wait for Numba."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")
