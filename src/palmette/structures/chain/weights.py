"""The weights of a chain: made, started, averaged, restarted, copied for tagging.

H states, W stride (see kernels.forms), Y labels. Widths of a row: W for labels, H*W for pairs, H*H*W for
triples. Dense rows are virtual memory until they are first changed, so an attribute that never moves costs
four bytes.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.labels.automaton import LabelAutomaton
from palmette.data.labels.schemes import Transitions
from palmette.errors import UsageError
from palmette.kernels.chain.forms import (
    Chain,
    FeatureWeights,
    TransitionWeights,
    no_state,
    no_sums,
    no_weights,
    stride_of,
)
from palmette.kernels.core.types import aligned_zeros
from palmette.options.chain import ChainOptions
from palmette.options.spelling import spelt
from palmette.structures.chain.lists import fixed, grows

ARITIES = (1, 2, 3)
TRANSITIONS = ("end", "pair", "triple")  # names of transition weights in files, by arity
LARGE_TABLE = 64 << 20  # bytes of transition weights from which most are expected to stay zero
MANY_ROWS = 8 << 20  # bytes of rows from which those that come out of a training are stored as entries


class Shape(NamedTuple):
    """What a chain has, apart from its numbers."""

    n_labels: int
    order: int  # 0, 1 or 2
    ends: bool = True  # start and end weights
    transitions: bool = True  # plain pair weights
    triples: bool = False  # plain triple weights
    states_per_label: int = 1  # latent states per label; 1: states are labels
    states: tuple[int, ...] = ()  # of each label where they differ, at most `per`: the others are forbidden
    history: LabelAutomaton | None = None  # states that remember labels: nothing about them is hidden
    local: bool = False  # each label is normalised given those before it (maxent)

    @property
    def latent(self) -> bool:
        """Whether labels leave open which states they have."""
        return self.states_per_label > 1 and self.history is None

    @property
    def n_states(self) -> int:
        return self.n_labels * self.states_per_label

    def width(self, arity: int) -> int:
        """Numbers in a row of state n-grams of that arity (1, 2, 3)."""
        return self.n_states ** (arity - 1) * stride_of(self.n_states)

    def combinations(self, arity: int) -> int:
        """Label n-grams of that arity."""
        return self.n_labels**arity

    def block(self, arity: int) -> int:
        """Numbers that one combination of labels has."""
        return self.states_per_label**arity

    def missing(self) -> np.ndarray:
        """bool[H]: states that their label does not have."""
        return np.asarray(
            np.tile(np.arange(self.states_per_label), self.n_labels) >= np.repeat(self.counts(), self.states_per_label)
        )

    def counts(self) -> np.ndarray:
        """i32[Y]: the states of each label."""
        return np.array(self.states or (self.states_per_label,) * self.n_labels, np.int32)

    def state_names(self, labels: Sequence[str]) -> list[str]:
        """The label and the number of a state among those of its label, from 1; or what it remembers."""
        if self.history is not None:
            return self.history.state_names(self.states_per_label)
        return [f"{label}#{k}" for label in labels for k in range(1, self.states_per_label + 1)]


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
    if not allowed.all():  # otherwise the zeros stay virtual memory
        out[..., : allowed.shape[-1]][~allowed] = -np.inf
    return out


def of_states(allowed: Transitions, shape: Shape) -> Transitions:
    """What is allowed of labels, told of their states."""
    if shape.states_per_label == 1:
        return allowed
    there = ~shape.missing()
    start, end = (np.repeat(row, shape.states_per_label) & there for row in (allowed.start, allowed.end))
    pair = np.repeat(np.repeat(allowed.pair, shape.states_per_label, axis=0), shape.states_per_label, axis=1)
    if shape.history is not None:
        fits = shape.history.transitions(shape.states_per_label)
        return Transitions(start & fits.start, pair & fits.pair, end & fits.end)
    return Transitions(start, pair & there[None, :] & there[:, None], end)


def forget_forbidden(chain: Chain) -> None:
    """Zero where no path can go: shared updates are for all states of a label, also where they cannot follow."""
    ends, pairs, _ = chain.transitions
    ends.w[0][np.isneginf(chain.first)] = 0
    ends.w[1][np.isneginf(chain.last)] = 0
    pairs.w[np.isneginf(chain.forbid)] = 0


def new_chain(shape: Shape, sizes: Mapping[int, int], allowed: Transitions, seen: Mapping[int, Seen]) -> Chain:
    """A chain of zeros with accumulators, ready to learn. sizes: attributes of each arity 1, 2, 3."""
    H = shape.n_states
    W = stride_of(H)
    allowed = of_states(allowed, shape)
    # Forbidden pairs hold in order 0 too: it is searched as a chain whose transitions have no weights.
    order = max(shape.order, 0 if allowed.pair.all() else 1)
    contexts = (2, H, H * H if shape.order >= 2 else 0)
    try:
        rows = [_new_rows(shape, arity, sizes.get(arity), seen.get(arity)) for arity in ARITIES]
        ends, pairs, triples = (_new_transitions((n, W)) for n in contexts)
    except (MemoryError, ValueError) as error:
        raise UsageError(
            f"the weights do not fit into memory ({error}); "
            f"use {spelt(ChainOptions, 'edge_features', 'seen')}, {spelt(ChainOptions, 'min_count', 2)}, or fewer "
            "templates on label pairs and triples"
        ) from None
    label_of = (np.arange(H) // shape.states_per_label).astype(np.int32)
    return Chain(
        order, shape.states_per_label == 1, shape.states_per_label, label_of, shape.counts(), 0.0,
        (shape.ends, shape.transitions, shape.triples), shape.local,
        forbidding(allowed.pair, W), forbidding(allowed.start, W), forbidding(allowed.end, W), np.zeros(W, np.float32),
        (ends, pairs, triples), (rows[0], rows[1], rows[2]),
    )  # fmt: skip


def _new_transitions(shape: tuple[int, int]) -> TransitionWeights:
    return TransitionWeights(_few_zeros(shape, np.float32), _few_zeros(shape, np.float64), no_state())


def _few_zeros(shape: tuple[int, ...], dtype: type[np.generic]) -> np.ndarray:
    """Zeros; a large table, of which few numbers will ever change, takes memory by small pages, as they change."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE_TABLE:
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _new_rows(shape: Shape, arity: int, n_attributes: int | None, seen: Seen | None) -> FeatureWeights:
    """Zeros for the attributes of one arity. None: no feature has this arity, and nothing is allocated."""
    if not n_attributes:
        width = 1 if n_attributes is None else shape.width(arity)
        return no_weights()._replace(w=np.zeros((1, width), np.float32), a=np.zeros((1, width)))
    slot, used = np.zeros(n_attributes, np.int32), np.ones(1, np.int64)
    if seen is None:
        first, combo = np.zeros(0, np.int64), np.zeros(0, np.int32)
        size = (n_attributes + 1, shape.width(arity))
    else:
        first, combo = seen
        slot[:] = np.diff(first)
        size = (combo.size, shape.block(arity))
    return FeatureWeights(slot, used, first, combo, aligned_zeros(size, np.float32), np.zeros(size), no_state())


