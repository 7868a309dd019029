"""Chain models as CRFsuite's model files; see crfsuite.py for the format."""

from __future__ import annotations

import numpy as np

from palmette.connect.models.cqdb import cqdb_bytes
from palmette.connect.models.crfsuite import CHUNK, FEATURE, HEADER, KIND, MARK, STATE, TRANSITION, VERSION
from palmette.data.corpus import bytes_of
from palmette.errors import UsageError, counted
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import FeatureWeights
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt
from palmette.structures.chain.lists import as_lists, fixed
from palmette.structures.chain.model import ChainModel
from palmette.structures.stored_features import Names, ordered_names

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
