"""The weights of a chain: made, started, averaged, restarted, copied for tagging.

H states, W stride (see kernels.forms), Y labels. Widths of a row: W for labels, H*W for pairs, H*H*W for
triples. Dense rows are virtual memory until they are first changed, so an attribute that never moves costs
four bytes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.labels.automaton import LabelAutomaton
from palmette.data.labels.schemes import Transitions
from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, FeatureWeights, TransitionSums, TransitionWeights, no_weights, stride_of

ORDERS = (1, 2, 3)
CACHE_LINE = 64


class Shape(NamedTuple):
    """What a chain has, apart from its numbers."""

    n_labels: int
    order: int  # 0, 1 or 2
    ends: bool = True  # start and end weights
    transitions: bool = True  # plain pair weights
    triples: bool = False  # plain triple weights
    per: int = 1  # latent states a label; 1: states are labels
    states: tuple[int, ...] = ()  # of each label where they differ, at most `per`: the others are forbidden
    history: LabelAutomaton | None = None  # states that remember labels: nothing about them is hidden
    local: bool = False  # each label is normalised given those before it (maxent)

    @property
    def latent(self) -> bool:
        """Whether labels leave open which states they have."""
        return self.per > 1 and self.history is None

    @property
    def n_states(self) -> int:
        return self.n_labels * self.per

    def width(self, order: int) -> int:
        """Numbers in a row of state n-grams of that order (1, 2, 3)."""
        return self.n_states ** (order - 1) * stride_of(self.n_states)

    def combinations(self, order: int) -> int:
        """Label n-grams of that order."""
        return self.n_labels**order

    def block(self, order: int) -> int:
        """Numbers that one combination of labels has."""
        return self.per**order

    def missing(self) -> np.ndarray:
        """bool[H]: states that their label does not have."""
        return np.asarray(np.tile(np.arange(self.per), self.n_labels) >= np.repeat(self.counts(), self.per))

    def counts(self) -> np.ndarray:
        """i32[Y]: the states of each label."""
        return np.array(self.states or (self.per,) * self.n_labels, np.int32)

    def state_names(self, labels: Sequence[str]) -> list[str]:
        """The label and the number of a state among those of its label, from 1; or what it remembers."""
        if self.history is not None:
            return self.history.state_names(self.per)
        return [f"{label}#{k}" for label in labels for k in range(1, self.per + 1)]


class Seen(NamedTuple):
    """The label combinations of each attribute that occurred in training."""

    first: np.ndarray  # i64[A+1]
    combo: np.ndarray  # i32[places]


def everything_allowed(n_labels: int) -> Transitions:
    return Transitions(
        np.ones(n_labels, np.bool_), np.ones((n_labels, n_labels), np.bool_), np.ones(n_labels, np.bool_)
    )


def forbidding(allowed: np.ndarray, width: int) -> np.ndarray:
    """0 where allowed, -inf where not; f32[.., width]."""
    out = np.zeros((*allowed.shape[:-1], width), np.float32)
    out[..., : allowed.shape[-1]][~allowed] = -np.inf
    return out


def of_states(allowed: Transitions, shape: Shape) -> Transitions:
    """What is allowed of labels, told of their states."""
    there = ~shape.missing()
    start, end = (np.repeat(row, shape.per) & there for row in (allowed.start, allowed.end))
    pair = np.repeat(np.repeat(allowed.pair, shape.per, axis=0), shape.per, axis=1)
    if shape.history is not None:
        fits = shape.history.transitions(shape.per)
        return Transitions(start & fits.start, pair & fits.pair, end & fits.end)
    return Transitions(start, pair & there[None, :] & there[:, None], end)


def forget_forbidden(chain: Chain) -> None:
    """Zero where no path can go: shared updates are for all states of a label, also where they cannot follow."""
    chain.bare.end[0][np.isneginf(chain.first)] = 0
    chain.bare.end[1][np.isneginf(chain.last)] = 0
    chain.bare.pair[np.isneginf(chain.forbid)] = 0


def new_chain(shape: Shape, sizes: Mapping[int, int], allowed: Transitions, seen: Mapping[int, Seen]) -> Chain:
    """A chain of zeros with accumulators, ready to learn. sizes: attributes of each order 1, 2, 3."""
    H = shape.n_states
    W = stride_of(H)
    cubes = H if shape.order >= 2 else 0
    allowed = of_states(allowed, shape)
    # Forbidden pairs hold in order 0 too: it is searched as a chain whose transitions have no weights.
    order = max(shape.order, 0 if allowed.pair.all() else 1)
    try:
        rows = {k: _new_rows(sizes.get(k, 0), shape.width(k), shape.block(k), seen.get(k)) for k in ORDERS}
    except (MemoryError, ValueError) as error:
        raise UsageError(
            f"the weights do not fit into memory ({error}); "
            "use --edge-features seen, --min-count 2, or fewer templates on label pairs and triples"
        ) from None
    return Chain(
        order, shape.per == 1, shape.per, (np.arange(H) // shape.per).astype(np.int32), shape.counts(), 0.0,
        shape.ends, shape.transitions, shape.triples, shape.local,
        forbidding(allowed.pair, W), forbidding(allowed.start, W), forbidding(allowed.end, W), np.zeros(W, np.float32),
        TransitionWeights(*(np.zeros(s, np.float32) for s in ((2, W), (H, W), (cubes, H, W)))),
        TransitionSums(*(np.zeros(s, np.float64) for s in ((2, W), (H, W), (cubes, H, W)))),
        rows[1], rows[2], rows[3],
    )  # fmt: skip


def _new_rows(n_attributes: int, width: int, block: int, seen: Seen | None) -> FeatureWeights:
    if n_attributes == 0:
        return no_weights()._replace(w=np.zeros((1, width), np.float32), a=np.zeros((1, width), np.float64))
    if seen is None:
        first, combo = np.zeros(0, np.int64), np.zeros(0, np.int32)
        shape = (n_attributes + 1, width)
    else:
        first, combo = seen
        shape = (combo.size, block)
    slot = np.zeros(n_attributes, np.int32)
    return FeatureWeights(
        slot, np.ones(1, np.int64), first, combo, aligned_zeros(shape, np.float32), np.zeros(shape, np.float64)
    )


def aligned_zeros(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros that begin on a line of the cache: a row of 24 states then takes two lines, otherwise often three."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    skip = -room.ctypes.data % CACHE_LINE
    return room[skip : skip + size].view(dtype).reshape(shape)


def used_rows(rows: FeatureWeights) -> int:
    """Rows in use: row 0 and those given out, or all places of the seen kind."""
    return int(rows.w.shape[0] if rows.first.size else rows.used[0])


def start_randomly(chain: Chain, shape: Shape, size: float, seed: int) -> None:
    """Small random numbers on the bare weights, so that the states of one label do not stay alike for ever. What
    attributes weigh starts at zero: they follow the first differences."""
    rng = np.random.default_rng([seed, 0])
    for block in chain.bare:
        real = block[..., : shape.n_states]
        real[...] = rng.uniform(-size, size, real.shape)


def weight_blocks(chain: Chain) -> list[tuple[np.ndarray, np.ndarray]]:
    """All weights in use and their accumulators, as views."""
    rows = [(r.w[: used_rows(r)], r.a[: used_rows(r)]) for r in (chain.one, chain.two, chain.three)]
    return [*zip(chain.bare, chain.bare_a, strict=True), *rows]


def restart_from_average(chain: Chain, clock: float) -> None:
    """The running mean becomes the weights that learning goes on from."""
    for w, a in weight_blocks(chain):
        for part in _slices(w):
            w[part] -= a[part] / clock
            a[part] = 0


def norm(chain: Chain) -> float:
    """The Euclidean length of the weights, summed in one order on any machine."""
    rows = [w.reshape(-1, w.shape[-1]) for w, _ in weight_blocks(chain)]
    with np.errstate(over="ignore"):
        return math.sqrt(sum(float(np.einsum("ij,ij->i", w, w).sum(dtype=np.float64)) for w in rows))


def estimated(chain: Chain, clock: float | None, start: TransitionWeights | None = None) -> Chain:
    """The weights that come out, without accumulators: the last ones, or with `clock` the mean of all. Bare weights
    that never moved from a random `start` count as zero."""

    def block(w: np.ndarray, a: np.ndarray, first: np.ndarray | None) -> np.ndarray:
        out = w.copy() if clock is None else (w - a / clock).astype(np.float32)
        if first is not None:
            # What went up and down again may have lost its last bit.
            out[(np.abs(w - first) < 1e-6) & (a == 0)] = 0
        return out

    def rows(r: FeatureWeights) -> FeatureWeights:
        n = used_rows(r)
        w = _averaged_rows(r.w[:n], r.a[:n], clock)
        return r._replace(slot=r.slot.copy(), used=r.used.copy(), w=w, a=np.zeros((0, 1), np.float64))

    starts = start if start is not None else (None,) * len(chain.bare)
    bare = TransitionWeights(*(block(*three) for three in zip(chain.bare, chain.bare_a, starts, strict=True)))
    empty = TransitionSums(*(np.zeros((0,) * w.ndim, np.float64) for w in bare))
    return chain._replace(bare=bare, bare_a=empty, one=rows(chain.one), two=rows(chain.two), three=rows(chain.three))


def _averaged_rows(w: np.ndarray, a: np.ndarray, clock: float | None) -> np.ndarray:
    """In slices: a float64 copy of everything would double the peak of memory."""
    out = w.copy()
    if clock is not None:
        for part in _slices(w):
            out[part] -= a[part] / clock
    return out


def _slices(w: np.ndarray) -> list[slice]:
    """Parts of a block of about a million numbers."""
    step = max(1, (1 << 20) * w.shape[0] // max(1, w.size))
    return [slice(k, k + step) for k in range(0, w.shape[0], step)]


def n_weights(chain: Chain) -> int:
    """Weights that are not zero."""
    blocks = [*chain.bare, *(r.w[: used_rows(r)] for r in (chain.one, chain.two, chain.three))]
    return int(sum(np.count_nonzero(block) for block in blocks))


def physical_memory() -> int | None:
    """Bytes of memory of this machine; None where nobody tells."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None
