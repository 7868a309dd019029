"""Hidden variants of arcs: what an action number means, and the random numbers that variants start from.

With k variants arc a has the actions 1 + (a - 1) k, ..., a k, which make the same arc; the shift, action 0, has none.
Weights of variants would stay alike if they started alike, so those of the features of the first template start at
random numbers within [-size, size], given by a hash of seed, feature and action: they need no memory, and features that
never move are not stored. All other weights start at zero.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.parsing.kernels.forms import Grammar

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
_40 = np.uint64(40)
_UNIT = 1.0 / (1 << 23)


@inline
def variant_of(g: Grammar, action: int) -> np.int64:
    """The variant of an arc, from 0."""
    return (np.int64(action) - 1) % g.variants


@inline
def same_arc(g: Grammar, one: int, other: int) -> bool:
    """Whether two actions are the same but for their variants."""
    return one == other or (one > 0 and other > 0 and (one - 1) // g.variants == (other - 1) // g.variants)


@part
def add_start(g: Grammar, key: np.uint64, out: np.ndarray) -> None:
    """out[action] += the number that the weight of (feature, action) starts from, for each arc."""
    seeded = (key ^ np.uint64(g.start_seed + 1) * _MIX) * _ODD
    for a in range(1, g.move.size):
        h = (seeded ^ np.uint64(a)) * _MIX
        h = (h ^ (h >> _32)) * _ODD
        out[a] += np.float32(g.start_size * ((h >> _40) * _UNIT - 1.0))
