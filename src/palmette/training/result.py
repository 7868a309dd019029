"""Outputs of training: the log of its epochs, the best epoch, and the reason for ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.structures.training_log import Epoch


class Progress(Protocol):
    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        """Called during epoch `number`, with the tokens done and in all, and once with its record when it is over."""
        ...


class TrainResult(NamedTuple):
    """The result of a training."""

    best: Any  # a snapshot of the weights
    best_epoch: int
    training_log: list[Epoch]
    signal: int  # that has interrupted it; 0: none
    ended: str  # the reason for ending

    @property
    def interrupted(self) -> bool:
        return self.signal != 0


class EpochLog:
    """The epochs so far and the best of them: by the score on development data if there is some, else the last one.

    A training that continues another starts from its epochs, and from its best snapshot if there is one.
    """

    def __init__(
        self,
        patience: int | None = None,
        progress: Progress | None = None,
        epochs: Sequence[Epoch] = (),
        best: Any = None,
        unit: str = "pass",
    ) -> None:
        self.patience = patience  # epochs without a better one after which training ends
        self.progress = progress
        self.epochs = list(epochs)
        self.best = best
        self.unit = unit  # how messages refer to an epoch
        scored = [(epoch.dev, -epoch.number) for epoch in epochs if epoch.dev is not None] if best is not None else []
        self.best_score, number = max(scored, default=(-np.inf, 0))
        self.best_epoch = -number

    def add(self, epoch: Epoch, work: int, snapshot: Callable[[], Any]) -> None:
        """Record an epoch of `work` tokens; the snapshot is taken if it is the best so far on development data."""
        self.epochs.append(epoch)
        if epoch.dev is None:
            self.best_epoch = epoch.number
        elif epoch.dev > self.best_score:
            self.best, self.best_epoch, self.best_score = snapshot(), epoch.number, epoch.dev
        if self.progress is not None:
            self.progress(epoch.number, work, work, epoch)

    def report(self, number: int, done: int, total: int) -> None:
        """Show how far epoch `number` is."""
        if self.progress is not None:
            self.progress(number, done, total, None)

    @property
    def is_stuck(self) -> bool:
        """Whether no epoch was better for as long as the patience lasts."""
        if self.patience is None or not self.epochs or self.epochs[-1].dev is None:
            return False
        return self.epochs[-1].number - self.best_epoch >= self.patience

    @property
    def stuck(self) -> str:
        return f"stopped: no better {self.unit} than {self.best_epoch} in the last {self.patience}"
