"""Training with beam search, in one compiled loop for all rules of kernels/learning/rule.py and all updates of
violation.py.

After a correct guess the candidates are the last beam. After a wrong one both sides are cut after the same step (see
kernels/learning/violation.py) and the candidates are the beam after that step: prefixes as long as gold's, which are
treated like whole paths. (Gold that is recombined with a better prefix has left the beam.) The perceptron uses the best
of them. An update is bad if gold scores more than the best prefix: it fixes no violation, and the convergence proof
does not hold for it. If labels have several states, gold is found by forced decoding (beam.py).

Sentences of a batch are searched with the same weights, by all threads of a team (batches.py). Updates after which the
search goes on, and adaptive rules, have batches of one sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.batches import (
    BAD,
    CLOCK,
    CUTS,
    DONE,
    NO_PATH,
    RIGHT,
    UPDATE,
    Batch,
    Example,
    applies_alone,
    begin_batch,
    count_batch,
)
from palmette.kernels.chain.beam import (
    Beam,
    BeamData,
    BeamWeights,
    BeamWorkspace,
    force_gold,
    is_allowed,
    make_beam_workspace,
    restart_from_gold,
    search,
    trace,
    trace_gold,
)
from palmette.kernels.chain.candidates import Chunks, PathList, augment, drop_candidates, make_path_list
from palmette.kernels.chain.differences import (
    DifferenceTable,
    add_differences,
    apply_differences,
    clear,
    entries,
    make_differences,
    products,
    scaled_products,
    with_capacity,
)
from palmette.kernels.chain.forms import Data
from palmette.kernels.chain.label_context import (
    add_context_differences,
    add_weighted_contexts,
    context_entries,
    has_capacity,
)
from palmette.kernels.chain.score import score_states
from palmette.kernels.chain.update import PlaceSums, WeightedPaths, add_weighted_paths, make_sums, nothing_of
from palmette.kernels.core.compile import inline, kernel, part
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
from palmette.kernels.core.types import F64, I64, struct
from palmette.kernels.learning.coefficients import (
    asks_for_products,
    coefficients,
    margins_broken,
    searches_with_costs,
    updates_on_right_guesses,
)
from palmette.kernels.learning.rule import PROBPERC, Rule
from palmette.kernels.learning.violation import continues, cut, stops


@struct
class BeamLearner(NamedTuple):
    """Settings of training with a beam, the same for all sentences."""

    width: int  # prefixes that are kept
    update: int  # where to cut, see kernels/learning/violation.py
    rule: Rule
    chunks: Chunks
    recombine: bool  # whether prefixes with the same end are recombined, see kernels/chain/beam.py


@struct
class BeamLearningWorkspace(NamedTuple):
    """Arrays of one thread for the search of one sentence, its prefixes, and their update."""

    search: BeamWorkspace
    forced: Beam  # forced decoding of gold; not used if states are labels
    paths: PathList
    sums: PlaceSums
    table: DifferenceTable


def make_beam_learning_workspace(w: BeamWeights, d: BeamData, learner: BeamLearner) -> BeamLearningWorkspace:
    """For any sentence of the corpus."""
    search, K = make_beam_workspace(w, d, learner.width, learner.recombine), learner.rule.candidates
    forced = search.beam if w.chain.plain else make_beam_workspace(w, d, learner.width, learner.recombine).beam
    return BeamLearningWorkspace(
        search, forced, make_path_list(search.trellis, K), make_sums(K + 1, learner.rule, d.data), make_differences(K)
    )


@inline
def _missed_labels(r: Beam, path: np.ndarray, label_of: np.ndarray, gold: np.ndarray, start: int, steps: int) -> int:
    """Wrong labels of the best prefix from `start` to `steps` steps. Its states are written to path."""
    trace(r, steps, 0, path)
    wrong = 0
    for i in range(start, steps):
        wrong += label_of[path[i]] != gold[i]
    return wrong


@part
def _list_prefixes(
    r: Beam, forced: Beam, c: PathList, fell: int, steps: int, gold: np.ndarray, plain: bool, rule: Rule
) -> int:
    """List gold and the best prefixes after `steps` steps; their number. If labels have several states, prefixes with
    gold's labels count as gold: they are left out, except in probPerc, which gives gold their probability."""
    paths, score, right = c.paths, c.numbers.score, r.own.right
    if plain:
        for i in range(steps):
            paths[0, i] = gold[i]
    else:
        trace_gold(r, forced, fell, steps, paths[0])
    score[0] = r.gold[steps]
    without_right = not plain and rule.kind != PROBPERC and (fell == 0 or steps < fell)
    listed, found = min(score.size - 1, r.size[steps]), 0
    for k in range(listed):
        if without_right and right[steps, k]:
            continue
        found += 1
        trace(r, steps, k, paths[found])
        score[found] = r.score[steps, k]
    return found


