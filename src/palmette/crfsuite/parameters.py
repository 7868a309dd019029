"""Training parameters: the names, defaults and types of CRFsuite's, per algorithm."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

LARGEST = 2147483647


class Parameter(NamedTuple):
    """A parameter; its type is that of the default."""

    default: bool | int | float | str
    help: str
    low: float = -math.inf
    choices: tuple[Any, ...] = ()


_FEATURES = {
    "feature.minfreq": Parameter(0.0, "Features that occur less often (by the sum of their values) are left out."),
    "feature.possible_states": Parameter(
        False, "Attributes have weights for all labels, not only those seen with them."
    ),
    "feature.possible_transitions": Parameter(False, "All label pairs have weights, not only those in the data."),
}
_C2 = Parameter(1.0, "Coefficient of the L2 penalty: c2 * sum of w^2.", 0.0)
_PERIOD = Parameter(10, "Iterations over which the decrease of the loss is measured; 0: never.", 0)
_ENDS = {
    "max_iterations": Parameter(100, "Passes over the data, at most.", 0),
    "epsilon": Parameter(0.0, "Training ends when the mean loss of a pass is less than this (arow: at most this)."),
}

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, "Coefficient of the L1 penalty: c1 * sum of |w|.", 0.0),
        "c2": _C2,
        "max_iterations": Parameter(LARGEST, "Iterations, at most; 0: no limit.", 0),
        "num_memories": Parameter(6, "Earlier steps that approximate the curvature.", 1),
        "epsilon": Parameter(1e-5, "Training ends when the gradient is at most this, relative to the weights.", 0.0),
        "period": _PERIOD,
        "delta": Parameter(1e-5, "Training ends when `period` iterations decrease the loss by at most this.", 0.0),
        "linesearch": Parameter(
            "MoreThuente", "The line search: strong Wolfe conditions without L1, backtracking with it.",
            choices=("MoreThuente",),
        ),
        "max_linesearch": Parameter(20, "Trials of one line search, at most.", 1),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(1000, "Passes over the data, at most.", 0),
        "period": _PERIOD,
        "delta": Parameter(1e-6, "Training ends when the loss decreases by less than this share in `period` passes."),
        "calibration.eta": Parameter(0.1, "The first step size that is tried.", 0.0),
        "calibration.rate": Parameter(2.0, "The factor between step sizes that are tried.", 1.0),
        "calibration.samples": Parameter(1000.0, "Sequences that step sizes are tried on.", 1.0),
        "calibration.candidates": Parameter(10, "Step sizes that decrease the loss, to choose from.", 1),
        "calibration.max_trials": Parameter(20, "Less step sizes than this are tried, but at least one.", 1),
    },
    "averaged-perceptron": {**_FEATURES, **_ENDS},
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(1, "0: the whole step, 1: at most c (PA-I), 2: a soft limit (PA-II).", choices=(0, 1, 2)),
        "c": Parameter(1.0, "The largest step (type 1), or its softness (type 2).", 0.0),
        "error_sensitive": Parameter(True, "The margin grows with the number of wrong labels."),
        "averaging": Parameter(True, "The mean of all weights comes out, not the last ones."),
        **_ENDS,
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(1.0, "The variance of every weight at the start.", 0.0),
        "gamma": Parameter(1.0, "How little a sequence changes: large values make small steps.", 0.0),
        **_ENDS,
    },
}  # fmt: skip
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


class Parameters:
    """The parameters of one algorithm, with their values."""

    def __init__(self, algorithm: str, kind: str = "crf1d") -> None:
        name = algorithm.lower()
        self.algorithm = ALIASES.get(name, name)
        if self.algorithm not in ALGORITHMS or kind != "crf1d":
            known = "lbfgs, l2sgd, ap, pa, arow"
            raise ValueError(f"algorithm={algorithm!r}, type={kind!r}: choose one of {known}, and the type crf1d")
        self.declared = ALGORITHMS[self.algorithm]
        self.values: dict[str, Any] = {key: parameter.default for key, parameter in self.declared.items()}

    def find(self, name: str) -> Parameter:
        if name not in self.declared:
            raise ValueError(f"{self.algorithm} has no parameter {name!r}; it has {', '.join(self.declared)}")
        return self.declared[name]

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; numbers may be strings, and booleans 0 and 1."""
        parameter = self.find(name)
        made = _converted(value, type(parameter.default), name)
        if parameter.choices and made not in parameter.choices:
            raise ValueError(f"{name}: {value!r} is not one of {', '.join(map(str, parameter.choices))}")
        if not isinstance(made, str) and not parameter.low <= made:
            raise ValueError(f"{name}: {value!r} is less than {parameter.low:g}")
        self.values[name] = made

    def get(self, name: str) -> Any:
        self.find(name)
        return self.values[name]


def _converted(value: Any, kind: type, name: str) -> Any:
    if kind is str:
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {value!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: {value!r} is not a finite number")
    if kind is float:
        return number
    return bool(int(number)) if kind is bool else int(number)
