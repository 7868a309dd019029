"""The random start of a latent chain: small numbers on its weights, so that the states of one label do not stay alike.

The weights of states, state pairs and triples alone (bare weights) are always drawn, those of attributes if all
parameters are to start at random, as in the latent perceptron of Sun et al. (2009). The start of an attribute's weight
is a function of the seed, the attribute's key, the arity and the states: it does not depend on the order of attributes,
nor on which others there are. What never moves from its start counts as zero in the model that comes out, and
attributes none of whose weights has moved are not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.features.encode import keys_of
from palmette.kernels.chain.forms import Chain, FeatureWeights, stride_of
from palmette.kernels.core.hashing import FeatureIndex
from palmette.structures.chain.weights import ARITIES, Shape, estimated, give_out, slices_of, used_rows

_PLACES = np.uint64(1 << 21)  # more than there can be states
# Of the mixing function splitmix64
_STEP, _ONE, _TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class FeatureStart(NamedTuple):
    """The random start of the weights of attributes."""

    seed: int
    size: float
    keys: tuple[np.ndarray, ...]  # by arity, u64[A]

    @classmethod
    def of(cls, seed: int, size: float, indexes: Mapping[int, FeatureIndex]) -> FeatureStart:
        none = np.zeros(0, np.uint64)
        return cls(seed, size, tuple(keys_of(indexes[k]) if k in indexes else none for k in ARITIES))


class RandomStart(NamedTuple):
    """The weights that a latent chain started from."""

    transitions: Sequence[np.ndarray]  # [contexts, W] by arity
    features: FeatureStart | None = None  # None: at zero


def start_randomly(chain: Chain, shape: Shape, size: float, seed: int) -> None:
    """Draw the bare weights."""
    rng = np.random.default_rng([seed, 0])
    for t in chain.transitions:
        real = t.w[:, : shape.n_states]
        real[...] = rng.uniform(-size, size, real.shape)


def start_seen(chain: Chain, start: FeatureStart) -> None:
    """Draw the weights of all seen combinations."""
    for arity, rows in zip(ARITIES, chain.weights, strict=True):
        if rows.first.size:
            for part in slices_of(rows.w):
                rows.w[part] = _seen_start(start, arity, rows, chain, part)


def start_rows(chain: Chain, start: FeatureStart, old_states: int = 0) -> None:
    """Draw the dense rows of attributes that have none; in rows that are there the weights of new states, numbered from
    `old_states`."""
    for arity, rows in zip(ARITIES, chain.weights, strict=True):
        if rows.slot.size and not rows.first.size:
            _start_rows(rows, arity, chain.label_of.size, start, old_states)


def _start_rows(rows: FeatureWeights, arity: int, H: int, start: FeatureStart, old_states: int) -> None:
    known = used_rows(rows)
    give_out(rows)
    attribute = _owners(rows)
    new = _has_new_states(arity, H, old_states) if 0 < old_states < H else None
    for part in slices_of(rows.w[: used_rows(rows)]):
        drawn, own = _row_start(start, arity, attribute[part], H), rows.w[part][: attribute[part].size]
        here = np.arange(*part.indices(attribute.size))
        own[here >= known] = drawn[here >= known]
        if new is not None:
            own[here < known] = np.where(new, drawn, own)[here < known]
    rows.w[0] = 0


def _has_new_states(arity: int, H: int, old_states: int) -> np.ndarray:
    """bool[width]: which numbers of a dense row are of state n-grams with a state from `old_states` on."""
    new = np.zeros((*(H,) * (arity - 1), stride_of(H)), np.bool_)
    old = (slice(old_states),) * arity
    new[..., :H] = True
    new[old] = False
    return new.reshape(-1)


def _owners(rows: FeatureWeights) -> np.ndarray:
    """i64[rows]: the attribute of each dense row. Row 0, which is shared, is given to the first one."""
    attribute = np.zeros(used_rows(rows), np.int64)
    attribute[rows.slot] = np.arange(rows.slot.size)
    return attribute


def _row_start(start: FeatureStart, arity: int, attributes: np.ndarray, H: int) -> np.ndarray:
    """f32[n, width]: the start of the dense rows of some attributes; padding is zero."""
    states = np.arange(1, H + 1, dtype=np.uint64)
    code = states
    for _ in range(arity - 1):
        code = (code[:, None] * _PLACES + states).reshape(-1)
    drawn = _uniform(start, arity, start.keys[arity - 1][attributes][:, None], code[None, :])
    out = np.zeros((attributes.size, H ** (arity - 1), stride_of(H)), np.float32)
    out[..., :H] = drawn.reshape(attributes.size, -1, H)
    return out.reshape(attributes.size, -1)


def _seen_start(start: FeatureStart, arity: int, rows: FeatureWeights, chain: Chain, part: slice) -> np.ndarray:
    """f32[places, block]: the start of some places of seen combinations, each with all states of its labels."""
    places = np.arange(*part.indices(rows.combo.size))
    attribute = np.searchsorted(rows.first, places, side="right") - 1
    per = chain.states_per_label
    Y = chain.label_of.size // per
    code = np.zeros((places.size, 1), np.uint64)
    for back in range(arity - 1, -1, -1):
        label = rows.combo[places].astype(np.int64) // Y**back % Y
        states = (label[:, None] * per + np.arange(1, per + 1)).astype(np.uint64)
        code = (code[:, :, None] * _PLACES + states[:, None, :]).reshape(places.size, -1)
    return _uniform(start, arity, start.keys[arity - 1][attribute][:, None], code)


def _uniform(start: FeatureStart, arity: int, keys: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Numbers from -size to size by seed, arity, key of an attribute and code of a state n-gram."""
    stream = _mixed(np.array([(start.seed * 4 + arity) % (1 << 64)], np.uint64))
    mixed = _mixed(_mixed(keys ^ stream) + codes)
    return ((mixed >> np.uint64(40)) * (2.0**-23 * start.size) - start.size).astype(np.float32)


