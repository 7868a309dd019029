"""The log of a training, message by message, as events and figures: what `Trainer.logparser` is.

Messages are those of log.py. `feed` takes one and returns the event that it completes, if any:

    start  featgen_progress  featgen_end  prepared (or prepare_error)  iteration ...  optimization_end  end
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple


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
