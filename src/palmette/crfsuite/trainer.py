"""`BaseTrainer` and `Trainer`: collect sequences, set parameters, train, and hear how it goes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from palmette.crfsuite.sequences import Sequences

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel

# Training parameters: the names, defaults and types of CRFsuite's, per algorithm.

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


class TrainingParameters:
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


# The log of a training, message by message, as events and figures: what `Trainer.logparser` is.
#
# Messages are those of `training.Log`. `feed` takes one and returns the event that it completes, if any:
#
#     start  featgen_progress  featgen_end  prepared (or prepare_error)  iteration ...  optimization_end  end


class LabelScore(NamedTuple):
    """Scores of a label on the holdout group; precision, recall and f1 are None where nothing was counted."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_FIGURES: list[tuple[str, str, Callable[[str], Any]]] = [
    ("loss", "Loss", float),
    ("feature_norm", "Feature norm", float),
    ("error_norm", "Error norm", float),
    ("active_features", "Active features", int),
    ("linesearch_trials", "Line search trials", int),
    ("linesearch_step", "Line search step", float),
    ("time", "Seconds required for this iteration", float),
]
_BY_NAME = {shown: (key, kind) for key, shown, kind in _FIGURES}
_FIGURE = re.compile(r"([A-Z][a-z ]+): (-?\d+(?:\.\d+)?)\n")
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_NOTHING = re.compile(r" {4}(.+): \(0, 0, 0\) \(\*{6}, \*{6}, \*{6}\)")
_PROGRESS = frozenset([*"0123456789.", "10"])


