"""The parser's loops over sentences: learn from a slice of a pass, and parse."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.learning.coefficients import updates_on_right_guesses
from palmette.kernels.learning.rule import Rule
from palmette.kernels.learning.violation import EARLY, LASO, cut
from palmette.kernels.tree.forms import NODES, WORD, Beam, Grammar, States, Weights, Words
from palmette.kernels.tree.search import (
    POPPED,
    begin_search,
    make_gold,
    oracle,
    room_for_beam,
    room_for_candidates,
    search,
)
from palmette.kernels.tree.state import read_atoms, room_for_states, start
from palmette.kernels.tree.trace import read_arcs
from palmette.kernels.tree.update import NOTHING, lacking, learn, room_for_paths

UNKNOWN = -2


@part
def longest_of(words: Words, permutation: np.ndarray, first: int, last: int) -> int:
    longest = 1
    for k in range(first, last):
        longest = max(longest, words.offset[permutation[k] + 1] - words.offset[permutation[k]])
    return longest


@part
def _n_wrong(
    z: States, g: Grammar, words: Words, lo: int, n: int, x: int, heads: np.ndarray, relations: np.ndarray,
    waiting: np.ndarray,
) -> int:  # fmt: skip
    """Words that do not have their gold arc in state x; those that have none yet count too."""
    for i in range(n):
        heads[i], relations[i] = UNKNOWN, -1
    top = x
    while top >= 0 and z.node[top, WORD] >= 0:
        read_arcs(z, g, top, heads, relations, waiting)
        top = z.left[top]
    if z.step[x] == 2 * n - 1:
        root = z.node[x, WORD]
        heads[root], relations[root] = -1, words.relation[lo + root]
    wrong = 0
    for i in range(n):
        if heads[i] != words.head[lo + i] or relations[i] != words.relation[lo + i]:
            wrong += 1
    return wrong


@kernel
def train_tree(
    g: Grammar, w: Weights, words: Words, permutation: np.ndarray, first: int, last: int, clock: float, width: int,
    merge: bool, update: int, rule: Rule,
) -> tuple:  # fmt: skip
    """Learn from permutation[first:last] until there is no room for weights: (sentences done, clock, updates, wrong
    words (laso: how often gold was lost), updates that were no violation, sum of cuts as shares of their sentences,
    merges, trees that no actions make, which room is lacking for the next sentence)."""
    longest = longest_of(words, permutation, first, last)
    z = room_for_states(longest, width, g.kind.size, POPPED if merge else 0)
    b = room_for_beam(longest, width)
    c = room_for_candidates(width + 1)
    paths = room_for_paths(2 * longest, rule.candidates)
    keys, out = np.zeros(g.seed.size, np.uint64), np.zeros(g.move.size, np.float32)
    node, waiting = np.zeros(NODES, np.int32), np.zeros(2 * longest + 2, np.int32)
    heads, relations = np.zeros(longest, np.int32), np.zeros(longest, np.int32)
    updates, wrong, bad, merges, infeasible = 0, 0, 0, 0, 0
    places = 0.0
    for k in range(first, last):
        lo = words.offset[permutation[k]]
        n = words.offset[permutation[k] + 1] - lo
        steps = 2 * n - 1
        lacks = lacking(w, 2 * rule.candidates * steps * g.seed.size, g.move.size)
        if lacks != NOTHING:
            return k - first, clock, updates, wrong, bad, places, merges, infeasible, lacks
        if not oracle(words, g, lo, n, b.gold_action, waiting, heads):
            infeasible += 1
            clock += 1.0
            continue
        start(z, 0)
        read_atoms(z, g, words, lo, n, 0, node)
        make_gold(z, g, words, lo, n, b, node)
        begin_search(z, b, 2 * n)
        at, missed = 0, 0
        while at < steps:
            at, fell, joined, c = search(
                z, g, w, words, lo, n, b, at, width, merge, update in (EARLY, LASO), True, c, keys, out, node
            )  # fmt: skip
            merges += joined
            top = b.items[at, 0]
            right = top == b.gold_item[at]
            if not right and update == LASO:  # words that are still to come will be seen
                missed = min(n, missed + 1)
            elif not right:
                missed = _n_wrong(z, g, words, lo, n, top, heads, relations, waiting)
            if not right or updates_on_right_guesses(rule):
                kept = at if right else cut(update, at, fell, b.best, b.gold)
                # Margins may be met, and a list may hold gold alone: then nothing moves.
                if learn(z, g, w, b, rule, kept, clock, paths, waiting):
                    updates += 1
                    bad += b.gold[kept] > b.best[kept]
                    places += kept / steps
            if update != LASO:
                break
            if at < steps:  # go on from gold, as if nothing had been before
                b.items[at, 0], b.size[at] = at, 1
                for i in range(at + 1):
                    b.gold_item[i] = i
                z.score[at], b.gold[at], b.best[at] = 0.0, 0.0, 0.0
                z.counts[0] = 2 * n
        wrong += missed
        clock += 1.0
    return last - first, clock, updates, wrong, bad, places, merges, infeasible, NOTHING


@kernel
def parse(
    g: Grammar, w: Weights, words: Words, first: int, last: int, width: int, merge: bool, heads: np.ndarray,
    relations: np.ndarray, scores: np.ndarray,
) -> int:  # fmt: skip
    """The best tree of each of the sentences first..last: heads i32[N] within the sentence, from 0, -1 for the root;
    relations i32[N], -1 for the root; scores f64[S]. Gives back how many states merged."""
    permutation = np.arange(words.offset.size - 1)
    longest = longest_of(words, permutation, first, last)
    z = room_for_states(longest, width, g.kind.size, POPPED if merge else 0)
    b = room_for_beam(longest, width)
    c = room_for_candidates(width + 1)
    keys, out = np.zeros(g.seed.size, np.uint64), np.zeros(g.move.size, np.float32)
    node, waiting = np.zeros(NODES, np.int32), np.zeros(2 * longest + 2, np.int32)
    merges = 0
    for s in range(first, last):
        lo = words.offset[s]
        n = words.offset[s + 1] - lo
        if n == 0:
            continue
        c, joined = _search_alone(z, g, w, words, lo, n, b, width, merge, c, keys, out, node)
        merges += joined
        x = b.items[2 * n - 1, 0]
        scores[s] = z.score[x]
        read_arcs(z, g, x, heads[lo : lo + n], relations[lo : lo + n], waiting)
        heads[lo + z.node[x, WORD]], relations[lo + z.node[x, WORD]] = -1, -1
    return merges


@part
def _search_alone(
    z: States, g: Grammar, w: Weights, words: Words, lo: int, n: int, b: Beam, width: int, merge: bool, c: tuple,
    keys: np.ndarray, out: np.ndarray, node: np.ndarray,
) -> tuple:  # fmt: skip
    """A search without gold; the room for candidates, which may have grown, and how many merged."""
    start(z, 0)
    read_atoms(z, g, words, lo, n, 0, node)
    begin_search(z, b, 1)
    b.gold_item[0] = -1
    _, _, joined, c = search(z, g, w, words, lo, n, b, 0, width, merge, False, False, c, keys, out, node)
    return c, joined
