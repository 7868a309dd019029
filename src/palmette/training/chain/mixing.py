"""Iterative parameter mixing (McDonald, Hall and Mann 2010) of chains.

The sentences are in shards. In a pass every shard learns from its own sentences, from the same weights on; then the
weights of all shards are mixed, and the next pass begins with the mixture. The shards are part of the model's settings:
the result depends on their number and not on who works on them, threads of this process or actors elsewhere
(training/cluster.py). What travels are weights that changed (`Changes`); kernels/chain/mix.py says how they are mixed.

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
from palmette.kernels.chain.forms import Chain, FeatureWeights, TransitionWeights
from palmette.kernels.chain.mix import ShardSums, Table, add_cells, changed_rows, mix_cells, put_cells, take_cells
from palmette.kernels.core.types import aligned_zeros
from palmette.options.chain import ChainOptions
from palmette.options.spelling import named, spelt
from palmette.structures.chain.lists import MANY_LABELS, grows, is_list
from palmette.training.chain.learning import LAST, ChainLearning
from palmette.training.cluster import Cluster, Threads, Worker
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning, Monitor

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


# Weights of a chain that have changed: taken from one copy of the chain, sent, put into another.
#
# A table is a block of weights; a chain has six: transitions and attributes of arity 1, 2 and 3. A cell is one weight,
# with a number that all copies of the chain share (kernels/chain/mix.py).

NO_FLOATS, NO_DOUBLES = np.zeros(0, np.float32), np.zeros(0)


class Changes(NamedTuple):
    """Some cells of a table."""

    cells: np.ndarray  # i64[n]
    w: np.ndarray  # f32[n]
    a: np.ndarray = NO_DOUBLES  # f64[n], or of size 0: accumulators are not sent
    state: np.ndarray = NO_FLOATS  # f32[n], or of size 0

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self)


def tables_of(chain: Chain) -> list[Table]:
    """The tables of a chain, as views: transitions, then attributes."""
    return [_fixed(*t) for t in chain.transitions] + [_of_rows(rows) for rows in chain.weights]


def _fixed(w: np.ndarray, a: np.ndarray, state: np.ndarray) -> Table:
    return Table(w, a, state, np.zeros(0, np.int32), np.array([w.shape[0]], np.int64))


def _of_rows(rows: FeatureWeights) -> Table:
    if is_list(rows) or not rows.slot.size:
        return _fixed(rows.w, rows.a, rows.state)
    return Table(rows.w, rows.a, rows.state, rows.slot, rows.used)


def owners_of(table: Table) -> np.ndarray:
    """i64[rows in use]: the number of each row."""
    if not table.slot.size:
        return np.arange(table.w.shape[0])
    owner = np.zeros(int(table.used[0]), np.int64)
    attributes = np.flatnonzero(table.slot)
    owner[table.slot[attributes]] = attributes
    return owner


def check_tables(chain: Chain) -> None:
    """UsageError for weights whose places differ from copy to copy."""
    if grows(chain.weights[0]):
        raise UsageError(
            f"{named(ChainOptions, 'shards')}: with {MANY_LABELS} labels or more use "
            f"{spelt(ChainOptions, 'state_features', 'seen')}, or one shard"
        )


def copied(chain: Chain) -> Chain:
    """A chain with weights of its own, the same ones, and with accumulators of zero."""
    ends, pairs, triples = (
        TransitionWeights(t.w.copy(), np.zeros(t.w.shape), t.state.copy()) for t in chain.transitions
    )
    one, two, three = (_copied_rows(rows) for rows in chain.weights)
    return chain._replace(transitions=(ends, pairs, triples), weights=(one, two, three))


def _copied_rows(rows: FeatureWeights) -> FeatureWeights:
    n = int(_of_rows(rows).used[0])
    return rows._replace(
        slot=rows.slot.copy(), used=rows.used.copy(), w=_same(rows.w, n), a=np.zeros(rows.w.shape),
        state=_same(rows.state, n),
    )  # fmt: skip


def _same(block: np.ndarray, n: int) -> np.ndarray:
    """A copy whose rows from n on are zeros that take no memory until they are changed."""
    out = aligned_zeros(block.shape, np.float32)
    out[:n] = block[:n]
    return out


def everything(chain: Chain) -> list[Changes]:
    """All cells of rows in use, without accumulators."""
    return [_all_cells(table) for table in tables_of(chain)]


def _all_cells(table: Table) -> Changes:
    owner, width = owners_of(table), table.w.shape[1]
    rows = np.arange(1 if table.slot.size else 0, owner.size)  # row 0 of dense ones is nobody's
    cells = (owner[rows, None] * width + np.arange(width)).reshape(-1)
    state = table.state[rows].reshape(-1) if table.state.shape[0] else NO_FLOATS
    return Changes(cells, table.w[rows].reshape(-1), state=state)


class Base:
    """The weights that a chain had when a pass began, to find what the pass has changed."""

    def __init__(self, chain: Chain, averages: bool = True) -> None:
        """averages: whether accumulators are sent."""
        self.averages = averages
        self.w = [_same(table.w, int(table.used[0])) for table in tables_of(chain)]
        self.state = [_same(table.state, int(table.used[0])) for table in tables_of(chain)]

    def changes(self, chain: Chain) -> list[Changes]:
        """What has changed since; its accumulators are zero from now on."""
        found = []
        for table, w, state in zip(tables_of(chain), self.w, self.state, strict=True):
            rows = changed_rows(table, w, state)
            numbers = owners_of(table)[rows]
            if table.slot.size:  # in the order of numbers, which is that of the rows in which they are mixed
                order = np.argsort(numbers)
                rows, numbers = rows[order], numbers[order]
            cells, own, sums, states = take_cells(table, rows, numbers, w, state)
            found.append(Changes(cells, own, sums if self.averages else NO_DOUBLES, states))
        return found

    def put(self, chain: Chain, news: Sequence[Changes]) -> None:
        """Make cells that have come from elsewhere part of the chain and of the base."""
        for table, w, state, new in zip(tables_of(chain), self.w, self.state, news, strict=True):
            cells, own, states = (writable(array) for array in (new.cells, new.w, new.state))
            put_cells(table, w, state, cells, own, states)


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy if it lies in memory that others share, which kernels do not take."""
    return array if array.flags.writeable else array.copy()