class TrainLogParser:
    """Reads the log of one training."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  # name, first and last message (excluded) that belong to it

    def feed(self, line: str) -> str | None:
        """Take a message; the event that it completes, or None."""
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self._starting(line)
            self.events.append(("start", 0, 1))
            return "start"
        steps = {
            "STARTING": self._starting,
            "FEATGEN": self._generating,
            "AFTER_FEATGEN": self._preparing,
            "ITERATION": self._iterating,
            "AFTER_ITERATION": self._between,
            "STORING": self._storing,
        }
        event = steps[self.state](line)
        if event is not None:
            # The message that completes these two belongs to what comes next.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def _starting(self, line: str) -> str | None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"
        return None

    def _generating(self, line: str) -> str | None:
        if line in _PROGRESS:
            self.featgen_percent += 2
            return "featgen_progress"
        if line.startswith("Number of features: "):
            self.featgen_num_features = int(line.split()[-1])
        seconds = _SECONDS.match(line)
        if seconds is None:
            return None
        self.featgen_seconds = float(seconds[1])
        self.state = "AFTER_FEATGEN"
        return "featgen_end"

    def _preparing(self, line: str) -> str | None:
        if self._opens(line):
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _opens(self, line: str) -> bool:
        """Whether an iteration begins."""
        head = _HEAD.match(line)
        if head is None:
            return False
        self.state = "ITERATION"
        self.last_iteration = {"num": int(head[1]), "scores": {}}
        self.iterations.append(self.last_iteration)
        return True

    def _iterating(self, line: str) -> str | None:
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        info = self.last_iteration
        assert info is not None
        if (figure := _FIGURE.match(line)) and figure[1] in _BY_NAME:
            key, kind = _BY_NAME[figure[1]]
            info[key] = kind(figure[2])
        elif macro := _MACRO.match(line):
            info |= zip(("avg_precision", "avg_recall", "avg_f1"), map(float, macro.groups()), strict=True)
        elif accuracy := _ACCURACY.match(line):
            key, share = f"{accuracy[1].lower()}_accuracy", Fraction(int(accuracy[2]), int(accuracy[3]))
            info |= {key: share, f"{key}_float": float(share)}
        elif label := _LABEL.match(line):
            info["scores"][label[1]] = LabelScore(*map(int, label.group(2, 3, 4)), *map(float, label.group(5, 6, 7)))
        elif nothing := _NOTHING.match(line):
            info["scores"][nothing[1]] = LabelScore(0, 0, 0, None, None, None)
        return None

    def _between(self, line: str) -> str | None:
        if self._opens(line):
            return None
        if line.startswith("Total seconds required for training: "):
            self.training_seconds = float(line.split()[-1])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        seconds = _SECONDS.match(line)
        if seconds is not None:
            self.storing_seconds = float(seconds[1])
        return "end" if line == "\n" else None


ZERO_BYTE = "CRFsuite's format cannot hold a label or an attribute with a zero byte; a name that ends in .palm can"


class BaseTrainer:
    """Trains a CRF of order 1 on sequences of items: `append` them, then `train`.

    algorithm: lbfgs (default), l2sgd, ap, pa or arow; params: parameters by name, see `params` and `help`; verbose:
    print the log.
    """

    verbose: Any
    _sequences: Sequences
    _parameters: TrainingParameters

    def __new__(cls, *args: Any, **more: Any) -> Self:
        """A subclass need not call `__init__`, as with python-crfsuite."""
        made = super().__new__(cls)
        made.verbose, made._sequences, made._parameters = None, Sequences(), TrainingParameters("lbfgs")
        return made

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters have their defaults then."""
        self._parameters = TrainingParameters(algorithm, type)

    def append(self, xseq: Any, yseq: Iterable[Any], group: int = 0) -> None:
        """Add a sequence of items, as `ItemSequence` describes them, and their labels. The group is a number: one of
        them may be held out in training."""
        self._sequences.append(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._sequences = Sequences()

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(self._parameters.declared)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._parameters.set(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._parameters.get(name)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters by name."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """What a parameter means."""
        return self._parameters.find(name).help

    def message(self, message: str) -> None:
        """Called with each message of the log: prints it."""
        if self.verbose:
            print(message, end="")

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write the model: in CRFsuite's format, or for a name that ends in .palm as a model of palmette;
        nothing is written if the name is empty. The sequences of the group `holdout` are not trained on: their scores
        are in the log."""
        path = os.fsdecode(model)
        if path:
            self._check_writing(path)
        self._before_train()
        trained = self._trained(holdout)
        if path:
            write_model(trained, path)
        self._stored(trained)

    def _check_writing(self, path: str) -> None:
        """An error, before a long training, if it is clear that its model cannot be written."""
        from palmette.data.files import check_output

        check_output(path)
        if not path.endswith(".palm") and self._sequences.has_zero_byte():
            raise ValueError(f"{path}: {ZERO_BYTE}")

    def _before_train(self) -> None:
        """Called before each training."""

    def _trained(self, holdout: int) -> ChainModel:
        from palmette.crfsuite.training import Log, model_of, new_job
        from palmette.training.interrupt import interruptible

        algorithm, log = self._parameters.algorithm, Log(self.message)
        with interruptible() as interrupt:
            job = new_job(self._sequences, self._parameters, holdout, log, interrupt)
            if algorithm == "lbfgs":
                from palmette.crfsuite.training import train_lbfgs

                chain, ended = train_lbfgs(job)
            elif algorithm == "l2sgd":
                from palmette.crfsuite.training import train_l2sgd

                chain, ended = train_l2sgd(job)
            else:
                from palmette.crfsuite.training import train_by_margins

                chain, ended = train_by_margins(job, algorithm)
            log.total()
            model = model_of(job, algorithm, chain, ended)
            job.stop_if_asked()
        self._sizes, self._log = job.sizes, log
        return model

    def _stored(self, model: ChainModel) -> None:
        from palmette.structures.chain.weights import n_weights

        features, attributes = self._sizes
        self._log.say(
            "Storing the model",
            f"Number of active features: {n_weights(model.searched)} ({features})",
            f"Number of active attributes: {model.feature_indexes[1].size} ({attributes})",
            f"Number of active labels: {len(model.labels)} ({len(model.labels)})",
            "Writing labels",
            "Writing attributes",
            "Writing feature references for transitions",
            "Writing feature references for attributes",
            f"Seconds required: {self._log.seconds()}",
            "",
        )


class Trainer(BaseTrainer):
    """A trainer that reads its own log: override `on_iteration` and the others to follow it; `logparser` has the
    figures of all iterations."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Called with each message of the log."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        more: tuple[Any, ...] = ()
        if event == "featgen_progress":
            more = (parser.featgen_percent,)
        elif event == "iteration":
            more = (parser.last_iteration,)
        getattr(self, f"on_{event}")(parser.last_log, *more)

    def on_start(self, log: str) -> None:
        """Training begins. This and the others print their part of the log."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Features are being counted."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Features are counted."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """No iteration was possible."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration is over; `info` has its figures."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Training is over."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


def write_model(model: ChainModel, path: str) -> None:
    """Write a model file, whole or not at all."""
    if path.endswith(".palm"):
        model.save(path)
        return
    from palmette.connect.crfsuite_models import crfsuite_bytes
    from palmette.data.files import write_whole

    data = crfsuite_bytes(model)
    with write_whole(path) as file:
        file.write(data)


# A `Trainer` that prints an iteration on a line: what `CRF(verbose=True)` shows.

WIDTHS = {"active": 7, "loss": 10}  # of figures that grow or shrink


class LinePerIterationTrainer(Trainer):
    """Prints a line per iteration, and at the end the scores of each label if there are development data."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        if self.verbose:
            print(_line(info), flush=True)

    def on_optimization_end(self, log: str) -> None:
        last = None if self.logparser is None else self.logparser.last_iteration
        if self.verbose and last and last.get("scores"):
            print("\n".join(_table(last["scores"])))
        super().on_optimization_end(log)


def _line(info: dict[str, Any]) -> str:
    """The figures of an iteration that its algorithm has."""
    parts = [f"Iter {info['num']:<4}", f"time={info['time']:.2f}", f"loss={info['loss']:<{WIDTHS['loss']}.2f}"]
    if "active_features" in info:
        parts.append(f"active={info['active_features']:<{WIDTHS['active']}}")
    if "avg_precision" in info:
        names = (("precision", "avg_precision"), ("recall", "avg_recall"), ("F1", "avg_f1"))
        parts += [f"{name}={info[key]:.3f}" for name, key in names]
        parts.append(f"acc(item/seq)={info['item_accuracy_float']:.3f} {info['instance_accuracy_float']:.3f}")
    if "feature_norm" in info:
        parts.append(f"feature_norm={info['feature_norm']:.2f}")
    return "  ".join(parts).rstrip()


def _table(scores: dict[str, Any]) -> list[str]:
    """Precision, recall, F1 and support of each label."""
    wide = max(len("label"), *map(len, scores))
    lines = [f"{'label':<{wide}}  precision  recall     F1  support"]
    for label in sorted(scores):
        one = scores[label]  # a label that is neither guessed nor there has no figures
        precision, recall, f1 = ("-" if x is None else f"{x:.3f}" for x in (one.precision, one.recall, one.f1))
        lines.append(f"{label:<{wide}}  {precision:>9}  {recall:>6}  {f1:>5}  {one.ref:>7}")
    rule = "-" * len(lines[0])
    return [rule, *lines, rule]
