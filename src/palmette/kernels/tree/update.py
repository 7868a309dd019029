"""Weight updates of a parser: gold's prefix up, the candidates' prefixes down, both cut after the same step.

    w += sum over k of alpha_k * d_k,   d_k = f(gold prefix) - f(prefix of candidate k)

Up to the first action that differs, gold and candidate have the same features. The alphas come from the rule
(`kernels/learning/coefficients.py`). The cost of a candidate is the number of its actions that are not gold's.

A rule with a spread adapts to each weight i by its state, which grows with every change:

    w_i += scale_i * u_i,   state_i += spread * (u_i / sum of alphas)^2,   u_i = sum over k of alpha_k * d_ki
    scale_i = 1 / (1 + state_i), also in the inner products that the rule gets: sum over i of scale_i * d_ki * d_ji
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.coefficients import asks_for_costs, asks_for_products, coefficients
from palmette.kernels.learning.rule import Rule
from palmette.kernels.tree.forms import Beam, Differences, Grammar, Paths, SearchOptions, States, Weights, Workspace
from palmette.kernels.tree.state import feature_key
from palmette.kernels.tree.trace import trace
from palmette.kernels.tree.weights import change, entry_for

NOTHING, PLACES, ROOM = 0, 1, 2  # what may be lacking
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_20 = np.uint64(20)


@part
def lacking(w: Weights, calls: int, actions: int) -> int:
    """Which room may be too small for so many calls of entry_for: NOTHING, PLACES in the table or ROOM for lists. A
    full list moves to twice its room, so that at most four times the final size is ever taken."""
    largest = 2
    while largest < actions:
        largest *= 2
    if (w.used[0] + calls) * 4 > w.table.size:
        return PLACES
    taken = min(calls * largest, 4 * (w.used[1] + calls))
    return ROOM if (w.used[1] + taken) * 2 > w.entry.size else NOTHING


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


@part
def _costs(b: Beam, p: Paths, cut: int, found: int, augmented: bool) -> None:
    """The actions of each candidate that are not gold's. If its score has them in it, they are taken off."""
    for k in range(found):
        cost = 0
        for i in range(p.differ[k], cut):
            if p.actions[k, i] != b.gold_action[i]:
                cost += 1
        p.list.cost[k + 1] = cost
        if augmented:
            p.list.score[k + 1] -= cost


@part
def _add_features(z: States, g: Grammar, w: Weights, x: int, action: int, amount: float, clock: float) -> None:
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for t in range(seed.size):
        e = entry_for(w, feature_key(ptr, atom, seed, atoms, x, t), action)
        change(w, e, amount, clock)


@part
def _add_difference(room: Workspace, g: Grammar, w: Weights, k: int, cut: int, amount: float, clock: float) -> None:
    """Gold up and candidate k down. Gold's states are numbered by their steps."""
    z, b, p = room.z, room.b, room.paths
    for i in range(p.differ[k], cut):
        _add_features(z, g, w, i, b.gold_action[i], amount, clock)
        _add_features(z, g, w, p.states[k, i], p.actions[k, i], -amount, clock)


@part
def _make_entries(room: Workspace, g: Grammar, w: Weights, cut: int, found: int) -> None:
    """Entries for all weights of gold and candidates: their numbers stay as they are from here on."""
    z, b, p = room.z, room.b, room.paths
    for k in range(found):
        for i in range(p.differ[k], cut):
            _add_features(z, g, w, i, b.gold_action[i], 0.0, 0.0)
            _add_features(z, g, w, p.states[k, i], p.actions[k, i], 0.0, 0.0)


@inline
def _label(w: Weights, key: np.uint64, action: int, adaptive: bool) -> np.uint64:
    """A name for the weight of (feature, action): its entry from 1 on if rules adapt to weights, else a hash."""
    if adaptive:
        return np.uint64(entry_for(w, key, action) + 1)
    return key * _MIX + np.uint64(action + 1)


