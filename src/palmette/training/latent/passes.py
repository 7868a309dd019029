"""Passes of a classifier's training: what is told of each, development data, patience, Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.kernels.latent.forms import (
    CAPPED,
    DECODED,
    SQUARED_LOSS,
    UPDATES,
    WRONG_NEGATIVES,
    WRONG_POSITIVES,
    Weights,
)
from palmette.options.classifier_settings import Settings
from palmette.structures.training_log import ClassifierEpoch, Epoch
from palmette.training.trainer import Progress, Slices, TrainResult, interruptible


class Counted(NamedTuple):
    """What a pass has to tell."""

    counts: np.ndarray  # f64[N_COUNTS]
    again: np.ndarray  # i64[cap]
    bound: float | None = None
    new_structures: tuple[int, ...] = ()
    inner_passes: tuple[int, ...] = ()


Tell = Callable[[int, int], None]  # tokens done, and in all


class Trainer(Protocol):
    """A learner's weights in training."""

    n_sentences: int
    n_tokens: int

    def one_pass(self, number: int, tell: Tell, interrupted: list[bool]) -> Counted: ...

    def snapshot(self) -> Weights: ...


class Slicing:
    """Cuts orders of sentences into slices short enough for progress and Ctrl-C."""

    def __init__(self, cost: np.ndarray) -> None:
        self.slices = Slices(cost)

    def over(self, order: np.ndarray, tell: Tell, interrupted: list[bool]) -> Iterator[tuple[int, int]]:
        """(first, last) of each slice of `order`, until the end or Ctrl-C."""
        first, done = 0, 0
        total = int(self.slices.cost[order].sum())
        while first < order.size and not interrupted:
            last = self.slices.after(order, first)
            begun = time.perf_counter()
            yield first, last
            tokens = int(self.slices.cost[order[first:last]].sum())
            self.slices.took(tokens, time.perf_counter() - begun)
            first, done = last, done + tokens
            tell(done, total)


def run(
    trainer: Trainer, settings: Settings, dev: Callable[[Weights], float] | None, progress: Progress | None
) -> TrainResult:
    """Pass after pass; with development data the best one is kept."""
    history: list[Epoch] = []
    best: Any = None
    best_pass, best_score, why = 0, -np.inf, f"{settings.passes} passes"
    with interruptible() as interrupted:
        for number in range(1, settings.passes + 1):

            def tell(done: int, total: int, number: int = number) -> None:
                if progress is not None:
                    progress(number, done, total, None)

            begun = time.perf_counter()
            counted = trainer.one_pass(number, tell, interrupted)
            if interrupted:
                kept = best if best is not None else trainer.snapshot()
                return TrainResult(kept, best_pass or number, history, True, f"interrupted in pass {number}")
            seconds = time.perf_counter() - begun
            now = trainer.snapshot() if dev is not None else None
            score = dev(now) if dev is not None and now is not None else None
            history.append(_line(number, counted, trainer.n_sentences, seconds, score))
            if score is None:
                best_pass = number
            elif score > best_score:
                best, best_pass, best_score = now, number, score
            if progress is not None:
                progress(number, trainer.n_tokens, trainer.n_tokens, history[-1])
            if interrupted:
                why = f"interrupted after pass {number}"
                break
            if counted.counts[UPDATES] == 0:
                why = f"no error was left after {number} passes"
                break
            if score is not None and settings.patience is not None and number - best_pass >= settings.patience:
                why = f"no better pass than {best_pass} in {settings.patience} passes"
                break
    if best is None:
        best, best_pass = trainer.snapshot(), len(history)
    return TrainResult(best, best_pass, history, bool(interrupted), why)


def _line(number: int, counted: Counted, n_sentences: int, seconds: float, dev: float | None) -> ClassifierEpoch:
    counts = counted.counts
    wrong = int(counts[WRONG_POSITIVES] + counts[WRONG_NEGATIVES])
    last = int(np.flatnonzero(counted.again)[-1]) + 1 if counted.again.any() else 0
    return ClassifierEpoch(
        number, int(counts[UPDATES]), wrong, 1.0 - wrong / max(1, n_sentences), seconds, dev, {},
        int(counts[WRONG_POSITIVES]), int(counts[WRONG_NEGATIVES]), int(counts[DECODED]),
        counted.again[:last].tolist(), int(counts[CAPPED]), float(counts[SQUARED_LOSS]), counted.bound,
        list(counted.new_structures), list(counted.inner_passes),
    )  # fmt: skip
