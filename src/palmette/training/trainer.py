"""The online trainer: passes over shuffled examples, in slices short enough for progress and Ctrl-C.

It knows nothing of the structure. It asks a `Learning` to learn from examples, and to say how good it has
become; what an example, a trellis or a weight is stays behind that interface.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.structures.training_log import Epoch

SLICE_SECONDS = 0.1


class Counts(NamedTuple):
    """What happened in a slice or a pass."""

    updates: int = 0
    wrong: int = 0  # tokens that the guess had wrong

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        return Counts(self.updates + other.updates, self.wrong + other.wrong)


class Learning(Protocol):
    """A structure's weights in training."""

    @property
    def cost(self) -> np.ndarray:
        """i64[S]: the work of each example, in tokens."""
        ...

    def begin_pass(self, number: int) -> None:
        """Called before each pass, counted from 1."""
        ...

    def learn(self, order: np.ndarray, first: int, last: int) -> Counts:
        """Learn from the examples order[first:last]."""
        ...

    def snapshot(self) -> Any:
        """The weights that would come out now."""
        ...

    def figures(self) -> dict[str, float]:
        """What is worth telling of the weights after a pass, by name."""
        ...

    @property
    def has_dev(self) -> bool:
        """Whether there is development data."""
        ...

    def evaluate(self, snapshot: Any) -> float:
        """How good the weights are on development data."""
        ...


class Progress(Protocol):
    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None: ...


class TrainResult(NamedTuple):
    """What training gives back."""

    best: Any  # a snapshot
    best_pass: int
    history: list[Epoch]
    interrupted: bool
    why: str  # why it ended


def shuffled(seed: int, number: int, n: int) -> np.ndarray:
    """The order of pass `number`: a function of both, so that a resumed training goes on as it would have."""
    return np.random.default_rng([seed, number]).permutation(n)


@contextlib.contextmanager
def interruptible() -> Iterator[list[bool]]:
    """Ctrl-C inside fills the list instead of raising, so that weights and clock stay in step; a second
    Ctrl-C raises as usual. Outside of the main thread signals cannot be handled, and nothing changes."""
    pressed: list[bool] = []

    def remember(signum: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)

    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def train_online(
    learning: Learning,
    seed: int,
    passes: int,
    patience: int | None,
    history: list[Epoch],
    progress: Progress | None,
    best: Any = None,
) -> TrainResult:
    """Go on from `history` (empty: from the start) and its best snapshot, up to `passes` passes in all.

    With development data the best pass is kept, and `patience` passes without a better one end it.
    """
    history = list(history)
    scored = [p for p in history if p.dev is not None] if best is not None else []
    best_pass = max(scored, key=lambda p: (p.dev, -p.number)).number if scored else 0
    best_score = max((p.dev for p in scored if p.dev is not None), default=-np.inf)
    sharing = Slices(learning.cost)
    why = f"{passes} passes"
    with interruptible() as interrupted:
        for number in range(len(history) + 1, passes + 1):
            order = shuffled(seed, number, learning.cost.size)
            learning.begin_pass(number)
            counts, seconds = _one_pass(learning, order, number, sharing, progress, interrupted)
            if interrupted:
                kept = best if best is not None else learning.snapshot()
                return TrainResult(kept, best_pass or number, history, True, f"interrupted in pass {number}")
            # Without development data only the end counts, and a snapshot takes as long as a tenth of a pass.
            snapshot = learning.snapshot() if learning.has_dev else None
            dev = learning.evaluate(snapshot) if learning.has_dev else None
            accuracy = 1.0 - counts.wrong / max(1, int(learning.cost.sum()))
            history.append(Epoch(number, counts.updates, counts.wrong, accuracy, seconds, dev, learning.figures()))
            if dev is None:
                best_pass = number
            elif dev > best_score:
                best, best_pass, best_score = snapshot, number, dev
            if progress is not None:
                progress(number, sharing.total, sharing.total, history[-1])
            if interrupted:
                why = f"interrupted after pass {number}"
                break
            if counts.updates == 0:
                why = f"no error was left after {number} passes"
                break
            if dev is not None and patience is not None and number - best_pass >= patience:
                why = f"no better pass than {best_pass} in {patience} passes"
                break
    if not learning.has_dev or best is None:
        best, best_pass = learning.snapshot(), len(history)
    return TrainResult(best, best_pass, history, bool(interrupted), why)


class Slices:
    """Cuts an order of examples into slices of about SLICE_SECONDS, learning the speed as it goes."""

    def __init__(self, cost: np.ndarray) -> None:
        self.cost = cost
        self.total = int(cost.sum())
        self.size = 2000.0

    def after(self, order: np.ndarray, first: int) -> int:
        """The end of the slice that begins at `first`."""
        reach = np.cumsum(self.cost[order[first : first + int(self.size) + 1]])
        return min(order.size, first + 1 + int(np.searchsorted(reach, self.size)))

    def took(self, tokens: int, seconds: float) -> None:
        speed = tokens / max(seconds, 1e-6)
        self.size = max(500.0, min(4 * self.size, speed * SLICE_SECONDS))


def _one_pass(
    learning: Learning,
    order: np.ndarray,
    number: int,
    slices: Slices,
    progress: Progress | None,
    interrupted: list[bool],
) -> tuple[Counts, float]:
    counts, done, first = Counts(), 0, 0
    begin = time.perf_counter()
    while first < order.size and not interrupted:
        last = slices.after(order, first)
        start = time.perf_counter()
        counts = counts + learning.learn(order, first, last)
        tokens = int(slices.cost[order[first:last]].sum())
        slices.took(tokens, time.perf_counter() - start)
        done += tokens
        first = last
        if progress is not None:
            progress(number, done, slices.total, None)
    return counts, time.perf_counter() - begin
