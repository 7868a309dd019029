"""Templates, feature index and attribute names of a model as its file stores them; for chains and classifiers.

Letters: A attributes. `part` is the prefix of the arrays' names: "label", "pair", "triple", "past" or "attribute".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from palmette.data.array_specs import Arrays, ArraySpec, HashTable, Offsets
from palmette.errors import DataError, ModelError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import parse, to_text
from palmette.kernels.encode.encode import FeatureIndex

Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredTemplates(msgspec.Struct, frozen=True):
    """A template set as text."""

    text: str
    name: str
    syntax: str


class Names(msgspec.Struct):
    """The strings of the attributes of one arity."""

    data: np.ndarray  # u8[]
    offset: np.ndarray  # i64[A+1]

    def __getitem__(self, attribute: int) -> str:
        return self.data[self.offset[attribute] : self.offset[attribute + 1]].tobytes().decode(errors="replace")

    def __len__(self) -> int:
        return self.offset.size - 1


# --- templates ----------------------------------------------------------------------------------------------


def pack_encoder(encoder: Encoder) -> dict[str, Any]:
    """The metadata of an encoder."""
    templates = encoder.templates
    return {
        "templates": {"text": to_text(templates), "syntax": templates.syntax, "name": templates.name},
        "resources": encoder.resources.to_dict(),
    }


def unpack_encoder(templates: StoredTemplates, resources: Resources, file: str) -> Encoder:
    """The encoder of a model file; ModelError if its templates cannot be read."""
    try:
        resources.check_names()
        return Encoder(parse(templates.text, templates.name, templates.syntax), resources)
    except (DataError, UsageError) as error:
        raise ModelError(f"damaged model: its templates cannot be read ({error})", file=file) from None


# --- feature index and names --------------------------------------------------------------------------------


def index_specs(part: str) -> tuple[ArraySpec, ...]:
    """The hash table of attributes; the size `{part}.A` is their number."""
    places = f"{part}.places"
    return (
        ArraySpec(f"{part}.numbers", np.int32, (places,), low=-1, high=f"{part}.A"),
        ArraySpec(f"{part}.keys", np.uint64, (places,), rules=(HashTable(f"{part}.numbers", f"{part}.A"),)),
    )


def name_specs(part: str) -> tuple[ArraySpec, ...]:
    """The names of attributes, unless they were stripped."""
    size = f"{part}.name_bytes"
    return (
        ArraySpec(f"{part}.names", np.uint8, (size,)),
        ArraySpec(f"{part}.name_offset", np.int64, (f"{part}.A+1",), rules=(Offsets(size),)),
    )


def pack_attributes(part: str, index: FeatureIndex, names: Names | None) -> dict[str, np.ndarray]:
    """The arrays of a feature index and of its names."""
    arrays = {f"{part}.keys": index.keys, f"{part}.numbers": index.numbers}
    return arrays if names is None else arrays | {f"{part}.names": names.data, f"{part}.name_offset": names.offset}


def unpack_index(arrays: Arrays, part: str, size: int) -> FeatureIndex:
    return FeatureIndex(arrays[f"{part}.keys"], arrays[f"{part}.numbers"], size)


def unpack_names(arrays: Mapping[str, np.ndarray], part: str) -> Names | None:
    """The names of attributes; None if they were stripped."""
    if f"{part}.names" not in arrays:
        return None
    return Names(arrays[f"{part}.names"], arrays[f"{part}.name_offset"])
