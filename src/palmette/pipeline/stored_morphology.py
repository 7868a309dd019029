"""The model of XPOS and FEATS as arrays and metadata, to and from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs
from palmette.data.array_specs import AddsUpTo, ArraySpec, Found, Offsets
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.normal_form import NFC
from palmette.errors import ModelError
from palmette.features.encode import Encoder
from palmette.features.index import without_keys
from palmette.features.resources import Resources
from palmette.kernels.bundle.forms import Bundles, SmallWeights
from palmette.pipeline.bundles import LARGEST, BundleModel, lists_of, starts
from palmette.pipeline.morphology import FIELDS, PARTS, READ, Morphology, Words, numbered_parts
from palmette.structures.stored_features import (
    Count,
    StoredTemplates,
    index_specs,
    pack_encoder,
    pack_index,
    unpack_encoder,
    unpack_index,
)

INDEX = "attribute"


class MorphologyMeta(msgspec.Struct, frozen=True):
    """What is stored beside the arrays."""

    fields: list[str]
    labels: list[list[str]]  # each a cell per field
    upos: list[str]
    parts: str
    templates: StoredTemplates
    attributes: Count


class Rising(msgspec.Struct, frozen=True):
    """Strictly rising."""

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
        return None if bool((array[1:] > array[:-1]).all()) else "does not rise strictly"


def _specs(arrays: Mapping[str, np.ndarray]) -> tuple[ArraySpec, ...]:
    return (
        *index_specs(INDEX, arrays),
        ArraySpec("weights.part", np.int16, ("places",), low=0, high="parts"),
        ArraySpec("weights.w", np.int16, ("places",)),
        ArraySpec("weights.size", np.int16, (f"{INDEX}.A",), low=1, rules=(AddsUpTo("places"),)),
        ArraySpec("group.member", np.int32, ("members",), low=0, high="labels"),
        ArraySpec("group.begin", np.int64, ("groups+1",), rules=(Offsets("members"), Rising())),
        ArraySpec("word.key", np.uint64, ("words",), rules=(Rising(),)),
        ArraySpec("word.group", np.int32, ("words",), low=0, high="groups"),
    )


def morphology_parts(made: Morphology) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    model = made.model
    arrays = pack_index(INDEX, without_keys(model.index)) | {
        "weights.part": model.weights.part,
        "weights.w": model.weights.w,
        "weights.size": np.diff(model.weights.first).astype(np.int16),
        "group.member": model.bundles.member,
        "group.begin": model.bundles.begin,
        "word.key": made.words.key,
        "word.group": made.words.group,
    }
    meta = {
        "fields": list(made.fields),
        "labels": [list(label) for label in made.labels],
        "upos": made.upos,
        "parts": made.parts,
        "templates": pack_encoder(model.encoder)["templates"],
        "attributes": model.index.size,
    }
    return arrays, meta


def morphology_from_parts(arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Morphology:
    """The model of arrays and metadata as `morphology_parts` gives them, all of them checked."""
    stored = read_metadata(meta, MorphologyMeta, "morphology", source)
    _check(stored, source)
    labels = [tuple(label) for label in stored.labels]
    rows, n_parts = numbered_parts(labels, stored.fields, stored.parts)
    sizes = {"parts": n_parts, "labels": len(labels), f"{INDEX}.A": stored.attributes}
    groups = arrays["group.begin"].size - 1 if "group.begin" in arrays else 0
    specs = _specs(arrays)
    unknown = arrays.keys() - {spec.name for spec in specs}
    if groups <= len(stored.upos) or n_parts > LARGEST or unknown:
        raise ModelError("damaged model: groups, parts or arrays that do not fit", file=source, hint=AGAIN)
    found = array_specs.unpack(arrays, specs, sizes | {"groups": groups}, source)
    encoder = _encoder(stored.templates, source)
    weights = SmallWeights(starts(found["weights.size"]), found["weights.part"], found["weights.w"])
    bundles = Bundles(*lists_of(rows), found["group.begin"], found["group.member"])
    model = BundleModel(encoder, unpack_index(found, INDEX, stored.attributes), bundles, weights, n_parts)
    words = Words(found["word.key"], found["word.group"])
    return Morphology(stored.fields, labels, stored.upos, words, model, stored.parts)


def _check(stored: MorphologyMeta, source: str) -> None:
    fields = stored.fields
    cells = [cell for label in stored.labels for cell in label]
    check_text([*cells, *stored.upos], "a label", source)
    good = fields and set(fields) <= set(FIELDS) and len(set(fields)) == len(fields) and stored.parts in PARTS
    if not good or any(len(label) != len(fields) for label in stored.labels):
        raise ModelError("damaged model: labels of other fields than XPOS and FEATS", file=source, hint=AGAIN)
    if any(not cell or any(mark in cell for mark in "\t\n\r") for cell in cells):
        raise ModelError("damaged model: a label that cannot be written", file=source, hint=AGAIN)


def _encoder(templates: StoredTemplates, source: str) -> Encoder:
    encoder = unpack_encoder(templates, Resources(), NFC, source)
    if encoder.n_columns > len(READ) or set(encoder.programs) != {1}:
        raise ModelError("damaged model: templates that are not of words and tags", file=source, hint=AGAIN)
    return encoder
