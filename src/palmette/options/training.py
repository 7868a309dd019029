"""Options of every training that passes over the data: how long, in which order, and which weights come out."""

from __future__ import annotations

import os
from typing import NamedTuple

from palmette.options.declare import OptionError, Options, Value, option
from palmette.options.spelling import named, spelt

FORMS = {
    "nfc": "letters with their accents as one character, however they are written",
    "none": "as they are written",
}


UNICODE: str = option(
    default="nfc", choices=FORMS, group="features",
    help="Characters that features are made from. The text itself is written as it was read.",
)  # fmt: skip
"""Declared by taggers, parsers, classifiers, hidden Markov models and language models."""

PASSES = 10
MOST_PASSES = 100  # with patience or an error window, if the number of passes is left open
MOST_COUNT = 1_000_000_000  # that kernels compare with numbers of occurrences
LIMITS = ("passes", "patience", "stop_window", "stop_error")  # which a resumed training does not take over
STOP_ERROR = 0.02  # percentage points, as in Wapiti
AVERAGES = {
    "avg": "mean of the weights after every example",
    "mavg": "the same mean, from which learning starts again every k-th pass (Sun et al. 2009)",
    "last": "the weights after the last example",
}


# Sentences from which on a batch has so many of them: held-out scores stay the same, and threads have work
BATCHES = ((1_000_000, 32), (200_000, 16), (50_000, 8), (5_000, 4))
MOST_BATCH = 4096


def automatic_batch_size(n_sentences: int, most: int | None = None) -> int | None:
    """The size of batches for so many training sentences; None if they are learnt from one by one. A learner may limit
    it."""
    return next((min(size, most or size) for least, size in BATCHES if n_sentences >= least), None)


class StopWindow(NamedTuple):
    """Stop when the error rate has varied by less than `change` percentage points within the last `passes` passes."""

    passes: int
    change: float


class TrainingOptions(Options):
    """Shared by taggers, parsers and classifiers."""

    batch_size: int | None = option(
        default=None, low=1, high=MOST_BATCH, group="training",
        help="Sentences whose updates are found with the same weights, so that threads can share them, and then made "
        f"one after the other (default: 1, also for taggers with mira, pa and arow; otherwise {BATCHES[-1][1]} from "
        f"{BATCHES[-1][0]:,} sentences on, more from {BATCHES[-2][0]:,} on). The model depends on it, and not on the "
        "number of threads.",
    )  # fmt: skip
    passes: int | None = option(
        default=None, low=1, group="training",
        help=f"Passes over the data (default: {PASSES}; with --patience or --stop-window at most {MOST_PASSES}).",
    )  # fmt: skip
    patience: int | None = option(
        default=None, low=1, group="training",
        help="Stop after this many passes without a better score on the development data.",
    )  # fmt: skip
    stop_window: int | None = option(
        default=None, low=2, group="training",
        help="Stop when the error rate on the development data (without them: on the training data) hardly varied "
        "within this many passes; Wapiti's -w, which is 5 there.",
    )  # fmt: skip
    stop_error: float | None = option(
        default=None, above=0.0, high=100.0, group="training",
        help="For --stop-window: the error rate hardly varied if its highest and lowest value differ by less than so "
        f"many percentage points (default: {STOP_ERROR}); Wapiti's -e.",
    )  # fmt: skip
    seed: int = option(
        default=1, low=0, high=2**62, group="training", help="The same seed gives the same model, bit for bit."
    )


class TrainingSettings(TrainingOptions, Value):
    """Checked options of a training, and what follows from them."""

    def stop_rule(self) -> StopWindow | None:
        """The rule of the error window, if there is one."""
        if self.stop_window is None:
            return None
        return StopWindow(self.stop_window, STOP_ERROR if self.stop_error is None else self.stop_error)

    def check_stop_rule(self) -> None:
        """OptionError if half of the rule is missing."""
        if self.stop_error is not None and self.stop_window is None:
            window, such_as = named(TrainingOptions, "stop_window"), spelt(TrainingOptions, "stop_window", 5)
            raise OptionError("stop_error", f"belongs to {window}: give both, such as {such_as}")

    def n_passes(self) -> int:
        """The number of passes in effect."""
        if self.passes is not None:
            return self.passes
        return PASSES if self.patience is None and self.stop_window is None else MOST_PASSES


QUOTA = "/sys/fs/cgroup/cpu.max"  # of a container: microseconds of a core per period


def available_cores() -> int:
    """The cores that this process may use: those it is bound to, at most as many as its container has."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open(QUOTA, encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, min(bound, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no container, or one without a limit
        return bound
