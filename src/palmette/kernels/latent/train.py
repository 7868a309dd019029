"""Passive-aggressive steps over latent structures, in compiled loops over a slice of a pass.

    z = the structures found;  loss = max(0, 1 - y w.f(z));  w += tau y f(z),  tau = loss / ||f(z)||^2

A positive sentence gets one step a pass. A negative one is decoded again until its score is below 0 (0 counts as
wrong) or the cap is reached. With fixed structures (the batch learners) nothing is decoded.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.latent.forms import Rival, Rule, Sentences, Views, Weights, Workspace
from palmette.kernels.latent.search import make_workspace, search
from palmette.kernels.latent.update import add_features, rival_score, score_of, squared_length, step_size

# Places of what is counted in a slice
UPDATES, WRONG_POSITIVES, WRONG_NEGATIVES, DECODED, CAPPED, SQUARED_LOSS, RIVAL_LOSS, N_COUNTS = range(8)


@part
def _step(
    v: Views,
    w: Weights,
    x: Sentences,
    s: int,
    y: int,
    score: float,
    room: Workspace,
    rule: Rule,
    clock: float,
    u: Rival,
    counts: np.ndarray,
) -> float:
    """One step for the structures in room; the score as the loss saw it.

    What is counted are squared losses over squared lengths: with normalised features just squared losses, and without
    the same theorem holds of them (w and the rival u meet the same vectors of length 1, with losses so scaled)."""
    squared = squared_length(v, x, s, room)
    length = np.sqrt(squared) if rule.normalise else 1.0
    if squared == 0.0:
        return score
    score /= length
    loss = max(0.0, 1.0 - y * score)
    if loss > 0.0:
        own = 1.0 if rule.normalise else squared
        if u.w.shape[0] > 0:
            rival = max(0.0, 1.0 - y * rival_score(v, u, w, x, s, room) / length)
            counts[RIVAL_LOSS] += rival * rival / own
        tau = step_size(loss, own, rule)
        add_features(v, w, x, s, room, tau * y / length, clock)
        counts[UPDATES] += 1
        counts[SQUARED_LOSS] += loss * loss / own
    return score


@kernel
def train_online(
    v: Views, w: Weights, x: Sentences, y: np.ndarray, order: np.ndarray, first: int, last: int, clock: float,
    rule: Rule, u: Rival, counts: np.ndarray, again: np.ndarray,
) -> float:  # fmt: skip
    """One slice of a pass over the sentences order[first:last] with classes y i8[S] (1, -1); the new clock.

    counts f64[N_COUNTS] and again i64[cap] (how many negatives were decoded again so often) are added to."""
    room = make_workspace(v, x, order, first, last)
    changed = True
    for k in range(first, last):
        s = order[k]
        rounds = 0
        while True:
            before = counts[UPDATES]
            score = search(v, w, x, s, room, rule.combine, changed)
            if rounds == 0 and y[s] * score <= 0.0 and not (y[s] > 0 and score == 0.0):
                counts[WRONG_POSITIVES if y[s] > 0 else WRONG_NEGATIVES] += 1
            _step(v, w, x, s, y[s], score, room, rule, clock, u, counts)
            changed = counts[UPDATES] > before
            rounds += 1
            if y[s] > 0 or score < 0.0 or not changed:
                break
            if rounds == rule.cap:
                counts[CAPPED] += 1
                break
        counts[DECODED] += rounds
        if y[s] < 0:
            again[rounds - 1] += 1
        clock += 1.0
    return clock


@kernel
def train_fixed(
    v: Views, w: Weights, x: Sentences, y: np.ndarray, owner: np.ndarray, start: np.ndarray, states: np.ndarray,
    order: np.ndarray, first: int, last: int, clock: float, rule: Rule, u: Rival, counts: np.ndarray,
) -> float:  # fmt: skip
    """The same over fixed structures order[first:last]: of sentence owner[k], with the states of all views, one view
    after the other, from start[k] on in states i16[]."""
    room = make_workspace(v, x, owner[order], first, last)
    for k in range(first, last):
        s = owner[order[k]]
        n = x.offset[s + 1] - x.offset[s]
        at = start[order[k]]
        for r in range(v.size.size):
            for i in range(n):
                room.path[r, i] = states[at + r * n + i]
        for rounds in range(rule.cap):
            before = counts[UPDATES]
            score = score_of(v, w, x, s, room)
            if rounds == 0 and y[s] * score <= 0.0 and not (y[s] > 0 and score == 0.0):
                counts[WRONG_POSITIVES if y[s] > 0 else WRONG_NEGATIVES] += 1
            _step(v, w, x, s, y[s], score, room, rule, clock, u, counts)
            if y[s] > 0 or score < 0.0 or counts[UPDATES] == before:
                break
        clock += 1.0
    return clock


@kernel
def decide(
    v: Views, w: Weights, x: Sentences, order: np.ndarray, first: int, last: int, rule: Rule, scores: np.ndarray,
    states: np.ndarray,
) -> None:  # fmt: skip
    """The scores f64[S] of the sentences order[first:last], and unless it is empty their structures into states
    i16[R, N]."""
    room = make_workspace(v, x, order, first, last)
    for k in range(first, last):
        s = order[k]
        score = search(v, w, x, s, room, rule.combine, k == first)
        if rule.normalise:
            score /= max(1.0, np.sqrt(squared_length(v, x, s, room)))
        scores[s] = score
        lo = x.offset[s]
        if states.size > 0:
            for r in range(v.size.size):
                for i in range(x.offset[s + 1] - lo):
                    states[r, lo + i] = room.path[r, i]
