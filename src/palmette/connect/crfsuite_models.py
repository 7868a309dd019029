"""CRFsuite's model files (`lCRF`, first-order chains), read and written."""

from __future__ import annotations

import numpy as np

from palmette.data.corpus import bytes_of
from palmette.errors import UsageError, counted
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.double import DoubleWeights
from palmette.kernels.chain.forms import FeatureWeights
from palmette.kernels.io.columns import join_types
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt
from palmette.structures.chain.imported.model import (
    Imported,
    ImportedModel,
    check_labels,
    imported_model,
    index_of,
    no_lists,
    sorted_lists,
)
from palmette.structures.chain.imported.parts import Part, names_of, within_groups
from palmette.structures.chain.lists import as_lists, fixed
from palmette.structures.chain.model import ChainModel
from palmette.structures.stored import Names, ordered_names

# CQDB, the table of strings in CRFsuite's models: from a string to its number by hashing, and back by an array.
#
#     header    "CQDB", size, flag, byte order, size and place of the backward array      6 numbers of 32 bits
#     refs      256 times: place and size of a hash table
#     records   number, size, the string and a zero byte
#     tables    for each record its hash and its place; twice as many places as records, filled by linear probing
#     backward  for each number the place of its record
#
# Places count from the header. All numbers have the byte order of the machine that wrote the file; little-endian ones
# are read, and written.

CQDB_MARK, CQDB_ORDER = b"CQDB", 0x62445371
CQDB_HEADER, CQDB_TABLES = 24, 256
CQDB_DATA = CQDB_HEADER + 8 * CQDB_TABLES


def read_names(part: Part, count: int, what: str) -> Names:
    """The first `count` strings, by the backward array."""
    part.tag(0, CQDB_MARK)
    size, _, order, _, backward = part.numbers(4, 5, "its header").tolist()
    if order != CQDB_ORDER:
        raise part.damaged(f"byte order {order:#x} instead of {CQDB_ORDER:#x}: a file of a big-endian machine?")
    if size > part.data.size:
        raise part.damaged(f"it should have {size:,} bytes, and the file has {part.data.size:,} there: truncated?")
    if count and not backward:
        raise part.damaged("it has no array from numbers to strings")
    place = part.numbers(backward, count, "the array from numbers to strings")
    if (place == 0).any():
        raise part.damaged(f"{what} {int(np.argmin(place))} has no string")
    number, length = part.numbers_at(place, "a string"), part.numbers_at(place + 4, "a string")
    wrong = np.flatnonzero(number != np.arange(count))
    if wrong.size:
        raise part.damaged(f"{what} {int(wrong[0])} has the string of {what} {int(number[wrong[0]])}")
    _check_apart(part, place, length, what)
    begin, text = place + 8, length - 1
    data, offset = join_types(part.data, begin, begin + text)
    data = data[: offset[-1]]
    if (data == 0).any() or part.data[begin + text].any():
        raise part.damaged(f"a string of {what}s that does not end with its zero byte")
    return names_of(data, offset, what, part.source)


def _check_apart(part: Part, place: np.ndarray, length: np.ndarray, what: str) -> None:
    """Records lie within the file and do not overlap, so that all strings together are not larger than it."""
    if not place.size:
        return
    order = np.argsort(place, kind="stable")
    begin, end = place[order], place[order] + 8 + length[order]
    if length.min() < 1 or end.max() > part.data.size or (end[:-1] > begin[1:]).any():
        raise part.damaged(f"the strings of {what}s overlap, or lie outside of the file")


# --- writing ------------------------------------------------------------------------------------------------


def cqdb_bytes(names: Names) -> bytes:
    """The table of strings numbered 0, 1, 2, ..."""
    data, offset = names.data, names.offset
    length = np.diff(offset)
    size = 9 + length  # of a record
    place = CQDB_DATA + np.cumsum(size) - size
    records = np.zeros(int(size.sum()), np.uint8)
    at = place - CQDB_DATA
    _put_numbers(records, at, np.arange(length.size))
    _put_numbers(records, at + 4, length + 1)
    records[np.repeat(at + 8, length) + within_groups(length)] = data[: offset[-1]]
    hashes = string_hashes(data, offset)
    refs, tables = _hash_tables(hashes, place, CQDB_DATA + records.size)
    backward = CQDB_DATA + records.size + tables.size * 4
    total = backward + 4 * length.size
    there = backward if length.size else 0
    header = np.array([total, 0, CQDB_ORDER, length.size, there], "<u4")
    return b"".join(
        (CQDB_MARK, *(part.tobytes() for part in (header, refs, records, tables, place.astype("<u4"))))
    )  # fmt: skip


