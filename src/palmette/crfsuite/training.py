"""One training with CRFsuite's algorithms: the data as numbers, the log, and lbfgs, l2sgd, ap, pa and arow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from palmette.crfsuite.sequences import Sequences
from palmette.crfsuite.trainer import LARGEST, TrainingParameters
from palmette.data.corpus import Corpus
from palmette.kernels.chain.forms import Active, Chain, Data, stride_of
from palmette.kernels.chain.train_margins import make_margin_workspace, train_margins
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.learning.rule import AROW, CAPPED, HARD, ONE, PA, PERCEPTRON, ROOT, SOFT, Rule
from palmette.options.chain import ChainSettings
from palmette.options.learners import Arow, Crf, Learner, PassiveAggressive, Perceptron
from palmette.structures.chain.data import allow_table, encode_corpus
from palmette.structures.chain.model import ChainModel, best_labels
from palmette.structures.chain.weights import Seen, estimated, new_chain, norm, with_state
from palmette.training.chain.finish import finish
from palmette.training.chain.fit import prepared
from palmette.training.chain.learning import DescentLearning
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import TrainedChain, TrainingData, TrainRequest
from palmette.training.chain.start import learnt_pairs, seen_labels
from palmette.training.chain.train import check_memory, compacted
from palmette.training.checks import check_descent
from palmette.training.interrupt import Interrupt
from palmette.training.lbfgs import Iteration, minimise
from palmette.training.result import TrainResult
from palmette.training.trainer import Monitor, Slices, shuffled

# What a training says, in the words that programs that read CRFsuite's log look for.

STEPS = 50  # of the progress of feature generation


def shown(value: Any) -> str:
    """A parameter as the log has it."""
    return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


class Log:
    """Sends messages, and measures the time between them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.begun = self.lap = time.perf_counter()

    def say(self, *lines: str) -> None:
        """Send lines, each as a message."""
        for line in lines:
            self._say(f"{line}\n")

    def begin(self, text: str) -> None:
        """Send the first part of a line."""
        self._say(text)

    def seconds(self) -> str:
        """Seconds since the last call, or the start."""
        before, self.lap = self.lap, time.perf_counter()
        return f"{self.lap - before:.3f}"

    def parameters(self, title: str, names: Mapping[str, Any]) -> None:
        self.say(title, *(f"{name}: {shown(value)}" for name, value in names.items()))

    def features(self, values: Mapping[str, Any]) -> None:
        """The head of feature generation."""
        self.parameters("Feature generation", {"type": "CRF1d"} | _starting(values, "feature."))

    def generated(self, count: int) -> None:
        """Feature generation is over: its progress in one go, and what it found."""
        for step in range(STEPS + 1):
            self._say("." if step % 5 else str(step // 5))
        self.say("", f"Number of features: {count}", f"Seconds required: {self.seconds()}", "")

    def total(self) -> None:
        self.say(f"Total seconds required for training: {time.perf_counter() - self.begun:.3f}", "")


def _starting(values: Mapping[str, Any], head: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name.startswith(head)}


class Holdout:
    """A group that is tagged after each iteration, to report its scores."""

    def __init__(self, corpus: Corpus, problem: TrainingData) -> None:
        assert corpus.labels is not None
        self.names, self.gold, self.offset = problem.labels, corpus.labels.ids, corpus.offset
        free, allow = np.full(corpus.n_tokens, len(self.names), np.int32), allow_table(len(self.names))
        self.data = encode_corpus(corpus, None, problem.collected.feature_indexes, free, allow)

    def lines(self, chain: Chain) -> list[str]:
        """The scores of the weights as lines of the log."""
        guess, _ = best_labels(chain, self.data, restricted=False)
        Y, right = len(self.names), guess == self.gold
        match, model, ref = (np.bincount(rows, minlength=Y) for rows in (self.gold[right], guess, self.gold))
        lines, sums = ["Performance by label (#match, #model, #ref) (precision, recall, F1):"], np.zeros(3)
        for name, *counts in zip(self.names, match.tolist(), model.tolist(), ref.tolist(), strict=True):
            figures = "(******, ******, ******)"
            if counts[2]:
                scores = _scores(*counts)
                sums += scores
                figures = "({:.4f}, {:.4f}, {:.4f})".format(*scores)
            lines.append(f"    {name}: ({counts[0]}, {counts[1]}, {counts[2]}) {figures}")
        whole = np.logical_and.reduceat(right, self.offset[:-1])
        lines.append("Macro-average precision, recall, F1: ({:.6f}, {:.6f}, {:.6f})".format(*(sums / Y)))
        for what, correct in (("Item", right), ("Instance", whole)):
            lines.append(f"{what} accuracy: {correct.sum()} / {correct.size} ({correct.mean():.4f})")
        return lines


def _scores(match: int, model: int, ref: int) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    precision, recall = match / model if model else 0.0, match / ref
    return precision, recall, 2 * precision * recall / (precision + recall) if match else 0.0


# One training: the data as numbers, the parameters, and the log that it writes.

LEAST = 1e-9  # of what must be above zero
SEED = 1  # of the order in which online learners see the sequences


@dataclass
class TrainingJob:
    """What the algorithms train on, and what they report."""

    values: Mapping[str, Any]  # of the parameters
    problem: TrainingData
    corpus: Corpus
    log: Log
    holdout: Holdout | None
    interrupt: Interrupt
    sizes: tuple[int, int] = (0, 0)  # features and attributes before those without weights are dropped

    def generated(self) -> None:
        """Report the number of features."""
        self.sizes = self.n_features, self.problem.collected.sizes[1]
        self.log.generated(self.sizes[0])

    @cached_property
    def learnt(self) -> np.ndarray:
        """bool[H, W]: the label pairs that have weights."""
        found = learnt_pairs(self.problem)
        if found is None:
            H = self.problem.shape.n_states
            found = np.zeros((H, stride_of(H)), np.bool_)
            found[:, :H] = True
        return found

    @cached_property
    def seen(self) -> Seen | None:
        """The labels of each attribute that it has weights for; None: all."""
        return seen_labels(self.problem)

    @cached_property
    def labels_of(self) -> Seen:
        """The labels that each attribute has weights for, as lists also where these are all labels."""
        A, Y = self.problem.collected.sizes[1], self.problem.shape.n_labels
        every = Seen(np.arange(A + 1, dtype=np.int64) * Y, np.tile(np.arange(Y, dtype=np.int32), A))
        return every if self.seen is None else self.seen

    @cached_property
    def data(self) -> Data:
        """What is learnt from: attributes of value 0 decide which features exist, and nothing else."""
        data = self.problem.data
        one, two, three = data.features
        if not one.val.size:
            return data
        there = one.val != 0.0
        before = np.concatenate(([0], np.cumsum(there)))
        val = one.val[there]
        kept = Active(before[one.ptr], one.att[there], val if (val != 1.0).any() else np.zeros(0, np.float32))
        return data._replace(features=(kept, two, three))

    def new_chain(self) -> Chain:
        """Zeros: a list of labels per attribute."""
        problem = self.problem
        return new_chain(problem.shape, problem.collected.sizes, problem.allowed, {1: self.labels_of})

    @property
    def n_features(self) -> int:
        sizes = self.problem.collected.sizes[1], self.problem.shape.n_labels
        return int((sizes[0] * sizes[1] if self.seen is None else self.seen.combo.size) + self.learnt.sum())

    def stop_if_asked(self) -> None:
        """Raise KeyboardInterrupt after Ctrl-C."""
        if self.interrupt:
            raise KeyboardInterrupt

    def after_iteration(self, lines: list[str], chain: Callable[[], Chain]) -> None:
        """Report an iteration, with the scores of the holdout group."""
        scores = [] if self.holdout is None else self.holdout.lines(chain())
        self.log.say(*lines, f"Seconds required for this iteration: {self.log.seconds()}", *scores, "")


def new_job(
    sequences: Sequences, parameters: TrainingParameters, holdout: int, log: Log, interrupt: Interrupt
) -> TrainingJob:
    """Read the sequences, and number attributes and labels."""
    check_compiled("training")
    values = parameters.values
    if holdout >= 0:
        log.say(f"Holdout group: {holdout + 1}", "")
    log.features(values)
    corpus, held = sequences.split(holdout)
    if not corpus.n_tokens:
        raise ValueError("there is nothing to train on: append sequences first, in another group than the holdout")
    request = TrainRequest(None, _settings(values), ends=False, least_sum=float(values["feature.minfreq"]))
    problem = prepared(corpus, request)
    return TrainingJob(values, problem, corpus, log, None if held is None else Holdout(held, problem), interrupt)


def _settings(values: Mapping[str, Any]) -> ChainSettings:
    """What is learnt of the data: the same for all algorithms."""
    which = {True: "all", False: "seen"}
    return ChainSettings(
        learner=Crf(l1=float(values.get("c1", 0.0)), l2=float(values.get("c2", 1.0))), constraints="none",
        unicode="none", partial=False, state_features=which[values["feature.possible_states"]],
        transition_features=which[values["feature.possible_transitions"]],
    )  # fmt: skip


def model_of(job: TrainingJob, algorithm: str, chain: Chain, ended: str) -> ChainModel:
    """The model with the weights that came out."""
    settings = job.problem.settings
    if algorithm != "lbfgs":
        settings = settings.replace(learner=_learner(algorithm, job.values), transition_features="all")
    trained = TrainedChain(TrainResult(chain, 0, [], 0, ended), settings, 0, dict)
    return finish(job.problem, trained)


def _learner(algorithm: str, values: Mapping[str, Any]) -> Learner:
    """The learner of ours that comes closest: a model file names it."""
    if algorithm == "l2sgd":
        return Crf(optimiser="sgd", l2=float(values["c2"]))
    if algorithm == "passive-aggressive":
        variant = ("PA", "PA-I", "PA-II")[values["type"]]
        return PassiveAggressive(pa_type=variant, aggressiveness=max(values["c"], LEAST))
    return Arow(aggressiveness=1.0 / max(values["gamma"], LEAST)) if algorithm == "arow" else Perceptron()


# The algorithm lbfgs: the likelihood of all data with L1 and L2 penalties.

LBFGS_ENDINGS = {
    "gradient": "L-BFGS resulted in convergence",
    "decrease": "L-BFGS terminated with the stopping criteria",
    "iterations": "L-BFGS terminated with the maximum number of iterations",
    "no step": "L-BFGS resulted in convergence",  # at the precision of the scores
}
AT_OPTIMUM = "L-BFGS terminated with error code (2)"  # of liblbfgs: the start is the optimum
LBFGS_NAMES = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}  # names in the log
LBFGS_ORDER = (
    "c1", "c2", "num_memories", "max_iterations", "epsilon", "period", "delta", "linesearch", "max_linesearch",
)  # fmt: skip


def train_lbfgs(job: TrainingJob) -> tuple[Chain, str]:
    """The weights that minimise the objective, and how training ended."""
    values, log = job.values, job.log
    job.generated()
    problem = job.problem
    chain = new_chain(problem.shape, problem.collected.sizes, problem.allowed, {})
    objective = ChainObjective(chain, job.data, values["c2"], seen=job.seen, learnt=job.learnt)
    check_memory(objective.size, values["num_memories"])
    log.parameters("L-BFGS optimization", {LBFGS_NAMES.get(name, name): values[name] for name in LBFGS_ORDER})
    log.say("")
    evaluations = 1

    def report(done: Iteration) -> bool:
        nonlocal evaluations
        trials, evaluations = done.evaluations - evaluations, done.evaluations
        lines = [
            f"Loss: {done.value:f}",
            f"Feature norm: {done.length:f}",
            f"Error norm: {done.norm:f}",
            f"Active features: {np.count_nonzero(done.point)}",
            f"Line search trials: {trials}",
            f"Line search step: {done.step:f}",
        ]
        log.say(f"***** Iteration #{done.number} *****")
        job.after_iteration(lines, lambda: objective.chain)
        return bool(job.interrupt)

    found = minimise(
        objective, objective.start(), l1=values["c1"], memory=values["num_memories"],
        iterations=values["max_iterations"] or LARGEST, tolerance=values["delta"],
        gradient_tolerance=values["epsilon"], period=values["period"], trials=values["max_linesearch"],
        report=report, workers=objective.workers,
    )  # fmt: skip
    job.stop_if_asked()
    check_descent(found, job.data, fresh=True)
    objective.put(found.point)
    ended = LBFGS_ENDINGS[found.ending] if found.iterations else AT_OPTIMUM
    log.say(ended)
    return compacted(objective.chain), ended


# The algorithm l2sgd: descent on the likelihood with an L2 penalty, sequence by sequence.
#
# The step size is eta / (1 + eta * lambda * t) after t sequences, with lambda = 2 * c2 / sequences. The first eta is
# the best of several that are tried on a sample. The weights of the pass with the smallest loss come out.

SGD_ENDINGS = {
    True: "SGD terminated with the stopping criteria",
    False: "SGD terminated with the maximum number of iterations",
}


def train_l2sgd(job: TrainingJob) -> tuple[Chain, str]:
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
    log.say(SGD_ENDINGS[settled], f"Loss: {best_loss:f}")
    return best, SGD_ENDINGS[settled]


def _improvement(before: float, now: float) -> float:
    """By which share the loss has decreased; there is none to decrease if it is 0, as with one label."""
    return (before - now) / now if now else 0.0 if before == now else math.inf


def _learning(job: TrainingJob, eta: float) -> DescentLearning:
    learner = Crf(optimiser="sgd", l2=float(job.values["c2"]), rate=eta)
    return DescentLearning(job.new_chain(), job.data, clock=0.0, learnt=job.learnt, learner=learner)


def _rate(learning: DescentLearning) -> float:
    """The step size of the last sequence."""
    return learning.descent.rate / (1.0 + learning.descent.fall * (learning.clock - 1.0))


def _pass(job: TrainingJob, learning: DescentLearning, order: np.ndarray) -> float:
    """Learn from the sequences in this order. The loss: what they cost on the way, and the penalty afterwards."""
    learning.begin_epoch(1)
    learning.train(order, Monitor(job.interrupt))
    job.stop_if_asked()
    share = order.size / learning.costs.size
    return learning.objective + share * learning.l2 * norm(learning.chain) ** 2


def _calibrated(job: TrainingJob) -> float:
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


# The algorithms ap, pa and arow: an update after each sequence whose best labelling is wrong.

TITLES = {
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
MARGIN_ENDINGS = {
    True: "terminated with the stopping criterion",
    False: "terminated with the maximum number of iterations",
}


def train_by_margins(job: TrainingJob, algorithm: str) -> tuple[Chain, str]:
    """The weights, and how training ended."""
    values, log, data = job.values, job.log, job.data
    job.generated()
    log.parameters(TITLES[algorithm], {k: v for k, v in values.items() if not k.startswith("feature.")})
    log.say("")
    rule, chain, learnt = _rule(algorithm, job), job.new_chain(), job.learnt
    if rule.kind == AROW:
        chain = with_state(chain)
        for variances in (chain.weights[0].state, chain.transitions[1].state):
            variances.fill(values["variance"])
    averages = rule.kind == PERCEPTRON or bool(values.get("averaging", False))
    workspace, slices = make_margin_workspace(chain, data, learnt), Slices(np.diff(data.offset))
    clock, sequences, settled = 1.0, data.offset.size - 1, False
    result = estimated(chain, None)
    for number in range(1, values["max_iterations"] + 1):
        loss = 0.0
        for part in Monitor(job.interrupt).over(slices, shuffled(SEED, number, sequences)):
            clock, more, _ = train_margins(chain, data, workspace, part, 0, part.size, clock, rule)
            loss += more
        job.stop_if_asked()
        result = estimated(chain, clock if averages else None)
        shown = result if rule.kind == PERCEPTRON else chain  # as CRFsuite, which shows PA's before averaging
        log.say(f"***** Iteration #{number} *****")
        job.after_iteration([f"Loss: {loss:f}", f"Feature norm: {norm(shown):f}"], lambda: result)  # noqa: B023
        mean = loss / sequences
        settled = mean <= values["epsilon"] if rule.kind == AROW else mean < values["epsilon"]
        if settled:
            log.say(MARGIN_ENDINGS[settled].capitalize(), "")
            break
    return result, MARGIN_ENDINGS[settled]


def _rule(algorithm: str, job: TrainingJob) -> Rule:
    values = job.values
    if algorithm == "passive-aggressive":
        variant, loss = (HARD, CAPPED, SOFT)[values["type"]], ROOT if values["error_sensitive"] else ONE
        return Rule(PA, aggressiveness=float(values["c"]), variant=variant, loss=loss)
    if algorithm == "arow":
        return Rule(AROW, aggressiveness=float(values["gamma"]))
    return Rule(PERCEPTRON)
