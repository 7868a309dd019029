"""Training of encoded data: passes with each estimator to try, or a full-batch optimiser; the best of restarts."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import UsageError, counted
from palmette.kernels.chain.forms import Chain, FeatureWeights, no_state, no_sums
from palmette.kernels.chain.train_beam import BeamLearner
from palmette.options.chain import ChainOptions, Latent, development_data
from palmette.options.learners import Crf, Learner, Likelihood
from palmette.options.search import UPDATE_NUMBERS
from palmette.options.spelling import argument, named, spelt
from palmette.structures.chain.stored_rows import with_own_rows
from palmette.structures.chain.weights import estimated, physical_memory, with_state
from palmette.structures.training_log import Epoch
from palmette.training.chain.dev import Dev
from palmette.training.chain.learning import (
    Averaging,
    BeamLearning,
    ChainLearning,
    DescentLearning,
    PathLearning,
    best_before,
    chunks_for,
    starting_contexts,
)
from palmette.training.chain.mixing import MixedLearning
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import TrainedChain, TrainingData
from palmette.training.chain.start import (
    learnt_pairs,
    random_start,
    seen_labels,
    split_states,
    starting_weights,
    training_log_of,
)
from palmette.training.checks import check_descent
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.lbfgs import MEMORY, PERIOD, Iteration, Result, bytes_needed, minimise
from palmette.training.result import CUT_SHORT, MORE, EpochLog, Progress, TrainResult
from palmette.training.team import ThreadTeam
from palmette.training.trainer import train_epochs

if TYPE_CHECKING:
    from palmette.training.chain.scale import Scale

logger = logging.getLogger(__name__)


def train(problem: TrainingData, scale: Scale) -> TrainedChain:
    """Train a chain on encoded data: by a full-batch optimiser, or in passes with each estimator to try, of which the
    best one on development data is kept."""
    if problem.settings.latent is not None and problem.settings.latent.restarts > 1:
        return _best_of_restarts(problem, problem.settings.latent, scale)
    if problem.settings.chosen_learner.full_batch:
        return train_by_likelihood(problem, scale)
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
            state = learning.saved if request.checkpoint else dict
            best, chosen = TrainedChain(outcome, settled, learning.infeasible, state), averaging
        del start, learning  # the sums of the weights are no longer needed
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
        of_labels = problem.shape._replace(states_per_label=1, states=())
        chain = split_states(chain, problem.shape, with_own_rows(plain.best, of_labels))
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


def _best_of_restarts(problem: TrainingData, latent: Latent, scale: Scale) -> TrainedChain:
    """The best of several trainings with different seeds: by development data, else by the objective."""
    settings = problem.settings
    if problem.dev is None and not settings.chosen_learner.full_batch:
        what = f"{named(Latent, 'restarts')} selects the best training on development data"
        raise UsageError(f"{what}: give {development_data()}")
    best, best_figure = None, -float("inf")
    once = latent.replace(restarts=1)
    for number in range(latent.restarts):
        own = problem._replace(settings=settings.replace(seed=settings.seed + number, states=once))
        trained = train(own, scale)
        figure = _how_good(trained.outcome, problem.dev is not None)
        shown = f"dev {100 * figure:.2f}" if problem.dev is not None else f"objective {abs(figure):.6g}"
        logger.info("start %d of %d, seed %d: %s", number + 1, latent.restarts, own.settings.seed, shown)
        if best is None or figure > best_figure:
            best, best_figure = trained, figure
        if trained.outcome.interrupted:
            break
    assert best is not None
    kept = best.settings.replace(states=latent)
    return best._replace(settings=kept)


def _how_good(outcome: TrainResult, has_dev: bool) -> float:
    """The score of a training; larger is better."""
    if has_dev:
        return dev_score(outcome)
    return -outcome.training_log[-1].figures["objective"] if outcome.training_log else -float("inf")


# Full-batch likelihood training (CRF and latent CRF): L-BFGS, or OWL-QN with an L1 term.
#
# The `TrainResult` is that of the online trainer: a row of the training log per iteration, the weights of the best
# iteration on development data if there is some, and usable weights after Ctrl-C.


class Penalty(NamedTuple):
    """l2 * |w|^2 + l1 * sum |w|"""

    l2: float
    l1: float


class _Watch:
    """Called after each iteration: scores development data, adds to the log, and decides whether to continue."""

    def __init__(self, objective: ChainObjective, dev: Dev | None, log: EpochLog, interrupt: Interrupt) -> None:
        self.objective, self.dev, self.log, self.interrupt = objective, dev, log, interrupt
        self.tokens = objective.tokens
        self.begun = time.perf_counter()

    def __call__(self, done: Iteration) -> bool:
        now = time.perf_counter()
        dev = None if self.dev is None else self.dev.figure(self.objective.chain)
        wrong = int(self.objective.wrong)
        figures = {"objective": float(done.value), "gradient": float(done.norm)}
        accuracy = 1.0 - wrong / max(1, self.tokens)
        line = Epoch(done.number, done.evaluations, wrong, accuracy, now - self.begun, dev, figures)
        self.begun = time.perf_counter()
        error = None if self.dev is None else self.dev.error
        self.log.add(line, self.tokens, lambda: estimated(self.objective.chain, None), error)
        return bool(self.interrupt) or self.log.reason_to_stop is not None


def train_likelihood(
    problem: TrainingData, learner: Likelihood, penalty: Penalty, objective: ChainObjective, progress: Progress | None
) -> TrainResult:
    """Weights that minimise the penalised negative log-likelihood, from those of the objective on. The result is in the
    objective; `best` is another one, or None."""
    settings, request = problem.settings, problem.request
    check_memory(objective.size)
    window, patience = settings.stop_rule(), settings.patience
    if patience is None and window is None and problem.dev is not None:
        patience = learner.patience
    log = EpochLog(patience, progress, unit="iteration", window=window)
    with interruptible() as interrupt:
        found = minimise(
            objective, objective.start(), l1=penalty.l1, iterations=learner.iterations, tolerance=learner.tolerance,
            report=_Watch(objective, problem.dev, log, interrupt), workers=objective.workers,
        )  # fmt: skip
    second_stage = learner.l1_then_l2 and not penalty.l1
    check_descent(found, problem.data, fresh=request.resume is None and not second_stage)
    objective.put(found.point)
    ended = log.reason_to_stop or found.ended()
    if interrupt:
        ended = f"stopped: interrupted after iteration {found.iterations}"
    best_epoch = log.best_epoch if log.best is not None else found.iterations
    return TrainResult(log.best, best_epoch, log.epochs, interrupt.signal, ended, _cut_short(found, best_epoch))


def _cut_short(found: Result, best_epoch: int) -> bool:
    """Whether more iterations may give a better model: not if development data has chosen an earlier one."""
    return found.ending == "iterations" and best_epoch > found.iterations - PERIOD


def warn_if_cut_short(outcome: TrainResult, learner: Learner) -> None:
    """Warn if the number of iterations ended the training."""
    if outcome.cut_short:
        assert isinstance(learner, Likelihood)
        more = spelt(type(learner), "iterations", MORE * learner.iterations)
        less = named(type(learner), "tolerance")
        logger.warning("%s: use %s, or a larger %s", outcome.ended, more, less, extra={CUT_SHORT: True})


def new_objective(problem: TrainingData, penalty: Penalty) -> ChainObjective:
    """The likelihood from the weights on that training starts from."""
    chain, _, _ = starting_weights(problem)
    return ChainObjective(
        chain, problem.data, penalty.l2, problem.request.n_threads, seen_labels(problem), learnt_pairs(problem)
    )


def check_memory(size: int, memory: int = MEMORY) -> None:
    """UsageError if L-BFGS does not fit into memory."""
    needed, there = bytes_needed(size, memory), physical_memory()
    if there is not None and needed > there:
        raise UsageError(
            f"{size:,} weights take {needed / 2**30:.0f} GB in L-BFGS, this machine has {there / 2**30:.0f} GB: use "
            f"{spelt(Crf, 'optimiser', 'adagrad')}, {spelt(ChainOptions, 'state_features', 'seen')}, "
            f"{spelt(ChainOptions, 'edge_features', 'seen')}, {spelt(ChainOptions, 'min_count', 2)}, or fewer "
            "templates on label pairs and triples"
        )


def train_by_likelihood(problem: TrainingData, scale: Scale) -> TrainedChain:
    """Train with a full-batch optimiser."""
    settings, request = problem.settings, problem.request
    learner = settings.chosen_learner
    assert isinstance(learner, Likelihood)
    if request.checkpoint:
        raise UsageError(
            f"{argument('checkpoint')} is for learners that process the data sentence by sentence, not {learner.kind}"
        )
    penalty = Penalty(0.0 if learner.l1_then_l2 else learner.penalty, learner.l1)
    objective = scale.objective(problem, penalty)
    progress = scale.watched(problem, objective)
    outcome = train_likelihood(problem, learner, penalty, objective, progress)
    if learner.l1_then_l2:
        _report_stage("L1", objective, outcome)
        if not outcome.interrupted:
            warn_if_cut_short(outcome, learner)
            objective.keep_nonzero(learner.penalty)
            outcome = train_likelihood(problem, learner, Penalty(learner.penalty, 0.0), objective, progress)
            _report_stage("L2", objective, outcome)
    if learner.l1 and not objective.start().any():
        logger.warning("all weights are zero: l1 %g is too large a penalty for this data", learner.l1)
    infeasible, best = objective.infeasible, outcome.best if outcome.best is not None else objective.chain
    del objective  # with its tables: the weights remain
    return TrainedChain(outcome._replace(best=compacted(best)), settings, infeasible, dict)


def _report_stage(name: str, objective: ChainObjective, outcome: TrainResult) -> None:
    """Log the number of nonzero weights and the accuracy of one of two stages."""
    kept = outcome.kept
    accuracy = "no iteration" if kept is None else f"{100 * kept.train_accuracy:.2f}% training accuracy"
    dev = "" if kept is None or kept.dev is None else f", dev {100 * kept.dev:.2f}"
    logger.info(f"{name}: {np.count_nonzero(objective.start()):,} nonzero weights, {accuracy}{dev}")


def compacted(chain: Chain) -> Chain:
    """The weights without accumulators, and without rows of zeros, which an L1 term leaves."""
    ends, pairs, triples = (t._replace(a=no_sums(), state=no_state()) for t in chain.transitions)
    one, two, three = (_full_rows(rows)._replace(a=no_sums(), state=no_state()) for rows in chain.weights)
    return chain._replace(transitions=(ends, pairs, triples), weights=(one, two, three))


def _full_rows(rows: FeatureWeights) -> FeatureWeights:
    if rows.first.size or not rows.slot.size:
        return rows
    full = np.asarray(rows.w.any(axis=1))
    full[0] = True
    if full.all():
        return rows
    place = np.cumsum(full) - 1
    slot = np.where(full[rows.slot], place[rows.slot], 0).astype(np.int32)
    return rows._replace(slot=slot, used=np.array([int(full.sum())], np.int64), w=rows.w[full])
