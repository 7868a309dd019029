"""A batch of sentences: their updates are found with the same weights, on several threads, and then made in order.

With a batch of one sentence this is plain online learning. How threads share the work is in core/team.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, longest_of
from palmette.kernels.chain.weights import all_agree, is_growing, places_needed
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.team import Share, Team, longest_first
from palmette.kernels.core.types import F64, F64_2D, I32_3D, I64, struct

# What was found for a sentence: nothing to learn, an update, no allowed path that agrees with its labels
RIGHT, UPDATE, NO_PATH = 0, 1, 2
# Places in the counts of a call: the clock; examples done, updates, wrong tokens, sentences without an allowed path;
# of beams updates that were no violation and the sum of the relative positions of their cuts; the sum of the
# objective
CLOCK, DONE, UPDATES, WRONG, INFEASIBLE, BAD, CUTS, OBJECTIVE, N_COUNTS = range(9)


@struct
class Batch(NamedTuple):
    """What was found for each of B sentences; all threads read and write it. Path 0 is gold."""

    paths: I32_3D  # [B, K + 1, n]
    factors: F64_2D  # [B, K + 1]  coefficients of the paths
    found: I64  # [B]  candidates
    fresh: I64  # [B]  1 if attributes of the update may have no row yet
    length: I64  # [B]  tokens of the paths, which beams may cut
    outcome: I64  # [B]  RIGHT, UPDATE or NO_PATH
    missed: I64  # [B]  wrong tokens
    objective: F64  # [B]  of likelihoods; of beams: whether the update was no violation


class Example(NamedTuple):
    """A sentence whose update is to be found."""

    sentence: np.int64  # in the corpus
    place: np.int64  # in the batch
    clock: float


def make_batch(size: int, x: Data, K: int = 1) -> Batch:
    """For up to `size` of the sentences of a corpus, each with K candidates."""
    found, fresh, length, outcome, missed = (np.zeros(size, np.int64) for _ in range(5))
    paths = np.zeros((size, K + 1, longest_of(x)), np.int32)
    return Batch(paths, np.zeros((size, K + 1)), found, fresh, length, outcome, missed, np.zeros(size))


def new_counts(clock: float) -> np.ndarray:
    """Counts of a call of a training kernel."""
    counts = np.zeros(N_COUNTS)
    counts[CLOCK] = clock
    return counts


@part
def begin_batch(
    r: FeatureWeights, features: Active, x: Data, examples: np.ndarray, first: int, paths: int, order: np.ndarray
) -> int:
    """Order the sentences of the batch that begins at examples[first], as many as `order` has places for. Returns their
    number; 0 if lists of weights that grow have too little room for updates by so many paths."""
    n = min(order.size, examples.size - first)
    if is_growing(r):
        needed = 0
        for j in range(n):
            s = examples[first + j]
            needed += places_needed(r, features, x.offset[s], x.offset[s + 1] - x.offset[s], paths)
        if r.used[0] + needed > r.combo.size:
            return 0
    longest_first(order[:n], x.offset, examples, first)
    return int(n)


@inline
def applies_alone(r: FeatureWeights, team: Team) -> bool:
    """Whether one thread makes all updates: there is no other, or lists of weights grow and move."""
    return team.size == 1 or is_growing(r)


@part
def lacks_rows(r: FeatureWeights, x: Active, first: int, last: int) -> bool:
    """Whether an attribute of the tokens first..last has no dense row yet."""
    slot, ptr, att = r.slot, x.ptr, x.att
    if r.first.size == 0 and r.used[0] <= slot.size and ptr.size > 0:
        for k in range(ptr[first], ptr[last]):
            if slot[att[k]] == 0:
                return True
    return False


@part
def update_lacks_rows(m: Chain, x: Data, s: int, paths: np.ndarray) -> bool:
    """Whether an attribute has no dense row yet, at tokens of sentence s at which the paths differ."""
    lo, same = x.offset[s], 3  # tokens up to this one at which all paths agree
    w, f = m.weights, x.features
    for i in range(x.offset[s + 1] - lo):
        same = same + 1 if all_agree(paths, i, 1) else 0
        for k in range(same, min(i, m.order) + 1):
            if lacks_rows(w[k], f[k], lo + i, lo + i + 1):
                return True
    return False


@inline
def is_due(batch: Batch, j: int, share: Share) -> bool:
    """Whether there is an update of sentence j for this share. If that has no rows, it only gives them out."""
    return bool(batch.outcome[j] == UPDATE and (share.number >= 0 or batch.fresh[j] > 0))


@part
def count_batch(batch: Batch, n: int, counts: np.ndarray) -> None:
    """Add what was found for the n sentences of a batch to the counts."""
    for j in range(n):
        outcome = batch.outcome[j]
        counts[WRONG] += batch.missed[j]
        if outcome == UPDATE:
            counts[UPDATES] += 1
        elif outcome == NO_PATH:
            counts[INFEASIBLE] += 1
    counts[CLOCK] += n
    counts[DONE] += n


@inline
def has_updates(batch: Batch, n: int) -> bool:
    """Whether any of the n sentences of a batch has an update."""
    for j in range(n):  # noqa: SIM110
        if batch.outcome[j] == UPDATE:
            return True
    return False
