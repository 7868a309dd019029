"""Training of a chain with beam search, with weights of templates that read earlier labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.batches import BAD, CLOCK, CUTS, DONE, INFEASIBLE, UPDATES, WRONG, make_batch, new_counts
from palmette.kernels.chain.beam import BeamData, BeamWeights
from palmette.kernels.chain.candidates import no_chunks
from palmette.kernels.chain.forms import Active, Chain, LabelContextWeights, no_active
from palmette.kernels.chain.train_beam import BeamLearner, make_beam_learning_workspace, train_beam
from palmette.kernels.learning.rule import MAX_VIOLATION, PERCEPTRON, Rule
from palmette.options.chain import ChainOptions
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
from palmette.structures.chain.weights import norm
from palmette.training.chain.exact import ChainLearning
from palmette.training.chain.request import TrainingData
from palmette.training.chain.resume import saved_state
from palmette.training.trainer import Counts


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
