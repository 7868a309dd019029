"""The model of XPOS and FEATS as arrays and metadata, to and from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from palmette.data import array_specs
from palmette.data.array_specs import ArraySpec
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.errors import ModelError
from palmette.pipeline.morphology import FIELDS, PARTS, READ, Morphology, Words, numbered_parts
from palmette.pipeline.stored_bundles import BundleMeta, Rising, bundle_from_parts, bundle_parts

WORDS = (
    ArraySpec("word.key", np.uint64, ("words",), rules=(Rising(),)),
    ArraySpec("word.group", np.int32, ("words",), low=0, high="groups"),
)


class MorphologyMeta(msgspec.Struct, frozen=True):
    """What is stored beside the arrays."""

    fields: list[str]
    labels: list[list[str]]  # each a cell per field
    upos: list[str]
    parts: str
    model: BundleMeta


def morphology_parts(made: Morphology) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays, model = bundle_parts(made.model)
    meta = {
        "fields": list(made.fields),
        "labels": [list(label) for label in made.labels],
        "upos": made.upos,
        "parts": made.parts,
        "model": model,
    }
    return arrays | {"word.key": made.words.key, "word.group": made.words.group}, meta


def morphology_from_parts(arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Morphology:
    """The model of arrays and metadata as `morphology_parts` gives them, all of them checked."""
    stored = read_metadata(meta, MorphologyMeta, "morphology", source)
    _check(stored, source)
    labels = [tuple(label) for label in stored.labels]
    rest = {name: array for name, array in arrays.items() if not name.startswith("word.")}
    rows = numbered_parts(labels, stored.fields, stored.parts)
    model = bundle_from_parts(rest, stored.model, rows, len(READ), source)
    groups = model.bundles.begin.size - 1
    found = array_specs.unpack(arrays, WORDS, {"groups": groups}, source)
    if groups <= len(stored.upos):
        raise ModelError("damaged model: a tag has no group of labels", file=source, hint=AGAIN)
    return Morphology(stored.fields, labels, stored.upos, Words(*found.values()), model, stored.parts)


def _check(stored: MorphologyMeta, source: str) -> None:
    fields = stored.fields
    cells = [cell for label in stored.labels for cell in label]
    check_text([*cells, *stored.upos], "a label", source)
    good = fields and set(fields) <= set(FIELDS) and len(set(fields)) == len(fields) and stored.parts in PARTS
    if not good or any(len(label) != len(fields) for label in stored.labels):
        raise ModelError("damaged model: labels of other fields than XPOS and FEATS", file=source, hint=AGAIN)
    if any(not cell or any(mark in cell for mark in "\t\n\r") for cell in cells):
        raise ModelError("damaged model: a label that cannot be written", file=source, hint=AGAIN)
