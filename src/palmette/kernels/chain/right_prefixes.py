"""Which prefixes of a beam have gold's labels, for chains whose labels have several states.

Gold is then a set of paths of states. It is in the beam as long as some prefix there has its labels. Besides, the best
prefix with gold's labels that the beam makes at each step is kept, whether it stays or is pruned: its score is never
above the best prefix of its step, and there is one up to the step after which gold has left the beam.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline
from palmette.kernels.core.types import F64, I32, Bool_2D


class RightPrefixes(NamedTuple):
    """Prefixes with gold's labels. The index is the number of steps; of size 0 if states are labels."""

    right: Bool_2D  # [n+1, B]  whether a prefix of the beam has gold's labels
    score: F64  # [n+1]         of the best one that was made at this step; -inf: none was
    state: I32  # [n+1]         its last state
    back: I32  # [n+1]          the prefix that it extends, in the beam of the previous step


def make_right_prefixes(n: int, B: int) -> RightPrefixes:
    """For sentences of up to n tokens; n = -1: states are labels."""
    return RightPrefixes(
        np.zeros((n + 1, B), np.bool_), np.empty(n + 1), np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    )


@inline
def mark_right(
    right: np.ndarray, i: int, label: np.ndarray, back: np.ndarray, found: int, label_of: np.ndarray, gold: int
) -> int:
    """Mark which of the `found` prefixes after i + 1 steps have gold's labels. Returns the first; -1: none has."""
    first = -1
    for k in range(found - 1, -1, -1):
        right[i + 1, k] = right[i, back[k]] and label_of[label[k]] == gold
        if right[i + 1, k]:
            first = k
    return first


@inline
def keep_right(p: RightPrefixes, i: int, b: int, base: float, row: np.ndarray, label_of: np.ndarray, gold: int) -> None:
    """Keep the best extension of prefix b, which has gold's labels, by a state of gold's label at token i."""
    score, state, back = p.score, p.state, p.back
    for h in range(label_of.size):
        if label_of[h] == gold and base + row[h] > score[i + 1]:
            score[i + 1], state[i + 1], back[i + 1] = base + row[h], h, b