def with_state(chain: Chain) -> Chain:
    """The chain with state for a learner that remembers something of every weight: zeros."""
    ends, pairs, triples = (t._replace(state=aligned_zeros(t.w.shape, np.float32)) for t in chain.transitions)
    one, two, three = (r._replace(state=aligned_zeros(r.w.shape, np.float32)) for r in chain.weights)
    return chain._replace(transitions=(ends, pairs, triples), weights=(one, two, three))


def give_out_rows(chain: Chain) -> None:
    """Give each attribute with dense weights its row now, not at its first change."""
    for rows in chain.weights:
        if rows.slot.size and not rows.first.size:
            give_out(rows)


def give_out(rows: FeatureWeights) -> None:
    """Give each attribute without a dense row the next one, in the order of attributes."""
    fresh = np.flatnonzero(rows.slot == 0)
    rows.slot[fresh] = rows.used[0] + np.arange(fresh.size)
    rows.used[0] += fresh.size


def used_rows(rows: FeatureWeights) -> int:
    """Rows in use: row 0 and those given out, all places of fixed lists, those given out of lists that grow."""
    return int(rows.w.shape[0] if rows.first.size and not grows(rows) else rows.used[0])


def weight_blocks(chain: Chain) -> list[tuple[np.ndarray, np.ndarray]]:
    """All weights in use and their accumulators, as views."""
    rows = [(r.w[: used_rows(r)], r.a[: used_rows(r)]) for r in chain.weights]
    return [*((t.w, t.a) for t in chain.transitions), *rows]


