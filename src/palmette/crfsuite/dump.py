"""A model as text in the form of CRFsuite's dump, and as dicts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from palmette.structures.chain.model import ChainModel

# Numbers of the header of a model file after its mark, with the type between the first two
HEADER = (
    "size", "version", "num_features", "num_labels", "num_attrs", "off_features", "off_labels", "off_attrs",
    "off_labelrefs", "off_attrrefs",
)  # fmt: skip


class ParsedDump:
    """The content of a model: `header` {name: text}, `labels` and `attributes` {name: number as text},
    `transitions` {(from, to): weight} and `state_features` {(attribute, label): weight}."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class Weights(NamedTuple):
    """The weights of a model that are not zero."""

    attributes: list[str]
    state: tuple[list[int], list[int], list[float]]  # attribute, label, weight
    transition: tuple[list[int], list[int], list[float]]  # from, to, weight


def weights_of(model: ChainModel) -> Weights:
    """The weights of a model of order 1, in the order of CRFsuite's files."""
    from palmette.connect.models.crfsuite_write import state_weights, transition_weights

    pairs = transition_weights(model)
    source, target = np.nonzero(pairs)
    state = tuple(part.tolist() for part in state_weights(model))
    names = model.names[1]
    text, marks = names.data.tobytes(), names.offset.tolist()
    attributes = [text[a:b].decode() for a, b in pairwise(marks)]
    return Weights(attributes, state, (source.tolist(), target.tolist(), pairs[source, target].tolist()))


def header_of(header: bytes) -> dict[str, str]:
    """The header of a model file as text; nothing if the model is not from one."""
    if not header:
        return {}
    size, kind, *numbers = struct.unpack("<I4s9I", header[4:48])
    shown = {"magic": header[:4].decode(), "size": str(size), "type": kind.decode()}
    for name, number in zip(HEADER[1:], numbers, strict=True):
        shown[name] = f"0x{number:X}" if name.startswith("off_") else str(number)
    return shown


def parsed_dump(model: ChainModel, header: bytes) -> ParsedDump:
    """The model as dicts. Weights have six decimals, as in the text."""
    found, own = ParsedDump(), weights_of(model)
    found.header = header_of(header)
    found.labels = {label: str(k) for k, label in enumerate(model.labels)}
    found.attributes = {name: str(k) for k, name in enumerate(own.attributes)}
    labels, names = model.labels, own.attributes
    found.transitions = {(labels[a], labels[b]): float(f"{w:f}") for a, b, w in zip(*own.transition, strict=True)}
    found.state_features = {(names[a], labels[y]): float(f"{w:f}") for a, y, w in zip(*own.state, strict=True)}
    return found


def dump_lines(model: ChainModel, header: bytes) -> Iterator[str]:
    """The lines of the text."""
    own, labels = weights_of(model), model.labels
    yield "FILEHEADER = {"
    yield from (f"  {name}: {value}" for name, value in header_of(header).items())
    yield from ("}", "", "LABELS = {")
    yield from (f"  {k:5d}: {label}" for k, label in enumerate(labels))
    yield from ("}", "", "ATTRIBUTES = {")
    yield from (f"  {k:5d}: {name}" for k, name in enumerate(own.attributes))
    yield from ("}", "", "TRANSITIONS = {")
    yield from (f"  (1) {labels[a]} --> {labels[b]}: {w:f}" for a, b, w in zip(*own.transition, strict=True))
    yield from ("}", "", "STATE_FEATURES = {")
    yield from (f"  (0) {own.attributes[a]} --> {labels[y]}: {w:f}" for a, y, w in zip(*own.state, strict=True))
    yield from ("}", "")
