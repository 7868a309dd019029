"""Weights of attributes on labels as lists, in place of dense rows: made, grown, averaged, unpacked.

Dense rows of thousands of labels are nearly all zeros. Lists hold the same weights, and training and tagging give the
same results as with rows, but for the order in which float32 scores are summed (see kernels/chain/weights.py).
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, FeatureWeights, no_state, no_sums, no_weights, stride_of
from palmette.kernels.core.types import aligned_zeros

MANY_LABELS = 256
"""From this many labels on weights of single labels are lists. Below, rows are faster and small enough."""
SPARE = 1 << 14  # free places of lists that grow, at least


def is_list(rows: FeatureWeights) -> bool:
    return rows.first.size > 0


def grows(rows: FeatureWeights) -> bool:
    """Whether combinations get a place at their first change."""
    return is_list(rows) and rows.first.size == rows.slot.size


def _places(rows: FeatureWeights) -> np.ndarray:
    """The places of all combinations, i64[], by attribute."""
    size = rows.slot.astype(np.int64)
    return np.arange(int(size.sum())) + np.repeat(rows.first[: size.size] - (np.cumsum(size) - size), size)


def owners(rows: FeatureWeights) -> np.ndarray:
    """The attribute of each combination of fixed lists."""
    return np.repeat(np.arange(rows.slot.size), rows.slot)


def fixed(rows: FeatureWeights, clock: float | None = None) -> FeatureWeights:
    """Fixed lists without accumulators; with `clock` the mean of all weights so far."""
    where, size = _places(rows), rows.slot.astype(np.int64)
    w = rows.w[where]
    if clock is not None:
        w -= rows.a[where] / clock
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(size)))
    return FeatureWeights(rows.slot.copy(), np.ones(1, np.int64), first, rows.combo[where], w, no_sums(), no_state())


def growing(rows: FeatureWeights, spare: int = SPARE) -> FeatureWeights:
    """The lists in a table of their own with room for `spare` further combinations, each list with its power of two."""
    size = rows.slot.astype(np.int64)
    room = np.where(size > 2, 1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64), 2) * (size > 0)
    first = np.cumsum(room) - room
    used = int(room.sum())
    old = _places(rows)
    new = old + np.repeat(first - rows.first[: size.size], size)

    def moved(block: np.ndarray) -> np.ndarray:
        out = np.zeros((used + spare, *block.shape[1:]), block.dtype)
        out[new] = block[old]
        return out

    state = moved(rows.state) if rows.state.shape[0] else rows.state
    return FeatureWeights(
        rows.slot, np.array([used]), first, moved(rows.combo), moved(rows.w), moved(rows.a), state
    )  # fmt: skip


def with_room(chain: Chain, x: Data, sentences: np.ndarray, paths: int) -> Chain:
    """The chain with room in its lists for updates of these sentences by so many paths, and for more."""
    one, two, three = chain.weights
    if not grows(one):
        return chain
    ptr, att = x.features[0].ptr, x.features[0].att
    seen = np.concatenate([att[ptr[x.offset[s]] : ptr[x.offset[s + 1]]] for s in sentences])
    needed = 4 * int((one.slot[seen].astype(np.int64) + paths).sum())  # as `places_needed`
    if one.used[0] + needed <= one.combo.size:
        return chain
    more = growing(one, needed + max(SPARE, int(one.slot.sum(dtype=np.int64)) // 2))
    return chain._replace(weights=(more, two, three))


def as_rows(rows: FeatureWeights, n_states: int) -> FeatureWeights:
    """Lists of single labels as dense rows, with their accumulators; rows stay as they are."""
    if not is_list(rows):
        return rows
    full, size = rows.slot > 0, rows.slot
    slot = np.where(full, np.cumsum(full), 0).astype(np.int32)
    n, where = int(full.sum()) + 1, _places(rows)
    block = rows.w.shape[1]
    row = np.repeat(slot, size)[:, None]
    column = rows.combo[where].astype(np.int64)[:, None] * block + np.arange(block)

    def table(of: np.ndarray) -> np.ndarray:
        out = aligned_zeros((n, stride_of(n_states)), of.dtype)
        out[row, column] = of[where]
        return out

    a = table(rows.a) if rows.a.shape[0] else no_sums()
    return no_weights()._replace(slot=slot, used=np.array([n], np.int64), w=table(rows.w), a=a)


def as_lists(rows: FeatureWeights, n_states: int, block: int) -> FeatureWeights:
    """Dense rows of single labels as fixed lists of what is not zero, with their accumulators; lists stay, and so
    does what has no attributes."""
    if is_list(rows) or not rows.slot.size:
        return rows
    labels = (rows.w.shape[0], n_states // block, block)
    w = rows.w[:, :n_states].reshape(labels)
    a = rows.a[:, :n_states].reshape(labels) if rows.a.shape[0] else np.zeros((labels[0], labels[1], 0))
    there = np.asarray(w.any(axis=2) | a.any(axis=2))[rows.slot]  # bool[A, Y]
    owner, label = np.nonzero(there)
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(there.sum(axis=1, dtype=np.int64))))
    row = rows.slot[owner]
    return no_weights()._replace(
        slot=np.diff(first).astype(np.int32), first=first, combo=label.astype(np.int32), w=w[row, label],
        a=a[row, label] if a.size else no_sums(),
    )  # fmt: skip


def without_zeros(rows: FeatureWeights) -> tuple[FeatureWeights, np.ndarray]:
    """Fixed lists without blocks of zeros and attributes that have no other, and which attributes are left."""
    full = rows.w.any(axis=1)
    count = np.bincount(owners(rows)[full], minlength=rows.slot.size)
    keep = count > 0
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(count[keep])))
    slot = count[keep].astype(np.int32)
    return rows._replace(slot=slot, first=first, combo=rows.combo[full], w=rows.w[full]), keep


def from_entries(block: int, count: np.ndarray, state: np.ndarray, value: np.ndarray) -> FeatureWeights:
    """Fixed lists from the entries of a model file: how many an attribute has, their states and weights."""
    owner = np.repeat(np.arange(count.size), count)
    label, cell = np.divmod(state.astype(np.int64), block)
    new = np.ones(label.size, np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (label[1:] != label[:-1])
    w = np.zeros((int(new.sum()), block), np.float32)
    w[np.cumsum(new) - 1, cell] = value
    size = np.bincount(owner[new], minlength=count.size)
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(size)))
    return no_weights()._replace(slot=size.astype(np.int32), first=first, combo=label[new].astype(np.int32), w=w)


def entries(rows: FeatureWeights, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nonzero weights of fixed lists of the attributes in `order`: count i64[A], state i64[], value f32[]."""
    size = rows.slot[order]
    first = np.cumsum(size) - size
    places = np.arange(int(size.sum())) + np.repeat(rows.first[order] - first, size)
    w, block = rows.w[places], rows.w.shape[1]
    there = np.nonzero(w)
    count = np.bincount(np.repeat(np.arange(order.size), size)[there[0]], minlength=order.size)
    return count, rows.combo[places].astype(np.int64)[there[0]] * block + there[1], w[there]
