"""Models of bundles as arrays and metadata, to and from a file. The parts of the labels are not stored: who uses the
model makes them of its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs
from palmette.data.array_specs import AddsUpTo, ArraySpec, CheckedArrays, Offsets
from palmette.data.model_file import AGAIN
from palmette.data.text import NFC
from palmette.errors import ModelError
from palmette.features.encode import Encoder, without_keys
from palmette.features.resources import Resources
from palmette.kernels.bundle.forms import Bundles, SmallWeights
from palmette.pipeline.bundles import LARGEST, BundleModel, lists_of, starts
from palmette.structures.stored_features import (
    Count,
    StoredTemplates,
    index_specs,
    pack_encoder,
    pack_index,
    unpack_encoder,
    unpack_index,
)

_INDEX = "attribute"


class BundleMeta(msgspec.Struct, frozen=True):
    """What is stored of a model beside its arrays."""

    templates: StoredTemplates
    attributes: Count
    unit: float


class Rising(msgspec.Struct, frozen=True):
    """Strictly rising."""

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        return None if bool((array[1:] > array[:-1]).all()) else "does not rise strictly"


def _specs(arrays: Mapping[str, np.ndarray]) -> tuple[ArraySpec, ...]:
    return (
        *index_specs(_INDEX, arrays),
        ArraySpec("weights.part", np.int16, ("places",), low=0, high="parts"),
        ArraySpec("weights.w", np.int16, ("places",)),
        ArraySpec("weights.size", np.int16, (f"{_INDEX}.A",), low=1, rules=(AddsUpTo("places"),)),
        ArraySpec("group.member", np.int32, ("members",), low=0, high="labels"),
        ArraySpec("group.begin", np.int64, ("groups+1",), rules=(Offsets("members"), Rising())),
    )


def bundle_parts(model: BundleModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays = pack_index(_INDEX, without_keys(model.attributes)) | {
        "weights.part": model.weights.part,
        "weights.w": model.weights.w,
        "weights.size": np.diff(model.weights.first).astype(np.int16),
        "group.member": model.bundles.member,
        "group.begin": model.bundles.begin,
    }
    templates = pack_encoder(model.encoder)["templates"]
    return arrays, {"templates": templates, "attributes": model.attributes.size, "unit": model.unit}


def bundle_from_parts(
    arrays: Mapping[str, np.ndarray], meta: BundleMeta, labels: Sequence[Sequence[int]], n_columns: int, source: str
) -> BundleModel:
    """The model that `bundle_parts` stored, all of it checked. `labels` has the parts of each label; the templates may
    read so many columns."""
    n_parts = 1 + max((part for row in labels for part in row), default=-1)
    begin = arrays.get("group.begin")
    groups = begin.size - 1 if begin is not None else 0
    if n_parts > LARGEST or not np.isfinite(meta.unit):
        raise ModelError("damaged model: its labels or its scores are out of range", file=source, hint=AGAIN)
    sizes = {"parts": n_parts, "labels": len(labels), "groups": groups, f"{_INDEX}.A": meta.attributes}
    found = array_specs.unpack(arrays, _specs(arrays), sizes, source)
    unknown = arrays.keys() - found.keys()
    if unknown:
        raise ModelError(f"damaged model: the array {min(unknown)[:60]!r} is not expected", file=source, hint=AGAIN)
    return BundleModel(
        _encoder(meta.templates, n_columns, source), unpack_index(found, _INDEX, meta.attributes),
        Bundles(*lists_of(labels), found["group.begin"], found["group.member"]),
        SmallWeights(starts(found["weights.size"]), found["weights.part"], found["weights.w"]), n_parts, meta.unit,
    )  # fmt: skip


def _encoder(templates: StoredTemplates, n_columns: int, source: str) -> Encoder:
    encoder = unpack_encoder(templates, Resources(), NFC, source)
    if encoder.n_columns > n_columns or set(encoder.programs) != {1}:
        raise ModelError("damaged model: templates that read other columns or labels", file=source, hint=AGAIN)
    return encoder
