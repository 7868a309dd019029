"""The parser's loops over sentences: training and parsing.

Sentences of a batch are searched with the same weights, by all threads of a team (core/team.py), and their changes are
made afterwards, in order. With a batch of one sentence each update is made before the search goes on.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.team import FIND, Team, arrive, begin_phases, claim, is_broken, longest_first, release
from palmette.kernels.core.types import F64, I32, I64
from palmette.kernels.learning.coefficients import updates_on_right_guesses
from palmette.kernels.learning.rule import Rule
from palmette.kernels.learning.violation import continues, cut
from palmette.parsing.kernels.forms import WORD, Batch, Changes, Grammar, SearchOptions, Weights, Words, Workspace
from palmette.parsing.kernels.gold import force_gold, make_gold, oracle
from palmette.parsing.kernels.memo import forget
from palmette.parsing.kernels.root import learn_root, root_relation
from palmette.parsing.kernels.search import begin_search, search, search_without_gold
from palmette.parsing.kernels.state import read_arcs
from palmette.parsing.kernels.update import NOTHING, lacking, learn, make_changes

UNKNOWN = -2


# Indexes into the counts of training: the number of the next sentence from 1, updates, wrong words (with laso: how
# often gold left the beam; with cost-augmented search: of the item with the largest score + cost), updates that were
# no violation, lengths of updated prefixes as fractions of their sentences, merged states, infeasible trees;
# sentences done in a call, and what is too small for the next ones (see update.py). One array is used over all calls,
# so that sums do not depend on the division into calls.
CLOCK, UPDATES, WRONG, BAD, CUTS, MERGES, INFEASIBLE, DONE, LACKS, N_COUNTS = range(10)


def changes_of(g: Grammar, words: int, rule: Rule) -> int:
    """The changes that updates of a sentence of so many words list, at most."""
    return 2 * (rule.candidates * max(0, 2 * words - 1) + int(g.chooses_root)) * int(g.seed.size)


def make_batch(size: int, threads: int, g: Grammar, longest: int, rule: Rule) -> Batch:
    """For up to `size` sentences of at most `longest` words. Large arrays are virtual memory until they are used."""
    shape = threads, size * changes_of(g, longest, rule)
    return Batch(
        np.zeros(shape, np.uint64), np.zeros(shape, np.int32), np.zeros(shape), np.zeros((threads, 1), np.int64),
        np.zeros((size, 3), np.int64), np.zeros((size, N_COUNTS)),
    )  # fmt: skip


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


@part
def _find(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, how: SearchOptions, rule: Rule,
    changes: Changes, counts: np.ndarray, clock: float, at_once: bool,
) -> None:  # fmt: skip
    """The updates of a sentence, listed as changes, and its counts; at_once: changes are made before the search goes
    on."""
    b = workspace.b
    n = words.offset[s + 1] - words.offset[s]
    steps, made = 2 * n - 1, changes.used[0]
    if not oracle(workspace, g, words, s):
        counts[INFEASIBLE] += 1
        return
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
            if learn(workspace, g, w, how, rule, kept, changes, clock):
                counts[UPDATES] += 1
                best = _mean_score(workspace, kept) if rule.mean else b.best[kept]
                counts[BAD] += not right and b.gold[kept] > best
                counts[CUTS] += kept / steps
                if at_once:
                    make_changes(w, changes, made, changes.used[0], clock)
                    made = changes.used[0]
        if not continues(how.update):
            break
        if at < steps:
            _continue_from_gold(workspace, at, 2 * n)
    if g.chooses_root and learn_root(workspace, g, w, words, s, changes):
        missed = min(n, missed + 1)
    if at_once:
        make_changes(w, changes, made, changes.used[0], clock)
    counts[WRONG] += missed


@part
def _lacking(w: Weights, g: Grammar, words: Words, examples: np.ndarray, first: int, n: int, rule: Rule) -> int:
    """What may be too small for the updates of n sentences (see update.py)."""
    calls = 0
    for j in range(n):
        s = examples[first + j]
        steps = 2 * (words.offset[s + 1] - words.offset[s]) - 1
        calls += 2 * (rule.candidates * steps + g.chooses_root) * g.seed.size
    return lacking(w, calls, g.move.size)


@part
def _finish(w: Weights, batch: Batch, n: int, counts: np.ndarray) -> None:
    """Make the changes of the n sentences of a batch in order, and add up their counts."""
    for j in range(n):
        thread, own = batch.place[j, 0], batch.counts[j]
        changes = Changes(batch.key[thread], batch.action[thread], batch.amount[thread], batch.used[thread])
        make_changes(w, changes, batch.place[j, 1], batch.place[j, 2], counts[CLOCK])
        for k in range(UPDATES, INFEASIBLE + 1):
            counts[k] += own[k]
            own[k] = 0.0
        counts[CLOCK] += 1


@kernel
def train_tree(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, batch: Batch, examples: I64, how: SearchOptions,
    rule: Rule, team: Team, counts: F64,
) -> None:  # fmt: skip
    """Learn from the sentences `examples` i64[] in their order, batch by batch, as long as the capacity for weights
    suffices; counts f64[N_COUNTS] are added to."""
    size, first = batch.counts.shape[0], 0
    order = np.empty(size, np.int64)
    changes = Changes(batch.key[team.number], batch.action[team.number], batch.amount[team.number],
                      batch.used[team.number])  # fmt: skip
    begin_phases(team)
    while first < examples.size and not is_broken(team):
        n = min(size, examples.size - first)
        lacks = _lacking(w, g, words, examples, first, n, rule)
        if lacks != NOTHING:
            counts[LACKS] = lacks
            break
        changes.used[0] = 0
        if size == 1:
            _find(workspace, g, w, words, examples[first], how, rule, changes, counts, counts[CLOCK], True)
            counts[CLOCK] += 1
            counts[DONE] += 1
            first += 1
            continue
        longest_first(order[:n], words.offset, examples, first)
        clock, taken = counts[CLOCK], claim(team)
        while taken < n:
            j = order[taken]
            batch.place[j, 0], batch.place[j, 1] = team.number, changes.used[0]
            _find(workspace, g, w, words, examples[first + j], how, rule, changes, batch.counts[j], clock + j, False)
            batch.place[j, 2] = changes.used[0]
            taken = claim(team)
        if arrive(team, FIND):
            _finish(w, batch, n, counts)
            counts[DONE] += n
            release(team)
        first += n


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