@part
def _gram(
    w: BeamWeights, d: BeamData, s: int, at: int, found: int, c: PathList, t: DifferenceTable, adaptive: bool
) -> DifferenceTable:
    """Inner products of the differences of prefixes of `at` tokens; for adaptive rules the table stays filled."""
    m, p, x, y = w.chain, w.contexts, d.data, d.contexts
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    paths = c.paths[: found + 1]
    t = with_capacity(t, entries(m, x, lo, at, paths) + context_entries(y, lo, at, found, m.tied_update > 0.0) + 1)
    add_differences(m, x, lo, n, at, paths, t)
    add_context_differences(m, p, y, lo, at, paths, t, adaptive)
    if adaptive:
        scaled_products(m, p, found, t, c.numbers.gram)
    else:
        products(m.tied_update, found, t, c.numbers.gram)
    return t


@part
def _find(
    w: BeamWeights, d: BeamData, own: BeamLearningWorkspace, learner: BeamLearner, example: Example, start: int,
    batch: Batch, table: DifferenceTable,
) -> tuple[int, DifferenceTable]:  # fmt: skip
    """The update of a sentence whose first `start` tokens are done. Returns (the token from which the search goes on:
    its end if it does not; the table, which stays filled for adaptive rules)."""
    s, j, clock = example
    m, x, update, rule = w.chain, d.data, learner.update, learner.rule
    T, r = own.search
    forced, c = own.forced, PathList(batch.paths[j], own.paths.numbers, own.paths.search)
    lo, numbers, adaptive = x.offset[s], own.paths.numbers, rule.spread > 0.0
    n = x.offset[s + 1] - lo
    gold = x.known[lo : lo + n]
    batch.outcome[j] = RIGHT
    if n == 0:
        return n, table
    if m.plain and not is_allowed(m, gold, n):
        batch.outcome[j] = NO_PATH
        return n, table
    score_states(T, m, x.features[0], lo, n)
    reached, fell, item = search(T, r, w, d, s, start, gold, stops(update))
    if item != 0:
        batch.missed[j] += _missed_labels(r, c.paths[1], m.label_of, gold, start, reached)
        batch.missed[j] += n - reached if not continues(update) else 0
    elif not updates_on_right_guesses(rule):
        return n, table
    if searches_with_costs(rule):
        augment(T, m, x, lo, n)
        reached, fell, item = search(T, r, w, d, s, start, gold, stops(update))
    if not m.plain and not force_gold(T, r, forced, w, d, s, start, reached, fell):
        batch.outcome[j] = NO_PATH
        return n, table
    at = cut(update, reached, fell, r.best, r.gold) if item != 0 else n
    found = _list_prefixes(r, forced, c, fell, at, gold, m.plain, rule)
    found, gold_listed = drop_candidates(m, x, lo, at, found, rule, learner.chunks, c)
    batch.found[j], batch.length[j] = found, at
    moves = True
    if asks_for_products(rule):
        moves = margins_broken(numbers, found)
        if moves:
            table = _gram(w, d, s, at, found, c, table, adaptive)
    if moves and coefficients(rule, numbers, found, gold_listed, clock, float(x.weight[s])):
        batch.outcome[j] = UPDATE
        for k in range(found + 1):
            batch.factors[j, k] = numbers.coefficient[k]
        bad = r.gold[at] > (r.score[at, : r.size[at]].mean() if rule.mean else r.best[at])
        batch.objective[j] = 1.0 if bad else 0.0
    elif adaptive:
        clear(table)
    if not continues(update):
        return n, table
    restart_from_gold(r, c.paths[0], at, r.gold[at])
    restart_from_gold(forced, c.paths[0], at, r.gold[at])
    return at, table


@inline
def _weighted(batch: Batch, j: int, clock: float) -> WeightedPaths:
    """The update of sentence j of the batch, whose first sentence has this clock."""
    listed = batch.found[j] + 1
    return WeightedPaths(batch.paths[j, :listed], batch.factors[j, :listed], batch.length[j], clock + j)


