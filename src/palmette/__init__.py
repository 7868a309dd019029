"""Structured prediction on CPUs: taggers, chunkers, entity recognisers, dependency parsers, sentence classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from palmette import metrics
    from palmette.classification.classifier import Classifier
    from palmette.classification.linear_classifier import LinearClassifier
    from palmette.connect.annotations.files import read_documents, write_documents
    from palmette.data.analysed import Candidate, Document, ParsedSentence, TaggedSentence, TextSpan
    from palmette.data.convert import Conversion, convert_file, convert_labels
    from palmette.data.formats.conllu import read_treebank
    from palmette.data.formats.spec import FormatSpec
    from palmette.data.text import TextSpec
    from palmette.data.treebank import Treebank
    from palmette.datasets import load_acronyms, load_demo, load_grammaticality, load_trees, load_vowels
    from palmette.errors import DataError, ModelError, PalmetteError, TemplateError, UsageError
    from palmette.estimators.check import check
    from palmette.estimators.pick import pick, pick_file
    from palmette.estimators.tagger import Tagger
    from palmette.lab.hmm.estimator import HMM
    from palmette.lab.lm.language_model import LanguageModel
    from palmette.models import load
    from palmette.options.chain import LabelHistory, Latent, Plain
    from palmette.options.learners import *  # noqa: F403
    from palmette.options.search import Beam, Viterbi
    from palmette.parsing.hypergraph import Hypergraph
    from palmette.parsing.parser import Parser
    from palmette.parsing.retag import jackknife
    from palmette.pipeline.document import ParsedDocument
    from palmette.pipeline.pipeline import Pipeline
    from palmette.reports.plots import plot
    from palmette.tuning.tune import TuneResult, tune, tune_file

# Where the public names are defined: imported on first use, so that nothing waits for Numba without need
_MODULES = {
    "data.analysed": ("Candidate", "Document", "ParsedSentence", "TaggedSentence", "TextSpan"),
    "connect.annotations.files": ("read_documents", "write_documents"),
    "data.convert": ("Conversion", "convert_file", "convert_labels"),
    "data.formats.conllu": ("read_treebank",),
    "data.formats.spec": ("FormatSpec",),
    "data.text": ("TextSpec",),
    "data.treebank": ("Treebank",),
    "datasets": ("load_acronyms", "load_demo", "load_grammaticality", "load_trees", "load_vowels"),
    "errors": ("DataError", "ModelError", "PalmetteError", "TemplateError", "UsageError"),
    "estimators.check": ("check",),
    "classification.classifier": ("Classifier",),
    "lab.hmm.estimator": ("HMM",),
    "lab.lm.language_model": ("LanguageModel",),
    "classification.linear_classifier": ("LinearClassifier",),
    "parsing.parser": ("Parser",),
    "estimators.pick": ("pick", "pick_file"),
    "parsing.retag": ("jackknife",),
    "estimators.tagger": ("Tagger",),
    "models": ("load",),
    "options.chain": ("LabelHistory", "Latent", "Plain"),
    "options.search": ("Beam", "Viterbi"),
    "pipeline.document": ("ParsedDocument",),
    "pipeline.pipeline": ("Pipeline",),
    "reports.plots": ("plot",),
    "parsing.hypergraph": ("Hypergraph",),
    "tuning.tune": ("TuneResult", "tune", "tune_file"),
}  # fmt: skip
_HOMES = {name: f"palmette.{module}" for module, names in _MODULES.items() for name in names}
_LEARNERS = "palmette.options.learners"  # every learner it lists is public


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return ["__version__", "metrics", *sorted([*_HOMES, *import_module(_LEARNERS).__all__])]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "metrics":
        return import_module("palmette.metrics")
    if not name.startswith("_") and name in import_module(_LEARNERS).__all__:
        return getattr(import_module(_LEARNERS), name)
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
