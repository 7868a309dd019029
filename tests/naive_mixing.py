"""Iterative parameter mixing from its definition: every weight vector that a shard ever had is kept, as float64.

The mean of all weights is that of the first vector, and of the vector that each shard had after each of its examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from palmette.kernels.chain.forms import Chain
from palmette.training.chain.learning import ChainLearning

Vector = list[np.ndarray]


def dense(chain: Chain) -> Vector:
    """All weights of a chain, f64, by table: transitions, then rows by attribute."""
    chain = getattr(chain, "chain", chain)  # that of a beam has weights of label contexts beside it
    rows = [r.w[r.slot] if r.slot.size and not r.first.size else r.w for r in chain.weights]
    return [block.astype(np.float64) for block in (*(t.w for t in chain.transitions), *rows)]


def set_dense(chain: Chain, vector: Vector) -> None:
    """Make a vector the weights of a chain, with a row for every attribute."""
    for t, block in zip(chain.transitions, vector[:3], strict=True):
        t.w[:] = block
    for r, block in zip(chain.weights, vector[3:], strict=True):
        if r.slot.size and not r.first.size:
            r.slot[:] = np.arange(1, r.slot.size + 1)
            r.used[0] = r.slot.size + 1
            r.w[1:] = block
        else:
            r.w[:] = block


@dataclass
class Twin:
    """Mixing by definition. make: a learning with the initial weights, fresh at each call."""

    make: Callable[[], ChainLearning]
    shards: list[np.ndarray]
    seed: int
    every: int | None = None  # the k of mavg
    by_updates: bool = False
    vectors: list[Vector] = field(default_factory=list)

    def mean(self) -> Vector:
        return [np.mean([vector[k] for vector in self.vectors], axis=0) for k in range(6)]

    def run(self, passes: int) -> Vector:
        """The mixed weights after so many passes."""
        w = dense(self.make().chain)
        self.vectors = [w]
        for number in range(1, passes + 1):
            if self.every is not None and number % self.every == 0:
                w = [block.astype(np.float32).astype(np.float64) for block in self.mean()]
                self.vectors = [w] * len(self.vectors)
            w = self._pass(number, w)
        return w

    def _pass(self, number: int, w: Vector) -> Vector:
        ends, updates, new = [], [], []
        for k, examples in enumerate(self.shards):
            learning = self.make()
            set_dense(learning.chain, w)
            learning.begin_epoch(number)
            order = np.random.default_rng([self.seed, number, k]).permutation(examples.size)
            updates.append(0)
            for example in examples[order]:
                updates[-1] += learning.learn(np.array([example])).updates
                new.append(dense(learning.chain))
            ends.append(dense(learning.chain))
        self.vectors += new
        shares = np.full(len(ends), 1 / len(ends))
        if self.by_updates and sum(updates):
            shares = np.array(updates) / sum(updates)
        mixed = [sum(share * end[k] for share, end in zip(shares, ends, strict=True)) for k in range(6)]
        return [block.astype(np.float32).astype(np.float64) for block in mixed]
