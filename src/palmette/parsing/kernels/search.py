"""Beam search over arc-standard states, with merging of equal ones (a graph-structured stack) or without.

All actions of each item of a step are scored; the best ones give the items of the next step. Without merging the score
of a candidate is that of its item plus that of the action. With merging an item q may have several left states p (see
state.py), and an arc has for each of them the score

    c(p) + shift(p) + v(q) + arc(q)     c: of the best derivation of a state, v: of its part since the top was shifted

(Huang & Sagae 2010). A candidate that all templates see as equal to a better one is merged with it: shifted states
unite their left states, reduced ones their derivations.

In training the search may be cost-augmented: it adds 1 to the score of each action that is not gold's at that step. The
best item is then the one with the largest score + cost. Searches with merging add no costs.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.learning.violation import stops
from palmette.parsing.kernels.forms import (
    POPPED,
    ROOT,
    SHIFT,
    Beam,
    Candidates,
    Grammar,
    SearchOptions,
    States,
    Weights,
    Words,
    Workspace,
)
from palmette.parsing.kernels.memo import add_features
from palmette.parsing.kernels.state import (
    add_start,
    depth,
    feature_keys,
    read_atoms,
    reduced,
    same_arc,
    shifted,
    sign,
    start,
)
from palmette.parsing.kernels.weights import add_list, find_key, list_start


@part
def score_actions(workspace: Workspace, g: Grammar, w: Weights, x: int) -> None:
    """workspace.out[action] = w . f(state x, action)."""
    keys, out = workspace.keys, workspace.out
    for a in range(out.size):
        out[a] = np.float32(0.0)
    feature_keys(g, workspace.z.atoms[x], keys)
    if g.start_size > 0.0:
        add_start(g, keys[0], out)
    if w.sums.size > 0:  # weights that change
        _add_lists(w, keys, out)
    else:
        add_features(workspace.memo, w, keys, out)


@part
def _add_lists(w: Weights, keys: np.ndarray, out: np.ndarray) -> None:
    """out[action] += weight of each feature of keys u64[T], in their order; the keys are replaced by places."""
    table, entry, value = w.table, w.entry, w.value
    mask = np.uint64(table.size // 2 - 1)
    for t in range(keys.size):
        fetch_item(table, np.int64(keys[t] & mask) * 2)
    for t in range(keys.size):
        k = find_key(table, keys[t])
        keys[t] = table[k + 1]  # place of its list; 0 for a feature without weights
        fetch_item(entry, list_start(keys[t]) * 2)
    for t in range(keys.size):
        add_list(entry, value, keys[t], out)


@part
def offer(c: Candidates, count: int, width: int, score: float, item: int, action: int, under: int) -> int:
    """Insert a candidate into the sorted list of the `width` best. Returns the new length. Of equal candidates the
    first one comes first."""
    if count == width:
        if score <= c.score[width - 1]:
            return count
        count -= 1
    k = count
    while k > 0 and c.score[k - 1] < score:
        c.score[k], c.item[k], c.action[k], c.under[k] = c.score[k - 1], c.item[k - 1], c.action[k - 1], c.under[k - 1]
        k -= 1
    c.score[k], c.item[k], c.action[k], c.under[k] = score, item, action, under
    return count + 1


@part
def _add_costs(g: Grammar, out: np.ndarray, gold: int) -> None:
    """Add 1, the cost, to the scores of all actions but gold's."""
    for a in range(out.size):
        if not same_arc(g, a, gold):
            out[a] += np.float32(1.0)


@part
def _collect(workspace: Workspace, g: Grammar, w: Weights, i: int, n: int, how: SearchOptions) -> tuple[int, float]:
    """Collect the best candidates after step i, sorted, without merging. Returns their number and the score of gold's
    next action (NaN if gold is not in the beam)."""
    z, b, c, out, width = workspace.z, workspace.b, workspace.c, workspace.out, how.width
    count, gold_step = 0, np.nan
    for k in range(b.size[i]):
        x = b.items[i, k]
        score_actions(workspace, g, w, x)
        if how.augment:
            _add_costs(g, out, b.gold_action[i])
        z.shift[x] = out[0]
        if x == b.gold_item[i]:
            gold_step = out[b.gold_action[i]]
        before = z.score[x]
        if z.front[x] < n:
            count = offer(c, count, width, before + out[0], x, SHIFT, x)
        if depth(z, x) >= 2:
            under = z.left[x]
            for a in range(1, g.move.size):
                score = before + out[a]
                if (count < width or score > c.score[width - 1]) and g.move[a] != ROOT:
                    count = offer(c, count, width, score, x, a, under)
    return count, gold_step


