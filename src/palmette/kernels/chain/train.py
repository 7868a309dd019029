"""The four lines that everything shares, in one compiled loop over a slice of the corpus:

score a trellis; search it; search it again under what is known; move the weights apart.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.costs import wrong_labels
from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.chain.update import add_path_difference
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import kernel, part


@part
def make_workspace(m: Chain, x: Data, first: int, last: int, order: np.ndarray) -> Trellis:
    """A trellis large enough for the sentences order[first:last]."""
    H = m.label_of.size
    W = m.bias.size
    longest = 1
    for k in range(first, last):
        longest = max(longest, x.offset[order[k] + 1] - x.offset[order[k]])
    edges = longest if (x.features[1].ptr.size > 0 and m.order >= 1) or (m.local and m.order == 2) else 1
    triples = longest if x.features[2].ptr.size > 0 and m.order >= 2 else 1
    return Trellis(
        np.empty((longest, W), m.bias.dtype),
        np.empty((edges, H if m.order >= 1 else 0, W), m.bias.dtype),
        np.empty((triples, H if m.order >= 2 else 0, H, W), m.bias.dtype),
        np.empty((longest, H if m.order >= 2 else 1, W), m.bias.dtype),
    )


@part
def gold_path(T: Trellis, m: Chain, x: Data, lo: int, n: int, path: np.ndarray) -> bool:
    """The best path under what is known. False: none is allowed."""
    Y = x.allow.shape[1]
    certain = m.plain
    for i in range(n):
        path[i] = x.known[lo + i]
        certain = certain and x.known[lo + i] < Y
    if certain:
        return True
    restrict(T, m, x, lo, n)
    return viterbi(T, m, n, path) > -np.inf


@kernel
def train_perceptron(m: Chain, x: Data, order: np.ndarray, first: int, last: int, clock: float) -> tuple:
    """One slice of a pass: (clock, updates, tokens wrong, sentences without an allowed path)."""
    T = make_workspace(m, x, first, last, order)
    guess = np.empty(T.U.shape[0], np.int32)
    gold = np.empty(T.U.shape[0], np.int32)
    updates = 0
    wrong = 0
    infeasible = 0
    changed = True
    for k in range(first, last):
        s = order[k]
        lo = x.offset[s]
        n = score(T, m, x, s, changed)
        changed = False
        viterbi(T, m, n, guess)
        missed = wrong_labels(m, x, lo, n, guess)
        if missed > 0:
            wrong += missed
            if gold_path(T, m, x, lo, n, gold):
                add_path_difference(m, x, s, gold, guess, float(x.weight[s]), clock)
                updates += 1
                changed = True
            else:
                infeasible += 1
        clock += 1.0
    return clock, updates, wrong, infeasible


@kernel
def decode(m: Chain, x: Data, out: np.ndarray, scores: np.ndarray, restricted: bool) -> None:
    """The best state of each token into out i32[N], the score of each sentence into scores f64[S]."""
    S = x.offset.size - 1
    order = np.arange(S)
    T = make_workspace(m, x, 0, S, order)
    for s in range(S):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        if restricted:
            restrict(T, m, x, lo, n)
        scores[s] = viterbi(T, m, n, out[lo : lo + n])
