"""The two paths of the perceptron, guess and gold, for the loop in train_paths.py; and tagging by exact search.

Per sentence: score a trellis; search it; search it again under the label mask; add the path difference to the weights.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.batches import NO_PATH, RIGHT, UPDATE, Batch, is_due, update_lacks_rows
from palmette.kernels.chain.costs import wrong_labels
from palmette.kernels.chain.forms import Chain, Data, Trellis
from palmette.kernels.chain.own_rows import OwnRows
from palmette.kernels.chain.score import restrict, score, score_changed_pairs
from palmette.kernels.chain.update import add_path_difference
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.team import Share
from palmette.kernels.core.types import F64, I32


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


@part
def find_pair(T: Trellis, m: Chain, x: Data, s: int, changed: bool, batch: Batch, j: int) -> None:
    """The guess for a sentence and, unless it is right, gold: place j of the batch."""
    lo, gold, guess = x.offset[s], batch.paths[j, 0], batch.paths[j, 1]
    n = score(T, m, x, s, changed)
    viterbi(T, m, n, guess)
    missed = wrong_labels(m, x, lo, n, guess)
    batch.missed[j], batch.outcome[j] = missed, RIGHT
    if missed > 0:
        batch.outcome[j] = UPDATE if gold_path(T, m, x, lo, n, gold) else NO_PATH
        batch.fresh[j] = 1 if update_lacks_rows(m, x, s, batch.paths[j]) else 0


@part
def learn_pairs(
    m: Chain, x: Data, learnt: np.ndarray, own: OwnRows, examples: np.ndarray, first: int, n: int, batch: Batch,
    clock: float, share: Share,
) -> None:  # fmt: skip
    """Make the updates of the batch of n sentences that begins at examples[first]."""
    for j in range(n):
        if not is_due(batch, j, share):
            continue
        s, gold, guess = examples[first + j], batch.paths[j, 0], batch.paths[j, 1]
        add_path_difference(m, x, s, gold, guess, float(x.weight[s]), clock + j, share, own)
        if share.number == 0 and learnt.size > 0 and m.order >= 1:
            length = x.offset[s + 1] - x.offset[s]
            _forget_others(m, learnt, guess, length)
            _forget_others(m, learnt, gold, length)


@part
def score_changes(T: Trellis, m: Chain, x: Data, examples: np.ndarray, first: int, n: int, batch: Batch) -> None:
    """Of thousands of edges a few have changed: score these again."""
    for j in range(n):
        if batch.outcome[j] == UPDATE:
            s = examples[first + j]
            length = x.offset[s + 1] - x.offset[s]
            score_changed_pairs(T, m, length, batch.paths[j, 0])
            score_changed_pairs(T, m, length, batch.paths[j, 1])


@kernel
def decode(m: Chain, x: Data, T: Trellis, out: I32, scores: F64, restricted: bool) -> None:
    """Write the best state of each token to out i32[N] and the score of each sentence to scores f64[S]."""
    for s in range(x.offset.size - 1):
        n = score(T, m, x, s, s == 0)
        lo = x.offset[s]
        if restricted:
            restrict(T, m, x, lo, n)
        scores[s] = viterbi(T, m, n, out[lo : lo + n])
