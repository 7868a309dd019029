"""Rows of weights as a model file has them: read where they are mapped, rounded to 8 bits, chosen, and unpacked for
what changes or shows weights. Searches and sums read them in their kernels (kernels/chain/score.py).

H states, W stride, A attributes; a row of arity k has H ** k numbers, without padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from palmette.errors import ModelError
from palmette.kernels.chain.forms import (
    ENTRIES,
    ENTRIES_ALONE,
    NONE_STORED,
    NOT_STORED,
    WHOLE_ROWS,
    Chain,
    FeatureWeights,
    StoredRows,
    no_weights,
    not_stored,
    stride_of,
)
from palmette.kernels.core.types import aligned_zeros
from palmette.structures.chain.lists import MANY_LABELS, entries, from_entries, is_list
from palmette.structures.chain.weights import ARITIES, Shape
from palmette.structures.stored import CHUNK, Form, pack_entries, pack_rows, smallest

LARGEST = 127
Arrays = Mapping[str, np.ndarray]


def read_rows(arrays: Arrays, part: str, form: Form, shape: Shape, arity: int) -> StoredRows:
    """The weights of a part of a model file, where they are."""
    numbers = arrays[f"{part}.value" if form.sparse else f"{part}.rows"].reshape(-1)
    rows = not_stored()._replace(kind=WHOLE_ROWS, cells=shape.n_states**arity)
    own = {"number": numbers, "scale": arrays[f"{part}.scale"]} if form.scaled else {"value": numbers}
    rows = rows._replace(**own)
    if not form.sparse:
        return rows
    alone = arity == 1 and not form.scaled and shape.n_labels >= MANY_LABELS
    kind = ENTRIES_ALONE if alone else ENTRIES
    return _with_entries(rows, arrays[f"{part}.count"], arrays[f"{part}.state"])._replace(kind=kind)


def _with_entries(rows: StoredRows, count: np.ndarray, state: np.ndarray) -> StoredRows:
    if state.size >= 1 << 32:
        raise ModelError(f"{state.size:,} weights of attributes, and at most {1 << 32:,} can be used")
    first = np.zeros(count.size + 1, np.uint32)
    np.cumsum(count, dtype=np.uint32, out=first[1:])
    return rows._replace(first=first, item=state.itemsize, state=state.view(np.uint8))


def is_stored(rows: StoredRows) -> bool:
    return rows.kind != NOT_STORED


def is_small(rows: StoredRows) -> bool:
    """Whether the weights are of 8 bits."""
    return rows.scale.size > 0


def size_of(rows: StoredRows) -> int:
    """The number of attributes."""
    return numbers_of(rows).size // rows.cells if rows.kind == WHOLE_ROWS else max(0, rows.first.size - 1)


def numbers_of(rows: StoredRows) -> np.ndarray:
    """All numbers that are stored, of 8 or of 32 bits."""
    return rows.number if is_small(rows) else rows.value


def states_of(rows: StoredRows) -> np.ndarray:
    """The state n-gram of each entry."""
    return rows.state.view(f"<u{rows.item}")


def nonzero_weights(rows: StoredRows) -> int:
    return int(np.count_nonzero(numbers_of(rows)))


def _with_numbers(rows: StoredRows, numbers: np.ndarray) -> StoredRows:
    return rows._replace(number=numbers) if is_small(rows) else rows._replace(value=numbers)


def whole_rows(rows: StoredRows, some: slice) -> np.ndarray:
    """The numbers of some attributes with all zeros, [n, cells]; those of 8 bits without their scale."""
    n, numbers = some.stop - some.start, numbers_of(rows)
    if rows.kind == WHOLE_ROWS:
        return numbers[some.start * rows.cells : some.stop * rows.cells].reshape(n, rows.cells)
    first = rows.first[some.start : some.stop + 1]
    out = np.zeros((n, rows.cells), numbers.dtype)
    entries = slice(int(first[0]), int(first[-1]))
    out[np.repeat(np.arange(n), np.diff(first)), states_of(rows)[entries]] = numbers[entries]
    return out


def file_arrays(rows: StoredRows, part: str) -> dict[str, np.ndarray]:
    """The arrays of a model file, in the smaller form."""
    if rows.kind == ENTRIES_ALONE:
        return pack_entries(part, np.diff(rows.first), states_of(rows), rows.value)
    return pack_rows(part, lambda some: whole_rows(rows, some), size_of(rows), rows.scale if is_small(rows) else None)


# --- from rows and lists, and back --------------------------------------------------------------------------------


def store_rows(weights: FeatureWeights, shape: Shape, arity: int) -> StoredRows:
    """Rows or lists of weights as a file would have them; lists of label pairs and triples are not stored."""
    A, H = weights.slot.size, shape.n_states
    if is_list(weights):
        if arity > 1:
            return not_stored()
        return read_rows(pack_entries("", *entries(weights, np.arange(A))), "", Form(True, False), shape, arity)

    def cells(some: slice) -> np.ndarray:
        return without_padding(weights.w[weights.slot[some]], H, arity)

    arrays = pack_rows("", cells, A, None)
    return read_rows(arrays, "", Form(".rows" not in arrays, False), shape, arity)


def estimated_rows(weights: FeatureWeights, H: int, clock: float | None) -> StoredRows:
    """The entries of rows on single states; with `clock` those of the mean of all weights so far."""
    item, n = smallest(H), int(weights.used[0])
    counts, states, values = [], [], []
    for some in _chunks(n):
        w = weights.w[some, :H]
        if clock is not None:
            w = (w - weights.a[some, :H] / clock).astype(np.float32)
        there = np.nonzero(w)
        counts.append(np.bincount(there[0], minlength=some.stop - some.start))
        states.append(there[1].astype(item))
        values.append(w[there])
    rows = not_stored()._replace(kind=ENTRIES, cells=H, value=np.concatenate(values))
    del values
    rows = _with_entries(rows, np.concatenate(counts), np.concatenate(states))
    return chosen_rows(rows, weights.slot)


def with_many_labels(chain: Chain, shape: Shape) -> Chain:
    """The chain with the weights of many labels as entries, so that they are summed as after loading."""
    (one, two, three), stored = chain.weights, chain.stored
    if shape.n_labels < MANY_LABELS or is_list(one) or not (one.slot.size or is_stored(stored[0])):
        return chain
    own = stored[0] if is_stored(stored[0]) else store_rows(one, shape, 1)
    own = own._replace(kind=ENTRIES_ALONE) if own.kind == ENTRIES else own
    return chain._replace(weights=(no_weights(), two, three), stored=(own, *stored[1:]))


def with_own_rows(chain: Chain, shape: Shape) -> Chain:
    """The chain of `estimated` with rows for the attributes that had some in training, and no entries."""
    (one, two, three), stored = chain.weights, chain.stored[0]
    if not is_stored(stored):
        return chain
    full = one.slot > 0
    rows = unpacked(chosen_rows(stored, np.flatnonzero(full)), shape, 1)
    rows = rows._replace(slot=np.where(full, np.cumsum(full), 0).astype(np.int32))
    return chain._replace(weights=(rows, two, three), stored=NONE_STORED)


def without_padding(rows: np.ndarray, H: int, arity: int) -> np.ndarray:
    """Padded rows [n, width] as [n, H ** arity]."""
    n = rows.shape[0]
    return rows.reshape(n, *(H,) * (arity - 1), stride_of(H))[..., :H].reshape(n, H**arity)


def unpacked(rows: StoredRows, shape: Shape, arity: int) -> FeatureWeights:
    """The weights as padded rows, row 0 being zero, or as lists if there are many labels."""
    if rows.kind == ENTRIES_ALONE:
        return from_entries(shape.block(arity), np.diff(rows.first), states_of(rows), rows.value)
    A, H = size_of(rows), shape.n_states
    w = aligned_zeros((A + 1, shape.width(arity)), np.float32)
    padded = w.reshape(A + 1, *(H,) * (arity - 1), stride_of(H))[1:, ..., :H]
    for some in _chunks(A):
        padded[some] = whole_rows(rows, some).reshape(padded[some].shape)
    if is_small(rows):
        w[1:] *= rows.scale[:, None]
    slot = np.arange(1, A + 1, dtype=np.int32)
    return no_weights()._replace(slot=slot, used=np.array([A + 1], np.int64), w=w)


def _with_parts(chain: Chain, weights: Sequence[FeatureWeights], stored: Sequence[StoredRows]) -> Chain:
    return chain._replace(weights=(weights[0], weights[1], weights[2]), stored=(stored[0], stored[1], stored[2]))


def unpacked_chain(chain: Chain, shape: Shape, arities: tuple[int, ...] = ARITIES) -> Chain:
    """The chain with weights that can be changed and shown, for some arities."""
    stored, weights = list(chain.stored), list(chain.weights)
    for arity in arities:
        if is_stored(stored[arity - 1]):
            weights[arity - 1] = unpacked(stored[arity - 1], shape, arity)
            stored[arity - 1] = NONE_STORED[arity - 1]
    return _with_parts(chain, weights, stored)


def stored_chain(chain: Chain, shape: Shape) -> Chain:
    """The chain with its weights as a file would have them."""
    stored, weights = list(chain.stored), list(chain.weights)
    for arity, rows in zip(ARITIES, chain.weights, strict=True):
        if rows.slot.size:
            stored[arity - 1] = store_rows(rows, shape, arity)
            weights[arity - 1] = no_weights() if is_stored(stored[arity - 1]) else rows
    return _with_parts(chain, weights, stored)


def weight_at(rows: StoredRows, attribute: int, place: int) -> float:
    """One weight; place: in a row."""
    if rows.kind == WHOLE_ROWS:
        number = numbers_of(rows)[attribute * rows.cells + place]
    else:
        first, last = int(rows.first[attribute]), int(rows.first[attribute + 1])
        at = first + int(np.searchsorted(states_of(rows)[first:last], place))
        number = numbers_of(rows)[at] if at < last and states_of(rows)[at] == place else np.float32(0)
    scale = rows.scale[attribute] if is_small(rows) else np.float32(1)
    return float(np.float32(number) * scale)


# --- 8 bits, and fewer attributes ---------------------------------------------------------------------------------


def _chunks(A: int) -> list[slice]:
    return [slice(k, min(A, k + CHUNK)) for k in range(0, A, CHUNK)]


def largest_of(rows: StoredRows) -> np.ndarray:
    """The largest weight of each attribute without its sign, f32[A]."""
    most = np.zeros(size_of(rows), np.float32)
    for some in _chunks(most.size):
        most[some] = np.abs(whole_rows(rows, some).astype(np.float32)).max(axis=1, initial=0.0)
    return most * rows.scale if is_small(rows) else most


def rounded_rows(rows: StoredRows) -> StoredRows:
    """The weights as the nearest 8-bit numbers with a scale for each attribute; those that become 0 are left out."""
    if is_small(rows) or not size_of(rows):
        return rows
    most = largest_of(rows)
    scale = np.where(most > 0, most / LARGEST, 1.0).astype(np.float32)
    number = np.empty(rows.value.size, np.int8)
    for some in _chunks(scale.size):
        if rows.kind == WHOLE_ROWS:
            own, by = slice(some.start * rows.cells, some.stop * rows.cells), np.repeat(scale[some], rows.cells)
        else:
            first = rows.first[some.start : some.stop + 1]
            own, by = slice(int(first[0]), int(first[-1])), np.repeat(scale[some], np.diff(first))
        number[own] = np.rint(rows.value[own] / by)
    made = rows._replace(value=not_stored().value, number=number, scale=scale)
    return made if rows.kind == WHOLE_ROWS else _some_entries(made._replace(kind=ENTRIES), number != 0)


def _some_entries(rows: StoredRows, keep: np.ndarray) -> StoredRows:
    """The rows without some entries; the attributes stay."""
    before = np.concatenate((np.zeros(1, np.uint32), np.cumsum(keep, dtype=np.uint32)))
    state = states_of(rows)[keep]
    return _with_numbers(rows, numbers_of(rows)[keep])._replace(first=before[rows.first], state=state.view(np.uint8))


def without_weights(rows: StoredRows, keep: np.ndarray) -> StoredRows:
    """The rows with zeros for the attributes that bool[A] does not keep; the attributes stay."""
    if rows.kind != WHOLE_ROWS:
        return _some_entries(rows, np.repeat(keep, np.diff(rows.first)))
    table = numbers_of(rows).reshape(keep.size, rows.cells).copy()
    table[~keep] = 0
    return _with_numbers(rows, table.reshape(-1))


def chosen_rows(rows: StoredRows, order: np.ndarray) -> StoredRows:
    """The rows of the attributes with these numbers, in this order."""
    numbers, small = numbers_of(rows), is_small(rows)
    if rows.kind == WHOLE_ROWS:
        made = _with_numbers(rows, numbers.reshape(-1, rows.cells)[order].reshape(-1))
    else:
        count = np.diff(rows.first)[order].astype(np.int64)
        first = np.cumsum(count) - count
        places = np.arange(int(count.sum())) + np.repeat(rows.first[order].astype(np.int64) - first, count)
        made = _with_entries(_with_numbers(rows, numbers[places]), count, states_of(rows)[places])
    return made._replace(scale=rows.scale[order]) if small else made
