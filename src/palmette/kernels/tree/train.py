"""The parser's loops over sentences: learn from some of them, and parse."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.learning.coefficients import updates_on_right_guesses
from palmette.kernels.learning.rule import Rule
from palmette.kernels.learning.violation import LASO, cut
from palmette.kernels.tree.forms import WORD, Grammar, SearchOptions, Weights, Words, Workspace
from palmette.kernels.tree.search import begin_search, make_gold, oracle, search, search_without_gold
from palmette.kernels.tree.trace import read_arcs
from palmette.kernels.tree.update import NOTHING, lacking, learn

UNKNOWN = -2


# Places of what training counts: the number of the next sentence from 1, updates, wrong words (with laso: how often
# gold left the beam; if the search adds costs: of the item with the largest score + cost), updates that were no
# violation, lengths of updated prefixes as shares of their sentences, merged states, trees that no actions make. One
# array over all calls: sums do not depend on where calls were cut.
CLOCK, UPDATES, WRONG, BAD, CUTS, MERGES, INFEASIBLE, N_COUNTS = range(8)


@part
def _n_wrong(room: Workspace, g: Grammar, words: Words, s: int, x: int) -> int:
    """Words that do not have their gold arc in state x; those without an arc count too."""
    z, heads, relations = room.z, room.heads, room.relations
    lo = words.offset[s]
    n = words.offset[s + 1] - lo
    for i in range(n):
        heads[i], relations[i] = UNKNOWN, -1
    top = x
    while top >= 0 and z.node[top, WORD] >= 0:
        read_arcs(z, g, top, heads, relations, room.waiting)
        top = z.left[top]
    if z.step[x] == 2 * n - 1:
        root = z.node[x, WORD]
        heads[root], relations[root] = -1, words.relation[lo + root]
    wrong = 0
    for i in range(n):
        if heads[i] != words.head[lo + i] or relations[i] != words.relation[lo + i]:
            wrong += 1
    return wrong


@part
def _continue_from_gold(room: Workspace, at: int, first: int) -> None:
    """The beam of step `at` becomes gold alone, as if nothing had been before; new states are numbered from `first`."""
    z, b = room.z, room.b
    b.items[at, 0], b.size[at] = at, 1
    for i in range(at + 1):
        b.gold_item[i] = i
    z.score[at], b.gold[at], b.best[at] = 0.0, 0.0, 0.0
    z.counts[0] = first


@kernel
def train_tree(
    room: Workspace, g: Grammar, w: Weights, words: Words, examples: np.ndarray, how: SearchOptions, rule: Rule,
    counts: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Learn from the sentences `examples` i64[] in their order, until there is no room for more weights; counts
    f64[N_COUNTS] are added to. Returns (sentences done, which room is missing for the next one)."""
    b = room.b
    for k in range(examples.size):
        s = examples[k]
        n = words.offset[s + 1] - words.offset[s]
        steps = 2 * n - 1
        lacks = lacking(w, 2 * rule.candidates * steps * g.seed.size, g.move.size)
        if lacks != NOTHING:
            return k, lacks
        if not oracle(room, g, words, s):
            counts[INFEASIBLE] += 1
            counts[CLOCK] += 1
            continue
        begin_search(room, g, words, s, 2 * n)
        make_gold(room, g, words, s)
        at, missed = 0, 0
        while at < steps:
            at, fell, joined = search(room, g, w, words, s, at, how, True)
            counts[MERGES] += joined
            top = b.items[at, 0]
            right = top == b.gold_item[at]
            if not right and how.update == LASO:  # the words that are still to come will be seen
                missed = min(n, missed + 1)
            elif not right:
                missed = _n_wrong(room, g, words, s, top)
            if not right or updates_on_right_guesses(rule):
                kept = at if right else cut(how.update, at, fell, b.best, b.gold)
                # Margins may be met, and a beam may hold gold alone: then nothing moves.
                if learn(room, g, w, how, rule, kept, counts[CLOCK]):
                    counts[UPDATES] += 1
                    counts[BAD] += b.gold[kept] > b.best[kept]
                    counts[CUTS] += kept / steps
            if how.update != LASO:
                break
            if at < steps:
                _continue_from_gold(room, at, 2 * n)
        counts[WRONG] += missed
        counts[CLOCK] += 1
    return examples.size, NOTHING


@kernel
def parse(
    room: Workspace, g: Grammar, w: Weights, words: Words, sentences: np.ndarray, how: SearchOptions,
    heads: np.ndarray, relations: np.ndarray, scores: np.ndarray,
) -> int:  # fmt: skip
    """The best tree of each of the sentences i64[]: heads i32[N] within the sentence, from 0, -1 for the root;
    relations i32[N], -1 for the root; scores f64[S]. Returns how many states merged."""
    z, b = room.z, room.b
    merges = 0
    for k in range(sentences.size):
        s = sentences[k]
        lo, hi = words.offset[s], words.offset[s + 1]
        if lo == hi:
            continue
        merges += search_without_gold(room, g, w, words, s, how)
        x = b.items[2 * (hi - lo) - 1, 0]
        scores[s] = z.score[x]
        read_arcs(z, g, x, heads[lo:hi], relations[lo:hi], room.waiting)
        heads[lo + z.node[x, WORD]], relations[lo + z.node[x, WORD]] = -1, -1
    return merges
