"""The algorithms ap, pa and arow: an update after each sequence whose best labelling is wrong."""

from __future__ import annotations

import numpy as np

from palmette.crfsuite.job import SEED, Job
from palmette.kernels.chain.forms import Chain
from palmette.kernels.chain.train_margins import make_margin_workspace, train_margins
from palmette.kernels.learning.rule import AROW, CAPPED, HARD, ONE, PA, PERCEPTRON, ROOT, SOFT, Rule
from palmette.structures.chain.weights import estimated, norm, with_state
from palmette.training.slices import Monitor, Slices
from palmette.training.trainer import shuffled

TITLES = {
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
DONE = {True: "terminated with the stopping criterion", False: "terminated with the maximum number of iterations"}


def train_by_margins(job: Job, algorithm: str) -> tuple[Chain, str]:
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
            log.say(DONE[settled].capitalize(), "")
            break
    return result, DONE[settled]


def _rule(algorithm: str, job: Job) -> Rule:
    values = job.values
    if algorithm == "passive-aggressive":
        variant, loss = (HARD, CAPPED, SOFT)[values["type"]], ROOT if values["error_sensitive"] else ONE
        return Rule(PA, aggressiveness=float(values["c"]), variant=variant, loss=loss)
    if algorithm == "arow":
        return Rule(AROW, aggressiveness=float(values["gamma"]))
    return Rule(PERCEPTRON)
