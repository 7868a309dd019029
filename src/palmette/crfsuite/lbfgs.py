"""The algorithm lbfgs: the likelihood of all data with L1 and L2 penalties."""

from __future__ import annotations

import numpy as np

from palmette.crfsuite.job import Job
from palmette.crfsuite.parameters import LARGEST
from palmette.kernels.chain.forms import Chain
from palmette.structures.chain.weights import new_chain
from palmette.training.chain.batch import check_memory, compacted
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.overflow import check_descent
from palmette.training.lbfgs import Iteration, minimise

ENDINGS = {
    "gradient": "L-BFGS resulted in convergence",
    "decrease": "L-BFGS terminated with the stopping criteria",
    "iterations": "L-BFGS terminated with the maximum number of iterations",
    "no step": "L-BFGS resulted in convergence",  # at the precision of the scores
}
AT_OPTIMUM = "L-BFGS terminated with error code (2)"  # of liblbfgs: the start is the optimum
SHOWN = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}  # names in the log
ORDER = ("c1", "c2", "num_memories", "max_iterations", "epsilon", "period", "delta", "linesearch", "max_linesearch")


def train_lbfgs(job: Job) -> tuple[Chain, str]:
    """The weights that minimise the objective, and how training ended."""
    values, log = job.values, job.log
    job.generated()
    problem = job.problem
    chain = new_chain(problem.shape, problem.collected.sizes, problem.allowed, {})
    objective = ChainObjective(chain, job.data, values["c2"], seen=job.seen, learnt=job.learnt)
    check_memory(objective.size, values["num_memories"])
    log.parameters("L-BFGS optimization", {SHOWN.get(name, name): values[name] for name in ORDER})
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
    ended = ENDINGS[found.ending] if found.iterations else AT_OPTIMUM
    log.say(ended)
    return compacted(objective.chain), ended
