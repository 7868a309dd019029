"""The perceptron on a beam, with the updates of kernels/learning/violation.py, and the beam at tag time.

After a wrong guess both sides are cut after the same step: gold up, the best prefix down. An update is a bad one when
gold scored more than that prefix: it mends nothing, and the proof that errors end does not hold for it.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.beam import is_allowed, longest_of, restart_from_gold, room_for_beam, search, trace
from palmette.kernels.chain.blend import add_weighted_prefixes, room_for_sums
from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.kernels.chain.label_context import LabelContextWeights, add_weighted_contexts, has_room
from palmette.kernels.chain.score import restrict, score_states
from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.learning.violation import EARLY, LASO, cut


@inline
def missed_labels(path: np.ndarray, gold: np.ndarray, start: int, steps: int) -> int:
    wrong = 0
    for i in range(start, steps):
        wrong += path[i] != gold[i]
    return wrong


@kernel
def train_beam(
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
) -> tuple:
    """Part of a slice of a pass: (the sentence to go on with, clock, updates, tokens wrong, sentences without an
    allowed gold, bad updates, sum of the relative positions of the cuts). It ends early where rows of `p` run out. An
    update that stops the search counts the tokens after it as wrong."""
    T, r = room_for_beam(m, p, longest_of(x, order, first, last), B)
    paths = np.zeros((2, T.U.shape[0]), np.int32)
    sums = room_for_sums(m, 2)
    updates, wrong, infeasible, bad, position = 0, 0, 0, 0, 0.0
    stops = update in (EARLY, LASO)
    factors = np.zeros(2)
    for k in range(first, last):
        s = order[k]
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        gold = x.known[lo : lo + n]
        if not has_room(p, y, lo, n, 2):
            return k, clock, updates, wrong, infeasible, bad, position
        clock += 1.0
        if not is_allowed(m, gold, n):
            infeasible += 1
            continue
        paths[0, :n] = gold
        factors[0], factors[1] = float(x.weight[s]), -float(x.weight[s])
        start = 0
        while start < n:
            score_states(T, m, x.one, lo, n)
            reached, fell, item = search(T, r, m, p, x, y, lo, n, B, start, gold, stops)
            if item == 0:
                break
            at = cut(update, reached, fell, r.best, r.gold)
            trace(r, reached, 0, paths[1])
            wrong += missed_labels(paths[1], gold, start, reached)
            if at < reached:
                trace(r, at, 0, paths[1])
            bad += r.gold[at] > r.best[at]
            add_weighted_prefixes(m, x, s, paths, factors, 2, at, clock - 1.0, sums)
            add_weighted_contexts(p, y, lo, at, paths, factors, 2, clock - 1.0)
            updates += 1
            position += at / n
            if update != LASO:
                wrong += n - reached
                break
            restart_from_gold(r, gold, at)
            start = at
    return last, clock, updates, wrong, infeasible, bad, position


@kernel
def decode_beam(
    m: Chain,
    p: LabelContextWeights,
    x: Data,
    y: Active,
    B: int,
    out: np.ndarray,
    scores: np.ndarray,
    found: np.ndarray,
    restricted: bool,
) -> None:
    """The best labels of each sentence, as many as out i32[K, N] has room for and the last beam has prefixes: their
    scores f64[S, K], and how many they are, i64[S]."""
    S = x.offset.size - 1
    T, r = room_for_beam(m, p, longest_of(x, np.arange(S), 0, S), B)
    nothing = np.zeros(0, np.int32)
    for s in range(S):
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        score_states(T, m, x.one, lo, n)
        if restricted:
            restrict(T, m, x, lo, n)
        reached, _, _ = search(T, r, m, p, x, y, lo, n, B, 0, nothing, False)
        found[s] = min(out.shape[0], r.size[n]) if reached == n else 0
        for k in range(found[s]):
            trace(r, n, k, out[k, lo : lo + n])
            scores[s, k] = r.score[n, k]
