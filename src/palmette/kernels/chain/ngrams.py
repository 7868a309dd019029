"""Views of one arity (labels, pairs or triples), and the places of states in its rows.

A row has H ** (arity - 1) * W numbers. The place of the states f, g, h in it is (f * H + g) * W + h, without f or g for
pairs and single states.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Ngrams, StateLayout
from palmette.kernels.core.compile import inline


@inline
def layout_of(m: Chain) -> StateLayout:
    return StateLayout(m.label_of.size, m.bias.size, m.states_per_label, m.sizes, m.tied_update)


@inline
def singles_of(m: Chain, x: Data) -> Ngrams:
    return Ngrams(1, m.learns[0], m.transitions[0], m.weights[0], x.features[0])


@inline
def pairs_of(m: Chain, x: Data) -> Ngrams:
    return Ngrams(2, m.learns[1], m.transitions[1], m.weights[1], x.features[1])


@inline
def triples_of(m: Chain, x: Data) -> Ngrams:
    return Ngrams(3, m.learns[2], m.transitions[2], m.weights[2], x.features[2])


@inline
def place_of(H: int, W: int, path: np.ndarray, i: int, arity: int) -> int:
    """The place in a row of the `arity` states that end at token i."""
    if arity == 1:
        return path[i]
    if arity == 2:
        return path[i - 1] * W + path[i]
    return (path[i - 2] * H + path[i - 1]) * W + path[i]


@inline
def all_agree(paths: np.ndarray, i: int, arity: int) -> bool:
    """Whether all paths have the same `arity` states up to token i."""
    for t in range(i - arity + 1, i + 1):
        for k in range(1, paths.shape[0]):
            if paths[k, t] != paths[0, t]:
                return False
    return True


@inline
def block_and_cell(place: int, arity: int, q: StateLayout) -> tuple[int, int]:
    """A place in a dense row as the number of its combination of labels and the cell in that block."""
    H, states_per_label = q.H, q.states_per_label
    Y = H // states_per_label
    rest, state = place // q.W, place % q.W
    cell, combo, cells, combos = state % states_per_label, state // states_per_label, states_per_label, Y
    for _ in range(arity - 1):
        state = rest % H
        rest //= H
        cell += cells * (state % states_per_label)
        combo += combos * (state // states_per_label)
        cells *= states_per_label
        combos *= Y
    return combo, cell


@inline
def same_labels(place: int, other: int, arity: int, q: StateLayout) -> bool:
    return block_and_cell(place, arity, q)[0] == block_and_cell(other, arity, q)[0]
