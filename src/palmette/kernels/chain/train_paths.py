"""Training with the best paths of exact search, in one compiled loop for all rules of kernels/learning/rule.py:

score a trellis; list its best paths; turn scores, costs and inner products into coefficients; add the weighted
paths. The perceptron needs only two paths, which are searched and added faster. Sentences of a batch are searched
with the same weights, by all threads of a team (batches.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.batches import (
    CLOCK,
    NO_PATH,
    RIGHT,
    UPDATE,
    Batch,
    Example,
    applies_alone,
    begin_batch,
    count_batch,
    has_updates,
    is_due,
    update_lacks_rows,
)
from palmette.kernels.chain.candidates import Chunks, PathList, gold_path, list_candidates, make_path_list, wrong_labels
from palmette.kernels.chain.differences import (
    DifferenceTable,
    apply_differences,
    clear,
    differences_of,
    gram,
    make_differences,
    scaled_products,
)
from palmette.kernels.chain.forms import Chain, Data, LabelContextWeights, Trellis, make_trellis, no_contexts
from palmette.kernels.chain.score import score, score_changed_pairs
from palmette.kernels.chain.update import PlaceSums, WeightedPaths, add_path_difference, add_weighted_paths, make_sums
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.chain.weights import OwnRows
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.team import (
    FIND,
    Share,
    Team,
    arrive,
    begin_phases,
    claim,
    is_broken,
    meet,
    release,
    serial_share,
    share_of,
)
from palmette.kernels.core.types import F64, I64, Bool_2D, struct
from palmette.kernels.learning.coefficients import (
    asks_for_products,
    coefficients,
    margins_broken,
    updates_on_right_guesses,
)
from palmette.kernels.learning.rule import PERCEPTRON, Rule

# --- the two paths of the perceptron ---------------------------------------------------------------------------
# The two paths of the perceptron, guess and gold, for the loop in train_paths.py; and tagging by exact search.
#
# Per sentence: score a trellis; search it; search it again under the label mask; add the path difference to the
# weights.


@part
def _forget_others(m: Chain, learnt: np.ndarray, path: np.ndarray, n: int) -> None:
    """Undo the update of pairs on a path whose weights are not learnt: these are zero."""
    pairs = m.transitions[1]
    for i in range(1, n):
        if not learnt[path[i - 1], path[i]]:
            pairs.w[path[i - 1], path[i]] = np.float32(0.0)
            pairs.a[path[i - 1], path[i]] = 0.0


@part
def find_pair(T: Trellis, m: Chain, x: Data, s: int, changed: bool, batch: Batch, j: int) -> None:
    """The guess for a sentence and, unless it is right, gold: place j of the batch."""
    lo, gold, guess = x.offset[s], batch.paths[j, 0], batch.paths[j, 1]
    n = score(T, m, x, s, changed)
    viterbi(T, m, n, guess)
    missed = wrong_labels(m, x, lo, n, guess)
    batch.missed[j], batch.outcome[j] = missed, RIGHT
    if missed > 0:
        batch.outcome[j] = UPDATE if gold_path(T, m, x, lo, n, gold) else NO_PATH
        batch.fresh[j] = 1 if update_lacks_rows(m, x, s, batch.paths[j]) else 0


@part
def learn_pairs(
    m: Chain, x: Data, learnt: np.ndarray, own: OwnRows, examples: np.ndarray, batch: Batch, clock: float, share: Share
) -> None:
    """Make the updates of the sentences of a batch."""
    for j in range(examples.size):
        if not is_due(batch, j, share):
            continue
        s, gold, guess = examples[j], batch.paths[j, 0], batch.paths[j, 1]
        add_path_difference(m, x, s, gold, guess, float(x.weight[s]), clock + j, share, own)
        if share.number == 0 and learnt.size > 0 and m.order >= 1:
            length = x.offset[s + 1] - x.offset[s]
            _forget_others(m, learnt, guess, length)
            _forget_others(m, learnt, gold, length)


@part
def score_changes(T: Trellis, m: Chain, x: Data, examples: np.ndarray, batch: Batch) -> None:
    """Of thousands of edges a few have changed: score these again."""
    for j in range(examples.size):
        if batch.outcome[j] == UPDATE:
            s = examples[j]
            length = x.offset[s + 1] - x.offset[s]
            score_changed_pairs(T, m, length, batch.paths[j, 0])
            score_changed_pairs(T, m, length, batch.paths[j, 1])


# --- all rules -------------------------------------------------------------------------------------------------


@struct
class PathWorkspace(NamedTuple):
    """Arrays of one thread for the best paths of a sentence and their update."""

    trellis: Trellis
    paths: PathList
    sums: PlaceSums
    table: DifferenceTable
    contexts: LabelContextWeights  # none: these are for beams
    learnt: Bool_2D  # [H, W]  label pairs whose weights the perceptron learns; of size 0: all


def make_path_workspace(m: Chain, x: Data, rule: Rule, learnt: np.ndarray | None = None) -> PathWorkspace:
    """For any sentence of the corpus."""
    T, K = make_trellis(m, x), rule.candidates
    sums, table = make_sums(K + 1, rule, x), make_differences(K)
    pairs = np.zeros((0, 0), np.bool_) if learnt is None else learnt
    return PathWorkspace(T, make_path_list(T, K), sums, table, no_contexts(m.bias.size), pairs)


@part
def _find(
    w: PathWorkspace, m: Chain, x: Data, s: int, rule: Rule, chunks: Chunks, c: PathList, table: DifferenceTable,
    clock: float,
) -> tuple[int, int, int, DifferenceTable]:  # fmt: skip
    """Gold and candidates of a scored sentence, with coefficients: (what was found, candidates, wrong tokens, the
    table). With adaptive rules the table of an update stays filled."""
    numbers, adaptive, lo = c.numbers, rule.spread > 0.0, x.offset[s]
    found, missed, gold_listed = list_candidates(w.trellis, m, x, lo, x.offset[s + 1] - lo, rule, chunks, c)
    if found < 0:
        return NO_PATH, 0, missed, table
    if missed == 0 and not updates_on_right_guesses(rule):
        return RIGHT, found, missed, table
    if asks_for_products(rule):  # expensive: only if a margin is violated
        if not margins_broken(numbers, found):
            return RIGHT, found, missed, table
        paths = c.paths[: found + 1]
        if adaptive:
            table = differences_of(m, x, s, paths, table)
            scaled_products(m, w.contexts, found, table, numbers.gram)
        else:
            table = gram(m, x, s, paths, table, numbers.gram)
    if coefficients(rule, numbers, found, gold_listed, clock, float(x.weight[s])):
        return UPDATE, found, missed, table
    if adaptive:
        clear(table)
    return RIGHT, found, missed, table


@part
def _find_listed(
    w: PathWorkspace, m: Chain, x: Data, example: Example, changed: bool, rule: Rule, chunks: Chunks, batch: Batch,
    table: DifferenceTable,
) -> DifferenceTable:  # fmt: skip
    """The update of a sentence by its listed paths. Returns the table."""
    s, j, clock = example
    own, coefficient = PathList(batch.paths[j], w.paths.numbers, w.paths.search), w.paths.numbers.coefficient
    score(w.trellis, m, x, s, changed)
    outcome, found, missed, table = _find(w, m, x, s, rule, chunks, own, table, clock)
    batch.outcome[j], batch.found[j], batch.missed[j] = outcome, found, missed
    if outcome == UPDATE:
        for k in range(found + 1):
            batch.factors[j, k] = coefficient[k]
        batch.fresh[j] = 1 if update_lacks_rows(m, x, s, batch.paths[j, : found + 1]) else 0
        if rule.spread > 0.0 and batch.outcome.size > 1:
            clear(table)
    return table


@part
def _learn(
    w: PathWorkspace, m: Chain, x: Data, examples: np.ndarray, batch: Batch, clock: float, two: bool, share: Share
) -> None:
    """Make the updates of the sentences of a batch."""
    if two:
        learn_pairs(m, x, w.learnt, w.sums.own, examples, batch, clock, share)
        return
    for j in range(examples.size):
        if is_due(batch, j, share):
            s, listed = examples[j], batch.found[j] + 1
            length = x.offset[s + 1] - x.offset[s]
            paths = WeightedPaths(batch.paths[j, :listed], batch.factors[j, :listed], length, clock + j)
            add_weighted_paths(m, x, s, paths, w.sums, share)


@part
def _learn_adaptively(
    w: PathWorkspace, m: Chain, x: Data, examples: np.ndarray, batch: Batch, clock: float, rule: Rule,
    table: DifferenceTable,
) -> DifferenceTable:  # fmt: skip
    """Make the updates of a batch by an adaptive rule, whose steps depend on the updates before. The table of a batch
    of one sentence is filled."""
    for j in range(examples.size):
        if batch.outcome[j] == UPDATE:
            s, listed = examples[j], batch.found[j] + 1
            if batch.outcome.size > 1:
                table = differences_of(m, x, s, batch.paths[j, :listed], table)
                scaled_products(m, w.contexts, batch.found[j], table, w.paths.numbers.gram)
            apply_differences(m, w.contexts, table, batch.factors[j, :listed], rule.spread, clock + j)
    return table


@kernel
def train_paths(
    m: Chain, x: Data, workspace: PathWorkspace, batch: Batch, examples: I64, team: Team, counts: F64,
    rule: Rule, chunks: Chunks,
) -> None:  # fmt: skip
    """Learn from a slice of an epoch, batch by batch, and add to the counts (batches.py). It ends early, which the
    counts show, where lists of weights that grow run out of room."""
    T, table, adaptive, two = workspace.trellis, workspace.table, rule.spread > 0.0, rule.kind == PERCEPTRON
    order, first, changed = np.empty(batch.outcome.size, np.int64), 0, True
    alone = adaptive or applies_alone(m.weights[0], team)
    begin_phases(team)
    while first < examples.size and not is_broken(team):
        n = begin_batch(m.weights[0], x.features[0], x, examples, first, rule.candidates + 1, order)
        if n == 0:
            break
        now, clock, taken = examples[first : first + n], counts[CLOCK], claim(team)
        while taken < n:
            j = order[taken]
            if two:
                find_pair(T, m, x, now[j], changed, batch, j)
            else:
                example = Example(now[j], j, clock + j)
                table = _find_listed(workspace, m, x, example, changed, rule, chunks, batch, table)
            changed = False
            taken = claim(team)
        if arrive(team, FIND):
            if adaptive:
                table = _learn_adaptively(workspace, m, x, now, batch, clock, rule, table)
            else:
                _learn(workspace, m, x, now, batch, clock, two, serial_share(team, alone))
            count_batch(batch, n, counts)
            release(team)
        if not alone:
            _learn(workspace, m, x, now, batch, clock, two, share_of(team, m.bias.size))
        if two and T.skips.top.size > 0:
            meet(team)
            score_changes(T, m, x, now, batch)
        else:
            changed = changed or has_updates(batch, n)
        meet(team)  # before places of the batch are used again
        first += n
