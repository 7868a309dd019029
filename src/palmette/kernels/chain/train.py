"""The perceptron, in one compiled loop over a slice of the corpus, and tagging by exact search.

Per sentence: score a trellis; search it; search it again under the label mask; add the path difference to the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.costs import wrong_labels
from palmette.kernels.chain.forms import Chain, Data, Trellis, longest_of, make_trellis
from palmette.kernels.chain.lists import has_room
from palmette.kernels.chain.score import restrict, score, score_changed_pairs
from palmette.kernels.chain.update import add_path_difference
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64, I32, I64, Bool_2D, struct


@struct
class PairWorkspace(NamedTuple):
    """A trellis and the two paths of a sentence."""

    trellis: Trellis
    guess: I32  # [n]
    gold: I32  # [n]
    learnt: Bool_2D  # [H, W]  label pairs whose weights are learnt; of size 0: all


def make_pair_workspace(m: Chain, x: Data, learnt: np.ndarray | None = None) -> PairWorkspace:
    n = longest_of(x)
    learnt = np.zeros((0, 0), np.bool_) if learnt is None else learnt
    return PairWorkspace(make_trellis(m, x, n), np.empty(n, np.int32), np.empty(n, np.int32), learnt)


@part
def gold_path(T: Trellis, m: Chain, x: Data, lo: int, n: int, path: np.ndarray) -> bool:
    """Find the best path under the label mask. False: none is allowed."""
    Y = x.allow.shape[1]
    certain = m.plain
    for i in range(n):
        path[i] = x.known[lo + i]
        certain = certain and x.known[lo + i] < Y
    if certain:
        return True
    restrict(T, m, x, lo, n)
    return viterbi(T, m, n, path) > -np.inf


@part
def _forget_others(m: Chain, learnt: np.ndarray, path: np.ndarray, n: int) -> None:
    """Undo the update of pairs on a path whose weights are not learnt: these are zero."""
    pairs = m.transitions[1]
    for i in range(1, n):
        if not learnt[path[i - 1], path[i]]:
            pairs.w[path[i - 1], path[i]] = np.float32(0.0)
            pairs.a[path[i - 1], path[i]] = 0.0


@kernel
def train_perceptron(
    m: Chain, x: Data, workspace: PairWorkspace, permutation: I64, first: int, last: int, clock: float
) -> tuple[float, int, int, int]:
    """One slice of an epoch: (clock, updates, wrong tokens, sentences without an allowed path). It ends early, which
    the clock shows, where lists of weights that grow run out of room."""
    T, guess, gold, learnt = workspace
    updates = 0
    wrong = 0
    infeasible = 0
    changed = True
    for k in range(first, last):
        s = permutation[k]
        lo = x.offset[s]
        if not has_room(m.weights[0], x.features[0], lo, x.offset[s + 1] - lo, 2):
            break
        n = score(T, m, x, s, changed)
        changed = False
        viterbi(T, m, n, guess)
        missed = wrong_labels(m, x, lo, n, guess)
        if missed > 0:
            wrong += missed
            if gold_path(T, m, x, lo, n, gold):
                add_path_difference(m, x, s, gold, guess, float(x.weight[s]), clock)
                if learnt.size > 0 and m.order >= 1:
                    _forget_others(m, learnt, guess, n)
                    _forget_others(m, learnt, gold, n)
                updates += 1
                if T.skips.top.size > 0:  # of thousands of edges a few have changed
                    score_changed_pairs(T, m, n, gold)
                    score_changed_pairs(T, m, n, guess)
                else:
                    changed = True
            else:
                infeasible += 1
        clock += 1.0
    return clock, updates, wrong, infeasible


@kernel
def decode(m: Chain, x: Data, T: Trellis, out: I32, scores: F64, restricted: bool) -> None:
    """Write the best state of each token to out i32[N] and the score of each sentence to scores f64[S]."""
    for s in range(x.offset.size - 1):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        if restricted:
            restrict(T, m, x, lo, n)
        scores[s] = viterbi(T, m, n, out[lo : lo + n])
