"""The weights of a model file in the forms that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette.data.array_specs import Arrays
from palmette.data.labels.schemes import Transitions
from palmette.features.encode import Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import (
    Chain,
    FeatureWeights,
    TransitionWeights,
    no_state,
    no_sums,
    no_weights,
    stride_of,
)
from palmette.kernels.chain.viterbi import PackedRows
from palmette.kernels.core.types import aligned_zeros
from palmette.structures.chain.array_specs import PARTS, Layout
from palmette.structures.chain.lists import MANY_LABELS, from_entries
from palmette.structures.chain.weights import ARITIES, Shape, from_stored, new_chain
from palmette.structures.stored_weights import EMPTY, ENTRIES, FEW, Form, stored_bytes, unpack_rows

if TYPE_CHECKING:
    from palmette.kernels.chain.forms import LabelContextWeights


def unpack_chain_weights(
    arrays: Arrays, layout: Layout, shape: Shape, allowed: Transitions, sizes: dict[str, int]
) -> Chain:
    rows = {arity: no_weights() for arity in ARITIES}
    forms = dict(layout.forms)
    for arity in layout.arities:
        if arity not in forms and arity != LABEL_CONTEXT:
            rows[arity] = _unpack_weights(arrays, PARTS[arity])
        elif arity in forms and not (arity == 1 and forms[arity].scaled):
            rows[arity] = _unpack_cells(arrays, arity, forms[arity], shape, sizes[PARTS[arity]])
    tables = from_stored(arrays, "bare.")
    ends, pairs, triples = (TransitionWeights(table, no_sums(), no_state()) for table in tables)
    blank = new_chain(shape, {}, allowed, {})
    return blank._replace(transitions=(ends, pairs, triples), weights=(rows[1], rows[2], rows[3]))


def _unpack_weights(arrays: Arrays, part: str) -> FeatureWeights:
    w = arrays[f"{part}.weights"]
    if f"{part}.slot" in arrays:
        return no_weights()._replace(slot=arrays[f"{part}.slot"], used=np.array([w.shape[0]], np.int64), w=w)
    if f"{part}.seen" in arrays:
        first = np.concatenate(([0], np.cumsum(arrays[f"{part}.seen"], dtype=np.int64)))
        combo = arrays[f"{part}.ngram"].astype(np.int32)
    else:
        first, combo = arrays[f"{part}.first"], arrays[f"{part}.combo"]
    return no_weights()._replace(slot=np.diff(first).astype(np.int32), first=first, combo=combo, w=w)


def _unpack_cells(arrays: Arrays, arity: int, form: Form, shape: Shape, A: int) -> FeatureWeights:
    """Padded rows, row 0 being zero, from those of a file; lists if there are many labels."""
    part, H = PARTS[arity], shape.n_states
    if as_lists(arrays, arity, form, shape, A):
        count, state, value = (arrays[f"{part}.{name}"] for name in ENTRIES)
        if form.scaled:
            value = value * np.repeat(arrays[f"{part}.scale"], count)
        return from_entries(shape.block(arity), count, state, value)
    w = aligned_zeros((A + 1, shape.width(arity)), np.float32)
    padded = w.reshape(A + 1, *(H,) * (arity - 1), stride_of(H))
    unpack_rows(arrays, part, form, padded[1:, ..., :H])
    if form.scaled:
        w[1:] *= arrays[f"{part}.scale"][:, None]
    slot = np.arange(1, A + 1, dtype=np.int32)
    return no_weights()._replace(slot=slot, used=np.array([A + 1], np.int64), w=w)


def as_lists(arrays: Arrays, arity: int, form: Form, shape: Shape, A: int) -> bool:
    """Whether stored weights become lists: those of many labels, and sparse weights of label pairs and triples if their
    rows would take far more memory than the file."""
    if arity == 1 or not form.sparse:
        return form.sparse and not form.scaled and shape.n_labels >= MANY_LABELS
    stored = stored_bytes(arrays, PARTS[arity])
    return not shape.latent and row_bytes(shape, arity, A) > EMPTY + FEW * stored


def row_bytes(shape: Shape, arity: int, A: int) -> int:
    """The memory of dense rows."""
    return 4 * (A + 1) * shape.width(arity)


def unpack_packed(arrays: Arrays, form: Form, shape: Shape) -> PackedRows:
    part, H = PARTS[1], shape.n_states
    scale = arrays[f"{part}.scale"]
    number = aligned_zeros((scale.size, stride_of(H)), np.int8)
    unpack_rows(arrays, part, form, number[:, :H])
    return PackedRows(number, scale)


def unpack_contexts(
    arrays: Arrays, layout: Layout, shape: Shape, encoder: Encoder | None
) -> LabelContextWeights | None:
    if not layout.beam:
        return None
    from palmette.structures.chain.label_context import no_context_weights, stored_context_weights

    if LABEL_CONTEXT in layout.arities:
        names = ("past.template", "past.owner", "past.code", "past.weights")
        return stored_context_weights(encoder, *(arrays[name] for name in names))
    return no_context_weights(stride_of(shape.n_states))
