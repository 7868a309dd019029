"""Initial weights: zeros, random numbers for latent states, those of a plain model, or those of an older model."""

from __future__ import annotations

import logging

import msgspec
import numpy as np

from palmette.kernels.chain.forms import Chain, stride_of
from palmette.options.chain import ChainSettings
from palmette.options.states import Latent
from palmette.structures.chain.data import seen_combinations
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.random_start import FeatureStart, RandomStart, start_randomly, start_rows, start_seen
from palmette.structures.chain.weights import (
    ARITIES,
    Seen,
    Shape,
    from_stored,
    new_chain,
    used_rows,
)
from palmette.structures.training_log import Epoch
from palmette.training.chain import resume as grow
from palmette.training.chain.request import TrainingData

logger = logging.getLogger(__name__)


def starting_weights(problem: TrainingData) -> tuple[Chain, float, Chain | None]:
    """The weights to start from, the clock, and the best weights so far of a resumed training."""
    collected, data, shape, allowed, settings = *problem[:4], problem.settings
    old = problem.request.resume
    seen: dict[int, Seen] = {}
    if settings.edge_features == "seen":
        seen = {k: seen_combinations(data, shape, k, n) for k, n in collected.sizes.items() if k > 1}
    if old is None:
        chain = new_chain(shape, collected.sizes, allowed, seen)
        if shape.latent:
            start_randomly(chain, shape, init_size(settings), settings.seed)
        if (drawn := feature_start(problem)) is not None:
            start_seen(chain, drawn)
            start_rows(chain, drawn)
        return chain, 1.0, None
    for order, rows in zip(ARITIES, old.chain.weights, strict=True):
        if rows.first.size:
            there = Seen(rows.first, grow.moved_combos(rows.combo, order, old.shape, shape))
            here = seen.get(order) or seen_combinations(data, shape, order, collected.sizes[order])
            seen[order] = grow.united(there, here, shape.combinations(order))
        elif rows.slot.size:  # the edge features of the old model decide
            seen.pop(order, None)
    chain = new_chain(shape, collected.sizes, allowed, seen)
    averaged = new_chain(shape, collected.sizes, allowed, seen)
    if shape.latent and shape != old.shape:  # the states of new labels need a start
        for new in (chain, averaged):
            start_randomly(new, shape, init_size(settings), settings.seed)
    trained, drawn = chain if old.checkpoint else averaged, feature_start(problem)
    if drawn is not None:
        start_seen(trained, drawn)  # those of the old model are placed over them
    _carry(averaged, old, old.chain, shape)
    clock = _restore(chain, old, shape) if old.checkpoint else 1.0
    if drawn is not None:
        start_rows(trained, drawn, old.shape.n_states)
    if not old.checkpoint:
        logger.info("resumed from the averaged weights (the model has no checkpoint)")
        return averaged, 1.0, None
    logger.info("resumed exactly where training stopped")
    return chain, clock, averaged if any(p.dev is not None for p in training_log_of(old)) else None


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
        grow.place_transitions(start, before, old.shape)
    return RandomStart(start, feature_start(problem))


def _carry(chain: Chain, old: ChainModel, source: Chain, shape: Shape) -> None:
    """Copy the weights of `source` into a new, larger chain."""
    grow.place_transitions([t.w for t in chain.transitions], [t.w for t in source.transitions], old.shape)
    none = np.zeros(0)
    for order, new, rows in zip(ARITIES, chain.weights, source.weights, strict=True):
        if rows.first.size:
            combo = grow.moved_combos(rows.combo, order, old.shape, shape)
            grow.place_seen(new, rows.first, combo, rows.w, none, shape.combinations(order))
        elif rows.slot.size:
            grow.place_rows(new, order, rows.slot, rows.w[: used_rows(rows)], none, old.shape, shape)


def _restore(chain: Chain, old: ChainModel, shape: Shape) -> float:
    """Copy the raw weights and accumulators of a checkpoint. Returns the clock."""
    state = old.checkpoint
    grow.place_transitions([t.w for t in chain.transitions], from_stored(state, "bare."), old.shape)
    grow.place_transitions([t.a for t in chain.transitions], from_stored(state, "sums."), old.shape)
    for order, new, rows in zip(ARITIES, chain.weights, old.chain.weights, strict=True):
        if not rows.slot.size:
            continue
        w, a = state[f"{order}.w"], state[f"{order}.a"]
        if rows.first.size:
            combo = grow.moved_combos(rows.combo, order, old.shape, shape)
            grow.place_seen(new, rows.first, combo, w, a, shape.combinations(order))
        else:
            grow.place_rows(new, order, state[f"{order}.slot"], w, a, old.shape, shape)
    return float(state["clock"][0])


def training_log_of(old: ChainModel | None) -> list[Epoch]:
    return [] if old is None else msgspec.convert(old.meta.get("history", []), list[Epoch])


def split_states(latent: Chain, shape: Shape, plain: Chain) -> None:
    """Add the weights of `plain`, which has the same attributes and one state per label, to those of `latent`.

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
        if old.first.size:
            rows.w[:] += old.w
        elif old.slot.size:
            rows.slot[:], rows.used[0] = old.slot, n
            labels = old.w[:n].reshape(n, *(Y,) * (order - 1), stride_of(Y))[..., :Y]
            rows.w[:n].reshape(n, *(H,) * (order - 1), stride_of(H))[..., :H] = _repeated(labels, states_per_label, 1)


def _repeated(block: np.ndarray, states_per_label: int, first_axis: int) -> np.ndarray:
    """Each item `states_per_label` times along all axes from `first_axis` on."""
    for axis in range(first_axis, block.ndim):
        block = np.repeat(block, states_per_label, axis=axis)
    return block
