"""Learners with candidates on a beam: probPerc, MIRA and PA over the prefixes in the beam where guess and gold are cut.

After a right guess the list is the last beam. After a wrong one it is the beam after the step of the update (see
kernels/learning/violation.py): candidates and gold are prefixes of the same length, and everything else is as with
whole paths.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.beam import Beam, is_allowed, longest_of, room_for_beam, search, trace
from palmette.kernels.chain.beam_train import missed_labels
from palmette.kernels.chain.blend import add_weighted_prefixes, room_for_sums
from palmette.kernels.chain.candidates import Listed, room_for_listed
from palmette.kernels.chain.differences import add_differences, entries, products, room_for_entries
from palmette.kernels.chain.forms import Active, Chain, Data, Trellis
from palmette.kernels.chain.label_context import (
    LabelContextWeights,
    add_past_differences,
    add_weighted_contexts,
    has_room,
    past_entries,
)
from palmette.kernels.chain.margin_train import Chunks, augment, span_cost
from palmette.kernels.chain.probperc import factors_of
from palmette.kernels.chain.score import score_states
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.learning.steps import CAPPED, SOFT, hildreth
from palmette.kernels.learning.violation import EARLY, cut

MIRA = 3  # besides the types of PA


@part
def _listed(r: Beam, out: Listed, steps: int, gold: np.ndarray) -> int:
    """Gold and the best prefixes after so many steps; how many these are."""
    found = min(out.scores.size - 1, r.size[steps])
    for i in range(steps):
        out.paths[0, i] = gold[i]
    out.scores[0] = r.gold[steps]
    for k in range(found):
        trace(r, steps, k, out.paths[k + 1])
        out.scores[k + 1] = r.score[steps, k]
    return found


@part
def _search_and_cut(
    T: Trellis,
    r: Beam,
    m: Chain,
    p: LabelContextWeights,
    x: Data,
    y: Active,
    lo: int,
    n: int,
    B: int,
    gold: np.ndarray,
    update: int,
    path: np.ndarray,
) -> tuple[int, int, int]:
    """(where to cut, tokens that the guess has wrong, 1 if gold is better than the guess there, else 0)."""
    reached, fell, item = search(T, r, m, p, x, y, lo, n, B, 0, gold, update == EARLY)
    if item == 0:
        return n, 0, 0
    at = cut(update, reached, fell, r.best, r.gold)
    trace(r, reached, 0, path)
    return at, missed_labels(path, gold, 0, reached) + n - reached, int(r.gold[at] > r.best[at])


@kernel
def train_beam_probperc(
    m: Chain,
    p: LabelContextWeights,
    x: Data,
    y: Active,
    order: np.ndarray,
    first: int,
    last: int,
    clock: float,
    B: int,
    update: int,
    K: int,
    rate: float,
    fall: float,
    add_gold: bool,
    on_errors: bool,
    kind: int,
    degree: float,
) -> tuple:
    """As `train_beam`, for the probabilistic perceptron; see probperc.py."""
    T, r = room_for_beam(m, p, longest_of(x, order, first, last), B)
    c = room_for_listed(T, m, K)
    sums, factors = room_for_sums(m, K + 1), np.zeros(K + 1)
    updates, wrong, infeasible, bad, position = 0, 0, 0, 0, 0.0
    for number in range(first, last):
        s = order[number]
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        gold = x.known[lo : lo + n]
        if not has_room(p, y, lo, n, K + 1):
            return number, clock, updates, wrong, infeasible, bad, position
        clock += 1.0
        if not is_allowed(m, gold, n):
            infeasible += 1
            continue
        score_states(T, m, x.one, lo, n)
        at, missed, no_violation = _search_and_cut(T, r, m, p, x, y, lo, n, B, gold, update, c.paths[1])
        wrong += missed
        if missed == 0 and on_errors:
            continue
        found = _listed(r, c, at, gold)
        step = rate / (1.0 + fall * (clock - 2.0)) * float(x.weight[s])
        factors_of(c, at, found, add_gold, kind, degree, step, factors)
        add_weighted_prefixes(m, x, s, c.paths, factors, found + 1, at, clock - 1.0, sums)
        add_weighted_contexts(p, y, lo, at, c.paths, factors, found + 1, clock - 1.0)
        updates += 1
        bad += no_violation
        position += at / n
    return last, clock, updates, wrong, infeasible, bad, position


@part
def _violations(c: Listed, m: Chain, at: int, found: int, variant: int, chunks: Chunks, b: np.ndarray) -> int:
    """By how much each candidate breaks its margin, into b; those without a cost are left out. How many are left, 0 if
    no margin is broken."""
    keep, broken = 0, False
    for k in range(1, found + 1):
        cost = missed_labels(c.paths[k], c.paths[0], 0, at)
        if cost == 0:
            continue
        if variant == MIRA and chunks.type_of.size > 0:
            cost = span_cost(m, at, c.paths[0], c.paths[k], chunks)
        # PA searches with the costs in the scores
        b[keep] = c.scores[k] - c.scores[0] + (cost if variant == MIRA else 0.0)
        broken = broken or b[keep] > 0.0
        keep += 1
        for i in range(at):
            c.paths[keep, i] = c.paths[k, i]
    return keep if broken else 0


@kernel
def train_beam_margin(
    m: Chain,
    p: LabelContextWeights,
    x: Data,
    y: Active,
    order: np.ndarray,
    first: int,
    last: int,
    clock: float,
    B: int,
    update: int,
    K: int,
    variant: int,
    C: float,
    chunks: Chunks,
) -> tuple:
    """As `train_beam`, for MIRA, and for PA with one candidate; see margin_train.py."""
    T, r = room_for_beam(m, p, longest_of(x, order, first, last), B)
    c = room_for_listed(T, m, K)
    sums, factors, b, alpha = room_for_sums(m, K + 1), np.zeros(K + 1), np.zeros(K), np.zeros(K)
    keys, values, A = np.zeros(64, np.uint64), np.zeros((64, K)), np.zeros((K, K))
    updates, wrong, infeasible, bad, position = 0, 0, 0, 0, 0.0
    limit = C if variant in (CAPPED, MIRA) else np.inf
    for number in range(first, last):
        s = order[number]
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        gold = x.known[lo : lo + n]
        if not has_room(p, y, lo, n, K + 1):
            return number, clock, updates, wrong, infeasible, bad, position
        clock += 1.0
        if not is_allowed(m, gold, n):
            infeasible += 1
            continue
        score_states(T, m, x.one, lo, n)
        at, missed, no_violation = _search_and_cut(T, r, m, p, x, y, lo, n, B, gold, update, c.paths[1])
        wrong += missed
        if variant != MIRA:
            augment(T, m, x, lo, n)
            at, missed, no_violation = _search_and_cut(T, r, m, p, x, y, lo, n, B, gold, update, c.paths[1])
        keep = _violations(c, m, at, _listed(r, c, at, gold), variant, chunks, b)
        if keep == 0:
            continue
        needed = entries(m, x, lo, at, c.paths, keep) + past_entries(y, lo, at, keep)
        keys, values = room_for_entries(keys, values, needed + 1, K)
        used = np.empty(needed, np.int64)
        count = add_differences(m, x, lo, n, at, c.paths, keep, keys, values, used)
        count = add_past_differences(p, y, lo, at, c.paths, keep, keys, values, used, count)
        products(m.share, keys, values, used, count, keep, A)
        if variant == SOFT:
            A[0, 0] += 0.5 / C if A[0, 0] > 0.0 else 0.0
        hildreth(A, b, keep, limit, alpha)
        factors[0] = 0.0
        for k in range(keep):
            factors[k + 1] = -alpha[k] * float(x.weight[s])
            factors[0] -= factors[k + 1]
        if factors[0] > 0.0:
            add_weighted_prefixes(m, x, s, c.paths, factors, keep + 1, at, clock - 1.0, sums)
            add_weighted_contexts(p, y, lo, at, c.paths, factors, keep + 1, clock - 1.0)
            updates += 1
            bad += no_violation
            position += at / n
    return last, clock, updates, wrong, infeasible, bad, position
