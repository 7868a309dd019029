"""A small model from a full one: weights of 8 bits, without the attributes that development data does not miss.

Attributes are dropped by the size of their largest weight. The shares of `SHARES` are tried one after the other, and
the last one is taken before the loss on development data and its standard error exceed what is allowed: other data may
lose more. The standard error is about sqrt(changed tokens) / size, the size being the number of spans that F1 is about,
or of tokens. Dropping single weights instead of attributes loses more and saves less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import UsageError
from palmette.features.encode import kept_attributes
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import Chain, FeatureWeights, LabelContextWeights, StoredRows
from palmette.kernels.core.hashing import FeatureIndex
from palmette.options.declare import OptionError
from palmette.options.spelling import argument
from palmette.structures.chain.gold import certain, gold_and_guess
from palmette.structures.chain.imported.model import ImportedModel
from palmette.structures.chain.label_context import kept_rows
from palmette.structures.chain.lists import without_zeros
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.stored_rows import (
    chosen_rows,
    is_stored,
    largest_of,
    rounded_rows,
    stored_chain,
    without_weights,
)
from palmette.structures.chain.weights import ARITIES
from palmette.structures.stored import Names, some_names

ROUNDING = 1e-9
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


class Found(NamedTuple):
    """What a model does on development data."""

    figure: float  # F1 or accuracy, a fraction of 1
    labels: np.ndarray  # i32[N]
    size: int  # spans or tokens that the figure is about


Trial = Callable[[ChainModel], Found]


class CompactReport(msgspec.Struct, frozen=True):
    """What became of a model."""

    before: float | None  # the figure on development data
    after: float | None
    dropped: float  # the share of attributes that was dropped
    attributes: tuple[int, int]  # before and after
    weights: tuple[int, int]

    @property
    def loss(self) -> float | None:
        """In points, of 100."""
        return None if self.before is None or self.after is None else 100 * (self.before - self.after)


def compact_chain(
    model: ChainModel, trial: Trial | None = None, most_loss: float = 0.05
) -> tuple[ChainModel, CompactReport]:
    """The compact form of a model; without `trial` no attribute is dropped. UsageError if 8 bits lose too much."""
    _check(model)
    full = model if model.compact else compact_model(model)
    small, before, after, dropped = full, None, None, 0.0
    if trial is not None:
        first = trial(model)
        before, after = first.figure, trial(full).figure
        if 100 * (before - after) > most_loss + ROUNDING:
            raise UsageError(
                f"weights of 8 bits lose {100 * (before - after):.2f} points on the development data, and at most "
                f"{most_loss:g} may be lost: allow more with {argument('most_loss')}, or give more development data"
            )
        for share in SHARES:
            less = _without_smallest(full, share)
            found = trial(less)
            error = np.sqrt(np.count_nonzero(found.labels != first.labels)) / max(1, first.size)
            if 100 * (before - found.figure + error) > most_loss + ROUNDING:
                break
            small, after, dropped = less, found.figure, share
    made = pruned(small, rows=True, names=False)
    sizes = [sum(index.size for index in one.feature_indexes.values()) for one in (model, made)]
    counts = [int(np.count_nonzero(one.searched.stored[0].number)) for one in (full, made)]
    return made, CompactReport(before, after, dropped, (sizes[0], sizes[1]), (counts[0], counts[1]))


def compact_on(model: ChainModel, dev: Corpus | None, most_loss: float = 0.05) -> tuple[ChainModel, CompactReport]:
    """The compact form of a model, calibrated on the labelled corpus that the loss of F1 of spans, or else of accuracy,
    is measured on."""
    if not 0 <= most_loss <= 100:
        raise OptionError("most_loss", f"{most_loss} is not a number of points between 0 and 100")
    if dev is None:
        return compact_chain(model, None, most_loss)
    from palmette.evaluation.scores import score
    from palmette.structures.chain.calibrate import calibrated_on_dev

    def trial(model: ChainModel) -> Found:
        gold, guess, labels = gold_and_guess(model, dev)
        found = score(gold, guess, dev.offset, labels, scheme=unseen_scheme(model.scheme), known=certain(dev))
        units = found.tokens if found.f1 is None else sum(row.gold for row in found.by_type.values())
        return Found(found.main().value, guess, units)

    small, report = compact_chain(model, trial, most_loss)
    fitted = calibrated_on_dev(small, dev)  # the temperature of the full model does not fit other weights
    if fitted is not None:
        small = small.changed(meta=small.meta | {"calibration": msgspec.to_builtins(fitted)})
    return small, report


def _check(model: ChainModel) -> None:
    weights = (model.searched.weights[0].w, model.searched.stored[0].value)
    if not all(np.isfinite(numbers).all() for numbers in weights):
        raise UsageError("the model has weights of minus infinity (an HMM without smoothing), which need 32 bits")


def compact_model(model: ChainModel) -> ChainModel:
    """The model with weights of 8 bits, but for lists of label pairs and triples."""
    chain = stored_chain(model.chain if model.exact is not None else model.searched, model.shape)
    one, two, three = (rounded_rows(rows) for rows in chain.stored)
    return _as_chain(model, chain._replace(stored=(one, two, three)), checkpoint={})


def _as_chain(model: ChainModel, chain: Chain, **parts: Any) -> ChainModel:
    """The model with another chain, also if its own is of another tool."""
    own = {part.name: getattr(model, part.name) for part in fields(model) if part.init}
    return ChainModel(**(own | parts | {"searched": chain}))


def _without_smallest(model: ChainModel, share: float) -> ChainModel:
    """The model without the attributes on states whose largest weight is smallest, and those on label pairs and triples
    with weights as small."""
    largest = [largest_of(rows) for rows in model.searched.stored]
    least = float(np.quantile(largest[0], share)) if largest[0].size else 0.0
    one, two, three = (
        without_weights(rows, most >= least) if is_stored(rows) else rows
        for rows, most in zip(model.searched.stored, largest, strict=True)
    )
    return model.changed(searched=model.searched._replace(stored=(one, two, three)))


# A smaller model with the same answers: without attributes whose weights are all zero, without names.


def pruned(model: ChainModel, *, rows: bool, names: bool) -> ChainModel:
    """Drop zero rows (`rows`) and the attributes' names (`names`, which only inspection needs)."""
    if rows:
        model = model.without_zeros() if isinstance(model, ImportedModel) else _without_zero_rows(model)
    if names:
        model = model.changed(names={})
    return model.changed(helpers=tuple(pruned(helper, rows=rows, names=names) for helper in model.helpers))


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
    chain, weights, stored = model.searched, list(model.searched.weights), list(model.searched.stored)
    for o in set(parts) & set(ARITIES):
        weights[o - 1], stored[o - 1] = parts[o][1]
    return model.changed(
        searched=chain._replace(
            weights=(weights[0], weights[1], weights[2]), stored=(stored[0], stored[1], stored[2])
        ), **changes,
    )  # fmt: skip


def _prune_order(model: ChainModel, order: int) -> tuple[FeatureIndex, tuple[FeatureWeights, StoredRows], Names | None]:
    feature_index, strings = model.feature_indexes[order], model.names.get(order)
    weights, stored = model.searched.weights[order - 1], model.searched.stored[order - 1]
    if is_stored(stored):
        keep = largest_of(stored) > 0
        stored = chosen_rows(stored, np.flatnonzero(keep))
    else:
        weights, keep = without_zeros(weights) if weights.first.size else _small_dense(weights)
    names = None if strings is None else some_names(strings, keep)
    return kept_attributes(feature_index, keep), (weights, stored), names


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


def _small_dense(part: FeatureWeights) -> tuple[FeatureWeights, np.ndarray]:
    """Rows with something in them, and which attributes own one."""
    full: np.ndarray = np.asarray(part.w.any(axis=1))
    keep = full[part.slot]
    full[0] = True  # the zero row itself
    place = np.cumsum(full) - 1
    slot = place[part.slot[keep]].astype(np.int32)
    return part._replace(slot=slot, used=np.array([int(full.sum())]), w=part.w[full]), keep
