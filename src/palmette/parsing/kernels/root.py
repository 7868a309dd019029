"""The relation of the root: a choice among the actions with the move ROOT in the last state of a sentence.

The last word left on the stack is the root. If the training data knows several relations of roots, each is an action
whose weights are those of the features of the last state. No search makes these actions, so they change nothing but
the choice itself: it is made for the best tree, and learnt by a perceptron from the last state of gold. Only this
choice compares their weights, so that the size of the perceptron's steps does not matter beside other learners.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import part
from palmette.parsing.kernels.forms import ROOT, WORD, Changes, Grammar, Weights, Words, Workspace
from palmette.parsing.kernels.search import score_actions
from palmette.parsing.kernels.state import variant_of
from palmette.parsing.kernels.update import add_step


@part
def _best_root(workspace: Workspace, g: Grammar, w: Weights, x: int) -> np.int64:
    """The best action with the move ROOT in state x; of equal ones the first. A root has no hidden variants."""
    move, out, best = g.move, workspace.out, np.int64(-1)
    score_actions(workspace, g, w, x)
    for a in range(move.size):
        if move[a] == ROOT and variant_of(g, a) == 0 and (best < 0 or out[a] > out[best]):
            best = np.int64(a)
    return best


@part
def root_relation(workspace: Workspace, g: Grammar, w: Weights, x: int) -> np.int64:
    """The relation of the root in the last state x; -1 if there is nothing to choose from."""
    if not g.chooses_root:
        return np.int64(-1)
    return np.int64(g.relation[_best_root(workspace, g, w, x)])


@part
def learn_root(workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, c: Changes) -> bool:
    """Learn the relation of the root of sentence s, whose states of gold have been made: changes are listed in c.
    Returns whether it was wrong."""
    z, lo = workspace.z, words.offset[s]
    last = 2 * (words.offset[s + 1] - lo) - 1
    gold = np.int64(g.action[ROOT, words.relation[lo + z.node[last, WORD]]])
    guess = _best_root(workspace, g, w, last)
    if gold < 0 or guess == gold:
        return False
    at = np.int64(last)
    add_step(z, g, c, (at, gold), (at, guess), 1.0)
    return True
