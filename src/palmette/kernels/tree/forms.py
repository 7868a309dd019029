"""The arrays that the parser's kernels pass around, grouped under names.

Letters: n words of a sentence, N words in all, M atoms, T templates, A actions, R relations. A sentence of n words is
parsed in 2n - 1 steps: n shifts and n - 1 reductions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SHIFT, LEFT, RIGHT = 0, 1, 2

# Nodes that an atom may look at: three of the stack, four of the buffer, four children of each of the three
S0, S1, S2, Q0, Q1, Q2, Q3 = range(7)
CHILDREN = 7  # node of child k (LEFTMOST ...) of stack node i: CHILDREN + 4 * i + k
LEFTMOST, SECOND_LEFT, RIGHTMOST, SECOND_RIGHT = range(4)
NODES = CHILDREN + 12

# What an atom reads of a node
CELL, RELATION, LEFT_VALENCY, RIGHT_VALENCY, LEFT_SET, RIGHT_SET, DISTANCE = range(7)

# Columns of States.node
WORD = 0
CHILD = 1  # four children, then their four relations
CHILD_RELATION = 5
N_LEFT, N_RIGHT = 9, 10
BEGIN = 11  # the first word that the top of the stack covers
NODE_SIZE = 12


class Grammar(NamedTuple):
    """What templates read, and which actions there are."""

    kind: np.ndarray  # i32[M]    what an atom reads,
    node: np.ndarray  # i32[M]    of which node,
    column: np.ndarray  # i32[M]  in which column of cells
    stack: np.ndarray  # i32[]    the atoms that look at the stack: what tells states apart
    ptr: np.ndarray  # i32[T+1]
    atom: np.ndarray  # i32[]     the atoms of each template
    seed: np.ndarray  # u64[T]
    move: np.ndarray  # i32[A]      SHIFT, LEFT or RIGHT; action 0 is the shift
    relation: np.ndarray  # i32[A]  of the arc that it makes
    action: np.ndarray  # i32[3, R] the number of a move with a relation, -1 if it was never seen
    mark: np.ndarray  # u64[R]      hashes of the relations
    reads_relations: bool  # whether any stack atom looks at relations


class Words(NamedTuple):
    """Sentences as the parser sees them."""

    offset: np.ndarray  # i64[S+1]
    cells: np.ndarray  # u64[columns, N]  hashes
    head: np.ndarray  # i32[N]      the gold head within the sentence, from 0; -1 for the root
    relation: np.ndarray  # i32[N]  gold; -1 where it is not known


class Weights(NamedTuple):
    """A feature owns a list of (action, weight): of some hundred actions it meets two or three. See parse_weights."""

    table: np.ndarray  # u64[2 * places]  key, then where its list is; side by side, so that both cost one cache miss
    entry: np.ndarray  # i32[2 * room]    action, then the bits of its weight
    value: np.ndarray  # f32[2 * room]    the same memory as numbers: weights are at odd places
    sums: np.ndarray  # f64[room]         sum of (time * change), for averaging; of size 0 when parsing
    free: np.ndarray  # i64[CLASSES]      lists of each size that were left for a larger one, chained; -1: none
    used: np.ndarray  # i64[2]            keys in the table, entries given out


class States(NamedTuple):
    """All states of one sentence's search, by number."""

    score: np.ndarray  # f64[]    of the best way here
    inside: np.ndarray  # f64[]   of the part since the top of the stack was begun
    shift: np.ndarray  # f64[]    what its SHIFT scores
    front: np.ndarray  # i32[]    the next word
    step: np.ndarray  # i32[]     actions so far
    node: np.ndarray  # i32[, NODE_SIZE]  the top of the stack
    sets: np.ndarray  # u64[, 2]  its sets of relations to the left and to the right
    left: np.ndarray  # i32[]     the state whose top is our second; the best one of them
    base: np.ndarray  # i32[]     the state that shifted BEGIN, which has the list of all of them
    action: np.ndarray  # i32[]   how the state was made: SHIFT, or an arc between the tops
    under: np.ndarray  # i32[]    of these two states: under -> ours (of a shift: the state before)
    over: np.ndarray  # i32[]
    atoms: np.ndarray  # u64[, M]
    signature: np.ndarray  # u64[]  equal for states that all later actions treat alike
    first: np.ndarray  # i32[]    links to the states on the left of a base: the first,
    link: np.ndarray  # i32[, 2]  (state, next link or -1)
    rival: np.ndarray  # i32[, 4] ways that were merged: (state, action, under, over)
    counts: np.ndarray  # i64[3]  states, links and rivals in use


class Beam(NamedTuple):
    """What a search went through."""

    items: np.ndarray  # i32[steps + 1, width]  states, best first
    size: np.ndarray  # i32[steps + 1]
    best: np.ndarray  # f64[steps + 1]
    gold: np.ndarray  # f64[steps + 1]
    gold_action: np.ndarray  # i32[steps]
    gold_item: np.ndarray  # i32[steps + 1]  the state that is gold, while it is in the beam


class Candidates(NamedTuple):
    """What could come next."""

    score: np.ndarray  # f64[room]
    inside: np.ndarray  # f64[room]
    item: np.ndarray  # i32[room]
    action: np.ndarray  # i32[room]
    under: np.ndarray  # i32[room]
    heap: np.ndarray  # i32[room]
