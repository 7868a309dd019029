"""The pipeline's file: a model file with the arrays and the metadata of all components.

Arrays are named `component/array`. What a component stores is its own affair: it is handed to `from_parts` of its
class, which checks it, when the component is used for the first time. Loading the file checks its layout, its checksum,
and that every array belongs to a component.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from palmette.data import model_file
from palmette.data.files import FilePath, shown
from palmette.errors import ModelError
from palmette.pipeline.components import COMPONENTS, Parts

TASK = "pipeline"
TRAINED = "trained"
_MARK = "/"


class StoredComponent(msgspec.Struct, frozen=True):
    """What the file says about a component beside its arrays."""

    meta: dict[str, Any]  # its own
    dev: dict[str, float] = {}  # its scores on development data, in percent, by the names of the CoNLL 2018 scorer
    origin: str = TRAINED  # or the file that it was taken from


class TrainedOn(msgspec.Struct, frozen=True):
    """The data that a pipeline was trained on."""

    sentences: int = 0
    words: int = 0
    dev_sentences: int = 0
    dev_words: int = 0


class PipelineMeta(msgspec.Struct, kw_only=True, frozen=True):
    """Everything of a pipeline's file that is not an array."""

    task: str
    components: dict[str, StoredComponent]
    settings: dict[str, Any] = {}
    trained_on: TrainedOn = TrainedOn()


class PipelineFile(msgspec.Struct, eq=False):
    """The content of a pipeline's file: arrays are mapped, and no component is built."""

    meta: PipelineMeta
    arrays: dict[str, dict[str, np.ndarray]]  # by component and name
    source: str

    def parts(self, name: str) -> Parts:
        """The arrays and the metadata of a component."""
        return self.arrays[name], self.meta.components[name].meta

    def size(self, name: str) -> int:
        """The bytes of the arrays of a component."""
        return sum(array.nbytes for array in self.arrays[name].values())


def save_pipeline(path: FilePath, parts: Mapping[str, Parts], meta: PipelineMeta) -> None:
    """Write a pipeline's file, whole or not at all. The metadata of the components is that of the parts."""
    model_file.save(path, *_content(parts, meta))


def pipeline_bytes(parts: Mapping[str, Parts], meta: PipelineMeta) -> bytes:
    """The bytes that `save_pipeline` writes."""
    return model_file.to_bytes(*_content(parts, meta))


def _content(parts: Mapping[str, Parts], meta: PipelineMeta) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a pipeline's file."""
    arrays = {f"{name}{_MARK}{own}": array for name, (found, _) in parts.items() for own, array in found.items()}
    components = {
        name: msgspec.structs.replace(meta.components[name], meta=dict(own)) for name, (_, own) in parts.items()
    }
    return arrays, msgspec.to_builtins(msgspec.structs.replace(meta, components=components))


def load_pipeline(path: FilePath, *, copy: bool = False) -> PipelineFile:
    """Read a pipeline's file; ModelError if it is not one."""
    return _pipeline_file(*model_file.load(path, TASK, copy=copy), shown(path))


def pipeline_from_bytes(data: bytes, source: str) -> PipelineFile:
    """As `load_pipeline`, from the bytes of a pipeline's file."""
    return _pipeline_file(*model_file.from_bytes(data, TASK, source), source)


def _pipeline_file(found: Mapping[str, np.ndarray], meta: dict[str, Any], file: str) -> PipelineFile:
    model_file.check_task(meta, TASK, file)
    stored = model_file.read_metadata(meta, PipelineMeta, "metadata", file)
    unknown = [name for name in stored.components if name not in COMPONENTS]
    if unknown or not stored.components:
        what = f"an unknown component {unknown[0][:60]!r}" if unknown else "no component"
        raise ModelError(f"damaged model: {what}", file=file, hint=model_file.AGAIN)
    model_file.check_text((stored.components[name].origin for name in stored.components), "an origin", file)
    model_file.check_text((key for one in stored.components.values() for key in one.dev), "a score's name", file)
    arrays: dict[str, dict[str, np.ndarray]] = {name: {} for name in stored.components}
    for full, array in found.items():
        name, mark, own = full.partition(_MARK)
        if not mark or name not in arrays:
            raise ModelError(f"damaged model: the array {full[:60]!r} belongs to no component", file=file)
        arrays[name][own] = array
    return PipelineFile(stored, arrays, file)
