"""Classifiers to and from model files. The views follow from the settings.

Letters: A attributes, C columns of all views side by side; see classification/kernels/forms.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from palmette.classification.kernels.forms import Views, Weights
from palmette.classification.model import ClassifierModel, fixed_weights, make_views, packed
from palmette.classification.options import LatentSettings
from palmette.data import array_specs, model_file
from palmette.data.array_specs import Arrays, ArraySpec, OneOwnerPerRow, ZeroRow, if_present
from palmette.data.files import FilePath, shown
from palmette.errors import ModelError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.kernels.chain.forms import FeatureWeights, no_state
from palmette.structures.stored import (
    CHECKPOINT,
    Count,
    ModelStore,
    Name,
    StoredTemplates,
    index_specs,
    name_specs,
    pack_encoder,
    pack_index,
    pack_names,
    unpack_encoder,
    unpack_index,
    unpack_names,
)
from palmette.structures.training_log import ClassifierEpoch

TASK = "classify"
PART = "attribute"


class AboutClassifier(msgspec.Struct, kw_only=True, frozen=True):
    """What `ClassifierModel.meta` holds."""

    history: list[ClassifierEpoch] = []
    best_pass: int | UnsetType = UNSET
    ended: str | UnsetType = UNSET
    sentences: list[int] | UnsetType = UNSET  # of the negative class and of the positive one
    start: float | UnsetType | None = UNSET  # the largest weight that training began with
    tagger: str | UnsetType = UNSET  # what makes parts of speech


class ClassifierMeta(AboutClassifier, kw_only=True, frozen=True):
    """Everything of a classifier that is not an array. Fields are named as the keys of the file."""

    task: str
    classes: tuple[Name, Name]  # the negative one first
    settings: dict[str, Any]
    templates: StoredTemplates
    resources: Resources
    attributes: Count


STORE = ModelStore(TASK, ClassifierMeta, AboutClassifier, LatentSettings)


def classifier_specs(arrays: Arrays, averaged: bool) -> tuple[ArraySpec, ...]:
    """All arrays of a classifier's file; `arrays` shows whether attributes have names and whether there is a
    checkpoint, which has accumulators if weights are averaged."""
    return (
        *index_specs(PART, arrays),
        *name_specs(PART, arrays),
        ArraySpec("weights", np.float32, ("rows", "C"), finite=True, rules=(ZeroRow(),)),
        ArraySpec("slot", np.int32, (f"{PART}.A",), low=0, high="rows"),
        ArraySpec("end", np.float32, (2, "C"), finite=True),
        ArraySpec("pair", np.float32, ("pairs",), finite=True),
        *if_present(checkpoint_specs(averaged), arrays),
    )


def checkpoint_specs(averaged: bool) -> tuple[ArraySpec, ...]:
    """Raw weights, accumulators, clock and inner epochs, which an exact resumption needs."""
    head, rows = CHECKPOINT, f"{CHECKPOINT}rows"
    sums = (
        ArraySpec(f"{head}sums.weights", np.float64, (rows, "C"), finite=True, rules=(ZeroRow(),)),
        ArraySpec(f"{head}sums.end", np.float64, (2, "C"), finite=True),
        ArraySpec(f"{head}sums.pair", np.float64, ("pairs",), finite=True),
    )
    return (
        ArraySpec(f"{head}clock", np.float64, (2,), low=1, high=np.inf),
        ArraySpec(f"{head}inner", np.int64, (1,), low=0, high=2**62),
        ArraySpec(f"{head}weights", np.float32, (rows, "C"), finite=True, rules=(ZeroRow(),)),
        ArraySpec(f"{head}slot", np.int32, (f"{PART}.A",), low=0, high=rows, rules=(OneOwnerPerRow(rows),)),
        ArraySpec(f"{head}end", np.float32, (2, "C"), finite=True),
        ArraySpec(f"{head}pair", np.float32, ("pairs",), finite=True),
        *(sums if averaged else ()),
    )


def classifier_sizes(views: Views, attributes: int) -> dict[str, int]:
    return {f"{PART}.A": attributes, "C": views.kind.size, "pairs": views.forbid.size}


# --- saving -------------------------------------------------------------------------------------------------


def save_classifier(model: ClassifierModel, path: FilePath) -> None:
    """Write a model file, whole or not at all."""
    weights = model.weights
    parts = pack_index(PART, model.feature_index) | pack_names(PART, model.names, packed=False)
    parts |= {"slot": weights.one.slot, "weights": weights.one.w, "end": weights.end, "pair": weights.pair}
    own = {"classes": list(model.classes), **pack_encoder(model.encoder), "attributes": model.feature_index.size}
    sizes = classifier_sizes(model.packed, model.feature_index.size)
    specs = partial(classifier_specs, averaged=is_averaged(model.settings))
    model_file.save(path, *STORE.pack(model, own, parts, specs, sizes))


def is_averaged(settings: LatentSettings) -> bool:
    return settings.estimator != "last"


# --- loading ------------------------------------------------------------------------------------------------


def load_classifier(path: FilePath, *, copy: bool = False) -> ClassifierModel:
    """Read a model file; ModelError if it is not one of a classifier, each number of it as declared."""
    file = shown(path)
    arrays, meta = model_file.load(path, TASK, copy=copy)
    stored, settings = STORE.read(meta, file)
    if stored.classes[0] == stored.classes[1]:
        raise ModelError("damaged model: its classes have the same name", file=file)
    model_file.check_text(stored.classes, "a class", file)
    encoder = _unpack_encoder(stored, settings.unicode, file)
    views = packed(
        make_views(settings.latent, settings.view_names, settings.chunk_types), settings.chunk_types, settings.pairs
    )
    sizes = classifier_sizes(views, stored.attributes)
    found = array_specs.unpack(arrays, classifier_specs(arrays, is_averaged(settings)), sizes, file)
    index = unpack_index(found, PART, stored.attributes)
    return ClassifierModel(
        stored.classes,
        settings,
        encoder,
        index,
        _unpack_weights(found),
        unpack_names(found, PART, index, file),
        **STORE.training(stored, found),
    )


def _unpack_encoder(stored: ClassifierMeta, unicode: str, file: str) -> Encoder:
    encoder = unpack_encoder(stored.templates, stored.resources, unicode, file)
    if set(encoder.programs) != {1}:
        raise ModelError("damaged model: its templates are not for a classifier", file=file)
    return encoder


def _unpack_weights(arrays: Arrays) -> Weights:
    w, none = arrays["weights"], np.zeros((0, arrays["weights"].shape[1]))
    used = np.array([w.shape[0]], np.int64)
    rows = FeatureWeights(arrays["slot"], used, np.zeros(0, np.int64), np.zeros(0, np.int32), w, none, no_state())
    return fixed_weights(arrays["end"], arrays["pair"], rows)