@part
def _candidates_to_merge(z: States, g: Grammar, b: Beam, i: int, c: Candidates) -> Candidates:
    """Arrays for all candidates after step i: c, or larger ones if it is too small."""
    needed = 0
    for k in range(b.size[i]):
        needed += 1
        if depth(z, b.items[i, k]) >= 2:
            link = z.first[z.base[b.items[i, k]]]
            while link >= 0:
                needed += g.move.size - 1
                link = z.link[link, 1]
    if needed <= c.score.size:
        return c
    size = 2 * needed
    return Candidates(
        np.zeros(size), np.zeros(size), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32),
        np.zeros(size, np.int32),
    )  # fmt: skip


@part
def _collect_all(workspace: Workspace, g: Grammar, w: Weights, i: int, n: int, c: Candidates) -> tuple[int, float]:
    """Collect all candidates after step i, for merging. If no template reads relations, all arcs of one direction would
    merge, so that only the best one is a candidate."""
    z, b, out = workspace.z, workspace.b, workspace.out
    count, gold_step = 0, np.nan
    for k in range(b.size[i]):
        x = b.items[i, k]
        score_actions(workspace, g, w, x)
        z.shift[x] = out[0]
        if x == b.gold_item[i]:
            gold_step = out[b.gold_action[i]]
        if z.front[x] < n:
            c.score[count], c.inside[count] = z.score[x] + out[0], 0.0
            c.item[count], c.action[count], c.under[count] = x, SHIFT, x
            count += 1
        if depth(z, x) < 2:
            continue
        best = np.full(4, -1)
        if not g.reads_relations:
            for a in range(1, g.move.size):
                if best[g.move[a]] < 0 or out[a] > out[best[g.move[a]]]:
                    best[g.move[a]] = a
        link = z.first[z.base[x]]
        while link >= 0:
            p = z.link[link, 0]
            since = z.shift[p] + z.inside[x]
            for a in range(1, g.move.size):
                if g.move[a] != ROOT and (g.reads_relations or best[g.move[a]] == a):
                    c.score[count] = z.score[p] + since + out[a]
                    c.inside[count] = z.inside[p] + since + out[a]
                    c.item[count], c.action[count], c.under[count] = x, a, p
                    count += 1
            link = z.link[link, 1]
    return count, gold_step


@part
def _before(c: Candidates, a: int, b: int) -> bool:
    """Whether candidate a is better than b: by score, then by inside score, then the first."""
    if c.score[a] != c.score[b]:
        return c.score[a] > c.score[b]
    if c.inside[a] != c.inside[b]:
        return c.inside[a] > c.inside[b]
    return a < b


@part
def _sift(c: Candidates, k: int, size: int) -> None:
    """Sift entry k of the heap down."""
    heap = c.heap
    moving = heap[k]
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and _before(c, heap[child + 1], heap[child]):
            child += 1
        if not _before(c, heap[child], moving):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = moving


@part
def _popped(c: Candidates, size: int) -> int:
    """Pop the best candidate from the heap."""
    top = c.heap[0]
    c.heap[0] = c.heap[size - 1]
    _sift(c, 0, size - 1)
    return top


@part
def _made(z: States, g: Grammar, words: Words, lo: int, n: int, c: Candidates, k: int, node: np.ndarray) -> int:
    """The state of candidate k, with the next free number."""
    x = z.counts[0]
    q, action, p = c.item[k], c.action[k], c.under[k]
    if action == SHIFT:
        shifted(z, x, q)
    else:
        reduced(z, g, x, p, q, action)
        z.score[x], z.inside[x] = c.score[k], c.inside[k]
    read_atoms(z, g, words, lo, n, x, node)
    return x


@part
def _merged(z: States, b: Beam, i: int, x: int) -> bool:
    """Merge state x with a better one of the same signature; False if there is none. A shifted state adds a left
    state."""
    for k in range(b.size[i + 1]):
        y = b.items[i + 1, k]
        if z.signature[y] == z.signature[x]:
            if z.action[x] == SHIFT:
                _add_link(z, y, z.under[x])
            else:
                r = z.counts[2]
                z.counts[2] += 1
                z.rival[r, 0], z.rival[r, 1] = y, z.action[x]
                z.rival[r, 2], z.rival[r, 3] = z.under[x], z.over[x]
            return True
    return False


@part
def _add_link(z: States, base: int, p: int) -> None:
    """Append a left state to the list of a base; the first one is the best."""
    new = z.counts[1]
    z.counts[1] += 1
    z.link[new, 0], z.link[new, 1] = p, -1
    if z.first[base] < 0:
        z.first[base] = new
        return
    link = z.first[base]
    while z.link[link, 1] >= 0:
        link = z.link[link, 1]
    z.link[link, 1] = new


