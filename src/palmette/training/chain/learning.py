"""Weights, data and clock of a chain during training.

`ChainLearning` is the common base class. `PathLearning` learns from the best paths of exact search, `DescentLearning`
by gradient descent on the likelihood, `BeamLearning` from the prefixes of a beam.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError
from palmette.evaluation.spans import ChunkTables
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.batches import (
    BAD,
    CLOCK,
    CUTS,
    DONE,
    INFEASIBLE,
    OBJECTIVE,
    UPDATES,
    WRONG,
    Batch,
    make_batch,
    new_counts,
)
from palmette.kernels.chain.beam import BeamData, BeamWeights
from palmette.kernels.chain.candidates import Chunks, no_chunks
from palmette.kernels.chain.forms import Active, Chain, Data, LabelContextWeights, no_active, no_sums
from palmette.kernels.chain.stochastic import Descent, descend, make_descent_workspace, make_gradients
from palmette.kernels.chain.train_beam import BeamLearner, make_beam_learning_workspace, train_beam
from palmette.kernels.chain.train_paths import PathWorkspace, make_path_workspace, train_paths
from palmette.kernels.core.team import Team
from palmette.kernels.learning.rule import MAX_VIOLATION, PERCEPTRON, Rule
from palmette.options.chain import ChainOptions
from palmette.options.learners import Crf, Learner
from palmette.options.spelling import spelt
from palmette.structures.chain.label_context import (
    carried,
    contexts_norm,
    estimated_contexts,
    grown,
    makers,
    restart_contexts,
    restored,
    saved_contexts,
)
from palmette.structures.chain.lists import with_room
from palmette.structures.chain.separation import gold_states
from palmette.structures.chain.weights import estimated, give_out_rows, norm, restart_from_average
from palmette.training.chain.dev import Dev
from palmette.training.chain.request import TrainingData
from palmette.training.chain.start import RandomStart, estimated_from, saved_state
from palmette.training.checks import cure
from palmette.training.team import ThreadTeam
from palmette.training.trainer import Counts, Learning


class Averaging(NamedTuple):
    """Which weights training returns."""

    estimator: str = "last"  # last; avg and mavg: the mean of all weight vectors
    every: int | None = None  # mavg: epochs after which training restarts from the mean


LAST, PLAIN = Averaging(), Rule(PERCEPTRON)


@dataclass
class ChainLearning(Learning):
    """Weights, data and clock of a chain."""

    chain: Chain
    data: Data
    averaging: Averaging = LAST
    dev: Dev | None = None
    clock: float = 1.0  # 1 + examples seen so far
    start: RandomStart | None = None  # of a latent chain
    latent: bool = False
    learnt: np.ndarray | None = None  # bool[H, W]: label pairs whose weights are learnt; None: all
    team: ThreadTeam = field(default_factory=ThreadTeam)
    infeasible: int = field(default=0, init=False)  # sentences of this epoch without an allowed gold path

    def __post_init__(self) -> None:
        self.roles = StateRoles(self.data) if self.latent else None

    @property
    def costs(self) -> np.ndarray:
        return np.diff(self.data.offset)

    @property
    def batch_size(self) -> int:
        return self.team.batch

    def begin_epoch(self, number: int) -> None:
        self.infeasible = 0
        if self.averaging.every is not None and number % self.averaging.every == 0:
            self.restart_from_average()

    def restart_from_average(self) -> None:
        restart_from_average(self.chain, self.clock)

    def make_room(self, sentences: np.ndarray, paths: int) -> None:
        """Enlarge the lists of weights for updates of these sentences by so many paths."""
        self.chain = with_room(self.chain, self.data, sentences, paths)

    @property
    def mean_clock(self) -> float | None:
        """The clock for the mean of all weights; None if training returns the last weights."""
        return None if self.averaging.estimator == "last" else self.clock

    def snapshot(self) -> Any:
        if self.start is None:
            return estimated(self.chain, self.mean_clock, store=True)
        return estimated_from(self.start, self.chain, self.mean_clock)

    def saved(self) -> dict[str, np.ndarray]:
        """Arrays for an exact resumption."""
        return saved_state(self.chain, self.clock, self.start)

    def figures(self) -> dict[str, float]:
        found = {"norm": norm(self.chain)}
        return found if self.roles is None else found | self.roles.compared(self.chain)

    @property
    def has_dev(self) -> bool:
        return self.dev is not None

    def evaluate(self, snapshot: Any) -> float:
        assert self.dev is not None
        return self.dev.figure(snapshot)

    def dev_error(self, score: float) -> float:
        assert self.dev is not None
        return self.dev.error


@dataclass
class PathLearning(ChainLearning):
    """Learning from gold and the best paths of exact search."""

    rule: Rule = PLAIN
    chunks: Chunks = field(default_factory=no_chunks)

    @cached_property
    def batch(self) -> Batch:
        return make_batch(self.team.batch, self.data, self.rule.candidates)

    @cached_property
    def workspaces(self) -> list[PathWorkspace]:
        return [make_path_workspace(self.chain, self.data, self.rule, self.learnt) for _ in self.team.members]

    def learn(self, examples: np.ndarray) -> Counts:
        total, first = Counts(), 0
        while first < examples.size:
            counts = self._learn(examples[first:])
            self.clock = float(counts[CLOCK])
            self.infeasible += int(counts[INFEASIBLE])
            total = total + Counts(int(counts[UPDATES]), int(counts[WRONG]))
            first += int(counts[DONE])
            if first < examples.size:  # too little room in the lists of weights for the next batch
                self.make_room(examples[first : first + self.team.batch], max(2, self.rule.candidates + 1))
        return total

    def _learn(self, examples: np.ndarray) -> np.ndarray:
        """Learn from examples until there is too little room; the counts."""
        m, x, team, batch, counts = self.chain, self.data, self.team, self.batch, new_counts(self.clock)
        own, rule, chunks = self.workspaces, self.rule, self.chunks
        team.run(train_paths, lambda t: (m, x, own[t.number], batch, examples, t, counts, rule, chunks))
        return counts


# How stable the assignment of latent states is from epoch to epoch.

SAMPLE = 300  # sentences that are decoded after each epoch


class StateRoles:
    """Compares the best states of a sample of the training data, given its gold labels, between epochs."""

    def __init__(self, data: Data) -> None:
        self.sample = some_sentences(data, SAMPLE)
        self.before: np.ndarray | None = None

    def compared(self, chain: Chain) -> dict[str, float]:
        """`moved`: fraction of tokens whose state differs from that of the previous epoch. `swapped`: the part of it
        that a permutation of the states of each label explains."""
        states = gold_states(chain, self.sample)
        before, self.before = self.before, states
        if before is None or not states.size:
            return {}
        moved = float(np.mean(states != before))
        return {"moved": moved, "swapped": moved - 1.0 + _best_agreement(before, states, chain)}


def some_sentences(data: Data, most: int) -> Data:
    """At most `most` sentences, evenly spaced, as a separate corpus."""
    S = data.offset.size - 1
    chosen = np.unique(np.linspace(0, S - 1, min(S, most)).astype(np.int64))
    sizes = np.diff(data.offset)[chosen]
    starts = np.repeat(data.offset[:-1][chosen] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    tokens = starts + np.arange(sizes.sum())
    one, two, three = (_some_tokens(active, tokens) for active in data.features)
    return Data(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), data.known[tokens], data.allow, data.weight[chosen],
        (one, two, three),
    )  # fmt: skip


def _some_tokens(active: Active, tokens: np.ndarray) -> Active:
    if not active.ptr.size:
        return active
    counts = active.ptr[tokens + 1] - active.ptr[tokens]
    ptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    places = np.repeat(active.ptr[:-1][tokens] - ptr[:-1], counts) + np.arange(ptr[-1])
    return Active(ptr, active.att[places], active.val[places] if active.val.size else active.val)


def _best_agreement(before: np.ndarray, now: np.ndarray, chain: Chain) -> float:
    """Fraction of tokens with the same state in both under the best permutation of the states of each label."""
    H, states_per_label = chain.label_of.size, chain.states_per_label
    both = np.bincount(before.astype(np.int64) * H + now, minlength=H * H).reshape(H, H)
    same = sum(
        _best_matching(both[k : k + states_per_label, k : k + states_per_label]) for k in range(0, H, states_per_label)
    )
    return same / before.size


def _best_matching(counts: np.ndarray) -> int:
    """Nearly the largest sum of one cell per row and column: greedily, then by exchanges while they improve it."""
    n = len(counts)
    taken = np.full(n, -1)
    for cell in np.argsort(-counts, axis=None, kind="stable").tolist():
        row, column = divmod(cell, n)
        if taken[row] < 0 and column not in taken:
            taken[row] = column
    better = True
    while better:
        better = False
        for a in range(n):
            for b in range(a):
                now = counts[a, taken[a]] + counts[b, taken[b]]
                if counts[a, taken[b]] + counts[b, taken[a]] > now:
                    taken[a], taken[b] = taken[b], taken[a]
                    better = True
    return int(counts[np.arange(n), taken].sum())


# Costs of wrong label sequences, as tables for compiled loops.


def chunks_for(learner: Learner, labels: Sequence[str], scheme: str | None = None) -> Chunks:
    """Tables for the cost of spans; empty if the learner counts wrong tokens. `scheme`: of bare labels."""
    if learner.values().get("cost") != "span":
        return no_chunks()
    tables = ChunkTables.of(labels, scheme)
    return Chunks(tables.starts, tables.ends, np.asarray(tables.type_of, np.int64))


# Gradient descent on the likelihood, sentence by sentence.


@dataclass
class DescentLearning(ChainLearning):
    """Descent with a decaying rate (sgd), or with an adaptive rate per weight (adagrad), which needs learner state in
    the chain."""

    learner: Crf = field(default_factory=lambda: Crf(optimiser="sgd"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.step, self.l2 = self.learner.step_size, self.learner.penalty
        counts = [
            np.bincount(x.att, minlength=r.slot.size)
            for x, r in zip(self.data.features, self.chain.weights, strict=True)
        ]
        self.be_part_of(self.data.offset.size - 1, counts)
        self.workspaces = [make_descent_workspace(self.chain, self.data) for _ in self.team.members]
        self.gradients = make_gradients(self.chain, self.data, self.team.batch)
        self.batch = make_batch(self.team.batch, self.data)
        self.objective = 0.0

    def be_alone(self) -> None:
        """Called if no others learn from other parts of the data. All attributes get their rows at once, in order,
        since all change in the first epoch. If the last weights are wanted, adagrad does without the accumulators of
        rows, which are half of its memory: it cannot be resumed, so that nobody reads them."""
        give_out_rows(self.chain)
        if self.learner.optimiser == "adagrad" and self.mean_clock is None and self.start is None:
            one, two, three = (r if r.first.size else r._replace(a=no_sums()) for r in self.chain.weights)
            self.chain = self.chain._replace(weights=(one, two, three))

    def be_part_of(self, sentences: int, counts: Sequence[np.ndarray]) -> None:
        """Take penalties as for a corpus of so many sentences in which attributes occur so often, by arity i64[A]."""
        sentences = max(1, sentences)
        adaptive = self.learner.optimiser == "adagrad"
        # As in Bottou's SGD the rate is halved after 1 / fall examples.
        fall = 0.0 if adaptive else self.step * 2 * self.l2 / sentences
        one, two, three = ((2 * self.l2 / np.maximum(own, 1)).astype(np.float32) for own in counts)
        learnt = np.zeros((0, 0), np.bool_) if self.learnt is None else self.learnt
        self.descent = Descent(float(self.step), fall, (one, two, three), 2 * self.l2 / sentences, learnt)

    def begin_epoch(self, number: int) -> None:
        super().begin_epoch(number)
        self.objective = 0.0

    def learn(self, examples: np.ndarray) -> Counts:
        m, x, counts = self.chain, self.data, new_counts(self.clock)

        def given(t: Team) -> tuple[Any, ...]:
            own = self.workspaces[t.number]
            return m, x, own, self.gradients, self.batch, examples, t, counts, self.descent

        self.team.run(descend, given)
        self.clock = float(counts[CLOCK])
        self.objective += float(counts[OBJECTIVE])
        self.infeasible += int(counts[INFEASIBLE])
        return Counts(examples.size - int(counts[INFEASIBLE]), int(counts[WRONG]))

    def figures(self) -> dict[str, float]:
        """The objective accumulated during the epoch, with the penalty of the weights at its end."""
        states = [part.state for part in (*self.chain.transitions, *self.chain.weights)]
        if not all(np.isfinite(state).all() for state in states):
            raise DataError("the squared gradients of adagrad have overflowed", hint=cure(self.data, self.learner))
        own = {"norm": norm(self.chain), "objective": self.objective + (self.l2 and self.l2 * norm(self.chain) ** 2)}
        return own if self.roles is None else own | self.roles.compared(self.chain)


# Training of a chain with beam search, with weights of templates that read earlier labels.


@dataclass(kw_only=True)
class BeamLearning(ChainLearning):
    """Learning from gold and the prefixes of a beam, both cut after the same step. Snapshots are `BeamWeights`."""

    contexts: LabelContextWeights
    seen: Active  # attributes of templates that read earlier labels
    learner: BeamLearner = field(
        default_factory=lambda: BeamLearner(1, MAX_VIOLATION, Rule(PERCEPTRON), no_chunks(), True)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        weights, data = BeamWeights(self.chain, self.contexts), BeamData(self.data, self.seen)
        self.workspaces = [make_beam_learning_workspace(weights, data, self.learner) for _ in self.team.members]
        self.batch = make_batch(self.team.batch, self.data, self.learner.rule.candidates)
        self.updates, self.bad, self.position = 0, 0, 0.0  # of this epoch; bad: updates that were no violation

    def begin_epoch(self, number: int) -> None:
        super().begin_epoch(number)
        self.updates, self.bad, self.position = 0, 0, 0.0

    def restart_from_average(self) -> None:
        super().restart_from_average()
        restart_contexts(self.contexts, self.clock)

    def learn(self, examples: np.ndarray) -> Counts:
        total, first = Counts(), 0
        while first < examples.size:
            counts = self._learn(examples[first:])
            self.clock = float(counts[CLOCK])
            total = total + Counts(int(counts[UPDATES]), int(counts[WRONG]))
            self.infeasible += int(counts[INFEASIBLE])
            self.updates += int(counts[UPDATES])
            self.bad += int(counts[BAD])
            self.position += float(counts[CUTS])
            first += int(counts[DONE])
            if first < examples.size:  # too few rows or places are allocated for the next batch
                self._grow(examples[first : first + self.team.batch])
        return total

    def _learn(self, examples: np.ndarray) -> np.ndarray:
        weights, data = BeamWeights(self.chain, self.contexts), BeamData(self.data, self.seen)
        counts = new_counts(self.clock)
        own, batch, learner = self.workspaces, self.batch, self.learner
        self.team.run(train_beam, lambda t: (weights, data, own[t.number], batch, examples, t, counts, learner))
        return counts

    def _grow(self, sentences: np.ndarray) -> None:
        paths = self.learner.rule.candidates + 1
        self.make_room(sentences, paths)
        if self.seen.ptr.size:
            ptr, offset = self.seen.ptr, self.data.offset
            self.contexts = grown(
                self.contexts, paths * int((ptr[offset[sentences + 1]] - ptr[offset[sentences]]).sum())
            )

    def snapshot(self) -> Any:
        contexts = estimated_contexts(self.contexts, self.mean_clock)
        return BeamWeights(super().snapshot(), contexts)

    def figures(self) -> dict[str, float]:
        """`bad`: fraction of updates that were no violation. `cut`: mean length of updated prefixes, as a fraction of
        their sentences."""
        n = max(1, self.updates)
        whole = math.hypot(norm(self.chain), contexts_norm(self.contexts))
        return {"norm": whole, "bad": float(self.bad / n), "cut": round(float(self.position / n), 9)}

    def saved(self) -> dict[str, np.ndarray]:
        return saved_state(self.chain, self.clock, self.start) | saved_contexts(self.contexts)


def starting_contexts(problem: TrainingData, chain: Chain, keeps_state: bool) -> tuple[LabelContextWeights, Active]:
    """Weights of templates that read earlier labels, from zero or from an older model; and their attributes."""
    collected, old = problem.collected, problem.request.resume
    before = None if old is None else old.label_contexts
    contexts = carried(collected.encoder, makers(collected, before), chain.bias.size, before, keeps_state)
    if old is not None and old.checkpoint and before is not None:
        contexts = restored(contexts, old.checkpoint)
    return contexts, collected.actives.get(LABEL_CONTEXT, no_active())


def best_before(problem: TrainingData, best: Chain | None) -> BeamWeights | None:
    """The best weights so far of a training that is resumed."""
    old = problem.request.resume
    if best is None or old is None:
        return None
    template = makers(problem.collected, old.label_contexts)
    return BeamWeights(
        best, estimated_contexts(carried(old.encoder, template, best.bias.size, old.label_contexts), None)
    )


def check_beam(known: np.ndarray, corpus: Corpus, n_labels: int) -> None:
    """Raise an error for labels i32[N] of a corpus that are not fully known: beam search does not support them."""
    unsure = np.flatnonzero(known >= n_labels)
    if unsure.size:
        raise DataError(
            "beam search learns from full labels, and this label is partial", file=corpus.source,
            line=corpus.line_of(int(unsure[0])),
            hint=f"partial labels need exact search: {spelt(ChainOptions, 'search', 'viterbi')}",
        )  # fmt: skip
