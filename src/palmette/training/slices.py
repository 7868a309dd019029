"""A shard cut into slices short enough for progress and Ctrl-C.

A compiled kernel cannot be interrupted, so each call gets examples for about SLICE_SECONDS, whole batches. The result
does not depend on the boundaries of the slices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from palmette.training.interrupt import Interrupt

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
