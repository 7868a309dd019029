"""A trained classifier over latent structures: what deciding needs, and what is saved.

In the file (see model_file): the weights as arrays, the attributes' table, and as JSON the classes, settings, templates
and history. The views follow from the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from palmette.data import model_file
from palmette.data.corpus import Corpus
from palmette.errors import ModelError, UsageError
from palmette.features.encode import Encoder
from palmette.features.templates import to_text
from palmette.kernels.chain.forms import FeatureWeights
from palmette.kernels.encode.encode import FeatureIndex
from palmette.kernels.latent.forms import Sentences, Views, Weights, make_workspace
from palmette.kernels.latent.train import decide
from palmette.options.classifier_settings import Settings, checked
from palmette.structures.chain.model import check_columns
from palmette.structures.chain.serialise import Names, load_alphabet, load_encoder, load_names
from palmette.structures.latent.data import encode, longest
from palmette.structures.latent.views import View, make_views, packed
from palmette.structures.training_log import ClassifierEpoch

TASK = "classify"
NO_POS = "add the parts of speech, or give a tagger that makes them: --tagger pos.palm"


@dataclass
class ClassifierModel:
    """Classes (the negative one first), features, views and weights."""

    classes: tuple[str, str]
    settings: Settings
    encoder: Encoder
    alphabet: FeatureIndex
    weights: Weights
    names: Names | None = None  # of the attributes, for looking into it
    meta: dict[str, Any] = field(default_factory=dict)  # history, how training ended, the tagger's name

    @cached_property
    def views(self) -> list[View]:
        return make_views(self.settings.latent, self.settings.views, self.settings.types)

    @cached_property
    def packed(self) -> Views:
        return packed(self.views, self.settings.types, self.settings.pairs)

    def encode(self, corpus: Corpus) -> Sentences:
        check_columns(corpus, self.encoder, NO_POS)
        return encode(corpus, self.encoder, self.alphabet)

    def decide(self, corpus: Corpus, structures: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The score of each sentence f64[S], and if asked for the states of its tokens in each view i16[R, N]."""
        states = np.zeros((len(self.views), corpus.n_tokens if structures else 0), np.int16)
        if not corpus.n_sentences:
            return np.zeros(0), states
        return scores_of(self.packed, self.weights, self.encode(corpus), self.settings, states), states

    def save(self, path: str) -> None:
        model_file.save(path, *_packed_model(self))


def scores_of(views: Views, weights: Weights, x: Sentences, settings: Settings, states: np.ndarray) -> np.ndarray:
    """The scores of all sentences; their structures into `states` unless it is empty."""
    n = x.offset.size - 1
    scores = np.zeros(n)
    if n:
        room = make_workspace(views, longest(x))
        decide(views, weights, x, np.arange(n), settings.decoding(), room, scores, states)
    return scores


def _packed_model(model: ClassifierModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    weights, templates = model.weights, model.encoder.templates
    arrays = {
        "attribute.keys": model.alphabet.keys, "attribute.numbers": model.alphabet.numbers, "slot": weights.one.slot,
        "weights": weights.one.w, "end": weights.end, "pair": weights.pair,
    }  # fmt: skip
    if model.names is not None:
        arrays |= {"attribute.names": model.names.data, "attribute.name_offset": model.names.offset}
    meta = {
        "task": TASK,
        "classes": list(model.classes),
        "settings": msgspec.to_builtins(model.settings),
        "templates": {"text": to_text(templates), "syntax": templates.syntax, "name": templates.name},
        "resources": model.encoder.resources.to_dict(),
        "attributes": model.alphabet.size,
        **model.meta,
    }
    # How long it took differs from run to run, and equal trainings make equal files.
    meta["history"] = [{k: v for k, v in row.items() if k != "seconds"} for row in meta.get("history", [])]
    return arrays, meta


def load_classifier(path: str) -> ClassifierModel:
    """Read a model file. Every index is checked before a kernel may follow it."""
    arrays, meta = model_file.load(path)
    if meta.get("task") != TASK:
        raise ModelError(f"a model for the task {meta.get('task')!r}, not a classifier", file=path)
    try:
        return _unpacked(arrays, meta, path)
    except (KeyError, TypeError, AttributeError, UnicodeError, ValueError) as error:
        raise ModelError(f"damaged model: its description lacks or misstates {error}", file=path) from None


def _unpacked(arrays: dict[str, np.ndarray], meta: dict[str, Any], path: str) -> ClassifierModel:
    classes, size = meta.pop("classes"), meta.pop("attributes")
    named = isinstance(classes, list) and len(classes) == 2 and all(isinstance(name, str) and name for name in classes)
    if not named or classes[0] == classes[1] or type(size) is not int or size < 0:
        raise ModelError("damaged model: its classes or attributes are misstated", file=path)
    try:
        settings = checked(msgspec.convert(meta.pop("settings"), Settings))
        history = msgspec.convert(meta.get("history", []), list[ClassifierEpoch])
    except (msgspec.ValidationError, UsageError) as error:
        raise ModelError(f"damaged model: its settings or history cannot be read ({error})", file=path) from None
    encoder = load_encoder(meta.pop("templates"), meta.pop("resources"), path)
    if encoder is None or set(encoder.programs) != {1}:
        raise ModelError("damaged model: its templates are not for a classifier", file=path)
    meta.pop("task")
    meta["history"] = msgspec.to_builtins(history)
    alphabet = load_alphabet(arrays, "attribute", size, path)
    model = ClassifierModel((classes[0], classes[1]), settings, encoder, alphabet, _no_weights(), None, meta)
    if "attribute.names" in arrays:
        model.names = load_names(arrays, "attribute", size, path)
    model.weights = _weights(arrays, model.packed, size, path)
    return model


def _no_weights() -> Weights:
    none = np.zeros(0, np.float32)
    return Weights(none, none, none, none, FeatureWeights(none, none, none, none, none, none))


def _weights(arrays: dict[str, np.ndarray], views: Views, size: int, path: str) -> Weights:
    width = views.kind.size
    w = model_file.require(arrays, "weights", np.float32, (None, width), file=path)
    slot = model_file.require(arrays, "slot", np.int32, (size,), low=0, high=w.shape[0], file=path)
    if not w.shape[0] or w[0].any():
        raise ModelError("damaged model: row 0 of its weights is not zero", file=path)
    end = model_file.require(arrays, "end", np.float32, (2, width), file=path)
    pair = model_file.require(arrays, "pair", np.float32, (views.forbid.size,), file=path)
    if not all(np.isfinite(block).all() for block in (w, end, pair)):
        raise ModelError("damaged model: a weight is not a number", file=path)
    none = np.zeros((0, width))
    rows = FeatureWeights(slot, np.array([w.shape[0]], np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), w, none)
    return Weights(end, pair, none, np.zeros(0), rows)