def restart_from_average(chain: Chain, clock: float) -> None:
    """The running mean becomes the weights that learning goes on from."""
    for w, a in weight_blocks(chain):
        for part in slices_of(w):
            w[part] -= a[part] / clock
            a[part] = 0


def norm(chain: Chain) -> float:
    """The Euclidean length of the weights, summed in one order on any machine."""
    rows = [w.reshape(-1, w.shape[-1]) for w, _ in weight_blocks(chain)]
    with np.errstate(over="ignore"):
        return math.sqrt(sum(float(np.einsum("ij,ij->i", w, w).sum(dtype=np.float64)) for w in rows))


def estimated(chain: Chain, clock: float | None, store: bool = False) -> Chain:
    """The weights that come out, without accumulators: the last ones, or with `clock` the mean of all. `store`: many
    rows of weights on single states become entries, as a file has them, which take a tenth of their memory."""

    def table(t: TransitionWeights) -> TransitionWeights:
        out = _averaged(t.w, t.a, clock, _few_zeros(t.w.shape, np.float32))
        return TransitionWeights(out, no_sums(), no_state())

    def rows(r: FeatureWeights) -> FeatureWeights:
        if grows(r):
            return fixed(r, clock)
        n = used_rows(r)
        w = _averaged(r.w[:n], r.a[:n], clock, aligned_zeros(r.w[:n].shape, np.float32))
        return r._replace(slot=r.slot.copy(), used=r.used.copy(), w=w, a=no_sums(), state=no_state())

    one, two, three = chain.weights
    ends, pairs, triples = (table(t) for t in chain.transitions)
    made = chain._replace(transitions=(ends, pairs, triples))
    if not store or one.first.size or 4 * used_rows(one) * one.w.shape[1] < MANY_ROWS:
        return made._replace(weights=(rows(one), rows(two), rows(three)))
    from palmette.structures.chain.stored_rows import estimated_rows

    # The slots tell which attributes were given a row.
    slots = no_weights()._replace(slot=one.slot.copy())
    return made._replace(
        weights=(slots, rows(two), rows(three)),
        stored=(estimated_rows(one, chain.label_of.size, clock), *chain.stored[1:]),
    )


def as_stored(tables: Iterable[np.ndarray], n_states: int) -> dict[str, np.ndarray]:
    """Tables of transitions [contexts, W] by the names and in the shapes of files: those of triples are [H, H, W]."""
    found = dict(zip(TRANSITIONS, tables, strict=True))
    triple = found["triple"]
    if triple.shape[0]:
        found["triple"] = triple.reshape(n_states, n_states, -1)
    else:
        found["triple"] = np.zeros((0, n_states, triple.shape[1]), triple.dtype)
    return found


def from_stored(arrays: Mapping[str, np.ndarray], head: str) -> list[np.ndarray]:
    """Tables of transitions [contexts, W] from the arrays of a file whose names begin with `head`."""
    return [arrays[f"{head}{name}"].reshape(-1, arrays[f"{head}{name}"].shape[-1]) for name in TRANSITIONS]


def _averaged(w: np.ndarray, a: np.ndarray, clock: float | None, out: np.ndarray) -> np.ndarray:
    """Write the weights, or with `clock` the mean of all, to zeros. In slices: a float64 copy of everything would
    double the peak of memory, and slices of zeros stay virtual."""
    for part in slices_of(w):
        if clock is None:
            out[part] = w[part]
        elif w[part].any() or a[part].any():
            np.subtract(w[part], a[part] / clock, out=out[part], casting="same_kind")
    return out


def slices_of(w: np.ndarray) -> list[slice]:
    """Parts of a block of about a million numbers."""
    step = max(1, (1 << 20) * w.shape[0] // max(1, w.size))
    return [slice(k, k + step) for k in range(0, w.shape[0], step)]


def n_weights(chain: Chain) -> int:
    """Weights that are not zero."""
    blocks = [*(t.w for t in chain.transitions), *(r.w[: used_rows(r)] for r in chain.weights)]
    blocks += [part for rows in chain.stored for part in (rows.value, rows.number)]
    return int(sum(np.count_nonzero(block) for block in blocks))


def physical_memory() -> int | None:
    """Bytes of memory of this machine; None where nobody tells."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None
