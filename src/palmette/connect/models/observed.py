"""A model from the observations of Wapiti or CRF++: strings that the templates make of cells, with weights on labels,
on label pairs, or on both."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from palmette.features.encode import Encoder
from palmette.kernels.chain.double import DoubleWeights
from palmette.kernels.core.index import FeatureIndex
from palmette.structures.chain.imported.model import (
    Imported,
    ImportedModel,
    imported_model,
    index_of,
    no_lists,
    sorted_lists,
)
from palmette.structures.stored_features import Names, ordered_names


class Entries(NamedTuple):
    """Weights of observations."""

    kind: np.ndarray  # i64[O]      1: on labels, 2: on label pairs, 3: on both
    owner: np.ndarray  # i64[]      the observation of each weight
    place: np.ndarray  # i64[]      the label, or previous * Y + current
    w: np.ndarray  # f64[]
    single: np.ndarray  # bool[]    whether it is on a label


def model_of_observations(
    labels: list[str], encoder: Encoder, observations: Names, entries: Entries, about: Imported,
    reading: dict[str, Any], single: bool = False,
) -> ImportedModel:  # fmt: skip
    """The model; `single`: its tool adds weights in float32."""
    Y = len(labels)
    times = _bare(encoder, observations, entries.kind)
    bare = times > 0
    transitions = np.zeros(Y * Y)
    plain = ~entries.single & bare[entries.owner]
    np.add.at(transitions, entries.place[plain], entries.w[plain] * times[entries.owner[plain]])
    indexes: dict[int, FeatureIndex] = {}
    names: dict[int, Names] = {}
    lists = {1: no_lists(), 2: no_lists()}
    for arity in (1, 2):
        if arity not in encoder.programs:
            continue
        there = (entries.kind & arity > 0) & ~(bare if arity == 2 else np.zeros(bare.size, np.bool_))
        number = np.cumsum(there) - 1
        own = (entries.single if arity == 1 else ~entries.single) & there[entries.owner]
        names[arity] = ordered_names(observations, np.flatnonzero(there))
        indexes[arity] = index_of(names[arity], about.file)
        lists[arity] = sorted_lists(
            number[entries.owner[own]], entries.place[own], entries.w[own], len(names[arity]), Y**arity, about.file
        )
    exact = DoubleWeights(*lists[1], *lists[2], transitions.reshape(Y, Y), single)
    return imported_model(labels, exact, indexes, names, about, encoder, reading)


def _bare(encoder: Encoder, observations: Names, kind: np.ndarray) -> np.ndarray:
    """i64[O]: how many templates without cells make an observation on label pairs: a plain transition, which the tools
    add once per template. 0: no template does."""
    texts = Counter(t.text.encode() for t in encoder.templates.templates if not t.macros and 2 in t.orders)
    times = np.zeros(len(observations), np.int64)
    sizes, wanted = np.diff(observations.offset), {len(text) for text in texts}
    for k in np.flatnonzero((kind & 2 > 0) & np.isin(sizes, list(wanted))).tolist():
        times[k] = texts[observations[k].encode()]
    return times
