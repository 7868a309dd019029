"""The parts of a model file, each checked as it is read: no kernel follows an index that nobody has looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from palmette.data import model_file
from palmette.data.labels.automaton import checked_automaton
from palmette.errors import DataError, ModelError, UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import PAST, parse
from palmette.kernels.chain.forms import Chain, FeatureWeights, TransitionWeights, no_weights
from palmette.kernels.encode.encode import FeatureIndex
from palmette.options.settings import MOST_STATES
from palmette.structures.chain.temperature import Calibration
from palmette.structures.chain.weights import Shape
from palmette.structures.training_log import Epoch

PARTS = {1: "label", 2: "pair", 3: "triple", PAST: "past"}


@dataclass
class Names:
    """The strings of the attributes of one order."""

    data: np.ndarray  # u8[]
    offset: np.ndarray  # i64[A+1]

    def __getitem__(self, attribute: int) -> str:
        return self.data[self.offset[attribute] : self.offset[attribute + 1]].tobytes().decode(errors="replace")

    def __len__(self) -> int:
        return self.offset.size - 1


def packed_attributes(part: str, alphabet: FeatureIndex, names: Names | None) -> dict[str, np.ndarray]:
    """An alphabet and its names."""
    arrays = {f"{part}.keys": alphabet.keys, f"{part}.numbers": alphabet.numbers}
    return arrays if names is None else arrays | {f"{part}.names": names.data, f"{part}.name_offset": names.offset}


def check_meta(meta: dict[str, Any], path: str) -> None:
    """What is told of the training: shown, and used by a resumption."""
    kinds: list[tuple[str, Any]] = [
        ("settings", dict[str, Any]), ("history", list[Epoch]), ("forbidden", list[tuple[str, str]]),
    ]  # fmt: skip
    if "calibration" in meta:
        kinds.append(("calibration", Calibration))
    for name, kind in kinds:
        try:
            meta[name] = msgspec.to_builtins(msgspec.convert(meta[name] if name in meta else kind(), kind))
        except msgspec.ValidationError as error:
            raise ModelError(f"damaged model: its {name} cannot be read ({error})", file=path) from None


def load_shape(given: dict[str, Any], n_labels: int, path: str) -> Shape:
    shape = Shape(**given)
    states = tuple(shape.states)
    fits = type(shape.per) is int and 1 <= shape.per <= MOST_STATES and len(states) in (0, n_labels)
    if shape.n_labels != n_labels or shape.order not in (0, 1, 2) or not fits:
        raise ModelError("damaged model: its shape does not fit its labels", file=path)
    if not all(type(count) is int and 1 <= count <= shape.per for count in states):
        raise ModelError("damaged model: a label has no state, or more than there is room for", file=path)
    switches = bool(shape.ends), bool(shape.transitions), bool(shape.triples)
    history = checked_automaton(shape.history, n_labels, path)
    if history is not None and history.counts != (states or (shape.per,) * n_labels):
        raise ModelError("damaged model: its states are not those of its label histories", file=path)
    return Shape(n_labels, shape.order, *switches, shape.per, states, history, bool(shape.local))


def load_encoder(templates: dict[str, str] | None, resources: object, path: str) -> Encoder | None:
    if templates is None:
        return None
    try:
        made = parse(templates["text"], templates["name"], templates["syntax"])
        return Encoder(made, Resources.from_dict(resources))
    except (DataError, UsageError) as error:
        raise ModelError(f"damaged model: its templates cannot be read ({error})", file=path) from None


def load_alphabet(arrays: dict[str, np.ndarray], part: str, size: int, path: str) -> FeatureIndex:
    keys = model_file.require(arrays, f"{part}.keys", np.uint64, (None,), file=path)
    numbers = model_file.require(arrays, f"{part}.numbers", np.int32, (keys.size,), low=-1, high=size, file=path)
    full = int(np.count_nonzero(keys))
    if keys.size < 2 or keys.size & (keys.size - 1) or full >= keys.size or full > size:
        raise ModelError(f"damaged model: the table {part}.keys is not a table", file=path)
    if full and int(numbers[keys != 0].min()) < 0:
        raise ModelError(f"damaged model: the table {part}.keys has a key without a number", file=path)
    return FeatureIndex(keys, numbers, size)


def load_names(arrays: dict[str, np.ndarray], part: str, size: int, path: str) -> Names:
    data = model_file.require(arrays, f"{part}.names", np.uint8, (None,), file=path)
    offset = model_file.require_offsets(arrays, f"{part}.name_offset", np.int64, size + 1, data.size, file=path)
    return Names(data, offset)


def load_rows(arrays: dict[str, np.ndarray], order: int, size: int, shape: Shape, path: str) -> FeatureWeights:
    base, part, width = no_weights(), PARTS[order], shape.width(order)
    if f"{part}.first" in arrays:
        most = shape.combinations(order)
        combo = model_file.require(arrays, f"{part}.combo", np.int32, (None,), low=0, high=most, file=path)
        first = model_file.require_offsets(arrays, f"{part}.first", np.int64, size + 1, combo.size, file=path)
        w = model_file.require(arrays, f"{part}.weights", np.float32, (combo.size, shape.block(order)), file=path)
        return base._replace(slot=np.zeros(size, np.int32), first=first, combo=combo, w=w)
    w = model_file.require(arrays, f"{part}.weights", np.float32, (None, width), file=path)
    slot = model_file.require(arrays, f"{part}.slot", np.int32, (size,), low=0, high=w.shape[0], file=path)
    if not w.shape[0] or w[0].any():
        raise ModelError(f"damaged model: row 0 of {part}.weights is not zero", file=path)
    _check_owners(slot, w.shape[0], f"{part}.slot", path)
    return base._replace(slot=slot, used=np.array([w.shape[0]], np.int64), w=w)


def _check_owners(slot: np.ndarray, n_rows: int, name: str, path: str) -> None:
    """Every row but the first has one owner, so that more training finds room for the others."""
    owned = slot[slot != 0]
    if owned.size != n_rows - 1 or np.unique(owned).size != owned.size:
        raise ModelError(f"damaged model: {name} does not give each row to one attribute", file=path)


def load_checkpoint(
    arrays: dict[str, np.ndarray], blank: Chain, rows: dict[int, FeatureWeights], path: str
) -> dict[str, np.ndarray]:
    """What an exact resumption needs, each number checked; empty when the model was saved without."""
    if not any(name.startswith("checkpoint.") for name in arrays):
        return {}

    def part(name: str, dtype: type, shape: tuple[int | None, ...], **bounds: int) -> np.ndarray:
        return model_file.require(arrays, f"checkpoint.{name}", dtype, shape, file=path, **bounds)

    state = {"clock": part("clock", np.float64, (1,))}
    if not 1 <= state["clock"][0] < np.inf:
        raise ModelError("damaged model: the clock of its checkpoint is not a number of steps", file=path)
    heads: list[tuple[str, type]] = [("bare", np.float32), ("sums", np.float64)]
    if "checkpoint.start.pair" in arrays:
        heads.append(("start", np.float32))
    for head, dtype in heads:
        for field_name in TransitionWeights._fields:
            shape = getattr(blank.bare, field_name).shape
            state[f"{head}.{field_name}"] = part(f"{head}.{field_name}", dtype, shape)
    for order, own in rows.items():
        w = part(f"{order}.w", np.float32, (own.w.shape[0] if own.first.size else None, own.w.shape[1]))
        state[f"{order}.w"], state[f"{order}.a"] = w, part(f"{order}.a", np.float64, w.shape)
        slot = part(f"{order}.slot", np.int32, own.slot.shape, low=0, high=max(1, w.shape[0]))
        if not own.first.size:
            _check_owners(slot, w.shape[0], f"checkpoint.{order}.slot", path)
        state[f"{order}.slot"] = slot
    return state