@part
def _learn(
    w: BeamWeights, d: BeamData, sums: PlaceSums, examples: np.ndarray, n: int, batch: Batch, clock: float, share: Share
) -> None:
    """Make the updates of the first n examples, but for weights of label contexts."""
    for j in range(n):
        if batch.outcome[j] == UPDATE:
            add_weighted_paths(w.chain, d.data, examples[j], _weighted(batch, j, clock), sums, share)


@part
def _learn_contexts(
    w: BeamWeights, d: BeamData, margins: bool, examples: np.ndarray, n: int, batch: Batch, clock: float
) -> None:
    """Make the updates of the first n examples of weights of label contexts, whose rows are given out on the way."""
    for j in range(n):
        if batch.outcome[j] == UPDATE:
            lo, paths = d.data.offset[examples[j]], _weighted(batch, j, clock)
            add_weighted_contexts(w.chain, w.contexts, d.contexts, lo, paths, nothing_of(paths.factors, margins))


@part
def _begin(w: BeamWeights, d: BeamData, examples: np.ndarray, first: int, K: int, order: np.ndarray) -> int:
    """As `begin_batch`; 0 also if rows of label contexts may run out."""
    x, y = d.data, d.contexts
    n = begin_batch(w.chain.weights[0], x.features[0], x, examples, first, K + 1, order)
    needed = 0
    for j in range(n if y.ptr.size > 0 else 0):
        s = examples[first + j]
        needed += (y.ptr[x.offset[s + 1]] - y.ptr[x.offset[s]]) * (K + 1)
    return n if needed == 0 or has_capacity(w.contexts, needed) else 0


@part
def _count(x: Data, examples: np.ndarray, n: int, batch: Batch, counts: np.ndarray) -> None:
    """Count updates that were no violation, and the positions of cuts."""
    for j in range(n):
        if batch.outcome[j] == UPDATE:
            s = examples[j]
            counts[BAD] += batch.objective[j]
            counts[CUTS] += batch.length[j] / (x.offset[s + 1] - x.offset[s])


@kernel
def train_beam(
    w: BeamWeights, d: BeamData, workspace: BeamLearningWorkspace, batch: Batch, examples: I64, team: Team,
    counts: F64, learner: BeamLearner,
) -> None:  # fmt: skip
    """Learn from a slice of an epoch, batch by batch, and add to the counts (batches.py). It ends early, which the
    counts show, where rows of `w.contexts` or places of lists of weights run out. An update that stops the search
    counts the tokens after it as wrong."""
    m, x, rule, sums, table = w.chain, d.data, learner.rule, workspace.sums, workspace.table
    order, first, adaptive = np.empty(batch.outcome.size, np.int64), 0, rule.spread > 0.0
    alone = applies_alone(m.weights[0], team)
    begin_phases(team)
    while first < examples.size and not is_broken(team):
        n = _begin(w, d, examples, first, rule.candidates, order)
        if n == 0:
            break
        now, clock, start, end = examples[first : first + n], counts[CLOCK], 0, 0
        while True:
            taken = claim(team)
            while taken < n:
                j = order[taken]
                batch.missed[j] = 0
                end = x.offset[now[j] + 1] - x.offset[now[j]]
                begin = start if continues(learner.update) else 0
                example = Example(now[j], j, clock + j)
                start, table = _find(w, d, workspace, learner, example, begin, batch, table)
                taken = claim(team)
            if arrive(team, FIND):
                if adaptive and batch.outcome[0] == UPDATE:
                    factors = batch.factors[0, : batch.found[0] + 1]
                    apply_differences(m, w.contexts, table, factors, rule.spread, clock)
                elif not adaptive:
                    _learn(w, d, sums, now, n, batch, clock, serial_share(team, alone))
                    _learn_contexts(w, d, sums.margins, now, n, batch, clock)
                _count(x, now, n, batch, counts)
                count_batch(batch, n, counts)
                release(team)
            if not continues(learner.update) or start >= end:
                break
            counts[CLOCK] -= 1.0  # the same sentence goes on
            counts[DONE] -= 1.0
        if not alone:
            _learn(w, d, sums, now, n, batch, clock, share_of(team, m.bias.size))
        meet(team)  # before places of the batch are used again
        first += n
