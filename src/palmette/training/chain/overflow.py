"""Weights and scores that overflow float32, or that never moved: errors with what to do, before a model comes of it."""

from __future__ import annotations

import logging

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError
from palmette.kernels.chain.forms import Active, Chain, Data, LabelContextWeights
from palmette.options.learners import Learner
from palmette.options.spelling import named
from palmette.training.lbfgs import Result
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
LARGEST = float(np.finfo(np.float32).max)
TOKENS = 1 << 14  # whose values are summed together
STEEP = 0.01  # share of the first gradient that is left where no step was found: far from the optimum
SCALE = "scale the values of attributes or the weights of sentences down, for example to at most 1"


def check_weights(
    chain: Chain, contexts: LabelContextWeights | None, data: Data, learner: Learner, corpus: Corpus
) -> None:
    """DataError if weights, or the scores that they give the training data, overflow float32."""
    blocks = [part.w for part in (*chain.transitions, *chain.weights)] + ([] if contexts is None else [contexts.w])
    if not all(np.isfinite(block).all() for block in blocks):
        raise DataError("the weights have overflowed", file=corpus.source, hint=cure(data, learner))
    largest = max(float(np.abs(block).max(initial=0.0)) for block in blocks)
    score = sum(_most(active) for active in data.features) * largest
    if score > LARGEST:
        raise DataError(
            f"scores overflow: weights of up to {largest:.3g}, values of up to {_largest_value(data):.3g}",
            file=corpus.source, hint=cure(data, learner),
        )  # fmt: skip


def _most(active: Active) -> float:
    """The largest sum of absolute values of the attributes of a token."""
    if active.ptr.size < 2:
        return 0.0
    if not active.val.size:
        return float(np.diff(active.ptr).max())
    most = 0.0
    for first in range(0, active.ptr.size - 1, TOKENS):  # what is summed takes five times the memory of the values
        ptr = active.ptr[first : first + TOKENS + 1]
        sums = np.concatenate(([0.0], np.cumsum(np.abs(active.val[ptr[0] : ptr[-1]]), dtype=np.float64)))
        most = max(most, float(np.diff(sums[ptr - ptr[0]]).max()))
    return most


def _largest_value(data: Data) -> float:
    values = [active.val for active in data.features if active.val.size]
    return max((float(max(val.max(), -val.min())) for val in values), default=1.0)


def cure(data: Data, learner: Learner) -> str:
    """What to do about an overflow."""
    if data.features[0].val.size or (data.weight != 1).any():
        return SCALE
    return f"choose a smaller {named(type(learner), 'rate')}" if "rate" in learner.values() else SCALE


def check_moved(outcome: TrainResult, chain: Chain, data: Data) -> None:
    """Warn if an online training made updates and has no weights."""
    blocks = [part.w for part in (*chain.transitions, *chain.weights)]
    if sum(epoch.updates for epoch in outcome.training_log) and not any(block.any() for block in blocks):
        logger.warning(
            "all weights are zero after training: updates were lost in rounding, with values of up to %.3g and "
            "sentence weights of up to %.3g; %s", _largest_value(data), float(data.weight.max(initial=0.0)), SCALE,
        )  # fmt: skip


def check_descent(found: Result, data: Data, fresh: bool) -> None:
    """DataError if L-BFGS found no step from a fresh start, a warning if it stopped far from an optimum."""
    if found.ending != "no step" or not (fresh or found.iterations):
        return
    if not found.iterations:
        raise DataError(
            f"L-BFGS finds no step that decreases the objective: its gradient has the norm {found.norm:.3g}, and the "
            f"values of attributes go up to {_largest_value(data):.3g}",
            hint=SCALE,
        )
    if found.norm > STEEP * found.first_norm:
        logger.warning(
            "L-BFGS stopped far from the optimum, after iteration %d with a gradient of norm %.3g (%.3g at the start); "
            "%s", found.iterations, found.norm, found.first_norm, SCALE,
        )  # fmt: skip
