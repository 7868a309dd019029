"""How a parser's weights move: gold's prefix up, the candidates' prefixes down, both cut after the same step.

    w += sum over k of alpha_k * (f(gold prefix) - f(prefix of candidate k))

Up to the first action that differs the two have the same features. The learner says the alphas: 1 for the best
candidate (perceptron), the smallest step that makes a margin (PA, MIRA), or shares of a rate (probPerc).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.steps import hildreth, pa_step, shares
from palmette.kernels.tree.forms import Beam, Grammar, States, Weights
from palmette.kernels.tree.state import feature_key
from palmette.kernels.tree.trace import trace
from palmette.kernels.tree.weights import change, entry_for

PERCEPTRON, PROBPERC, PA, MIRA = 0, 1, 2, 3
NOTHING, PLACES, ROOM = 0, 1, 2  # what may be lacking
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Rule(NamedTuple):
    """A learner, as numbers."""

    kind: int
    candidates: int  # items of the beam that are looked at
    most: float  # the largest alpha of PA-I and MIRA
    variant: int  # of PA
    rate: float  # of probPerc, at clock c: rate / (1 + fall * (c - 1))
    fall: float
    function: int  # softmax, linear, polynomial
    degree: float
    add_gold: bool
    on_errors: bool


class Listed(NamedTuple):
    """The ways to K candidates."""

    states: np.ndarray  # i32[K, steps]
    actions: np.ndarray  # i32[K, steps]
    differ: np.ndarray  # i64[K]  the first step at which a candidate differs from gold
    score: np.ndarray  # f64[K + 1]  gold last
    alpha: np.ndarray  # f64[K + 1]
    b: np.ndarray  # f64[K]
    gram: np.ndarray  # f64[K, K]


@part
def room_for_listed(steps: int, K: int) -> Listed:
    return Listed(
        np.zeros((K, steps), np.int32), np.zeros((K, steps), np.int32), np.zeros(K, np.int64), np.zeros(K + 1),
        np.zeros(K + 1), np.zeros(K), np.zeros((K, K)),
    )  # fmt: skip


@part
def lacking(w: Weights, calls: int, actions: int) -> int:
    """Which room may not do for so many calls of entry_for: NOTHING, PLACES in the table or ROOM for lists. A list that
    is full moves to twice the room, so that no more than four times what there will be is ever taken."""
    largest = 2
    while largest < actions:
        largest *= 2
    if (w.used[0] + calls) * 4 > w.table.size:
        return PLACES
    taken = min(calls * largest, 4 * (w.used[1] + calls))
    return ROOM if (w.used[1] + taken) * 2 > w.entry.size else NOTHING


@part
def _add_features(z: States, g: Grammar, w: Weights, x: int, action: int, amount: float, clock: float) -> None:
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for t in range(seed.size):
        e = entry_for(w, feature_key(ptr, atom, seed, atoms, x, t), action)
        change(w, e, amount, clock)


@part
def _move(z: States, g: Grammar, w: Weights, b: Beam, r: Listed, k: int, cut: int, amount: float, clock: float) -> None:
    """Gold up and candidate k down. Gold's states are numbered by their steps."""
    for i in range(r.differ[k], cut):
        _add_features(z, g, w, i, b.gold_action[i], amount, clock)
        _add_features(z, g, w, r.states[k, i], r.actions[k, i], -amount, clock)


@part
def _list_candidates(z: States, b: Beam, cut: int, K: int, r: Listed, waiting: np.ndarray) -> int:
    """The ways to the best items after `cut` steps that are not gold; how many."""
    found = 0
    for j in range(b.size[cut]):
        if found == K:
            break
        x = b.items[cut, j]
        if x == b.gold_item[cut]:
            continue
        trace(z, x, r.states[found], r.actions[found], waiting)
        i = 0
        while i < cut and r.actions[found, i] == b.gold_action[i]:
            i += 1
        if i == cut:  # gold's twin: it fell by merging into an equal state
            continue
        r.differ[found] = i
        r.score[found] = z.score[x]
        found += 1
    return found


