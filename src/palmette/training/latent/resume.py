"""A training of a classifier that continues another one.

With a checkpoint it continues exactly: the model then has the raw weights, the accumulators and the clock beside the
weights that came out. Without one it starts from the weights that came out. New data may bring new attributes, which
are numbered after the old ones; the views stay as they are.
"""

from __future__ import annotations

import msgspec
import numpy as np

from palmette.kernels.latent.forms import Weights
from palmette.options.declare import OptionError
from palmette.options.latent import LatentSettings
from palmette.structures.latent.model import ClassifierModel
from palmette.structures.latent.weights import used
from palmette.structures.training_log import ClassifierEpoch

# Settings that weights and accumulators depend on
FIXED = ("views", "types", "latent", "pairs", "normalise", "estimator")


def check_resumed(old: ClassifierModel, settings: LatentSettings) -> None:
    """UsageError if a training with these settings cannot continue that of a model."""
    for name in FIXED:
        before, now = getattr(old.settings, name), getattr(settings, name)
        if before != now:
            raise OptionError("resume", f"{name} is {before!r} in the model, and cannot become {now!r}")
    kind = old.settings.chosen_learner.kind
    if settings.chosen_learner.kind != kind:
        raise OptionError("resume", f"training continues with the learner of the model, {kind}")


def training_log_of(old: ClassifierModel) -> list[ClassifierEpoch]:
    return msgspec.convert(old.meta.get("history", []), list[ClassifierEpoch])


def saved_state(weights: Weights, clock: np.ndarray, inner: int) -> dict[str, np.ndarray]:
    """The state for an exact resumption. inner: inner epochs of a batch learner so far."""
    n = used(weights)
    state = {
        "clock": clock, "inner": np.array([inner]), "slot": weights.one.slot, "weights": weights.one.w[:n],
        "end": weights.end, "pair": weights.pair,
    }  # fmt: skip
    if weights.end_a.shape[0]:
        state |= {"sums.weights": weights.one.a[:n], "sums.end": weights.end_a, "sums.pair": weights.pair_a}
    return state


def restore(weights: Weights, state: dict[str, np.ndarray]) -> None:
    """Copy the weights and accumulators of a checkpoint into new ones, which may have more attributes."""
    n, A = state["weights"].shape[0], state["slot"].size
    weights.one.slot[:A], weights.one.used[0] = state["slot"], n
    weights.one.w[:n], weights.end[:], weights.pair[:] = state["weights"], state["end"], state["pair"]
    if weights.end_a.shape[0]:
        weights.one.a[:n] = state["sums.weights"]
        weights.end_a[:], weights.pair_a[:] = state["sums.end"], state["sums.pair"]


def carry(weights: Weights, old: Weights) -> None:
    """Start from the weights of a model without a checkpoint. Its attributes get rows one after the other."""
    moved = np.flatnonzero(old.one.slot)
    n = 1 + moved.size
    weights.one.slot[moved], weights.one.used[0] = np.arange(1, n), n
    weights.one.w[1:n] = old.one.w[old.one.slot[moved]]
    weights.end[:], weights.pair[:] = old.end, old.pair


def with_attributes(old: Weights, n_attributes: int) -> Weights:
    """The weights of a model for at least as many attributes; new ones have none."""
    slot = np.zeros(n_attributes, np.int32)
    slot[: old.one.slot.size] = old.one.slot
    return old._replace(one=old.one._replace(slot=slot))
