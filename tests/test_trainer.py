"""The epoch loop with a learner that only counts: which epoch is kept, when training ends, and what it reports."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette.structures import Epoch, without_times
from palmette.training import (
    Counts,
    EpochLog,
    Interrupt,
    Learning,
    Monitor,
    Slices,
    interruptible,
    shuffled,
    stop_on_sigterm,
    train_epochs,
)
from palmette.training import trainer as slicing
from palmette.training.trainer import WINDOW, balanced

N = 20


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(slicing, "FIRST", slicing.LEAST)


class Counting(Learning):
    """Its weights are the number of examples seen; development scores are given."""

    def __init__(self, scores: Sequence[float] = (), updates: Sequence[int] = ()) -> None:
        self.scores, self.updates = list(scores), list(updates)
        self.seen: list[list[int]] = []
        self.total = 0

    @property
    def costs(self) -> np.ndarray:
        return np.full(N, 100)

    def begin_epoch(self, number: int) -> None:
        self.number = number
        self.seen.append([])

    def learn(self, examples: np.ndarray) -> Counts:
        self.seen[-1] += examples.tolist()
        self.total += examples.size
        return Counts(self.updates[self.number - 1] if self.updates else 1, 2)

    def snapshot(self) -> int:
        return self.total

    @property
    def has_dev(self) -> bool:
        return bool(self.scores)

    def evaluate(self, snapshot: Any) -> float:
        assert snapshot == self.total
        return self.scores[self.number - 1]

    def figures(self) -> dict[str, float]:
        return {"total": float(self.total)}


class OfNumPy(Counting):
    """Its numbers are scalars of NumPy, as uncompiled kernels return them."""

    def learn(self, examples: np.ndarray) -> Counts:
        counts = super().learn(examples)
        return Counts(np.int64(counts.updates), np.float64(counts.wrong))  # type: ignore[arg-type]

    def evaluate(self, snapshot: Any) -> float:
        return np.float64(super().evaluate(snapshot))

    def figures(self) -> dict[str, float]:
        return {"total": np.float32(self.total)}  # type: ignore[dict-item]


def test_the_log_has_plain_numbers() -> None:
    found, plain = (train_epochs(kind([0.1, 0.3]), 1, 2, EpochLog()) for kind in (OfNumPy, Counting))
    rows, expected = (without_times(msgspec.to_builtins(result.training_log)) for result in (found, plain))
    assert rows == expected


def test_without_development_data_the_last_epoch_counts() -> None:
    learning = Counting()
    found = train_epochs(learning, 3, 4, EpochLog())
    assert (found.best, found.best_epoch, found.interrupted, found.ended) == (4 * N, 4, False, "4 passes")
    assert learning.seen == [shuffled(3, number, N).tolist() for number in (1, 2, 3, 4)]
    assert [epoch.number for epoch in found.training_log] == [1, 2, 3, 4]
    assert found.training_log[-1].figures == {"total": 4 * N}
    first = found.training_log[0]
    assert first.train_accuracy == 1 - first.wrong / (100 * N)


def test_the_best_epoch_is_kept_and_patience_ends() -> None:
    found = train_epochs(Counting([0.1, 0.5, 0.5, 0.4, 0.3, 0.9]), 1, 6, EpochLog(3))
    assert (found.best, found.best_epoch, found.ended) == (2 * N, 2, "stopped: no better pass than 2 in the last 3")
    assert [epoch.dev for epoch in found.training_log] == [0.1, 0.5, 0.5, 0.4, 0.3]
    whole = train_epochs(Counting([0.1, 0.5, 0.5, 0.4, 0.3, 0.9]), 1, 6, EpochLog(4))
    assert (whole.best, whole.best_epoch, whole.ended) == (6 * N, 6, "6 passes")


def test_no_updates_is_convergence() -> None:
    found = train_epochs(Counting(updates=[1, 1, 0, 1]), 1, 9, EpochLog())
    assert (found.best_epoch, found.ended) == (3, "converged after 3 passes (no training errors)")


def test_a_training_that_goes_on() -> None:
    """It has the permutations that it would have had, and earlier epochs count."""
    scores = [0.1, 0.6, 0.2, 0.3, 0.4, 0.5]
    before = train_epochs(Counting(scores), 1, 3, EpochLog())
    learning = Counting(scores)
    log = EpochLog(3, epochs=before.training_log, best=before.best)
    found = train_epochs(learning, 1, 6, log)
    assert (found.best, found.best_epoch) == (before.best, 2)
    assert found.ended == "stopped: no better pass than 2 in the last 3"
    assert [epoch.number for epoch in found.training_log] == [1, 2, 3, 4, 5]
    assert learning.seen == [shuffled(1, number, N).tolist() for number in (4, 5)]
    without = train_epochs(Counting(scores), 1, 4, EpochLog(epochs=before.training_log))
    assert without.best_epoch == 4  # earlier weights are not there any more


def press(at: int, finished: bool) -> Any:
    def progress(number: int, done: int, total: int, epoch: Epoch | None) -> None:
        assert 0 < done <= total == 100 * N
        if number == at and (epoch is not None) == finished:
            os.kill(os.getpid(), signal.SIGINT)

    return progress


@pytest.mark.parametrize("scores", [[], [0.3, 0.2, 0.4]])
def test_an_interrupt_within_an_epoch(scores: list[float]) -> None:
    """Weights of a whole epoch if one was scored, else those of the moment; the epoch is not in the log."""
    learning = Counting(scores)
    found = train_epochs(learning, 1, 3, EpochLog(progress=press(2, False)))
    assert found.interrupted
    assert found.ended == "stopped: interrupted in pass 2"
    assert [epoch.number for epoch in found.training_log] == [1]
    assert found.best_epoch == 1
    assert found.best == (N if scores else learning.total)
    assert N < learning.total < 2 * N


def test_an_interrupt_after_an_epoch() -> None:
    found = train_epochs(Counting([0.3, 0.2, 0.4]), 1, 3, EpochLog(progress=press(2, True)))
    assert found.interrupted
    assert (found.best, found.best_epoch, found.ended) == (N, 1, "stopped: interrupted after pass 2")
    assert len(found.training_log) == 2


def test_sigterm_interrupts_only_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that trains within its own process decides itself what SIGTERM does."""
    monkeypatch.setattr("palmette.training.interrupt._signals", [signal.SIGINT])
    own: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda signum, frame: own.append(signum))
    try:
        with interruptible() as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            assert not interrupt
        assert own == [signal.SIGTERM]
        stop_on_sigterm()
        with interruptible() as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupt.signal == signal.SIGTERM
            with pytest.raises(SystemExit, match="143"):
                os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert own == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_interrupt_raises() -> None:
    with interruptible() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_progress_reaches_the_end_of_every_epoch() -> None:
    calls: list[tuple[int, int, bool]] = []
    learning = Counting()
    log = EpochLog(progress=lambda number, done, total, epoch: calls.append((number, done, epoch is not None)))
    train_epochs(learning, 1, 2, log)
    for number in (1, 2):
        own = [(done, finished) for n, done, finished in calls if n == number]
        assert own[-2:] == [(100 * N, False), (100 * N, True)]
        assert [done for done, _ in own] == sorted(done for done, _ in own)
    assert calls[0][1] < 100 * N


