"""CRFsuite's model files (`lCRF`, first-order chains).

    header       "lCRF", size, "FOMC", version 100, number of features (0), of labels, of attributes, and the places of
    features     "FEAT", size, number; each: type (0: attribute on label, 1: label pair), source, target, weight f64
    labels       CQDB
    attributes   CQDB
    label refs   "LFRF", size, number, places; at each place how many features a label pair begins with, their numbers
    attr. refs   "AFRF", likewise for attributes

Features are found by the references, as CRFsuite finds them; that they agree with the features is checked.
"""

from __future__ import annotations

import numpy as np

from palmette.connect.models.cqdb import read_names
from palmette.kernels.chain.double import DoubleWeights
from palmette.structures.chain.imported.model import (
    Imported,
    ImportedModel,
    check_labels,
    imported_model,
    index_of,
    no_lists,
    sorted_lists,
)
from palmette.structures.chain.imported.parts import Part, within_groups

MARK, KIND, VERSION = b"lCRF", b"FOMC", 100
HEADER, CHUNK = 48, 12
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1
READING = {"format": "attributes"}


class Header:
    """Where the parts of a file are."""

    def __init__(self, data: np.ndarray, source: str) -> None:
        whole = Part(data, 0, data.size, "the header", source)
        whole.tag(0, MARK)
        whole.check(0, HEADER, "it")
        whole.tag(8, KIND)
        numbers = whole.numbers(4, 11, "it").tolist()
        size, _, version, _, self.labels, self.attributes, *places = numbers
        if version != VERSION:
            raise whole.damaged(f"version {version}; {VERSION} is the one that CRFsuite has")
        if size > data.size:
            raise whole.damaged(f"the file should have {size:,} bytes, and has {data.size:,}: truncated?")
        names = ("features", "labels", "attributes", "references of labels", "references of attributes")
        parts = [Part(data, at, data.size, name, source) for at, name in zip(places, names, strict=True)]
        self.features, self.label_names, self.attribute_names, self.label_refs, self.attribute_refs = parts


def read_crfsuite(data: bytes | memoryview, source: str) -> ImportedModel:
    """The model in the bytes of a `.crfsuite` file; ModelError if it is not one, or damaged. `source` names it."""
    raw = np.frombuffer(data, np.uint8)
    header = Header(raw, source)
    features = _features(header.features)
    names = read_names(header.label_names, _bounded(header.labels, header.label_names, "label"), "label")
    labels = [names[k] for k in range(len(names))]
    check_labels(labels, raw.size, source)
    attributes = read_names(
        header.attribute_names, _bounded(header.attributes, header.attribute_names, "attribute"), "attribute"
    )
    Y = len(labels)
    owner, own = _referenced(header.attribute_refs, b"AFRF", len(attributes), features, STATE, Y)
    first, label, w = sorted_lists(owner, own["target"], own["weight"], len(attributes), Y, source)
    owner, own = _referenced(header.label_refs, b"LFRF", Y, features, TRANSITION, Y)
    if not np.isfinite(own["weight"]).all():
        raise header.label_refs.damaged("the weight of a label pair is not a number")
    transitions = np.zeros((Y, Y))
    transitions[owner, own["target"]] = own["weight"]
    exact = DoubleWeights(first, label, w, *no_lists(), transitions, False)
    about = Imported("crfsuite", source)
    return imported_model(labels, exact, {1: index_of(attributes, source)}, {1: attributes}, about, reading=READING)


def _bounded(count: int, part: Part, what: str) -> int:
    """How many strings there are: each takes some bytes."""
    if 13 * count > part.data.size:
        raise part.damaged(f"{count:,} {what}s do not fit into {part.data.size:,} bytes")
    return count


def _features(part: Part) -> np.ndarray:
    part.tag(0, b"FEAT")
    _, count = part.numbers(4, 2, "its header").tolist()
    part.check(CHUNK, FEATURE.itemsize * count, f"the last of {count:,} features")
    return part.data[CHUNK : CHUNK + FEATURE.itemsize * count].view(FEATURE)


def _referenced(
    part: Part, mark: bytes, count: int, features: np.ndarray, kind: int, n_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """The features that the first `count` owners refer to: the owner of each i64[], and the feature."""
    part.tag(0, mark)
    _, size = part.numbers(4, 2, "its header").tolist()
    if size < count:
        raise part.damaged(f"{size:,} of them, and {count:,} are needed")
    place = part.numbers(CHUNK, count, "the array of places") - part.begin
    many = part.numbers_at(place, "a reference")
    if int(many.sum()) > features.size:
        raise part.damaged(f"they name {int(many.sum()):,} features, and there are {features.size:,}")
    numbers = part.numbers_at(np.repeat(place + 4, many) + 4 * within_groups(many), "a reference")
    if numbers.size and numbers.max() >= features.size:
        raise part.damaged(f"feature {int(numbers.max()):,} of {features.size:,}")
    owner, own = np.repeat(np.arange(count), many), features[numbers]
    if (own["type"] != kind).any() or (own["source"] != owner).any():
        raise part.damaged("a reference to a feature of another kind or source")
    if own.size and own["target"].max() >= n_labels:
        raise part.damaged(f"a feature for label {int(own['target'].max())} of {n_labels}")
    return owner, own
