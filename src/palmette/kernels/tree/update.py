"""Weight updates of a parser: gold's prefix up, the candidates' prefixes down, both cut after the same step.

    w += sum over k of alpha_k * (f(gold prefix) - f(prefix of candidate k))

Up to the first action that differs, gold and candidate have the same features. The alphas come from the rule
(`kernels/learning/coefficients.py`). The cost of a candidate is the number of its actions that are not gold's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.coefficients import asks_for_costs, asks_for_products, coefficients
from palmette.kernels.learning.rule import CandidateList, Rule
from palmette.kernels.tree.forms import Beam, Grammar, States, Weights
from palmette.kernels.tree.state import feature_key
from palmette.kernels.tree.trace import trace
from palmette.kernels.tree.weights import change, entry_for

NOTHING, PLACES, ROOM = 0, 1, 2  # what may be lacking
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Paths(NamedTuple):
    """The candidates of one sentence: how they were reached, and their numbers."""

    states: np.ndarray  # i32[K, steps]
    actions: np.ndarray  # i32[K, steps]
    differ: np.ndarray  # i64[K]  the first step at which a candidate differs from gold
    list: CandidateList


@part
def room_for_paths(steps: int, K: int) -> Paths:
    numbers = CandidateList(
        np.zeros(K + 1), np.zeros(K + 1), np.zeros((K, K)), np.zeros(K + 1), np.zeros(K), np.zeros(K + 1)
    )
    return Paths(np.zeros((K, steps), np.int32), np.zeros((K, steps), np.int32), np.zeros(K, np.int64), numbers)


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
def _add_difference(
    z: States, g: Grammar, w: Weights, b: Beam, p: Paths, k: int, cut: int, amount: float, clock: float
) -> None:
    """Gold up and candidate k down. Gold's states are numbered by their steps."""
    for i in range(p.differ[k], cut):
        _add_features(z, g, w, i, b.gold_action[i], amount, clock)
        _add_features(z, g, w, p.states[k, i], p.actions[k, i], -amount, clock)


@part
def _find_candidates(z: States, b: Beam, cut: int, K: int, p: Paths, waiting: np.ndarray) -> int:
    """List the best items after `cut` steps that are not gold, with paths and scores; how many."""
    found = 0
    for j in range(b.size[cut]):
        if found == K:
            break
        x = b.items[cut, j]
        if x == b.gold_item[cut]:
            continue
        trace(z, x, p.states[found], p.actions[found], waiting)
        i = 0
        while i < cut and p.actions[found, i] == b.gold_action[i]:
            i += 1
        if i == cut:  # gold's twin: gold left the beam by merging into an equal state
            continue
        p.differ[found] = i
        p.list.score[found + 1] = z.score[x]
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
def _gram(z: States, g: Grammar, b: Beam, p: Paths, cut: int, found: int) -> None:
    """Inner products of the differences: features are added up by (key, action) before anything is multiplied."""
    entries = 0
    for k in range(found):
        entries += 2 * (cut - p.differ[k]) * g.seed.size
    size = 64
    while size < 2 * entries:
        size *= 2
    keys, values = np.zeros(size, np.uint64), np.zeros((size, found))
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for k in range(found):
        for i in range(p.differ[k], cut):
            x, gold, guess = p.states[k, i], np.uint64(b.gold_action[i] + 1), np.uint64(p.actions[k, i] + 1)
            for t in range(seed.size):
                _count(keys, values, feature_key(ptr, atom, seed, atoms, i, t) * _MIX + gold, k, 1.0)
                _count(keys, values, feature_key(ptr, atom, seed, atoms, x, t) * _MIX + guess, k, -1.0)
    for k in range(found):
        for j in range(found):
            p.list.gram[k, j] = 0.0
    for at in range(size):
        if keys[at] != np.uint64(0):
            for k in range(found):
                for j in range(found):
                    p.list.gram[k, j] += values[at, k] * values[at, j]


@part
def _costs(b: Beam, p: Paths, cut: int, found: int) -> None:
    """The actions of each candidate that are not gold's."""
    for k in range(found):
        cost = 0
        for i in range(p.differ[k], cut):
            if p.actions[k, i] != b.gold_action[i]:
                cost += 1
        p.list.cost[k + 1] = cost


@part
def learn(
    z: States, g: Grammar, w: Weights, b: Beam, rule: Rule, cut: int, clock: float, p: Paths, waiting: np.ndarray
) -> bool:
    """One update with both prefixes cut after `cut` steps. False: the rule changes nothing."""
    found = _find_candidates(z, b, cut, rule.candidates, p, waiting)
    p.list.score[0] = b.gold[cut]
    if asks_for_costs(rule):
        _costs(b, p, cut, found)
    if asks_for_products(rule):
        _gram(z, g, b, p, cut, found)
    if not coefficients(rule, p.list, found, b.gold_item[cut] >= 0, clock, 1.0):
        return False
    for k in range(found):
        amount = -p.list.coefficient[k + 1]
        if amount > 0.0:
            _add_difference(z, g, w, b, p, k, cut, amount, clock)
    return True