@part
def _count(d: Differences, size: int, label: np.uint64, k: int, amount: int) -> None:
    """value[row of label, k] += amount."""
    mask = np.uint64(size - 1)
    at = (label * _MIX >> _20) & mask
    while d.key[at] != np.uint64(0) and d.key[at] != label:
        at = (at + _ONE) & mask
    if d.key[at] == np.uint64(0):
        row = d.used[0]
        d.key[at], d.place[at], d.label[row] = label, row, label
        for j in range(d.value.shape[1]):
            d.value[row, j] = 0
        d.used[0] = row + 1
    d.value[d.place[at], k] += amount


@part
def _count_differences(room: Workspace, g: Grammar, w: Weights, cut: int, found: int, adaptive: bool) -> None:
    """Fill room.differences: features are added up by weight before anything is multiplied."""
    z, b, p, d = room.z, room.b, room.paths, room.differences
    size = 64
    while size < 2 * (found + 1) * cut * g.seed.size:
        size *= 2
    size = min(size, d.key.size)
    for at in range(size):
        d.key[at] = np.uint64(0)
    d.used[0] = 0
    if adaptive:
        _make_entries(room, g, w, cut, found)
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for k in range(found):
        for i in range(p.differ[k], cut):
            x, gold, guess = p.states[k, i], b.gold_action[i], p.actions[k, i]
            for t in range(seed.size):
                _count(d, size, _label(w, feature_key(ptr, atom, seed, atoms, i, t), gold, adaptive), k, 1)
                _count(d, size, _label(w, feature_key(ptr, atom, seed, atoms, x, t), guess, adaptive), k, -1)


@inline
def _scale(state: np.ndarray, label: np.uint64) -> float:
    if state.size == 0:
        return 1.0
    return 1.0 / (1.0 + state[np.int64(label) - 1])


@part
def _gram(d: Differences, state: np.ndarray, gram: np.ndarray, found: int) -> None:
    """Inner products of the differences, scaled by the state per weight if there is one."""
    for k in range(found):
        for j in range(found):
            gram[k, j] = 0.0
    for row in range(d.used[0]):
        scale = _scale(state, d.label[row])
        for k in range(found):
            own = d.value[row, k]
            if own != 0:
                for j in range(found):
                    gram[k, j] += scale * own * d.value[row, j]


@part
def _add_scaled(d: Differences, w: Weights, coefficient: np.ndarray, found: int, spread: float, clock: float) -> None:
    """The update of a rule that adapts to weights, and its learner state."""
    for row in range(d.used[0]):
        total = 0.0
        for k in range(found):
            total -= coefficient[k + 1] * d.value[row, k]
        if total != 0.0:
            e = np.int64(d.label[row]) - 1
            change(w, e, _scale(w.state, d.label[row]) * total, clock)
            w.state[e] += np.float32(spread * (total / coefficient[0]) ** 2)


@part
def learn(room: Workspace, g: Grammar, w: Weights, how: SearchOptions, rule: Rule, cut: int, clock: float) -> bool:
    """One update with both prefixes cut after `cut` steps. False: the rule changes nothing."""
    b, p = room.b, room.paths
    adaptive = rule.spread > 0.0
    found = _find_candidates(room.z, b, cut, rule.candidates, p, room.waiting)
    if found == 0:
        return False
    p.list.score[0] = b.gold[cut]
    if asks_for_costs(rule):
        _costs(b, p, cut, found, how.augment)
    if adaptive or asks_for_products(rule):
        _count_differences(room, g, w, cut, found, adaptive)
    if asks_for_products(rule):
        _gram(room.differences, w.state, p.list.gram, found)
    if not coefficients(rule, p.list, found, b.gold_item[cut] >= 0, clock, 1.0):
        return False
    if adaptive:
        _add_scaled(room.differences, w, p.list.coefficient, found, rule.spread, clock)
        return True
    for k in range(found):
        amount = -p.list.coefficient[k + 1]
        if amount > 0.0:
            _add_difference(room, g, w, k, cut, amount, clock)
    return True