@part
def advance(
    workspace: Workspace, g: Grammar, words: Words, s: int, i: int, how: SearchOptions, c: Candidates, count: int
) -> int:
    """Make the items of step i + 1 from `count` candidates. Returns the number of merged ones."""
    z, b, width, merge = workspace.z, workspace.b, how.width, how.merge
    lo = words.offset[s]
    n = words.offset[s + 1] - lo
    merges = 0
    b.size[i + 1] = 0
    b.gold_item[i + 1] = -1
    size = count
    if merge:
        for k in range(count):
            c.heap[k] = k
        for k in range(count // 2 - 1, -1, -1):
            _sift(c, k, count)
    taken = 0
    while taken < count and b.size[i + 1] < width and taken < POPPED * width:
        k = taken
        if merge:
            k = _popped(c, size)
            size -= 1
        taken += 1
        x = _made(z, g, words, lo, n, c, k, workspace.node)
        is_gold = c.item[k] == b.gold_item[i] and c.action[k] == b.gold_action[i]
        if merge:
            if is_gold and c.action[k] != SHIFT:
                # Gold's states are numbered by their steps, so that their left states are known.
                is_gold = c.under[k] == b.gold_item[z.left[i]]
            sign(z, g, x)
            if _merged(z, b, i, x):
                merges += 1
                continue
            if c.action[k] == SHIFT:
                _add_link(z, x, c.under[k])
        z.counts[0] += 1
        z.right[x] = is_gold if merge else z.right[c.item[k]] != 0 and same_arc(g, c.action[k], b.gold_action[i])
        if is_gold:
            b.gold_item[i + 1] = x
        b.items[i + 1, b.size[i + 1]] = x
        b.size[i + 1] += 1
    return merges


@part
def _best_wrong(z: States, b: Beam, i: int) -> float:
    """The score of the best item after i steps that does not make gold's arcs, minus infinity if all do."""
    for k in range(b.size[i]):
        if z.right[b.items[i, k]] == 0:
            return z.score[b.items[i, k]]
    return -np.inf


@part
def search(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, begin: int, how: SearchOptions, with_gold: bool
) -> tuple[int, int, int]:
    """Continue from the items of step `begin`: (last step, step at which gold left the beam or 0, merged candidates).

    With gold, its prefixes are scored too, and an early update ends the search when gold leaves the beam."""
    z, b, c = workspace.z, workspace.b, workspace.c
    n = words.offset[s + 1] - words.offset[s]
    stop = with_gold and stops(how.update)
    fell, merges = 0, 0
    for i in range(begin, 2 * n - 1):
        if how.merge:
            c = _candidates_to_merge(z, g, b, i, c)
            count, gold_step = _collect_all(workspace, g, w, i, n, c)
        else:
            count, gold_step = _collect(workspace, g, w, i, n, how)
        if with_gold:
            if np.isnan(gold_step):
                score_actions(workspace, g, w, i)
                gold_step = workspace.out[b.gold_action[i]]
            b.gold[i + 1] = b.gold[i] + gold_step
        merges += advance(workspace, g, words, s, i, how, c, count)
        b.best[i + 1] = _best_wrong(z, b, i + 1) if with_gold and g.variants > 1 else z.score[b.items[i + 1, 0]]
        if with_gold and fell == 0 and b.gold_item[i + 1] < 0:
            fell = i + 1
            if stop:
                return i + 1, fell, merges
    return 2 * n - 1, fell, merges


@part
def begin_search(workspace: Workspace, g: Grammar, words: Words, s: int, first: int) -> None:
    """Start with one item, the empty stack, as state 0; new states are numbered from `first`."""
    z, b = workspace.z, workspace.b
    lo = words.offset[s]
    start(z, 0)
    read_atoms(z, g, words, lo, words.offset[s + 1] - lo, 0, workspace.node)
    z.counts[0], z.counts[1], z.counts[2] = first, 0, 0
    b.items[0, 0], b.size[0] = 0, 1
    b.best[0], b.gold[0] = 0.0, 0.0
    b.gold_item[0] = 0
    z.right[0] = 1


@part
def search_without_gold(workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, how: SearchOptions) -> int:
    """Run a complete search of sentence s. Returns the number of merged candidates."""
    begin_search(workspace, g, words, s, 1)
    workspace.b.gold_item[0] = -1
    workspace.z.right[0] = 0
    _, _, merges = search(workspace, g, w, words, s, 0, how, False)
    return merges
