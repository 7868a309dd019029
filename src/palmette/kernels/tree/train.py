"""The parser's loops over sentences: training and parsing."""

from __future__ import annotations

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64, I32, I64
from palmette.kernels.learning.coefficients import updates_on_right_guesses
from palmette.kernels.learning.rule import Rule
from palmette.kernels.learning.violation import continues, cut
from palmette.kernels.tree.forms import WORD, Grammar, SearchOptions, Weights, Words, Workspace
from palmette.kernels.tree.gold import force_gold, make_gold, oracle
from palmette.kernels.tree.memo import forget
from palmette.kernels.tree.root import learn_root, root_relation
from palmette.kernels.tree.search import begin_search, search, search_without_gold
from palmette.kernels.tree.trace import read_arcs
from palmette.kernels.tree.update import NOTHING, lacking, learn

UNKNOWN = -2


# Indexes into the counts of training: the number of the next sentence from 1, updates, wrong words (with laso: how
# often gold left the beam; with cost-augmented search: of the item with the largest score + cost), updates that were no
# violation, lengths of updated prefixes as fractions of their sentences, merged states, infeasible trees. One array is
# used over all calls, so that sums do not depend on the division into calls.
CLOCK, UPDATES, WRONG, BAD, CUTS, MERGES, INFEASIBLE, N_COUNTS = range(8)


@part
def _n_wrong(workspace: Workspace, g: Grammar, words: Words, s: int, x: int) -> int:
    """The number of words without their gold arc in state x, including words without any arc."""
    z, heads, relations = workspace.z, workspace.heads, workspace.relations
    lo = words.offset[s]
    n = words.offset[s + 1] - lo
    for i in range(n):
        heads[i], relations[i] = UNKNOWN, -1
    top = x
    while top >= 0 and z.node[top, WORD] >= 0:
        read_arcs(z, g, top, heads, relations, workspace.waiting)
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
def _mean_score(workspace: Workspace, at: int) -> float:
    """The mean score of the beam of step `at`."""
    z, b, total = workspace.z, workspace.b, 0.0
    for j in range(b.size[at]):
        total += z.score[b.items[at, j]]
    return total / b.size[at]


@part
def _continue_from_gold(workspace: Workspace, at: int, first: int) -> None:
    """Reset the beam of step `at` to gold with the score 0; new states are numbered from `first`."""
    z, b = workspace.z, workspace.b
    b.items[at, 0], b.size[at] = at, 1
    for i in range(at + 1):
        b.gold_item[i] = i
    z.score[at], b.gold[at], b.best[at] = 0.0, 0.0, 0.0
    z.counts[0] = first


@kernel
def train_tree(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, examples: I64, how: SearchOptions, rule: Rule,
    counts: F64,
) -> tuple[int, int]:  # fmt: skip
    """Learn from the sentences `examples` i64[] in their order, as long as the capacity for weights suffices;
    counts f64[N_COUNTS] are added to. Returns (sentences done, what is too small for the next one; see update.py)."""
    b = workspace.b
    for k in range(examples.size):
        s = examples[k]
        n = words.offset[s + 1] - words.offset[s]
        steps = 2 * n - 1
        lacks = lacking(w, 2 * (rule.candidates * steps + g.chooses_root) * g.seed.size, g.move.size)
        if lacks != NOTHING:
            return k, lacks
        if not oracle(workspace, g, words, s):
            counts[INFEASIBLE] += 1
            counts[CLOCK] += 1
            continue
        if g.variants > 1:
            force_gold(workspace, g, w, words, s, how)
        begin_search(workspace, g, words, s, 2 * n)
        make_gold(workspace, g, words, s)
        at, missed = 0, 0
        while at < steps:
            at, fell, joined = search(workspace, g, w, words, s, at, how, True)
            counts[MERGES] += joined
            top = b.items[at, 0]
            right = workspace.z.right[top] != 0
            if not right and continues(how.update):  # the search continues, so that later words are counted later
                missed = min(n, missed + 1)
            elif not right:
                missed = _n_wrong(workspace, g, words, s, top)
            if not right or updates_on_right_guesses(rule):
                kept = at if right else cut(how.update, at, fell, b.best, b.gold)
                # No weight changes if margins are met, or if the beam holds only gold.
                if learn(workspace, g, w, how, rule, kept, counts[CLOCK]):
                    counts[UPDATES] += 1
                    best = _mean_score(workspace, kept) if rule.mean else b.best[kept]
                    counts[BAD] += not right and b.gold[kept] > best
                    counts[CUTS] += kept / steps
            if not continues(how.update):
                break
            if at < steps:
                _continue_from_gold(workspace, at, 2 * n)
        if g.chooses_root and learn_root(workspace, g, w, words, s, counts[CLOCK]):
            missed = min(n, missed + 1)
        counts[WRONG] += missed
        counts[CLOCK] += 1
    return examples.size, NOTHING


@kernel
def parse(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, sentences: I64, how: SearchOptions,
    heads: I32, relations: I32, scores: F64,
) -> int:  # fmt: skip
    """The best tree of each of the sentences i64[]: heads i32[N] within the sentence, from 0, -1 for the root;
    relations i32[N], -1 for a root whose relation is not chosen; scores f64[S]. Returns the number of merged states."""
    z, b = workspace.z, workspace.b
    merges = 0
    forget(workspace.memo)  # other weights may have been there
    for k in range(sentences.size):
        s = sentences[k]
        lo, hi = words.offset[s], words.offset[s + 1]
        if lo == hi:
            continue
        merges += search_without_gold(workspace, g, w, words, s, how)
        x = b.items[2 * (hi - lo) - 1, 0]
        scores[s] = z.score[x]
        read_arcs(z, g, x, heads[lo:hi], relations[lo:hi], workspace.waiting)
        root = lo + z.node[x, WORD]
        heads[root], relations[root] = -1, root_relation(workspace, g, w, x)
    return merges
