"""Weight updates of a parser: gold's prefix up, the candidates' prefixes down, both cut after the same step.

    w += sum over k of alpha_k * d_k,   d_k = f(gold prefix) - f(prefix of candidate k)

Up to the first action that differs, gold and candidate have the same features. The alphas come from the rule
(`kernels/learning/coefficients.py`). The cost of a candidate is the number of its actions that are not gold's.

A rule with a spread adapts to each weight i by its state, which grows with every change:

    w_i += scale_i * u_i,   state_i += spread * (u_i / sum of alphas)^2,   u_i = sum over k of alpha_k * d_ki
    scale_i = 1 / (1 + state_i), also in the inner products that the rule gets: sum over i of scale_i * d_ki * d_ji

Changes of other rules are listed first, and made by `make_changes`: threads that search sentences at the same time do
not see them before.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.learning.coefficients import asks_for_costs, asks_for_products, coefficients
from palmette.kernels.learning.rule import Rule
from palmette.parsing.kernels.derivations import list_derivations, read_derivation
from palmette.parsing.kernels.forms import (
    Beam,
    Changes,
    Differences,
    Grammar,
    Paths,
    SearchOptions,
    States,
    Weights,
    Workspace,
)
from palmette.parsing.kernels.state import feature_key, same_arc, trace
from palmette.parsing.kernels.weights import change, entry_for, has_weights, is_full

NOTHING, PLACES, CAPACITY = 0, 1, 2  # results of `lacking`
AHEAD = 8  # changes between the one that is made and the one whose place in the table is fetched
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_20 = np.uint64(20)


@part
def lacking(w: Weights, calls: int, actions: int) -> int:
    """What may be too small for `calls` calls of entry_for: NOTHING, PLACES of the table or CAPACITY for lists. A full
    list is moved to a place of twice its size, so that at most four times the final size is used."""
    largest = 2
    while largest < actions:
        largest *= 2
    if is_full(w.table, w.used[0] + calls):
        return PLACES
    taken = min(calls * largest, 4 * (w.used[1] + calls))
    return CAPACITY if (w.used[1] + taken) * 2 > w.entry.size else NOTHING


@part
def _find_items(z: States, b: Beam, cut: int, K: int, p: Paths, waiting: np.ndarray) -> tuple[int, bool]:
    """List the K best items after `cut` steps that are not gold, with paths and scores. Returns their number, and
    whether gold is one of the K best items."""
    found, gold_listed = 0, False
    for j in range(b.size[cut]):
        if found == K:
            break
        x = b.items[cut, j]
        if z.right[x] != 0:
            gold_listed = True
            continue
        trace(z, x, p.states[found], p.actions[found], waiting)
        i = _first_difference(p.actions[found], b.gold_action, cut)
        if i == cut:  # an equal state into which gold was merged
            continue
        p.differ[found] = i
        p.list.score[found + 1] = z.score[x]
        found += 1
    return found, gold_listed


@part
def _find_derivations(workspace: Workspace, g: Grammar, w: Weights, cut: int, K: int) -> tuple[int, bool]:
    """As _find_items, of the derivations of all items after `cut` steps."""
    b, p, d = workspace.b, workspace.paths, workspace.derivations
    found, gold_listed = 0, False
    for k in range(list_derivations(workspace, g, w, cut, K + 1)):
        if found == K:
            break
        read_derivation(workspace, k, p.states[found], p.actions[found])
        i = _first_difference(p.actions[found], b.gold_action, cut)
        if i == cut:
            gold_listed = True
            continue
        again = False
        for j in range(found):
            again = again or _first_difference(p.actions[found], p.actions[j], cut) == cut
        if not again:
            p.differ[found] = i
            p.list.score[found + 1] = d.score[d.size.size - 1, k]
            found += 1
    return found, gold_listed


@inline
def _first_difference(one: np.ndarray, other: np.ndarray, steps: int) -> int:
    """The first step at which two lists of actions differ, or their number."""
    i = 0
    while i < steps and one[i] == other[i]:
        i += 1
    return i


@part
def _costs(g: Grammar, b: Beam, p: Paths, cut: int, found: int, augmented: bool) -> None:
    """The number of actions of each candidate that are not gold's; subtracted from its score if that includes costs."""
    for k in range(found):
        cost = 0
        for i in range(p.differ[k], cut):
            if not same_arc(g, p.actions[k, i], b.gold_action[i]):
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


@inline
def _list_change(c: Changes, at: int, key: np.uint64, action: int, amount: float) -> None:
    c.key[at], c.action[at], c.amount[at] = key, action, amount


@part
def add_step(z: States, g: Grammar, c: Changes, gold: tuple[int, int], guess: tuple[int, int], amount: float) -> None:
    """List amount * (f(gold) - f(guess)) for one step, each a pair (state, action). A feature of both with the same
    action is left out: adding and subtracting it would only give it an entry, which one weight in five would be."""
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    same, at = gold[1] == guess[1], c.used[0]
    for t in range(seed.size):
        up = feature_key(ptr, atom, seed, atoms, gold[0], t)
        down = feature_key(ptr, atom, seed, atoms, guess[0], t)
        if not (same and up == down):
            _list_change(c, at, up, gold[1], amount)
            _list_change(c, at + 1, down, guess[1], -amount)
            at += 2
    c.used[0] = at


