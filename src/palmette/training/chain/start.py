"""Initial weights: zeros, random numbers for latent states, those of a plain model, or those of an older model."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import Chain, FeatureWeights, no_weights, stride_of
from palmette.options.chain import ChainSettings, Latent
from palmette.structures.chain.data import seen_combinations
from palmette.structures.chain.lists import MANY_LABELS, as_lists, as_rows, growing, grows, is_list
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.random_start import FeatureStart, RandomStart, start_randomly, start_rows, start_seen
from palmette.structures.chain.weights import (
    ARITIES,
    Seen,
    Shape,
    as_stored,
    from_stored,
    new_chain,
    used_rows,
)
from palmette.structures.training_log import Epoch
from palmette.training.chain.request import TrainingData

logger = logging.getLogger(__name__)
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
    storage = label_storage(settings, shape)
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
    if label_storage(problem.settings, problem.shape) != GROWING or not is_list(chain.weights[0]):
        return chain
    return chain._replace(weights=(growing(chain.weights[0]), *chain.weights[1:]))


def label_storage(settings: ChainSettings, shape: Shape) -> str:
    """How the weights of attributes on single labels are kept in training."""
    learner = settings.chosen_learner
    if learner.full_batch:
        return ROWS  # the optimiser has a vector of the weights that exist
    if settings.only_seen(1):
        return LISTS
    if isinstance(settings.states, Latent) and settings.states.init == "all":
        return ROWS  # no weight is zero at the start
    return GROWING if shape.n_labels >= MANY_LABELS and not learner.maximises_likelihood else ROWS


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
