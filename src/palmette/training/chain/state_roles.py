"""How stable the assignment of latent states is from epoch to epoch."""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.structures.chain.separation import gold_states

SAMPLE = 300  # sentences that are decoded after each epoch


class StateRoles:
    """Compares the best states of a sample of the training data, given its gold labels, between epochs."""

    def __init__(self, data: Data) -> None:
        self.sample = some_sentences(data, SAMPLE)
        self.before: np.ndarray | None = None

    def compared(self, chain: Chain) -> dict[str, float]:
        """`moved`: fraction of tokens whose state differs from that of the previous epoch. `swapped`: the part of it
        that a permutation of the states of each label explains."""
        states = gold_states(chain, self.sample)
        before, self.before = self.before, states
        if before is None or not states.size:
            return {}
        moved = float(np.mean(states != before))
        return {"moved": moved, "swapped": moved - 1.0 + _best_agreement(before, states, chain)}


def some_sentences(data: Data, most: int) -> Data:
    """At most `most` sentences, evenly spaced, as a separate corpus."""
    S = data.offset.size - 1
    chosen = np.unique(np.linspace(0, S - 1, min(S, most)).astype(np.int64))
    sizes = np.diff(data.offset)[chosen]
    starts = np.repeat(data.offset[:-1][chosen] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    tokens = starts + np.arange(sizes.sum())
    one, two, three = (_some_tokens(active, tokens) for active in data.features)
    return Data(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), data.known[tokens], data.allow, data.weight[chosen],
        (one, two, three),
    )  # fmt: skip


def _some_tokens(active: Active, tokens: np.ndarray) -> Active:
    if not active.ptr.size:
        return active
    counts = active.ptr[tokens + 1] - active.ptr[tokens]
    ptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    places = np.repeat(active.ptr[:-1][tokens] - ptr[:-1], counts) + np.arange(ptr[-1])
    return Active(ptr, active.att[places], active.val[places] if active.val.size else active.val)


def _best_agreement(before: np.ndarray, now: np.ndarray, chain: Chain) -> float:
    """Fraction of tokens with the same state in both under the best permutation of the states of each label."""
    H, states_per_label = chain.label_of.size, chain.states_per_label
    both = np.bincount(before.astype(np.int64) * H + now, minlength=H * H).reshape(H, H)
    same = sum(
        _best_matching(both[k : k + states_per_label, k : k + states_per_label]) for k in range(0, H, states_per_label)
    )
    return same / before.size


def _best_matching(counts: np.ndarray) -> int:
    """Nearly the largest sum of one cell per row and column: greedily, then by exchanges while they improve it."""
    n = len(counts)
    taken = np.full(n, -1)
    for cell in np.argsort(-counts, axis=None, kind="stable").tolist():
        row, column = divmod(cell, n)
        if taken[row] < 0 and column not in taken:
            taken[row] = column
    better = True
    while better:
        better = False
        for a in range(n):
            for b in range(a):
                now = counts[a, taken[a]] + counts[b, taken[b]]
                if counts[a, taken[b]] + counts[b, taken[a]] > now:
                    taken[a], taken[b] = taken[b], taken[a]
                    better = True
    return int(counts[np.arange(n), taken].sum())
