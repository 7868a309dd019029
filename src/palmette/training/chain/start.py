"""Initial weights: zeros, random numbers for latent states, those of a plain model, or those of an older model."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.features.encode import keys_of
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import Chain, FeatureWeights, no_weights, stride_of
from palmette.kernels.core.hashing import FeatureIndex
from palmette.options.chain import ChainSettings, Latent
from palmette.structures.chain.data import seen_combinations
from palmette.structures.chain.lists import MANY_LABELS, as_lists, as_rows, growing, grows, is_list
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import (
    ARITIES,
    Seen,
    Shape,
    as_stored,
    estimated,
    from_stored,
    give_out,
    new_chain,
    slices_of,
    used_rows,
)
from palmette.structures.training_log import Epoch
from palmette.training.chain.request import TrainingData

logger = logging.getLogger(__name__)
MOST_ROWS = 1 << 30  # bytes of rows of many labels, of which those of attributes that change are used
BYTES = 12  # of a weight and its sum
ROWS, LISTS, GROWING = "rows", "lists", "growing"  # forms of weights; see kernels/chain/forms.py


def starting_weights(problem: TrainingData) -> tuple[Chain, float, Chain | None]:
    """The weights to start from, the clock, and the best weights so far of a resumed training."""
    collected, _, shape, allowed, settings = *problem[:4], problem.settings
    old, drawn = problem.request.resume, feature_start(problem)
    seen = _first_combinations(problem)
    chain = new_chain(shape, collected.sizes, allowed, seen)
    if shape.latent and (old is None or shape != old.shape):  # the states of new labels need a start
        start_randomly(chain, shape, init_size(settings), settings.seed)
    if old is None:
        if drawn is not None:
            start_seen(chain, drawn)
            start_rows(chain, drawn)
        return _with_growth(chain, problem), 1.0, None
    averaged = new_chain(shape, collected.sizes, allowed, seen)
    if shape.latent and shape != old.shape:
        start_randomly(averaged, shape, init_size(settings), settings.seed)
    trained = chain if old.checkpoint else averaged
    if drawn is not None:
        start_seen(trained, drawn)  # those of the old model are placed over them
    _carry(averaged, old, old.chain, shape)
    clock = _restore(chain, old, shape) if old.checkpoint else 1.0
    if drawn is not None:
        start_rows(trained, drawn, old.shape.n_states)
    if not old.checkpoint:
        logger.info("resumed from the averaged weights (the model has no checkpoint)")
        return _with_growth(averaged, problem), 1.0, None
    logger.info("resumed exactly where training stopped")
    best = averaged if any(p.dev is not None for p in training_log_of(old)) else None
    return _with_growth(chain, problem), clock, best


def _first_combinations(problem: TrainingData) -> dict[int, Seen]:
    """The label combinations that lists of weights start with, by arity; arities without are dense."""
    settings, old = problem.settings, problem.request.resume
    sizes, shape = {k: n for k, n in problem.collected.sizes.items() if k != LABEL_CONTEXT}, problem.shape
    seen = {k: _seen(problem, k) for k in sizes if k > 1 and settings.only_seen(k)}
    storage = label_storage(settings, shape, sizes.get(1, 0))
    if 1 in sizes and storage != ROWS:
        none = Seen(np.zeros(sizes[1] + 1, np.int64), np.zeros(0, np.int32))
        seen[1] = none if storage == GROWING else _seen(problem, 1)
    if old is None:
        return seen
    for arity, rows in zip(ARITIES, old.chain.weights, strict=True):
        if arity == 1 and 1 in seen and rows.slot.size:
            before = [rows, _raw_rows(old)] if old.checkpoint else [rows]
            for lists in (as_lists(own, old.shape.n_states, shape.states_per_label) for own in before):
                there = Seen(lists.first, moved_combos(lists.combo, 1, old.shape, shape))
                seen[1] = united(there, seen[1], shape.combinations(1))
        elif arity > 1 and is_list(rows):
            there = Seen(rows.first, moved_combos(rows.combo, arity, old.shape, shape))
            seen[arity] = united(there, seen.get(arity) or _seen(problem, arity), shape.combinations(arity))
        elif arity > 1 and rows.slot.size:  # the edge features of the old model decide
            seen.pop(arity, None)
    return seen


def _seen(problem: TrainingData, arity: int) -> Seen:
    if arity == 1 and (by_sums := seen_labels(problem)) is not None:
        return by_sums
    size, least = problem.collected.sizes[arity], problem.settings.min_feature_count
    return seen_combinations(problem.data, problem.shape, arity, size, least)


def _with_growth(chain: Chain, problem: TrainingData) -> Chain:
    """The chain with lists of single labels that grow, if there are many labels."""
    storage = label_storage(problem.settings, problem.shape, problem.collected.sizes.get(1, 0))
    if storage != GROWING or not is_list(chain.weights[0]):
        return chain
    return chain._replace(weights=(growing(chain.weights[0]), *chain.weights[1:]))


def label_storage(settings: ChainSettings, shape: Shape, attributes: int) -> str:
    """How the weights of attributes on single labels are kept in training. Lists take less memory, and several times as
    long: they are for many labels of many attributes."""
    learner = settings.chosen_learner
    if learner.full_batch:
        return ROWS  # the optimiser has a vector of the weights that exist
    if settings.only_seen(1):
        return LISTS
    if isinstance(settings.states, Latent) and settings.states.init == "all":
        return ROWS  # no weight is zero at the start
    if shape.n_labels < MANY_LABELS or learner.maximises_likelihood:
        return ROWS
    return GROWING if BYTES * attributes * shape.width(1) > MOST_ROWS else ROWS


def init_size(settings: ChainSettings) -> float:
    """The size of the random start of hidden states."""
    return settings.states.init_size if isinstance(settings.states, Latent) else Latent().init_size


def feature_start(problem: TrainingData) -> FeatureStart | None:
    """The random start of the weights of attributes; None if they start at zero. A model keeps its seed and size."""
    settings, old = problem.settings, problem.request.resume
    if not problem.shape.latent or settings.latent is None or settings.latent.init != "all":
        return None
    seed, size = settings.seed, init_size(settings)
    if old is not None and "start.seed" in old.checkpoint:
        seed, size = int(old.checkpoint["start.seed"][0]), float(old.checkpoint["start.size"][0])
    return FeatureStart.of(seed, size, problem.collected.feature_indexes)


def random_start(problem: TrainingData) -> RandomStart:
    """The start of a latent chain, as `starting_weights` sets it."""
    shape, settings = problem.shape, problem.settings
    blank = new_chain(shape, {}, problem.allowed, {})
    start_randomly(blank, shape, init_size(settings), settings.seed)
    start, old = [t.w for t in blank.transitions], problem.request.resume
    if old is not None:  # its own start, or zeros if it has none
        before = [np.zeros_like(t.w) for t in old.chain.transitions]
        if "start.end" in old.checkpoint:
            before = from_stored(old.checkpoint, "start.")
        place_transitions(start, before, old.shape)
    return RandomStart(start, feature_start(problem))


def _carry(chain: Chain, old: ChainModel, source: Chain, shape: Shape) -> None:
    """Copy the weights of `source` into a new, larger chain."""
    place_transitions([t.w for t in chain.transitions], [t.w for t in source.transitions], old.shape)
    for order, new, rows in zip(ARITIES, chain.weights, source.weights, strict=True):
        if rows.slot.size:
            _place(new, order, rows._replace(a=np.zeros((0, 1))), old.shape, shape)


def _restore(chain: Chain, old: ChainModel, shape: Shape) -> float:
    """Copy the raw weights and accumulators of a checkpoint. Returns the clock."""
    state = old.checkpoint
    place_transitions([t.w for t in chain.transitions], from_stored(state, "bare."), old.shape)
    place_transitions([t.a for t in chain.transitions], from_stored(state, "sums."), old.shape)
    for order, new, rows in zip(ARITIES, chain.weights, old.chain.weights, strict=True):
        if rows.slot.size:
            raw = rows._replace(w=state[f"{order}.w"], a=state[f"{order}.a"])
            _place(new, order, _raw_rows(old) if order == 1 else raw, old.shape, shape)
    return float(state["clock"][0])


def _raw_rows(old: ChainModel) -> FeatureWeights:
    """The weights of single labels in a checkpoint, which has rows of them."""
    slot, w, a = (old.checkpoint[f"1.{name}"] for name in ("slot", "w", "a"))
    return no_weights()._replace(slot=slot, used=np.array([w.shape[0]], np.int64), w=w, a=a)


def _place(new: FeatureWeights, arity: int, rows: FeatureWeights, old: Shape, shape: Shape) -> None:
    """Copy the weights of one arity, and their accumulators if there are any, into a larger chain."""
    if is_list(new):
        lists = as_lists(rows, old.n_states, shape.states_per_label) if arity == 1 else rows
        combo = moved_combos(lists.combo, arity, old, shape)
        place_seen(new, lists.first, combo, lists.w, lists.a, shape.combinations(arity))
    else:
        rows = as_rows(rows, old.n_states) if arity == 1 else rows
        place_rows(new, arity, rows.slot, rows.w[: used_rows(rows)], rows.a, old, shape)


def training_log_of(old: ChainModel | None) -> list[Epoch]:
    return [] if old is None else msgspec.convert(old.meta.get("history", []), list[Epoch])


def split_states(latent: Chain, shape: Shape, plain: Chain) -> Chain:
    """`latent` with the weights of `plain`, which has the same attributes and one state per label, added to its own.

    All states of a label start with its weights: the latent chain then scores a path of states as the plain chain
    scores its labels (the "stretched" weights of the theorems), apart from its small random start, and training only
    has to learn where two states of a label should differ."""
    Y, H, states_per_label = shape.n_labels, shape.n_states, shape.states_per_label
    for arity, t, source in zip(ARITIES, latent.transitions, plain.transitions, strict=True):
        if source.w.shape[0]:
            contexts = (2,) if arity == 1 else (Y,) * (arity - 1)
            labels = source.w[:, :Y].reshape(*contexts, Y)
            t.w[:, :H] += _repeated(labels, states_per_label, 1 if arity == 1 else 0).reshape(-1, H)
    for order, rows, old in zip(ARITIES, latent.weights, plain.weights, strict=True):
        n = used_rows(old)
        if grows(rows):
            sums = np.zeros((n, shape.block(1)))
            more = growing(old._replace(w=np.repeat(old.w, shape.block(1), axis=1), a=sums))
            latent = latent._replace(weights=(more, *latent.weights[1:]))
        elif old.first.size:
            rows.w[:] += old.w
        elif old.slot.size:
            rows.slot[:], rows.used[0] = old.slot, n
            labels = old.w[:n].reshape(n, *(Y,) * (order - 1), stride_of(Y))[..., :Y]
            rows.w[:n].reshape(n, *(H,) * (order - 1), stride_of(H))[..., :H] = _repeated(labels, states_per_label, 1)
    return latent


def _repeated(block: np.ndarray, states_per_label: int, first_axis: int) -> np.ndarray:
    """Each item `states_per_label` times along all axes from `first_axis` on."""
    for axis in range(first_axis, block.ndim):
        block = np.repeat(block, states_per_label, axis=axis)
    return block


# Copy the weights of a model into a larger one, with more attributes and labels, to train it further.


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


# Which weights exist where these are only the ones that the training data shows: of attributes and label pairs.


def seen_labels(problem: TrainingData) -> Seen | None:
    """The labels of each attribute that it has weights for; None: all of them."""
    settings, least = problem.settings, problem.request.least_sum
    if least is not None:
        return _by_sums(problem, least, every=settings.state_features == "all")
    return _occurring(problem, settings.min_feature_count) if settings.only_seen(1) else None


def _occurring(problem: TrainingData, least: int) -> Seen:
    return seen_combinations(problem.data, problem.shape, 1, problem.collected.sizes[1], least)


def _by_sums(problem: TrainingData, least: float, *, every: bool) -> Seen | None:
    """By the sum of an attribute's values at the tokens of a label; labels that it does not occur with have the sum 0,
    and count if `every` label does."""
    val = problem.data.features[0].val
    ones, positive = not val.size, not np.any(val < 0.0)
    if every and least <= 0.0 and positive:
        return None
    if not every and (ones or (least <= 0.0 and positive)):
        return _occurring(problem, max(1, math.ceil(least)))
    Y, A = problem.shape.n_labels, problem.collected.sizes[1]
    active, known = problem.data.features[0], problem.data.known
    pair = active.att.astype(np.int64) * Y + np.repeat(known, np.diff(active.ptr))
    there, place = np.unique(pair, return_inverse=True)
    total = np.bincount(place, None if ones else val.astype(np.float64), there.size)
    pairs = there[total >= least]
    if every and least <= 0.0:  # all others count too
        pairs = np.setdiff1d(np.arange(A * Y), there[total < least])
    owner, label = np.divmod(pairs, Y)
    return Seen(np.searchsorted(owner, np.arange(A + 1)).astype(np.int64), label.astype(np.int32))


def learnt_pairs(problem: TrainingData) -> np.ndarray | None:
    """bool[H, W]: the label pairs whose weights are learnt; None: all. Those that a resumed model has stay."""
    settings, least, shape, old = problem.settings, problem.request.least_sum, problem.shape, problem.request.resume
    every = settings.transition_features == "all"
    if every and (least is None or least <= 0.0):
        return None
    counts = pair_counts(problem.data.known, problem.data.offset, shape.n_labels)
    Y = shape.n_labels
    found = np.zeros((Y, stride_of(Y)), np.bool_)
    found[:, :Y] = counts >= max(1.0, least or 0.0)
    if old is not None:
        before = old.shape.n_labels
        found[:before, :before] |= old.chain.transitions[1].w[:, :before] != 0.0
    return found


def pair_counts(known: np.ndarray, offset: np.ndarray, n_labels: int) -> np.ndarray:
    """i64[Y, Y]: how often a label follows another in sentences; tokens whose label is not fully known do not count."""
    inner = np.ones(known.size, np.bool_)
    inner[offset[:-1][np.diff(offset) > 0]] = False
    now = np.flatnonzero(inner)
    now = now[(known[now] < n_labels) & (known[now - 1] < n_labels)]
    pairs = known[now - 1].astype(np.int64) * n_labels + known[now]
    return np.bincount(pairs, minlength=n_labels * n_labels).reshape(n_labels, n_labels)


# The random start of a latent chain: small numbers on its weights, so that the states of one label do not stay alike.
#
# The weights of states, state pairs and triples alone (bare weights) are always drawn, those of attributes if all
# parameters are to start at random, as in the latent perceptron of Sun et al. (2009). The start of an attribute's
# weight is a function of the seed, the attribute's key, the arity and the states: it does not depend on the order of
# attributes, nor on which others there are. What never moves from its start counts as zero in the model that comes
# out, and attributes none of whose weights has moved are not part of it.

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
