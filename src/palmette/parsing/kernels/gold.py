"""The gold derivation of a sentence: its actions, their hidden variants, and its states; and for a cut-off of rare
features how often each one occurs in these states.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import I64, U64
from palmette.parsing.kernels.forms import LEFT, RIGHT, SHIFT, Grammar, SearchOptions, Weights, Words, Workspace
from palmette.parsing.kernels.search import advance, begin_search, offer, score_actions
from palmette.parsing.kernels.state import feature_keys, read_atoms, reduced, shifted, trace
from palmette.parsing.kernels.update import CAPACITY, NOTHING, PLACES
from palmette.parsing.kernels.weights import add_key, find_key, is_full

NO_ARC = -2


@part
def _arc(g: Grammar, move: int, relation: int) -> int:
    """The action that makes an arc, or NO_ARC."""
    if relation < 0 or g.action[move, relation] < 0:
        return NO_ARC
    return g.action[move, relation]


@part
def oracle(workspace: Workspace, g: Grammar, words: Words, s: int) -> bool:
    """Fill b.gold_action with the actions that make the gold tree, reducing as soon as a word has all its dependants.
    False: the tree is not projective, or has an arc that no action makes."""
    out, stack, missing = workspace.b.gold_action, workspace.waiting, workspace.heads
    lo = words.offset[s]
    n = words.offset[s + 1] - lo
    for i in range(n):
        missing[i] = 0
    for i in range(n):
        if words.head[lo + i] >= 0:
            missing[words.head[lo + i]] += 1
    top, front = 0, 0
    for step in range(2 * n - 1):
        action = -1
        if top >= 2:
            s1, s0 = stack[top - 2], stack[top - 1]
            if words.head[lo + s1] == s0 and missing[s1] == 0:
                action = _arc(g, LEFT, words.relation[lo + s1])
                stack[top - 2] = s0
                missing[s0] -= 1
            elif words.head[lo + s0] == s1 and missing[s0] == 0:
                action = _arc(g, RIGHT, words.relation[lo + s0])
                missing[s1] -= 1
            if action == NO_ARC:
                return False
            if action >= 0:
                top -= 1
        if action < 0:
            if front == n:
                return False
            action = SHIFT
            stack[top] = front
            top += 1
            front += 1
        out[step] = action
    return True


@part
def make_gold(workspace: Workspace, g: Grammar, words: Words, s: int) -> None:
    """Make the states of gold: state i is the one after i steps."""
    z, b = workspace.z, workspace.b
    lo = words.offset[s]
    n = words.offset[s + 1] - lo
    for i in range(2 * n - 1):
        if b.gold_action[i] == SHIFT:
            shifted(z, i + 1, i)
        else:
            reduced(z, g, i + 1, z.left[i], i, b.gold_action[i])
        read_atoms(z, g, words, lo, n, i + 1, workspace.node)
        z.right[i + 1] = 1


@part
def _collect_gold(workspace: Workspace, g: Grammar, w: Weights, i: int, width: int) -> int:
    """Collect the best candidates after step i that make gold's arcs, sorted. Returns their number."""
    z, b, c, out, first, count = workspace.z, workspace.b, workspace.c, workspace.out, workspace.b.gold_action[i], 0
    for k in range(b.size[i]):
        x = b.items[i, k]
        score_actions(workspace, g, w, x)
        z.shift[x] = out[0]
        if first == SHIFT:
            count = offer(c, count, width, z.score[x] + out[0], x, SHIFT, x)
        else:
            for a in range(first, first + g.variants):
                count = offer(c, count, width, z.score[x] + out[a], x, a, z.left[x])
    return count


@part
def force_gold(workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, how: SearchOptions) -> None:
    """Replace gold's arcs, as `oracle` found them, by the variants of the best derivation of the gold tree that a beam
    finds with these weights."""
    b, p = workspace.b, workspace.paths
    steps = 2 * (words.offset[s + 1] - words.offset[s]) - 1
    begin_search(workspace, g, words, s, 1)
    for i in range(steps):
        count = _collect_gold(workspace, g, w, i, how.width)
        advance(workspace, g, words, s, i, how, workspace.c, count)
    trace(workspace.z, b.items[steps, 0], p.states[0], p.actions[0], workspace.waiting)
    for i in range(steps):
        b.gold_action[i] = p.actions[0, i]


# --- counts of features --------------------------------------------------------------------------------------


@kernel
def count_gold(
    workspace: Workspace, g: Grammar, words: Words, first: int, last: int, table: U64, used: I64
) -> int:  # fmt: skip
    """Add the features of the gold states of sentences first..last to the counts of a table of pairs (feature, count),
    a state before each action and before the choice of the root's relation; used i64[1]: features in the table. Returns
    the next sentence: `last`, or one for whose features the table is too small. Trees that no actions make are left
    out."""
    keys, z = workspace.keys, workspace.z
    for s in range(first, last):
        steps = 2 * (words.offset[s + 1] - words.offset[s]) - 1
        if is_full(table, used[0] + (steps + g.chooses_root) * keys.size):
            return s
        if not oracle(workspace, g, words, s):
            continue
        begin_search(workspace, g, words, s, steps + 1)
        make_gold(workspace, g, words, s)
        for i in range(steps + g.chooses_root):
            feature_keys(g, z.atoms[i], keys)
            for t in range(keys.size):
                k = find_key(table, keys[t])
                if table[k] == np.uint64(0):
                    table[k] = keys[t]
                    used[0] += 1
                table[k + 1] += np.uint64(1)
    return last


@kernel
def allow_features(w: Weights, keys: U64, first: int) -> tuple[int, int]:
    """Put the features from `first` on into the table of weights, with empty lists. Returns (the next feature, what is
    too small for it; see update.py)."""
    for k in range(first, keys.size):
        place = find_key(w.table, keys[k])
        if w.table[place] == np.uint64(0) and not add_key(w, place, keys[k]):
            return k, PLACES if is_full(w.table, w.used[0] + 1) else CAPACITY
    return keys.size, NOTHING