@inline
def _count(keys: np.ndarray, values: np.ndarray, key: np.uint64, k: int, amount: float) -> None:
    mask = np.uint64(keys.size - 1)
    at = (key * _MIX >> np.uint64(20)) & mask
    while keys[at] != np.uint64(0) and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    keys[at] = key
    values[at, k] += amount


@part
def _gram(z: States, g: Grammar, b: Beam, r: Listed, cut: int, found: int) -> None:
    """Inner products of the differences: features are added up by (key, action) before anything is multiplied."""
    entries = 0
    for k in range(found):
        entries += 2 * (cut - r.differ[k]) * g.seed.size
    size = 64
    while size < 2 * entries:
        size *= 2
    keys, values = np.zeros(size, np.uint64), np.zeros((size, found))
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for k in range(found):
        for i in range(r.differ[k], cut):
            x, gold, guess = r.states[k, i], np.uint64(b.gold_action[i] + 1), np.uint64(r.actions[k, i] + 1)
            for t in range(seed.size):
                _count(keys, values, feature_key(ptr, atom, seed, atoms, i, t) * _MIX + gold, k, 1.0)
                _count(keys, values, feature_key(ptr, atom, seed, atoms, x, t) * _MIX + guess, k, -1.0)
    for k in range(found):
        for j in range(found):
            r.gram[k, j] = 0.0
    for at in range(size):
        if keys[at] != np.uint64(0):
            for k in range(found):
                for j in range(found):
                    r.gram[k, j] += values[at, k] * values[at, j]


@part
def _cost(b: Beam, r: Listed, k: int, cut: int) -> int:
    """Actions of candidate k that are not gold's."""
    cost = 0
    for i in range(r.differ[k], cut):
        if r.actions[k, i] != b.gold_action[i]:
            cost += 1
    return cost


@part
def _margin_steps(z: States, g: Grammar, b: Beam, r: Listed, rule: Rule, cut: int, found: int) -> None:
    """The alphas of PA (one candidate) and MIRA."""
    for k in range(found):
        r.alpha[k] = 0.0
        r.b[k] = _cost(b, r, k, cut) - (b.gold[cut] - r.score[k])
    _gram(z, g, b, r, cut, found)
    if rule.kind == MIRA:
        hildreth(r.gram, r.b, found, rule.most, r.alpha)
    elif r.b[0] > 0.0 and r.gram[0, 0] > 0.0:
        r.alpha[0] = pa_step(rule.variant, r.b[0], r.gram[0, 0], rule.most)


@part
def _shared_steps(b: Beam, r: Listed, rule: Rule, cut: int, found: int, clock: float) -> None:
    """The alphas of probPerc: shares of the rate, by the scores of candidates and gold."""
    rate = rule.rate / (1.0 + rule.fall * (clock - 1.0))
    r.score[found] = b.gold[cut]
    size = found + 1 if rule.add_gold or b.gold_item[cut] >= 0 else found
    shares(rule.function, rule.degree, r.score[:size], r.alpha[:size])
    for k in range(found):
        r.alpha[k] *= rate


@part
def learn(
    z: States, g: Grammar, w: Weights, b: Beam, rule: Rule, cut: int, clock: float, r: Listed, waiting: np.ndarray
) -> bool:
    """One update with both prefixes cut after `cut` steps. False: the margins are met already."""
    found = _list_candidates(z, b, cut, rule.candidates, r, waiting)
    if found == 0:
        return False
    if rule.kind == PERCEPTRON:
        r.alpha[0], found = 1.0, 1
    elif rule.kind == PROBPERC:
        _shared_steps(b, r, rule, cut, found, clock)
    else:
        _margin_steps(z, g, b, r, rule, cut, found)
    moved = False
    for k in range(found):
        if r.alpha[k] > 0.0:
            _move(z, g, w, b, r, k, cut, r.alpha[k], clock)
            moved = True
    return moved