def _put_numbers(data: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    for k in range(4):
        data[places + k] = values >> (8 * k) & 0xFF


def _hash_tables(hashes: np.ndarray, place: np.ndarray, begin: int) -> tuple[np.ndarray, np.ndarray]:
    """The references to 256 tables u32[512], and the tables u32[2 * places]."""
    which = (hashes % CQDB_TABLES).astype(np.int64)
    count = np.bincount(which, minlength=CQDB_TABLES)
    first = np.cumsum(2 * count) - 2 * count
    refs = np.zeros((CQDB_TABLES, 2), "<u4")
    refs[:, 0], refs[:, 1] = np.where(count > 0, begin + 8 * first, 0), 2 * count
    tables = np.zeros((2 * hashes.size, 2), "<u4")
    slots = _slots(which, (hashes >> np.uint32(8)).astype(np.int64), 2 * count)
    tables[first[which] + slots, 0], tables[first[which] + slots, 1] = hashes, place
    return refs.reshape(-1), tables.reshape(-1)


def _slots(which: np.ndarray, wanted: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The place of each record in its table: `wanted` modulo the size, or the next free one."""
    taken: list[set[int]] = [set() for _ in range(sizes.size)]
    slots = np.zeros(which.size, np.int64)
    for k, (table, start) in enumerate(
        zip(which.tolist(), (wanted % np.maximum(sizes[which], 1)).tolist(), strict=True)
    ):
        own, size = taken[table], int(sizes[table])
        while start in own:
            start = (start + 1) % size
        own.add(start)
        slots[k] = start
    return slots


def _rotated(x: np.ndarray, by: int) -> np.ndarray:
    return x << np.uint32(by) | x >> np.uint32(32 - by)


def string_hashes(data: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Bob Jenkins' lookup3 of each string with its zero byte, u32[]: twelve bytes at a time into three numbers."""
    length = np.diff(offset) + 1
    start = np.uint32(0xDEADBEEF) + length.astype(np.uint32)
    state = [start.copy(), start.copy(), start.copy()]
    padded = np.concatenate((data[: offset[-1]], np.zeros(1, np.uint8)))
    for block in range(int(-(-length.max(initial=0) // 12))):
        here = np.flatnonzero(length > 12 * block)
        last = length[here] <= 12 * (block + 1)
        place = offset[:-1][here, None] + 12 * block + np.arange(12)
        inside = place < offset[1:][here, None]
        words = np.ascontiguousarray(np.where(inside, padded[np.where(inside, place, -1)], 0), np.uint8).view("<u4")
        a, b, c = (state[k][here] + words[:, k] for k in range(3))
        for rows, step in ((~last, _mix), (last, _finish)):
            for k, part in enumerate(step(a[rows], b[rows], c[rows])):
                state[k][here[rows]] = part
    return state[2]


def _mix(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c) ^ _rotated(c, first)
        c = c + b
        b = (b - a) ^ _rotated(a, second)
        a = a + c
        c = (c - b) ^ _rotated(b, third)
        b = b + a
    return a, b, c


def _finish(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c = (c ^ b) - _rotated(b, 14)
    a = (a ^ c) - _rotated(c, 11)
    b = (b ^ a) - _rotated(a, 25)
    c = (c ^ b) - _rotated(b, 16)
    a = (a ^ c) - _rotated(c, 4)
    b = (b ^ a) - _rotated(a, 14)
    c = (c ^ b) - _rotated(b, 24)
    return a, b, c


# CRFsuite's model files (`lCRF`, first-order chains).
#
#     header       "lCRF", size, "FOMC", version 100, number of features (0), of labels, of attributes, and places of
#     features     "FEAT", size, number; each: type (0: attribute on label, 1: label pair), source, target, weight f64
#     labels       CQDB
#     attributes   CQDB
#     label refs   "LFRF", size, number, places; at each place how many features a label pair begins with, their numbers
#     attr. refs   "AFRF", the same for attributes
#
# Features are found by the references, as CRFsuite finds them; that they agree with the features is checked.

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


# Chain models as CRFsuite's model files; see crfsuite.py for the format.

MOST_BYTES = 1 << 32


def crfsuite_bytes(model: ChainModel) -> bytes:
    """The model as the bytes of a `.crfsuite` file. UsageError if it has what the format cannot hold.

    A model with templates can be written too: its attributes are spelt as the templates spell them (`U00:word`), and
    whoever tags with CRFsuite must give each token these strings."""
    _check(model)
    # Weights divided by the temperature of a calibration have its probabilities, and the same best paths.
    heat = model.temperature if "calibration" in model.meta else 1.0
    owner, label, w = state_weights(model)
    names, Y = model.names[1], len(model.labels)
    used = np.unique(owner)
    owner = np.searchsorted(used, owner)
    names = ordered_names(names, used) if used.size < len(names) else names
    transitions = transition_weights(model)
    source, target = np.nonzero(transitions)
    features = np.zeros(owner.size + source.size, FEATURE)
    _fill(features[: owner.size], STATE, owner, label, w / heat)
    _fill(features[owner.size :], TRANSITION, source, target, transitions[source, target] / heat)
    counts = np.bincount(owner, minlength=used.size), np.bincount(source, minlength=Y)
    return _file(features, Names(*bytes_of(model.labels)), names, counts)


def _fill(features: np.ndarray, kind: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> None:
    features["type"], features["source"], features["target"], features["weight"] = kind, source, target, weight


def _file(features: np.ndarray, labels: Names, attributes: Names, counts: tuple[np.ndarray, np.ndarray]) -> bytes:
    of_attributes, of_labels = counts
    chunk = np.array([CHUNK + features.nbytes, features.size], "<u4").tobytes()
    parts = [b"FEAT" + chunk + features.tobytes(), cqdb_bytes(labels), cqdb_bytes(attributes)]
    places = np.cumsum([HEADER, *(len(part) for part in parts)]).tolist()
    parts.append(bytes(-places[3] % 4))
    places[3] += -places[3] % 4
    # Two more labels than there are: the start and the end of a sequence, which have no features.
    parts.append(_references(b"LFRF", of_labels, of_attributes.sum(), places[3], 2))
    places.append(places[3] + len(parts[-1]))
    parts.append(_references(b"AFRF", of_attributes, 0, places[4], 0))
    size = places[4] + len(parts[-1])
    if size >= MOST_BYTES:
        raise UsageError(f"CRFsuite's format has 32-bit places, and the model would take {size / 2**30:.1f} GB")
    # CRFsuite leaves the number of features at 0 here, and reads that of the features' own header.
    numbers = np.array([VERSION, 0, len(labels), len(attributes), *places], "<u4").tobytes()
    return b"".join((MARK, np.array([size], "<u4").tobytes(), KIND, numbers, *parts))


def _references(mark: bytes, count: np.ndarray, first: int, begin: int, others: int) -> bytes:
    """References to features from `first` on, `count` of each owner; `others` have none and no place."""
    n = count.size + others
    begin += CHUNK + 4 * n
    size = 1 + count
    at = np.cumsum(size) - size
    words = np.zeros(int(size.sum()), "<u4")
    words[at] = count
    there = np.ones(words.size, np.bool_)
    there[at] = False
    words[there] = first + np.arange(int(count.sum()))
    places = np.concatenate((begin + 4 * at, np.zeros(others, np.int64))).astype("<u4")
    total = CHUNK + 4 * n + words.nbytes
    return b"".join((mark, np.array([total, n], "<u4").tobytes(), places.tobytes(), words.tobytes()))


# --- what is written ----------------------------------------------------------------------------------------


def state_weights(model: ChainModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attribute, label and weight of each weight that is not zero, by attribute and label."""
    if model.exact is not None:
        first, label, w = model.exact[:3]
        owner = np.repeat(np.arange(first.size - 1), np.diff(first))
    else:
        rows: FeatureWeights = fixed(as_lists(model.chain.weights[0], model.shape.n_states, 1))
        owner, label, w = np.repeat(np.arange(rows.slot.size), rows.slot), rows.combo, rows.w[:, 0].astype(np.float64)
    there = w != 0
    return owner[there], label[there], w[there]


def transition_weights(model: ChainModel) -> np.ndarray:
    """The weights of label pairs f64[Y, Y]."""
    if model.exact is not None:
        return model.exact.transitions
    Y = len(model.labels)
    return model.chain.transitions[1].w[:, :Y].astype(np.float64)


def _check(model: ChainModel) -> None:
    """UsageError that says which part of a model CRFsuite's format cannot hold."""
    faults = list(_faults(model))
    if faults:
        raise UsageError(f"CRFsuite's format cannot hold {'; '.join(faults)}")


def _faults(model: ChainModel) -> list[str]:
    shape, chain, faults = model.shape, model.chain, []
    if shape.states_per_label > 1:
        return ["states behind labels (a latent model, or label histories)"]
    if shape.order == 2:
        faults.append("weights of order 2")
    if shape.local:
        faults.append("scores that are normalised token by token (maxent)")
    if LABEL_CONTEXT in model.feature_indexes:
        faults.append("templates that read earlier labels (%y)")
    edges = sum(model.feature_indexes[arity].size for arity in (2, 3) if arity in model.feature_indexes)
    if edges:
        faults.append(f"{counted(edges, 'attribute')} on label pairs or triples (B and T templates with a cell)")
    if chain.transitions[0].w[:, : shape.n_labels].any():
        faults.append(f"start and end weights: train with {spelt(TaggerOptions, 'ends', False)}")
    allowed = model.allowed
    if not (allowed.start.all() and allowed.pair.all() and allowed.end.all()):
        faults.append(f"forbidden transitions: train with {spelt(TaggerOptions, 'constraints', 'none')}")
    if any(model.bias.values()):
        faults.append("a bias of labels")
    if 1 in model.feature_indexes and 1 not in model.names:
        faults.append("attributes whose names are not stored (a stripped model)")
    weights = [chain.transitions[1].w, chain.weights[0].w]
    if not all(np.isfinite(w).all() for w in weights):
        faults.append("weights of minus infinity")
    if _has_zero_byte(model):
        faults.append("a label or an attribute with a zero byte")
    return faults


def _has_zero_byte(model: ChainModel) -> bool:
    names = model.names.get(1)
    return any("\0" in label for label in model.labels) or (names is not None and bool((names.data == 0).any()))
