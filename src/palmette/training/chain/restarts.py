"""Train a chain: once, or from several random starts of which the best one is kept."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from palmette.errors import UsageError
from palmette.options.settings import is_batch
from palmette.training.chain.batch import train_by_likelihood
from palmette.training.chain.online import train_by_examples
from palmette.training.chain.request import TrainedChain, TrainingData


def train(problem: TrainingData) -> TrainedChain:
    """The best of `settings.restarts` trainings, each with a seed of its own: by development data, else by the
    objective."""
    settings = problem.wish.settings
    if settings.restarts == 1:
        return _trained(problem)
    if problem.dev is None and not is_batch(settings):
        raise UsageError("--restarts: the best one is chosen on development data: --dev FILE or --dev-share 0.1")
    best, best_figure = None, -float("inf")
    for number in range(settings.restarts):
        own = msgspec.structs.replace(settings, seed=settings.seed + number)
        trained = _trained(problem._replace(wish=replace(problem.wish, settings=own)))
        figure = _how_good(trained, problem.dev is not None)
        told = f"dev {100 * figure:.2f}" if problem.dev is not None else f"objective {abs(figure):.6g}"
        problem.wish.say(f"start {number + 1} of {settings.restarts}, seed {own.seed}: {told}")
        if best is None or figure > best_figure:
            best, best_figure = trained, figure
        if trained.outcome.interrupted:
            break
    assert best is not None
    return best


def _trained(problem: TrainingData) -> TrainedChain:
    return (train_by_likelihood if is_batch(problem.wish.settings) else train_by_examples)(problem)


def _how_good(trained: TrainedChain, has_dev: bool) -> float:
    """The larger the better."""
    history = trained.outcome.training_log
    if has_dev:
        return max((p.dev for p in history if p.dev is not None), default=0.0)
    return -history[-1].figures["objective"] if history else -float("inf")
