"""Training a chain example by example: each estimator that is to be tried, and the best of them on dev."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np

from palmette.errors import UsageError
from palmette.options.settings import LIKELIHOOD, estimators_to_try, n_passes, penalty_of, with_beam
from palmette.training.chain import resume as grow
from palmette.training.chain.beam import beam_learning, best_before
from palmette.training.chain.exact import ChainLearning
from palmette.training.chain.request import TrainedChain, TrainingData
from palmette.training.chain.rules import learner_for
from palmette.training.chain.split import split_states
from palmette.training.chain.start import random_start, starting_weights, training_log_of
from palmette.training.result import EpochLog, TrainResult
from palmette.training.trainer import train_epochs


def train_by_examples(problem: TrainingData) -> TrainedChain:
    """Train with each estimator that is to be tried, and keep the one that is best on dev."""
    wish, dev = problem.wish, problem.dev
    history, settings = training_log_of(wish.resume), with_beam(wish.settings)
    if settings.learner in LIKELIHOOD:
        settings = msgspec.structs.replace(settings, l2=penalty_of(settings))
    if wish.checkpoint and settings.optimiser == "adagrad":
        raise UsageError("--checkpoint: adagrad keeps a rate for each weight, which no model has room for; use sgd")
    found = None
    plain = _plain_passes(problem)
    choices = estimators_to_try(settings, dev is not None)
    for estimator, every in choices:
        if len(choices) > 1:
            wish.say(f"trying {estimator}" + (f" every {every} passes" if every else ""))
        chain, clock, before = starting_weights(problem)
        best: Any = before
        chain = chain._replace(share=0.0 if chain.plain else float(settings.share))
        if plain is not None:
            split_states(chain, problem.shape, plain.best)
        # What was split off is no longer random: all of it is part of the model.
        latent = problem.shape.latent
        start = random_start(problem) if latent and plain is None else None
        if settings.search == "beam":
            learning: ChainLearning = beam_learning(problem, settings, chain, estimator, clock, every)
            best = best_before(problem, before)
        else:
            rule = learner_for(settings, chain, problem.data, problem.labels)
            learning = ChainLearning(chain, problem.data, estimator, dev, clock, every, start, latent, rule)
        if plain is not None and plain.interrupted:
            outcome = TrainResult(learning.snapshot(), 0, [], True, plain.ended)
        else:
            log = EpochLog(settings.patience, wish.progress, history, best)
            outcome = train_epochs(learning, settings.seed, len(history) + n_passes(settings), log)
        if found is None or _best_score(outcome) > _best_score(found[1]):
            settled = msgspec.structs.replace(settings, estimator=estimator, mavg_every=every)
            found = learning, outcome, settled
        if outcome.interrupted:
            break
    assert found is not None
    if len(choices) > 1:
        chosen = found[2]
        wish.say(f"chose {chosen.estimator}" + (f" every {chosen.mavg_every} passes" if chosen.mavg_every else ""))
    learning, outcome, settings = found
    return TrainedChain(outcome, settings, learning.infeasible, partial(_state, learning))


def _state(learning: ChainLearning) -> dict[str, np.ndarray]:
    """What an exact resumption needs."""
    return grow.saved_state(learning.chain, learning.clock, learning.start) | learning.saved()


def _plain_passes(problem: TrainingData) -> TrainResult | None:
    """Passes of a plain model whose labels are to be split into states; None when that is not asked for."""
    wish, shape = problem.wish, problem.shape
    settings = wish.settings
    if not settings.split_after or wish.resume is not None or shape.per == 1:
        return None
    wish.say(f"{settings.split_after} passes of a plain model, whose labels are then split into states")
    chain, clock, _ = starting_weights(problem._replace(shape=shape._replace(per=1, states=())))
    rule = learner_for(settings, chain, problem.data, problem.labels)
    learning = ChainLearning(chain, problem.data, "avg", None, clock, rule=rule)
    return train_epochs(learning, settings.seed, settings.split_after, EpochLog(None, wish.progress))


def _best_score(outcome: TrainResult) -> float:
    return max((p.dev for p in outcome.training_log if p.dev is not None), default=0.0)
