"""The two ways to train a chain: example by example, or by the likelihood of all the data at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.chain import grow
from palmette.chain.learning import ChainLearning
from palmette.chain.likelihood import Penalty, train_likelihood
from palmette.chain.objective import ChainObjective
from palmette.chain.split import split_states
from palmette.chain.start import history_of, random_start, starting_weights
from palmette.chain.wish import Problem, Wish
from palmette.errors import UsageError
from palmette.learn.online import Outcome, train_online
from palmette.learn.settings import Settings, n_passes, restarts


class Trained(NamedTuple):
    """What came out of training."""

    outcome: Outcome
    settings: Settings  # with everything decided
    impossible: int  # sentences without an allowed path
    state: Callable[[], dict[str, np.ndarray]]  # what an exact resumption needs


def train_by_examples(problem: Problem) -> Trained:
    """Train with each estimator that is to be tried, and keep the one that is best on dev."""
    wish, dev = problem.wish, problem.dev
    history, settings = history_of(wish.resume), wish.settings
    found = None
    plain = _plain_passes(problem)
    choices = restarts(settings, dev is not None)
    for estimator, every in choices:
        if len(choices) > 1:
            wish.say(f"trying {estimator}" + (f" every {every} passes" if every else ""))
        chain, clock, best = starting_weights(problem)
        chain = chain._replace(share=0.0 if chain.plain else float(settings.share))
        if plain is not None:
            split_states(chain, problem.shape, plain.best)
        # What was split off is no longer random: all of it is part of the model.
        latent = problem.shape.latent
        start = random_start(problem) if latent and plain is None else None
        learning = ChainLearning(chain, problem.data, estimator, dev, clock, every, start, latent)
        if plain is not None and plain.interrupted:
            outcome = Outcome(learning.snapshot(), 0, [], True, plain.why)
        else:
            outcome = train_online(
                learning,
                settings.seed,
                len(history) + n_passes(settings),
                settings.patience,
                history,
                wish.progress,
                best,
            )
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
    state = partial(grow.saved_state, learning.chain, learning.clock, learning.start)
    return Trained(outcome, settings, learning.impossible, state)


def _plain_passes(problem: Problem) -> Outcome | None:
    """Passes of a plain model whose labels are to be split into states; None when that is not asked for."""
    wish, shape = problem.wish, problem.shape
    settings = wish.settings
    if not settings.split_after or wish.resume is not None or shape.per == 1:
        return None
    wish.say(f"{settings.split_after} passes of a plain model, whose labels are then split into states")
    chain, clock, _ = starting_weights(problem._replace(shape=shape._replace(per=1, states=())))
    learning = ChainLearning(chain, problem.data, "avg", None, clock)
    return train_online(learning, settings.seed, settings.split_after, None, [], wish.progress)


def _best_score(outcome: Outcome) -> float:
    return max((p.dev for p in outcome.history if p.dev is not None), default=0.0)


def train_by_likelihood(problem: Problem) -> Trained:
    """All the data at once."""
    wish = problem.wish
    settings = wish.settings
    if wish.checkpoint:
        raise UsageError(
            f"--checkpoint is for learners that go through the data sentence by sentence, not {settings.learner}"
        )
    l2 = settings.l2 if settings.l2 is not None else 0.0 if settings.l1 else 1.0

    def optimum(penalty: Penalty, only: np.ndarray | None = None) -> tuple[ChainObjective, Outcome]:
        chain, _, _ = starting_weights(problem)
        return train_likelihood(
            chain, problem.data, problem.dev, penalty, n_passes(settings), settings.tolerance, settings.patience,
            wish.threads, wish.progress, only,
        )  # fmt: skip

    if settings.l1_then_l2:
        objective, outcome = optimum(Penalty(0.0, settings.l1))
        _tell_stage("L1", objective, outcome, wish)
        if not outcome.interrupted:
            objective, outcome = optimum(Penalty(l2, 0.0), objective.start() != 0)
            _tell_stage("L2", objective, outcome, wish)
    else:
        objective, outcome = optimum(Penalty(l2, settings.l1))
    return Trained(outcome, msgspec.structs.replace(settings, l2=l2), objective.impossible, dict)


def _tell_stage(name: str, objective: ChainObjective, outcome: Outcome, wish: Wish) -> None:
    """Size and accuracy of one of two stages."""
    best = max((p.dev for p in outcome.history if p.dev is not None), default=None)
    accuracy = (
        f"{100 * outcome.history[-1].train_accuracy:.2f}% right in training" if outcome.history else "no iteration"
    )
    dev = "" if best is None else f", dev {100 * best:.2f}"
    wish.say(f"{name}: {np.count_nonzero(objective.start()):,} weights that are not zero, {accuracy}{dev}")
