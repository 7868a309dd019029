"""The algorithm l2sgd: descent on the likelihood with an L2 penalty, sequence by sequence.

The step size is eta / (1 + eta * lambda * t) after t sequences, with lambda = 2 * c2 / sequences. The first eta is the
best of several that are tried on a sample. The weights of the pass with the smallest loss come out.
"""

from __future__ import annotations

import math

import numpy as np

from palmette.crfsuite.job import SEED, Job
from palmette.kernels.chain.forms import Chain
from palmette.options.learners import Crf
from palmette.structures.chain.weights import estimated, norm
from palmette.training.chain.descent import DescentLearning
from palmette.training.slices import Monitor
from palmette.training.trainer import shuffled

DONE = {
    True: "SGD terminated with the stopping criteria",
    False: "SGD terminated with the maximum number of iterations",
}


def train_l2sgd(job: Job) -> tuple[Chain, str]:
    """The best weights, and how training ended."""
    values, log = job.values, job.log
    job.generated()
    shown = {name: values[name] for name in ("c2", "max_iterations", "period", "delta")}
    log.parameters("Stochastic Gradient Descent (SGD)", shown)
    log.say("")
    learning = _learning(job, _calibrated(job))
    sequences, period = learning.costs.size, values["period"]
    losses: list[float] = []
    best, best_loss, settled = estimated(learning.chain, None), math.inf, False
    for number in range(1, values["max_iterations"] + 1):
        log.say(f"***** Epoch #{number} *****")
        loss = _pass(job, learning, shuffled(SEED, number, sequences))
        losses.append(loss)
        if loss < best_loss:
            best, best_loss = estimated(learning.chain, None), loss
        ratio = _improvement(losses[-1 - period], loss) if 0 < period < len(losses) else None
        lines = [f"Loss: {loss:f}"] + ([] if ratio is None else [f"Improvement ratio: {ratio:f}"])
        lines += [
            f"Feature L2-norm: {norm(learning.chain):f}",
            f"Learning rate (eta): {_rate(learning):f}",
            f"Total number of feature updates: {number * sequences}",
        ]
        job.after_iteration(lines, lambda: learning.chain)
        settled = ratio is not None and ratio < values["delta"]
        if settled:
            break
    log.say(DONE[settled], f"Loss: {best_loss:f}")
    return best, DONE[settled]


def _improvement(before: float, now: float) -> float:
    """By which share the loss has decreased; there is none to decrease if it is 0, as with one label."""
    return (before - now) / now if now else 0.0 if before == now else math.inf


def _learning(job: Job, eta: float) -> DescentLearning:
    learner = Crf(optimiser="sgd", l2=float(job.values["c2"]), rate=eta)
    return DescentLearning(job.new_chain(), job.data, clock=0.0, learnt=job.learnt, learner=learner)


def _rate(learning: DescentLearning) -> float:
    """The step size of the last sequence."""
    return learning.descent.rate / (1.0 + learning.descent.fall * (learning.clock - 1.0))


def _pass(job: Job, learning: DescentLearning, order: np.ndarray) -> float:
    """Learn from the sequences in this order. The loss: what they cost on the way, and the penalty afterwards."""
    learning.begin_epoch(1)
    learning.train(order, Monitor(job.interrupt))
    job.stop_if_asked()
    share = order.size / learning.costs.size
    return learning.objective + share * learning.l2 * norm(learning.chain) ** 2


def _calibrated(job: Job) -> float:
    """The step size with the smallest loss after a pass over a sample."""
    values, log, data = job.values, job.log, job.data
    shown = {name: value for name, value in values.items() if name.startswith("calibration.")}
    sizes = np.diff(data.offset)
    sample = shuffled(SEED, 0, sizes.size)[: int(values["calibration.samples"])]
    log.parameters("Calibrating the learning rate (eta)", shown | {"calibration.samples": sample.size})
    at_start = float(sizes[sample].sum()) * math.log(job.problem.shape.n_labels)
    log.say(f"Initial loss: {at_start:f}")
    eta, wanted, falls = values["calibration.eta"], values["calibration.candidates"], False
    best, best_loss = eta, math.inf
    for trial in range(1, max(2, values["calibration.max_trials"])):  # as CRFsuite counts them
        log.begin(f"Trial #{trial} (eta = {eta:f}): ")
        loss = _pass(job, _learning(job, eta), sample)
        better = math.isfinite(loss) and loss < at_start
        log.say(f"{loss:f}" + ("" if better else " (worse)"))
        if math.isfinite(loss) and loss < best_loss:
            best, best_loss = eta, loss
        wanted -= better
        if not falls and better and wanted > 0:
            eta *= values["calibration.rate"]
        elif not falls:
            falls, wanted = True, values["calibration.candidates"]
            eta = values["calibration.eta"] / values["calibration.rate"]
        elif wanted > 0:
            eta /= values["calibration.rate"]
        else:
            break
    log.say(f"Best learning rate (eta): {best:f}", f"Seconds required: {log.seconds()}", "")
    return float(best)
