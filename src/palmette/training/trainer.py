"""The epoch loop of all online and batch learners: permutation, development data, patience, Ctrl-C, log.

It is independent of the structure. A `Learning` owns weights and examples; the unit of work is a shard of the examples
in a given order, for those weights. Chains, trees and latent structures each have a `Learning`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.errors import counted
from palmette.structures.training_log import Epoch
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.result import EpochLog, TrainResult

WINDOW = 32  # batches among which examples of the same cost are found


class Counts(NamedTuple):
    """Counts of a slice or an epoch."""

    updates: int = 0
    wrong: int = 0  # tokens (of a classifier: sentences) with a wrong guess

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        return Counts(self.updates + other.updates, self.wrong + other.wrong)


class ExampleOrder(Protocol):
    """In which order examples are visited that are on disk, and when."""

    def permutation(self, seed: int, number: int) -> np.ndarray:
        """The order of all examples in epoch `number`."""
        ...

    def visit(self, examples: np.ndarray) -> None:
        """Called before the next examples of that order are learnt from."""
        ...


class Learning(ABC):
    """The weights of a structure during training, with its training examples."""

    order: ExampleOrder | None = None  # of examples on disk; None: `shuffled`

    @property
    @abstractmethod
    def costs(self) -> np.ndarray:
        """i64[S]: the work per example, in tokens."""

    @property
    def batch_size(self) -> int:
        """Examples that are learnt from together: a call of `learn` gets a multiple of it, except at the end."""
        return 1

    @abstractmethod
    def begin_epoch(self, number: int) -> None:
        """Called before each epoch, counted from 1."""

    @abstractmethod
    def learn(self, examples: np.ndarray) -> Counts:
        """Update the weights with the examples i64[], one after the other."""

    def permutation(self, seed: int, number: int) -> np.ndarray:
        """The order of the examples in epoch `number`."""
        order = self.order
        found = shuffled(seed, number, self.costs.size) if order is None else order.permutation(seed, number)
        return balanced(found, self.costs, self.batch_size, seed, number)

    def train(self, permutation: np.ndarray, monitor: Monitor) -> Counts:
        """Learn from a shard, its examples in this order: the work of one epoch. Ctrl-C ends it early."""
        counts = Counts()
        for examples in monitor.over(self._slices, permutation):
            if self.order is not None:
                self.order.visit(examples)
            counts = counts + self.learn(examples)
        return counts

    @cached_property
    def _slices(self) -> Slices:
        return Slices(self.costs, self.batch_size)

    @abstractmethod
    def snapshot(self) -> Any:
        """The weights that training would return at this point."""

    @property
    def has_dev(self) -> bool:
        """Whether there is development data."""
        return False

    def evaluate(self, snapshot: Any) -> float:
        """The score of the weights on development data."""
        raise NotImplementedError

    def dev_error(self, score: float) -> float:
        """The error rate of the last evaluation on development data, whose score it was."""
        return 1.0 - score

    def figures(self) -> dict[str, float]:
        """Further numbers about an epoch, by name."""
        return {}

    def record(self, number: int, counts: Counts, seconds: float, dev: float | None) -> Epoch:
        """The entry of an epoch in the training log, made when it is over and scored. Its values are plain Python
        numbers: uncompiled kernels return NumPy scalars, which cannot be stored."""
        updates, wrong = int(counts.updates), int(counts.wrong)
        accuracy = 1.0 - wrong / max(1, int(self.costs.sum()))
        figures = {name: float(value) for name, value in self.figures().items()}
        return Epoch(number, updates, wrong, accuracy, seconds, None if dev is None else float(dev), figures)


def shuffled(seed: int, number: int, n: int) -> np.ndarray:
    """The permutation of epoch `number`: a function of seed and number, so that a resumed training continues exactly
    as it would have without a break."""
    return np.random.default_rng([seed, number]).permutation(n)


def balanced(permutation: np.ndarray, costs: np.ndarray, batch: int, seed: int, number: int) -> np.ndarray:
    """The permutation with examples of about the same cost in each batch, so that threads end together: in every
    stretch of WINDOW batches examples are sorted by cost, and then the batches are put in random order."""
    if batch == 1:
        return permutation
    n, whole = permutation.size, permutation.size // batch  # a smaller last batch stays at the end
    own, stretch = costs[permutation], np.arange(n) // (WINDOW * batch)
    by_cost = permutation[np.argsort(stretch * (1 + own.max(initial=0)) + own, kind="stable")]
    drawn = np.random.default_rng([seed, number, batch]).random(whole + 1)[:whole]
    order = np.lexsort((drawn, np.arange(whole) // WINDOW))
    return np.concatenate((by_cost[: whole * batch].reshape(whole, batch)[order].ravel(), by_cost[whole * batch :]))


def train_epochs(learning: Learning, seed: int, epochs: int, log: EpochLog) -> TrainResult:
    """Continue from the epochs of the log (none: from the start) up to `epochs` in all.

    With development data the best epoch is kept. The patience of the log and its error window may end training
    early."""
    ended = None
    with interruptible() as interrupt:
        for number in range(len(log.epochs) + 1, epochs + 1):
            learning.begin_epoch(number)
            begun = time.perf_counter()
            permutation = learning.permutation(seed, number)
            counts = learning.train(permutation, Monitor(interrupt, partial(log.report, number)))
            if interrupt:
                kept = log.best if log.best is not None else learning.snapshot()
                ended = f"stopped: interrupted in pass {number}"
                return TrainResult(kept, log.best_epoch or number, log.epochs, interrupt.signal, ended)
            _add_epoch(learning, number, counts, time.perf_counter() - begun, log)
            ended = f"stopped: interrupted after pass {number}" if interrupt else _reason_to_end(number, counts, log)
            if ended is not None:
                break
    best, best_epoch = log.best, log.best_epoch
    if not learning.has_dev or best is None:
        best, best_epoch = learning.snapshot(), len(log.epochs)
    return TrainResult(best, best_epoch, log.epochs, interrupt.signal, ended or counted(epochs, "pass", "passes"))


def _add_epoch(learning: Learning, number: int, counts: Counts, seconds: float, log: EpochLog) -> None:
    # Without development data only the last weights are needed; a snapshot takes a tenth of the time of an epoch.
    snapshot = learning.snapshot() if learning.has_dev else None
    dev = learning.evaluate(snapshot) if learning.has_dev else None
    error = None if dev is None else learning.dev_error(dev)
    log.add(learning.record(number, counts, seconds, dev), int(learning.costs.sum()), lambda: snapshot, error)


def _reason_to_end(number: int, counts: Counts, log: EpochLog) -> str | None:
    if counts.updates == 0:
        return f"converged after {counted(number, 'pass', 'passes')} (no training errors)"
    return log.reason_to_stop


# A shard cut into slices short enough for progress and Ctrl-C.
#
# A compiled kernel cannot be interrupted, so each call gets examples for about SLICE_SECONDS, whole batches. The result
# does not depend on the boundaries of the slices.

SLICE_SECONDS = 0.1
FIRST, LEAST = 2000.0, 500.0  # tokens of the first slice, and the least of any slice


class Slices:
    """Cuts examples into slices, and measures the speed of the work on them."""

    def __init__(self, costs: np.ndarray, batch: int = 1) -> None:
        self.costs = costs  # i64[S]  the work per example, in tokens
        self.batch = batch  # examples that stay together, from the first on
        self.size = FIRST

    def end(self, examples: np.ndarray, first: int) -> int:
        """The end of the slice that begins at `first`."""
        reach = np.cumsum(self.costs[examples[first : first + int(self.size) + 1]])
        n = 1 + int(np.searchsorted(reach, self.size))
        return min(examples.size, first + -(-n // self.batch) * self.batch)

    def took(self, tokens: int, seconds: float) -> None:
        """Adapt the size to how long a slice took."""
        speed = tokens / max(seconds, 1e-6)
        self.size = max(LEAST, min(4 * self.size, speed * SLICE_SECONDS))


class Monitor:
    """Hands out an epoch's work in slices, reports progress after each, and stops on Ctrl-C."""

    def __init__(self, interrupt: Interrupt, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        self.interrupt = interrupt
        self.report = report  # called with tokens done and tokens in all

    def over(self, slices: Slices, examples: np.ndarray) -> Iterator[np.ndarray]:
        """The examples, slice by slice, until the end or Ctrl-C."""
        total, first, done = int(slices.costs[examples].sum()), 0, 0
        while first < examples.size and not self.interrupt:
            last = slices.end(examples, first)
            begun = time.perf_counter()
            yield examples[first:last]
            tokens = int(slices.costs[examples[first:last]].sum())
            slices.took(tokens, time.perf_counter() - begun)
            first, done = last, done + tokens
            self.report(done, total)
