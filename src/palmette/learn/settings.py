"""What the user chooses about learning, checked in one place, saved in the model."""

from __future__ import annotations

import math

import msgspec

from palmette.errors import UsageError

LEARNERS = {
    "perceptron": "structured perceptron (Collins 2002): on an error, gold up and guess down by 1",
}
ESTIMATORS = {
    "avg": "the mean of the weights after every example",
    "last": "the weights after the last example",
}
METRICS = ("auto", "f1", "accuracy")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to learn. The defaults are those of the command line too."""

    learner: str = "perceptron"
    estimator: str = "avg"
    passes: int = 10
    seed: int = 1
    patience: int | None = None
    metric: str = "auto"
    min_count: int = 1
    max_attributes: int | None = None
    edge_features: str = "all"
    constraints: str = "auto"
    tune_bias: bool = False

    def __post_init__(self) -> None:
        _one_of("learner", self.learner, LEARNERS)
        _one_of("estimator", self.estimator, ESTIMATORS)
        _one_of("metric", self.metric, METRICS)
        _one_of("edge-features", self.edge_features, ("all", "seen"))
        if not isinstance(self.constraints, str):
            raise UsageError(f"constraints: {self.constraints!r} is not auto, none or the name of a tag scheme")
        _at_least("passes", self.passes, 1)
        _at_least("min-count", self.min_count, 1)
        _at_least("seed", self.seed, 0)
        for name, value in (("patience", self.patience), ("max-attributes", self.max_attributes)):
            if value is not None:
                _at_least(name, value, 1)


def _one_of(name: str, value: str, known: object) -> None:
    names = list(known)  # type: ignore[call-overload]
    if value not in names:
        raise UsageError(f"{name}: there is no {value!r}; choose one of {', '.join(names)}")


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or not math.isfinite(value):
        raise UsageError(f"{name}: {value!r} is not a whole number of at least {least}")
