"""Full-batch likelihood training (CRF and latent CRF): L-BFGS, or OWL-QN with an L1 term.

The `TrainResult` is that of the online trainer: a row of the training log per iteration, the weights of the best
iteration on development data if there is some, and usable weights after Ctrl-C.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, FeatureWeights, no_state, no_sums
from palmette.options.chain import ChainOptions
from palmette.options.learner import Learner
from palmette.options.learners import Crf
from palmette.options.likelihoods import Likelihood
from palmette.options.spelling import argument, named, spelt
from palmette.structures.chain.weights import estimated, physical_memory
from palmette.structures.training_log import Epoch
from palmette.training.chain.dev import Dev
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.overflow import check_descent
from palmette.training.chain.request import TrainedChain, TrainingData
from palmette.training.chain.seen import learnt_pairs, seen_labels
from palmette.training.chain.start import starting_weights
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.lbfgs.minimise import MEMORY, PERIOD, Iteration, Result, bytes_needed, minimise
from palmette.training.result import CUT_SHORT, MORE, EpochLog, Progress, TrainResult

if TYPE_CHECKING:
    from palmette.training.chain.scale import Scale

logger = logging.getLogger(__name__)


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
    log = EpochLog(settings.patience, progress, unit="iteration", window=settings.stop_rule())
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
