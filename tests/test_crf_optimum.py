"""The optimum of a CRF against SciPy's L-BFGS-B in double precision: the same to 1e-5, with L2 and with L1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chain_arrays import column_corpus
from objectives import evaluated

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.features import parse
from palmette.structures import allow_table
from palmette.training import ChainObjective, minimise

TEXT = "U1:%x[0,0]\nU2:%x[0,1]\nU3:%x[-1,1]/%x[0,1]\nB\n"
SHARP: dict[str, Any] = {"tolerance": 1e-9, "gradient_tolerance": 1e-6, "iterations": 3000}


def objective_of(l2: float, threads: int = 1) -> ChainObjective:
    """The likelihood of some sentences, at weights of zero."""
    X, y = (part[:25] for part in load_demo("train"))
    tagger = Tagger(template=parse(TEXT), constraints="none", passes=1).fit(X, y)
    model, corpus = tagger.model_, column_corpus([[list(token) for token in x] for x in X], y)
    numbers = {label: k for k, label in enumerate(model.labels)}
    known = np.array([numbers[label] for own in y for label in own], np.int32)
    data = model.encode(corpus)._replace(known=known, allow=allow_table(len(numbers)))
    objective = ChainObjective(model.chain, data, l2, threads)
    objective.put(np.zeros(objective.size, np.float32))
    return objective


def reference(objective: ChainObjective, l1: float) -> tuple[float, np.ndarray]:
    """The optimum by SciPy; w = u - v with u, v >= 0 makes an L1 term linear."""
    from scipy import optimize

    n = objective.size

    def split(uv: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluated(objective, uv[:n] - uv[n:])
        gradient = gradient.astype(np.float64)
        return value + l1 * float(uv.sum()), np.concatenate((gradient + l1, l1 - gradient))

    def smooth(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluated(objective, w)
        return value, gradient.astype(np.float64)

    options = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-13, "gtol": 1e-6, "maxcor": 20}
    given: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": options}
    if l1 == 0.0:
        found = optimize.minimize(smooth, np.zeros(n), **given)
        return float(found.fun), found.x
    found = optimize.minimize(split, np.zeros(2 * n), bounds=[(0.0, None)] * (2 * n), **given)
    return float(found.fun), found.x[:n] - found.x[n:]


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 1.0), (0.0, 0.1), (0.5, 0.0), (0.3, 0.2)])
def test_optimum_is_that_of_the_reference(l1: float, l2: float) -> None:
    objective = objective_of(l2)
    best, point = reference(objective, l1)
    found = minimise(objective, objective.start() * 0, l1=l1, **SHARP)
    assert found.value == pytest.approx(best, rel=1e-5)
    if l2:  # without L2 the value may be flat around the optimum
        assert found.point == pytest.approx(point, abs=5e-4)


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_optimum_is_the_same_bits_on_any_number_of_threads(l1: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.training.chain.objective.TOKENS", 50)
    monkeypatch.setattr("palmette.training.chain.objective.OCCURRENCES", 200)
    found = set()
    for threads in (1, 2, 5):
        objective = objective_of(0.1, threads)
        assert len(objective.work[0].parts) > 5
        result = minimise(objective, objective.start(), l1=l1, iterations=25, workers=objective.workers)
        found.add((result.value, result.point.tobytes()))
    assert len(found) == 1
