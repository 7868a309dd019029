"""Training with beam search, in one compiled loop for all rules of kernels/learning/rule.py and all updates of
violation.py.

After a correct guess the candidates are the last beam. After a wrong one both sides are cut after the same step (see
kernels/learning/violation.py) and the candidates are the beam after that step: prefixes as long as gold's, which are
treated like whole paths. (Gold that is recombined with a better prefix has left the beam.) The perceptron uses the best
of them. An update is bad if gold scores more than the best prefix: it fixes no violation, and the convergence proof
does not hold for it. If labels have several states, gold is found by forced decoding (forced.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.adaptive import apply_differences, clear, scaled_products
from palmette.kernels.chain.beam import (
    Beam,
    BeamData,
    BeamWeights,
    BeamWorkspace,
    is_allowed,
    make_beam_workspace,
    restart_from_gold,
    search,
    trace,
)
from palmette.kernels.chain.blend import Sums, add_weighted_prefixes, make_sums, nothing_of
from palmette.kernels.chain.candidates import PathList, drop_candidates, make_path_list
from palmette.kernels.chain.costs import Chunks, augment
from palmette.kernels.chain.differences import (
    Differences,
    add_differences,
    entries,
    make_differences,
    products,
    with_capacity,
)
from palmette.kernels.chain.forced import force_gold, trace_gold
from palmette.kernels.chain.label_context import (
    add_context_differences,
    add_weighted_contexts,
    context_entries,
    has_capacity,
)
from palmette.kernels.chain.lists import has_room
from palmette.kernels.chain.score import score_states
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import I64, struct
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
    """Arrays for the search of one sentence, its prefixes, and their update."""

    search: BeamWorkspace
    forced: Beam  # forced decoding of gold; not used if states are labels
    paths: PathList
    sums: Sums
    table: Differences


def make_beam_learning_workspace(w: BeamWeights, d: BeamData, learner: BeamLearner) -> BeamLearningWorkspace:
    """For any sentence of the corpus."""
    search, K = make_beam_workspace(w, d, learner.width, learner.recombine), learner.rule.candidates
    forced = search.beam if w.chain.plain else make_beam_workspace(w, d, learner.width, learner.recombine).beam
    return BeamLearningWorkspace(
        search, forced, make_path_list(search.trellis, K), make_sums(K + 1, learner.rule), make_differences(K)
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
    w: BeamWeights, d: BeamData, s: int, at: int, found: int, c: PathList, t: Differences, adaptive: bool
) -> Differences:
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


@kernel
def train_beam(
    w: BeamWeights, d: BeamData, workspace: BeamLearningWorkspace, permutation: I64, first: int, last: int,
    clock: float, learner: BeamLearner,
) -> tuple[int, float, int, int, int, int, float]:  # fmt: skip
    """Part of a slice of an epoch: (the number of the next example, clock, updates, wrong tokens, sentences
    without an allowed gold, bad updates, sum of the relative positions of the cuts). It ends early where rows of
    `w.contexts` or places of lists of weights run out. An update that stops the search counts the tokens after it as
    wrong."""
    m, p, x, y = w.chain, w.contexts, d.data, d.contexts
    update, rule, chunks = learner.update, learner.rule, learner.chunks
    T, r = workspace.search
    forced, c, sums, table = workspace.forced, workspace.paths, workspace.sums, workspace.table
    numbers, K = c.numbers, rule.candidates
    updates, wrong, infeasible, bad, position = 0, 0, 0, 0, 0.0
    goes_on, early, adaptive = continues(update), stops(update), rule.spread > 0.0
    for k in range(first, last):
        s = permutation[k]
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        gold = x.known[lo : lo + n]
        if not (has_capacity(p, y, lo, n, K + 1) and has_room(m.weights[0], x.features[0], lo, n, K + 1)):
            return k, clock, updates, wrong, infeasible, bad, position
        if m.plain and not is_allowed(m, gold, n):
            infeasible += 1
            clock += 1.0
            continue
        start = 0
        while start < n:
            score_states(T, m, x.features[0], lo, n)
            reached, fell, item = search(T, r, w, d, s, start, gold, early)
            if item != 0:
                wrong += _missed_labels(r, c.paths[1], m.label_of, gold, start, reached)
                wrong += n - reached if not goes_on else 0
            elif not updates_on_right_guesses(rule):
                break
            if searches_with_costs(rule):
                augment(T, m, x, lo, n)
                reached, fell, item = search(T, r, w, d, s, start, gold, early)
            if not m.plain and not force_gold(T, r, forced, w, d, s, start, reached, fell):
                infeasible += 1
                break
            at = cut(update, reached, fell, r.best, r.gold) if item != 0 else n
            found = _list_prefixes(r, forced, c, fell, at, gold, m.plain, rule)
            found, gold_listed = drop_candidates(m, x, lo, at, found, rule, chunks, c)
            moves = True
            if asks_for_products(rule):
                moves = margins_broken(numbers, found)
                if moves:
                    table = _gram(w, d, s, at, found, c, table, adaptive)
            if moves and coefficients(rule, numbers, found, gold_listed, clock, float(x.weight[s])):
                paths, factors = c.paths[: found + 1], numbers.coefficient[: found + 1]
                if adaptive:
                    apply_differences(m, p, table, factors, rule.spread, clock)
                else:
                    add_weighted_prefixes(m, x, s, paths, factors, at, clock, sums)
                    add_weighted_contexts(m, p, y, lo, at, paths, factors, nothing_of(factors, sums.margins), clock)
                updates += 1
                bad += r.gold[at] > (r.score[at, : r.size[at]].mean() if rule.mean else r.best[at])
                position += at / n
            elif adaptive:
                clear(table)
            if not goes_on:
                break
            restart_from_gold(r, c.paths[0], at, r.gold[at])
            restart_from_gold(forced, c.paths[0], at, r.gold[at])
            start = at
        clock += 1.0
    return last, clock, updates, wrong, infeasible, bad, position
