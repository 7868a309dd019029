"""Iterative parameter mixing (McDonald, Hall and Mann 2010) of chains.

The sentences are in shards. In a pass every shard learns from its own sentences, from the same weights on; then the
weights of all shards are mixed, and the next pass begins with the mixture. The shards are part of the model's settings:
the result depends on their number and not on who works on them, threads of this process or actors elsewhere
(training/cluster.py). What travels are weights that changed (changes.py); kernels/chain/mix.py says how they are mixed.

    ShardWorker      weights, sentences and permutations of one shard
    MixedLearning    the mixed weights with their accumulators, development data and clock; drives the shards
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.options.chain import ChainOptions
from palmette.options.spelling import named
from palmette.training.chain.changes import Base, Changes, Mixer, check_tables, copied, everything
from palmette.training.chain.exact import LAST, ChainLearning
from palmette.training.cluster import Cluster, Threads, Worker
from palmette.training.slices import Monitor
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning

TALLIES = ("infeasible", "objective", "updates", "bad", "position")  # sums over the examples of an epoch, if kept


class ShardPass(NamedTuple):
    """What a shard has learnt in a pass."""

    changes: list[Changes]
    counts: Counts
    examples: int  # learnt from; fewer than the shard has if the pass was interrupted
    tallies: dict[str, float]
    seconds: float


class ShardWorker(Worker):
    """One shard in training."""

    def __init__(self, learning: ChainLearning, examples: np.ndarray, shard: int, seed: int, sums: bool) -> None:
        """learning: with weights of its own; examples: those of the shard; sums: whether weights are averaged."""
        super().__init__()
        self.learning, self.examples, self.shard, self.seed = learning, examples, shard, seed
        self.base = Base(learning.chain, sums)

    def learn_pass(self, number: int, clock: float, news: Sequence[Changes]) -> ShardPass:
        """Put the news into the weights, and learn from the shard in the order of pass `number`."""
        begun = time.perf_counter()
        learning = self.learning
        self.base.put(learning.chain, news)
        learning.begin_epoch(number)
        learning.clock = clock
        order = self.examples[np.random.default_rng([self.seed, number, self.shard]).permutation(self.examples.size)]
        counts = learning.train(order, Monitor(self.interrupt, self.report))
        tallies = {name: float(getattr(learning, name)) for name in TALLIES if hasattr(learning, name)}
        examples = int(learning.clock - clock)
        changes = self.base.changes(learning.chain)
        return ShardPass(changes, counts, examples, tallies, time.perf_counter() - begun)


class MixedLearning(Learning):
    """Learning by shards. `head` has the mixed weights; its data may be empty."""

    def __init__(
        self, head: ChainLearning, cluster: Cluster, tokens: int, mixing: str = "uniform", own: bool = False
    ) -> None:
        """tokens: of all shards; mixing: how shards are weighed; own: the workers end with the training."""
        self.head, self.cluster, self.tokens, self.mixing, self.own = head, cluster, tokens, mixing, own
        self.mixer = Mixer(head.chain)
        self.news: list[Changes] | None = None  # None: all weights are new to the shards

    @property
    def costs(self) -> np.ndarray:
        return np.array([self.tokens])

    def begin_epoch(self, number: int) -> None:
        every = self.head.averaging.every
        self.head.begin_epoch(number)
        if every is not None and number % every == 0:
            self.news = None
        self.number = number

    def learn(self, examples: np.ndarray) -> Counts:
        """One pass over all shards, whatever the examples: these know their own order."""
        return self._pass(None)

    def train(self, permutation: np.ndarray, monitor: Monitor) -> Counts:
        return self._pass(monitor)

    def _pass(self, monitor: Monitor | None) -> Counts:
        head = self.head
        news = everything(head.chain) if self.news is None else self.news
        self.cluster.doing = f"pass {self.number}"
        found: list[ShardPass] = self.cluster.run(
            "learn_pass",
            self.number,
            head.clock,
            news,
            fresh=lambda: (self.number, head.clock, everything(head.chain)),
            monitor=monitor,
        )
        shares = shares_of([one.counts for one in found], self.mixing)
        clocks = [head.clock + one.examples for one in found]
        head.clock += sum(one.examples for one in found)
        averages = head.averaging.estimator != "last"
        self.news = self.mixer.mix(head.chain, [one.changes for one in found], shares, clocks, head.clock, averages)
        for name in found[0].tallies:
            total = sum(one.tallies[name] for one in found)
            setattr(head, name, type(getattr(head, name))(total))
        self.seconds = [one.seconds for one in found]
        return sum((one.counts for one in found), Counts())

    def end(self) -> None:
        """Give the workers up, if they were made for this training."""
        if self.own:
            self.cluster.close()

    # What the mixed weights are asked for

    def snapshot(self) -> Any:
        return self.head.snapshot()

    def saved(self) -> dict[str, np.ndarray]:
        """Arrays for an exact resumption."""
        return self.head.saved()

    @property
    def infeasible(self) -> int:
        return self.head.infeasible

    @property
    def has_dev(self) -> bool:
        return self.head.has_dev

    def evaluate(self, snapshot: Any) -> float:
        return self.head.evaluate(snapshot)

    def dev_error(self, score: float) -> float:
        return self.head.dev_error(score)

    def figures(self) -> dict[str, float]:
        return self.head.figures()


def shares_of(counts: Sequence[Counts], mixing: str) -> list[float]:
    """The weight of each shard in the mixture: the same for all, or by their updates."""
    total = sum(one.updates for one in counts)
    if mixing == "uniform" or total == 0:
        return [1.0 / len(counts)] * len(counts)
    return [one.updates / total for one in counts]


def shard_sentences(offset: np.ndarray, shards: int) -> list[np.ndarray]:
    """The sentences of each shard, i64[]: neighbours, with about the same number of tokens."""
    n = offset.size - 1
    if n < shards:
        raise UsageError(f"{named(ChainOptions, 'shards')}: {shards} shards of {n} sentences; use at most {n}")
    cuts = [int(cut) for cut in np.searchsorted(offset, np.linspace(0, offset[-1], shards + 1))]
    for k in range(1, shards):  # none is empty, however long a sentence is
        cuts[k] = min(max(cuts[k], cuts[k - 1] + 1), n - shards + k)
    cuts[0], cuts[-1] = 0, n
    return [np.arange(a, b) for a, b in pairwise(cuts)]


def mix_shards(head: ChainLearning, shards: int, seed: int, threads: int, mixing: str) -> MixedLearning:
    """Learning from the data of `head` in shards, on threads of this process."""
    check_shards(head)
    sums = head.averaging.estimator != "last"
    workers = [
        ShardWorker(
            replace(head, chain=copied(head.chain), averaging=LAST, dev=None, team=ThreadTeam(1, head.team.batch)),
            examples,
            k,
            seed,
            sums,
        )
        for k, examples in enumerate(shard_sentences(head.data.offset, shards))
    ]
    return MixedLearning(head, Threads(workers, threads), int(head.data.offset[-1]), mixing, own=True)


def check_shards(head: ChainLearning) -> None:
    """UsageError for weights that are not mixed."""
    check_tables(head.chain)
    seen = getattr(head, "seen", None)  # attributes of templates that read earlier labels
    if seen is not None and seen.ptr.size:
        raise UsageError(
            f"{named(ChainOptions, 'shards')}: weights of templates that read earlier labels (%y) are not mixed; use "
            "one shard"
        )
