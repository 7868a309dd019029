"""Full-batch likelihood training (CRF and latent CRF): L-BFGS, or OWL-QN with an L1 term.

The `TrainResult` is that of the online trainer: a row of the training log per iteration, the weights of the best
iteration on development data if there is some, and usable weights after Ctrl-C.
"""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, FeatureWeights
from palmette.options.learners import Likelihood
from palmette.structures.chain.data import seen_combinations
from palmette.structures.chain.weights import estimated, physical_memory
from palmette.structures.training_log import Epoch
from palmette.training.chain.dev import Dev
from palmette.training.chain.objective import ChainObjective, give_all
from palmette.training.chain.request import TrainedChain, TrainingData
from palmette.training.chain.start import starting_weights
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.lbfgs.minimise import ENDINGS, minimise
from palmette.training.result import EpochLog, TrainResult

logger = logging.getLogger(__name__)
VECTORS = 26  # of L-BFGS, besides the weights themselves


class Penalty(NamedTuple):
    """l2 * |w|^2 + l1 * sum |w|"""

    l2: float
    l1: float


class _Watch:
    """Called after each iteration: scores development data, adds to the log, and decides whether to continue."""

    def __init__(self, objective: ChainObjective, dev: Dev | None, log: EpochLog, interrupt: Interrupt) -> None:
        self.objective, self.dev, self.log, self.interrupt = objective, dev, log, interrupt
        self.tokens = int(objective.data.known.size)
        self.begun = time.perf_counter()

    def __call__(self, number: int, value: float, norm: float, evaluations: int, point: np.ndarray) -> bool:
        now = time.perf_counter()
        self.objective.put(point)  # the last evaluated point may be a different one
        dev = None if self.dev is None else self.dev.figure(self.objective.chain)
        wrong = int(self.objective.wrong)
        figures = {"objective": float(value), "gradient": float(norm)}
        line = Epoch(number, evaluations, wrong, 1.0 - wrong / max(1, self.tokens), now - self.begun, dev, figures)
        self.begun = time.perf_counter()
        self.log.add(line, self.tokens, lambda: estimated(self.objective.chain, None))
        return bool(self.interrupt) or self.log.is_stuck


def train_likelihood(
    problem: TrainingData, learner: Likelihood, penalty: Penalty, only: np.ndarray | None = None
) -> tuple[ChainObjective, TrainResult]:
    """Weights that minimise the penalised negative log-likelihood; only those of `only` move, if it is given."""
    settings, request = problem.settings, problem.request
    chain, _, _ = starting_weights(problem)
    _check_memory(
        sum(rows.slot.size * rows.w.shape[-1] if not rows.first.size else rows.w.size for rows in chain.weights)
    )
    objective = ChainObjective(chain, problem.data, penalty.l2, request.threads, only)
    log = EpochLog(settings.patience, request.progress, unit="iteration")
    with interruptible() as interrupt:
        found = minimise(
            objective, objective.start(), l1=penalty.l1, iterations=settings.n_passes(), tolerance=learner.tolerance,
            report=_Watch(objective, problem.dev, log, interrupt),
        )  # fmt: skip
    objective.put(found.point)
    ended = log.stuck if log.is_stuck else ENDINGS[found.ending]
    if interrupt:
        ended = f"stopped: interrupted after iteration {found.iterations}"
    best = log.best if log.best is not None else estimated(objective.chain, None)
    best_epoch = log.best_epoch if log.best is not None else found.iterations
    return objective, TrainResult(_compact(best), best_epoch, log.epochs, bool(interrupt), ended)


def _check_memory(size: int) -> None:
    """UsageError if L-BFGS, which keeps some 25 numbers of 8 bytes per weight, does not fit into memory."""
    needed, there = size * VECTORS * 8, physical_memory()
    if there is not None and needed > there:
        raise UsageError(
            f"{size:,} weights take {needed / 2**30:.0f} GB in L-BFGS, this machine has {there / 2**30:.0f} GB: use "
            "--optimiser adagrad, --edge-features seen, --min-count 2, or fewer templates on label pairs and triples"
        )


def train_by_likelihood(problem: TrainingData) -> TrainedChain:
    """Train with a full-batch optimiser."""
    settings, request = problem.settings, problem.request
    learner = settings.chosen_learner
    assert isinstance(learner, Likelihood)
    if request.checkpoint:
        raise UsageError(f"--checkpoint is for learners that process the data sentence by sentence, not {learner.kind}")
    l2, there = learner.penalty, _seen_weights(problem)
    if learner.l1_then_l2:
        objective, outcome = train_likelihood(problem, learner, Penalty(0.0, learner.l1), there)
        _report_stage("L1", objective, outcome)
        if not outcome.interrupted:
            objective, outcome = train_likelihood(problem, learner, Penalty(l2, 0.0), objective.start() != 0)
            _report_stage("L2", objective, outcome)
    else:
        objective, outcome = train_likelihood(problem, learner, Penalty(l2, learner.l1), there)
    if learner.l1 and not objective.start().any():
        logger.warning("all weights are zero: l1 %g is too large a penalty for this data", learner.l1)
    return TrainedChain(outcome, settings, objective.infeasible, dict)


def _report_stage(name: str, objective: ChainObjective, outcome: TrainResult) -> None:
    """Log the number of nonzero weights and the accuracy of one of two stages."""
    kept = next((row for row in outcome.training_log if row.number == outcome.best_epoch), None)
    accuracy = "no iteration" if kept is None else f"{100 * kept.train_accuracy:.2f}% training accuracy"
    dev = "" if kept is None or kept.dev is None else f", dev {100 * kept.dev:.2f}"
    logger.info(f"{name}: {np.count_nonzero(objective.start()):,} nonzero weights, {accuracy}{dev}")


def _seen_weights(problem: TrainingData) -> np.ndarray | None:
    """bool[weights]: the weights that exist. With `state_features="seen"` an attribute has weights only for labels that
    it occurred with in training (CRFsuite's default); None: all weights exist."""
    if problem.settings.state_features == "all":
        return None
    shape, data = problem.shape, problem.data
    n = problem.collected.sizes[1]
    seen = seen_combinations(data, shape, 1, n)
    there = np.zeros((n + 1, shape.width(1)), np.bool_)
    owner = np.repeat(np.arange(n), np.diff(seen.first)) + 1
    for state in range(shape.states_per_label):
        there[owner, seen.combo * shape.states_per_label + state] = True
    chain, _, _ = starting_weights(problem)
    blocks = [np.ones(t.w.size, np.bool_) for t in chain.transitions]
    others = (give_all(rows).w.size for rows in chain.weights[1:])
    return np.concatenate([*blocks, there.reshape(-1), *(np.ones(size, np.bool_) for size in others)])


def _compact(chain: Chain) -> Chain:
    """The weights without rows of zeros, which an L1 term leaves."""
    one, two, three = (_full_rows(rows) for rows in chain.weights)
    return chain._replace(weights=(one, two, three))


def _full_rows(rows: FeatureWeights) -> FeatureWeights:
    if rows.first.size or not rows.slot.size:
        return rows
    full = np.asarray(rows.w.any(axis=1))
    full[0] = True
    place = np.cumsum(full) - 1
    slot = np.where(full[rows.slot], place[rows.slot], 0).astype(np.int32)
    return rows._replace(slot=slot, used=np.array([int(full.sum())], np.int64), w=rows.w[full])