@part
def make_changes(w: Weights, c: Changes, first: int, last: int, clock: float) -> None:
    """Make the listed changes first..last, one after the other."""
    key, action, amount, table = c.key, c.action, c.amount, w.table
    mask = np.uint64(table.size - 1)
    for k in range(first, last):
        if k + AHEAD < last:
            fetch_item(table, np.int64((key[k + AHEAD] + key[k + AHEAD]) & mask))
        change(w, entry_for(w, key[k], action[k]), amount[k], clock)


@part
def _add_difference(workspace: Workspace, g: Grammar, c: Changes, k: int, cut: int, amount: float) -> None:
    """List amount * (f(gold) - f(candidate k)). Gold's states are numbered by their steps."""
    z, b, p = workspace.z, workspace.b, workspace.paths
    for i in range(p.differ[k], cut):
        gold = (np.int64(i), np.int64(b.gold_action[i]))
        guess = (np.int64(p.states[k, i]), np.int64(p.actions[k, i]))
        add_step(z, g, c, gold, guess, amount)


@part
def _make_entries(workspace: Workspace, g: Grammar, w: Weights, cut: int, found: int) -> None:
    """Allocate entries for all weights of gold and candidates, so that their numbers do not change later."""
    z, b, p = workspace.z, workspace.b, workspace.paths
    for k in range(found):
        for i in range(p.differ[k], cut):
            _add_features(z, g, w, i, b.gold_action[i], 0.0, 0.0)
            _add_features(z, g, w, p.states[k, i], p.actions[k, i], 0.0, 0.0)


@inline
def _label(w: Weights, key: np.uint64, action: int, adaptive: bool) -> np.uint64:
    """A key for the weight of (feature, action): its entry, counted from 1, if the rule is adaptive, else a hash."""
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
def _count_differences(workspace: Workspace, g: Grammar, w: Weights, cut: int, found: int, adaptive: bool) -> None:
    """Fill workspace.differences: features are summed per weight before products are computed."""
    z, b, p, d = workspace.z, workspace.b, workspace.paths, workspace.differences
    size = 64
    while size < 2 * (found + 1) * cut * g.seed.size:
        size *= 2
    size = min(size, d.key.size)
    for at in range(size):
        d.key[at] = np.uint64(0)
    d.used[0] = 0
    if adaptive:
        _make_entries(workspace, g, w, cut, found)
    ptr, atom, seed, atoms = g.ptr, g.atom, g.seed, z.atoms
    for k in range(found):
        for i in range(p.differ[k], cut):
            x, gold, guess = p.states[k, i], b.gold_action[i], p.actions[k, i]
            for t in range(seed.size):
                up = feature_key(ptr, atom, seed, atoms, i, t)
                down = feature_key(ptr, atom, seed, atoms, x, t)
                if has_weights(w, up):
                    _count(d, size, _label(w, up, gold, adaptive), k, 1)
                if has_weights(w, down):
                    _count(d, size, _label(w, down, guess, adaptive), k, -1)


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
    """Update the weights and their learner state by an adaptive rule."""
    for row in range(d.used[0]):
        total = 0.0
        for k in range(found):
            total -= coefficient[k + 1] * d.value[row, k]
        if total != 0.0:
            e = np.int64(d.label[row]) - 1
            change(w, e, _scale(w.state, d.label[row]) * total, clock)
            w.state[e] += np.float32(spread * (total / coefficient[0]) ** 2)


@part
def learn(
    workspace: Workspace, g: Grammar, w: Weights, how: SearchOptions, rule: Rule, cut: int, c: Changes, clock: float
) -> bool:
    """One update with both prefixes cut after `cut` steps, which is listed in c; adaptive rules make it at once.
    Returns False if no weight changes."""
    b, p = workspace.b, workspace.paths
    adaptive = rule.spread > 0.0
    if how.forest:
        found, gold_listed = _find_derivations(workspace, g, w, cut, rule.candidates)
    else:
        found, gold_listed = _find_items(workspace.z, b, cut, rule.candidates, p, workspace.waiting)
    if found == 0:
        return False
    p.list.score[0] = b.gold[cut]
    if asks_for_costs(rule):
        _costs(g, b, p, cut, found, how.augment)
    if adaptive or asks_for_products(rule):
        _count_differences(workspace, g, w, cut, found, adaptive)
    if asks_for_products(rule):
        _gram(workspace.differences, w.state, p.list.gram, found)
    if not coefficients(rule, p.list, found, gold_listed, clock, 1.0):
        return False
    if adaptive:
        _add_scaled(workspace.differences, w, p.list.coefficient, found, rule.spread, clock)
        return True
    for k in range(found):
        amount = -p.list.coefficient[k + 1]
        if amount > 0.0:
            _add_difference(workspace, g, c, k, cut, amount)
    return True
