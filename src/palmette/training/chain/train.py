"""Training of encoded data: passes with each estimator to try, or a full-batch optimiser; the best of restarts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import UsageError, counted
from palmette.kernels.chain.train_beam import BeamLearner
from palmette.options.chain import development_data
from palmette.options.learners import Crf
from palmette.options.search import UPDATE_NUMBERS
from palmette.options.spelling import argument, named
from palmette.options.states import Latent
from palmette.structures.chain.weights import with_state
from palmette.training.chain.batch import train_by_likelihood
from palmette.training.chain.beam import BeamLearning, best_before, starting_contexts
from palmette.training.chain.costs import chunks_for
from palmette.training.chain.descent import DescentLearning
from palmette.training.chain.exact import Averaging, ChainLearning, PathLearning
from palmette.training.chain.mixing import MixedLearning
from palmette.training.chain.request import TrainedChain, TrainingData
from palmette.training.chain.seen import learnt_pairs
from palmette.training.chain.start import random_start, split_states, starting_weights, training_log_of
from palmette.training.result import EpochLog, TrainResult
from palmette.training.team import ThreadTeam
from palmette.training.trainer import train_epochs

if TYPE_CHECKING:
    from palmette.training.chain.scale import Scale

logger = logging.getLogger(__name__)


def train(problem: TrainingData, scale: Scale) -> TrainedChain:
    """Train a chain on encoded data."""
    latent = problem.settings.latent
    train_once = train_by_likelihood if problem.settings.chosen_learner.full_batch else train_by_examples
    if latent is None or latent.restarts == 1:
        return train_once(problem, scale)
    return _best_of_restarts(problem, latent.restarts, partial(train_once, scale=scale))


def train_by_examples(problem: TrainingData, scale: Scale) -> TrainedChain:
    """Train with each estimator to try, and keep the best one on development data."""
    settings, request = problem.settings, problem.request
    learner = settings.chosen_learner
    if request.checkpoint and learner.keeps_state:
        name = learner.values().get("optimiser", learner.kind)
        raise UsageError(f"{argument('checkpoint')}: {name} has state per weight, which model files do not store")
    done = training_log_of(request.resume)
    plain = _plain_model(problem)
    choices = settings.estimators_to_try(problem.dev is not None)
    best: TrainedChain | None = None
    for averaging in (Averaging(*choice) for choice in choices):
        if len(choices) > 1:
            logger.info("trying %s", _shown(averaging))
        start, before = start_learning(problem, averaging, plain)
        start.order = problem.order
        learning = scale.learning(start, problem)
        if isinstance(learning, DescentLearning):
            learning.be_alone()
        if plain is not None and plain.interrupted:
            outcome = TrainResult(learning.snapshot(), 0, [], plain.signal, plain.ended)
        else:
            log = EpochLog(settings.patience, None, done, before, window=settings.stop_rule())
            log.progress = scale.watched(problem, learning, log)
            outcome = train_epochs(learning, settings.seed, len(done) + settings.n_passes(), log)
        if isinstance(learning, MixedLearning):
            learning.end()
        if best is None or dev_score(outcome) > dev_score(best.outcome):
            settled = settings.replace(estimator=averaging.estimator, mavg_every=averaging.every)
            best, chosen = TrainedChain(outcome, settled, learning.infeasible, learning.saved), averaging
        if outcome.interrupted:
            break
    assert best is not None
    if len(choices) > 1:
        logger.info("chose %s", _shown(chosen))
    return best


def start_learning(problem: TrainingData, averaging: Averaging, plain: TrainResult | None) -> tuple[ChainLearning, Any]:
    """A chain with initial weights, and the best snapshot so far of a resumed training."""
    settings, data, latent = problem.settings, problem.data, problem.shape.latent
    chain, clock, before = starting_weights(problem)
    chain = chain._replace(tied_update=0.0 if chain.plain else float(settings.tied_update))
    if plain is not None:
        chain = split_states(chain, problem.shape, plain.best)
    # Weights copied from a plain model are not a random start: all of them are part of the model.
    start = random_start(problem) if latent and plain is None else None
    learner, beam = settings.chosen_learner, settings.beam
    if learner.keeps_state:
        chain = with_state(chain)
    common: dict[str, Any] = {
        "averaging": averaging, "dev": problem.dev, "clock": clock, "start": start,
        "team": ThreadTeam(problem.request.n_threads, settings.batch_size or 1),
    }  # fmt: skip
    exact = common | {"latent": latent, "learnt": learnt_pairs(problem)}
    if isinstance(learner, Crf):
        return DescentLearning(chain, data, **exact, learner=learner), before
    rule = learner.rule(problem.n_sentences, None if beam is None else beam.width)
    rule = rule if beam is None else beam.rule(rule)
    chunks = chunks_for(learner, problem.labels, unseen_scheme(problem.scheme))
    if beam is None:
        return PathLearning(chain, data, **exact, rule=rule, chunks=chunks), before
    contexts, seen = starting_contexts(problem, chain, learner.keeps_state)
    numbers = BeamLearner(beam.width, UPDATE_NUMBERS[str(beam.update)], rule, chunks, bool(beam.recombine))
    learning = BeamLearning(chain, data, **common, contexts=contexts, seen=seen, learner=numbers)
    return learning, best_before(problem, before)


def _plain_model(problem: TrainingData) -> TrainResult | None:
    """A plain model whose labels are then split into states; None if `split_after` is 0."""
    settings, shape = problem.settings, problem.shape
    epochs = 0 if settings.latent is None else settings.latent.split_after
    if not epochs or problem.request.resume is not None or shape.states_per_label == 1:
        return None
    passes = counted(epochs, "pass", "passes")
    logger.info("%s of a plain model, whose labels are then split into states", passes)
    plain = problem._replace(shape=shape._replace(states_per_label=1, states=()), dev=None)
    learning, _ = start_learning(plain, Averaging("avg"), None)
    learning.order = problem.order
    return train_epochs(learning, settings.seed, epochs, EpochLog(None, problem.request.progress))


def _shown(averaging: Averaging) -> str:
    return averaging.estimator + (f" every {counted(averaging.every, 'pass', 'passes')}" if averaging.every else "")


def dev_score(outcome: TrainResult) -> float:
    """The best score on development data."""
    return max((p.dev for p in outcome.training_log if p.dev is not None), default=0.0)


def _best_of_restarts(
    problem: TrainingData, restarts: int, train: Callable[[TrainingData], TrainedChain]
) -> TrainedChain:
    """The best of several trainings with different seeds: by development data, else by the objective."""
    settings = problem.settings
    if problem.dev is None and not settings.chosen_learner.full_batch:
        what = f"{named(Latent, 'restarts')} selects the best training on development data"
        raise UsageError(f"{what}: give {development_data()}")
    best, best_figure = None, -float("inf")
    for number in range(restarts):
        own = problem._replace(settings=settings.replace(seed=settings.seed + number))
        trained = train(own)
        figure = _how_good(trained.outcome, problem.dev is not None)
        shown = f"dev {100 * figure:.2f}" if problem.dev is not None else f"objective {abs(figure):.6g}"
        logger.info("start %d of %d, seed %d: %s", number + 1, restarts, own.settings.seed, shown)
        if best is None or figure > best_figure:
            best, best_figure = trained, figure
        if trained.outcome.interrupted:
            break
    assert best is not None
    return best


def _how_good(outcome: TrainResult, has_dev: bool) -> float:
    """The score of a training; larger is better."""
    if has_dev:
        return dev_score(outcome)
    return -outcome.training_log[-1].figures["objective"] if outcome.training_log else -float("inf")
