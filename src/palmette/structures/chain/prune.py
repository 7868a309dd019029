"""A smaller model with the same answers: without attributes whose weights are all zero, without names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.features.encode import kept_attributes
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import FeatureWeights, LabelContextWeights
from palmette.kernels.chain.viterbi import PackedRows
from palmette.kernels.core.hashing import FeatureIndex
from palmette.structures.chain.imported.model import ImportedModel
from palmette.structures.chain.label_context import kept_rows
from palmette.structures.chain.lists import without_zeros
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.packed import CompactModel
from palmette.structures.chain.weights import ARITIES
from palmette.structures.stored_features import Names, some_names


def pruned(model: ChainModel, *, rows: bool, names: bool) -> ChainModel:
    """Drop zero rows (`rows`) and the attributes' names (`names`, which only inspection needs)."""
    if rows:
        model = model.without_zeros() if isinstance(model, ImportedModel) else _without_zero_rows(model)
    return model.changed(names={}) if names else model


def _without_zero_rows(model: ChainModel) -> ChainModel:
    parts: dict[int, tuple[FeatureIndex, Any, Names | None]] = {
        o: _prune_contexts(model) if o == LABEL_CONTEXT else _prune_order(model, o) for o in model.feature_indexes
    }
    changes: dict[str, Any] = {
        "feature_indexes": {o: part[0] for o, part in parts.items()},
        "names": {o: part[2] for o, part in parts.items() if part[2] is not None},
        "label_contexts": parts[LABEL_CONTEXT][1] if LABEL_CONTEXT in parts else model.label_contexts,
        "checkpoint": {},  # its rows are numbered by the full feature indexes
    }
    chain = model.bare if isinstance(model, CompactModel) else model.chain
    one, two, three = (parts[o][1] if o in parts else chain.weights[o - 1] for o in ARITIES)
    if isinstance(model, CompactModel):
        packed: PackedRows = parts[1][1] if 1 in parts else model.packed
        return model.replaced(packed=packed, chain=chain._replace(weights=(chain.weights[0], two, three)), **changes)
    return replace(model, chain=chain._replace(weights=(one, two, three)), **changes)


def _prune_order(model: ChainModel, order: int) -> tuple[FeatureIndex, FeatureWeights | PackedRows, Names | None]:
    feature_index, strings = model.feature_indexes[order], model.names.get(order)
    small: FeatureWeights | PackedRows
    if isinstance(model, CompactModel) and order == 1:
        small, keep = _small_packed(model.packed)
    else:
        part = (model.bare if isinstance(model, CompactModel) else model.chain).weights[order - 1]
        small, keep = without_zeros(part) if part.first.size else _small_dense(part)
    return kept_attributes(feature_index, keep), small, None if strings is None else some_names(strings, keep)


def _prune_contexts(model: ChainModel) -> tuple[FeatureIndex, LabelContextWeights, Names | None]:
    assert model.label_contexts is not None
    contexts, feature_index = model.label_contexts, model.feature_indexes[LABEL_CONTEXT]
    strings = model.names.get(LABEL_CONTEXT)
    full: np.ndarray = np.asarray(contexts.w.any(axis=1))
    keep = np.zeros(feature_index.size, np.bool_)
    keep[contexts.owner[full]] = True
    new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    small = kept_rows(contexts, full, keep, new)
    return kept_attributes(feature_index, keep), small, None if strings is None else some_names(strings, keep)


def _small_packed(packed: PackedRows) -> tuple[PackedRows, np.ndarray]:
    keep: np.ndarray = np.asarray(packed.number.any(axis=1))
    return PackedRows(packed.number[keep], packed.scale[keep]), keep


def _small_dense(part: FeatureWeights) -> tuple[FeatureWeights, np.ndarray]:
    """Rows with something in them, and which attributes own one."""
    full: np.ndarray = np.asarray(part.w.any(axis=1))
    keep = full[part.slot]
    full[0] = True  # the zero row itself
    place = np.cumsum(full) - 1
    slot = place[part.slot[keep]].astype(np.int32)
    return part._replace(slot=slot, used=np.array([int(full.sum())]), w=part.w[full]), keep