def _mixed(x: np.ndarray) -> np.ndarray:
    """splitmix64"""
    x = x + _STEP
    x = (x ^ (x >> np.uint64(30))) * _ONE
    x = (x ^ (x >> np.uint64(27))) * _TWO
    return np.asarray(x ^ (x >> np.uint64(31)))


# What comes out


def estimated_from(start: RandomStart, chain: Chain, clock: float | None) -> Chain:
    """The weights that come out, as `estimated`, with zeros for those that never moved from their start."""
    out = estimated(chain, clock)
    for mean, last, first in zip(out.transitions, chain.transitions, start.transitions, strict=True):
        mean.w[_still(last.w, last.a, first)] = 0
    if start.features is None:
        return out
    rows = [
        _without_start(mean, last, arity, chain, start.features) if mean.slot.size else mean
        for arity, mean, last in zip(ARITIES, out.weights, chain.weights, strict=True)
    ]
    return out._replace(weights=(rows[0], rows[1], rows[2]))


def _still(w: np.ndarray, sums: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Which weights never moved. What went up and down again may have lost its last bit."""
    return (np.abs(w - first) < 1e-6) & (sums == 0)


def _without_start(
    mean: FeatureWeights, last: FeatureWeights, arity: int, chain: Chain, start: FeatureStart
) -> FeatureWeights:
    """Estimated weights with zeros where nothing has moved, and without dense rows in which nothing has."""
    seen = bool(last.first.size)
    attribute = np.zeros(0, np.int64) if seen else _owners(last)
    moved = np.zeros(mean.w.shape[0], np.bool_)
    for part in slices_of(mean.w):
        own = attribute[part]
        first = (
            _seen_start(start, arity, last, chain, part) if seen else _row_start(start, arity, own, chain.label_of.size)
        )
        still = _still(last.w[: moved.size][part], last.a[: moved.size][part], first)
        mean.w[part][still] = 0
        moved[part] = ~still.all(axis=1)
    if seen:
        return mean
    mean.w[0], moved[0] = 0, True
    place = np.cumsum(moved) - 1
    slot = np.where(moved[mean.slot], place[mean.slot], 0).astype(np.int32)
    return mean._replace(slot=slot, used=np.array([int(moved.sum())], np.int64), w=mean.w[moved])