def test_work_in_slices() -> None:
    """Every example once and in order; nothing after Ctrl-C."""
    interrupt, slices = Interrupt(), Slices(np.arange(1, 101) * 10)
    monitor = Monitor(interrupt)
    shard = np.random.default_rng(0).permutation(100)[:70]
    parts = list(monitor.over(slices, shard))
    assert np.concatenate(parts).tolist() == shard.tolist()
    assert len(parts) > 1
    seen = 0
    for examples in monitor.over(slices, shard):
        seen += examples.size
        interrupt.signal = signal.SIGINT
    assert 0 < seen < 70


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 300), st.integers(1, 9), st.integers(0, 3))
def test_batches_have_examples_of_the_same_cost(n: int, batch: int, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(1, 100, n)
    order = shuffled(seed, 1, n)
    found = balanced(order, costs, batch, seed, 1)
    assert sorted(found.tolist()) == list(range(n))
    if batch == 1:
        assert found is order
    span = WINDOW * batch
    for first in range(0, n - n % span, span):  # whole stretches keep their examples, in batches of neighbours by cost
        assert sorted(found[first : first + span]) == sorted(order[first : first + span])
        rows = np.sort(costs[found[first : first + span]].reshape(-1, batch), axis=1)
        ordered = rows[np.lexsort((rows[:, -1], rows[:, 0]))]
        assert (ordered[1:, 0] >= ordered[:-1, -1]).all()
    assert (found == balanced(order, costs, batch, seed, 1)).all()
