"""Copy the weights of a model into a larger one, with more attributes and labels, to train it further."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.kernels.chain.forms import Chain, FeatureWeights, stride_of
from palmette.structures.chain.lists import as_rows
from palmette.structures.chain.random_start import RandomStart
from palmette.structures.chain.weights import ARITIES, Seen, Shape, as_stored, used_rows


def widened(w: np.ndarray, order: int, old: Shape, new: Shape) -> np.ndarray:
    """Rows [R, width] of `old` as rows of `new`: the weights of the same states."""
    H, H2 = old.n_states, new.n_states
    if H == H2:
        return w
    out = np.zeros((w.shape[0], *(H2,) * (order - 1), stride_of(H2)), w.dtype)
    inside = (slice(None), *(slice(H),) * order)
    out[inside] = w.reshape(w.shape[0], *(H,) * (order - 1), stride_of(H))[inside]
    return out.reshape(w.shape[0], -1)


def place_transitions(tables: Sequence[np.ndarray], old_tables: Sequence[np.ndarray], old: Shape) -> None:
    """Copy transition weights of `old` (or accumulators) [contexts, W] to the places of the same states."""
    H = old.n_states
    ends, pairs, triples = tables
    old_ends, old_pairs, old_triples = old_tables
    ends[:, :H] = old_ends[:, :H]
    pairs[:H, :H] = old_pairs[:, :H]
    if triples.size and old_triples.size:
        now = pairs.shape[0]
        triples.reshape(now, now, -1)[:H, :H, :H] = old_triples.reshape(H, H, -1)[..., :H]


def place_rows(
    target: FeatureWeights, order: int, slot: np.ndarray, w: np.ndarray, a: np.ndarray, old: Shape, new: Shape
) -> None:
    """Copy dense rows (and accumulators, unless empty) of the first attributes into new, empty rows."""
    n = w.shape[0]
    target.slot[: slot.size] = slot
    target.used[0] = n
    target.w[:n] = widened(w, order, old, new)
    if a.size:
        target.a[:n] = widened(a, order, old, new)


def place_seen(
    target: FeatureWeights, first: np.ndarray, combo: np.ndarray, w: np.ndarray, a: np.ndarray, width: int
) -> None:
    """Copy weights of seen label n-grams to the places of the same attribute and n-gram."""
    mine = np.repeat(np.arange(first.size - 1), np.diff(first)) * width + combo
    theirs = np.repeat(np.arange(target.first.size - 1), np.diff(target.first)) * width + target.combo
    at = np.searchsorted(theirs, mine)
    target.w[at] = w
    if a.size:
        target.a[at] = a


def moved_combos(combo: np.ndarray, order: int, old: Shape, new: Shape) -> np.ndarray:
    """The numbers that label n-grams of `old` have in `new`, which has more labels."""
    Y = old.n_labels
    rest, out = np.divmod(combo.astype(np.int64), Y)
    factor = new.n_labels
    for _ in range(order - 1):
        rest, label = np.divmod(rest, Y)
        out += label * factor
        factor *= new.n_labels
    return out.astype(np.int32)


def united(one: Seen, other: Seen, width: int) -> Seen:
    """The label n-grams of both; `one` may have fewer attributes."""
    n = other.first.size - 1
    keys = [
        np.repeat(np.arange(s.first.size - 1), np.diff(s.first)) * width + s.combo.astype(np.int64)
        for s in (one, other)
    ]
    owner, combo = np.divmod(np.union1d(*keys), width)
    return Seen(np.searchsorted(owner, np.arange(n + 1)).astype(np.int64), combo.astype(np.int32))


def saved_state(chain: Chain, clock: float, start: RandomStart | None = None) -> dict[str, np.ndarray]:
    """The state for an exact resumption: raw weights, accumulators, the clock, and the random start of a latent chain,
    which identifies the weights that never changed: those of attributes follow from a seed and a size."""
    state: dict[str, np.ndarray] = {"clock": np.array([clock])}
    H = chain.label_of.size
    tables = {"bare": [t.w for t in chain.transitions], "sums": [t.a for t in chain.transitions]}
    if start is not None:
        tables["start"] = list(start.transitions)
    if start is not None and start.features is not None:
        state["start.seed"] = np.array([start.features.seed], np.uint64)
        state["start.size"] = np.array([start.features.size])
    for head, own in tables.items():
        state |= {f"{head}.{name}": table for name, table in as_stored(own, H).items()}
    for arity, rows in zip(ARITIES, (as_rows(chain.weights[0], H), *chain.weights[1:]), strict=True):
        n = used_rows(rows)
        state[f"{arity}.slot"] = rows.slot
        state[f"{arity}.w"] = rows.w[:n]
        state[f"{arity}.a"] = rows.a[:n]
    return state