class Mixer:
    """Mixes what shards have changed into a chain."""

    def __init__(self, chain: Chain) -> None:
        self.sums = [
            ShardSums(np.zeros(t.w.shape), np.zeros(t.state.shape), np.zeros(t.w.shape, np.bool_))
            for t in tables_of(chain)
        ]

    def mix(
        self, chain: Chain, parts: Sequence[Sequence[Changes]], shares: Sequence[float], clocks: Sequence[float],
        clock: float, averages: bool,
    ) -> list[Changes]:  # fmt: skip
        """The cells of each table that changed. parts: of each shard, those of all tables; shares: the weight of each
        shard in the mixture; clocks: those of the shards after the pass, and `clock` that of all."""
        news = []
        for k, (table, sums) in enumerate(zip(tables_of(chain), self.sums, strict=True)):
            _give_rows(table, [part[k] for part in parts])
            fresh = [np.zeros(0, np.int64)]
            for part, share, own in zip(parts, shares, clocks, strict=True):
                arrays = (writable(array) for array in part[k])
                fresh.append(add_cells(table, sums, *arrays, share, own))
            cells = np.concatenate(fresh)
            news.append(Changes(cells, *_mixed(table, sums, cells, clock, averages)))
        return news


def _mixed(
    table: Table, sums: ShardSums, cells: np.ndarray, clock: float, averages: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own, states = mix_cells(table, sums, cells, clock, averages)
    return own, NO_DOUBLES, states


def _give_rows(table: Table, parts: Sequence[Changes]) -> None:
    """Give dense rows out in the order of attributes, so that they do not depend on the order of changes."""
    if not table.slot.size:
        return
    missing = np.zeros(table.slot.size, np.bool_)
    for part in parts:
        missing[part.cells // table.w.shape[1]] = True
    new = np.flatnonzero(missing & (table.slot == 0))
    table.slot[new] = np.arange(table.used[0], table.used[0] + new.size)
    table.used[0] += new.size
