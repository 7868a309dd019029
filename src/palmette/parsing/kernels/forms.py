"""The arrays that the parser's kernels pass around, grouped under names. No compiled code.

Letters: n words of a sentence, N words in all, M atoms, T templates, A actions, R relations. A sentence of n words is
parsed in 2n - 1 steps: n shifts and n - 1 reductions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.types import (
    F32,
    F64,
    F64_2D,
    I32,
    I32_2D,
    I32_3D,
    I64,
    I64_2D,
    U8,
    U64,
    U64_2D,
    aligned_zeros,
    struct,
)
from palmette.kernels.core.vector import ROW_STEP
from palmette.kernels.learning.rule import CandidateList, candidate_list

SHIFT, LEFT, RIGHT, ROOT = range(4)
# Nodes that an atom may read: three of the stack, four of the buffer, four children of each of the three
S0, S1, S2, Q0, Q1, Q2, Q3 = range(7)
CHILDREN = 7  # node of child k (LEFTMOST ...) of stack node i: CHILDREN + 4 * i + k
LEFTMOST, SECOND_LEFT, RIGHTMOST, SECOND_RIGHT = range(4)
NODES = CHILDREN + 12
# What an atom reads of a node
CELL, RELATION, LEFT_VALENCY, RIGHT_VALENCY, LEFT_SET, RIGHT_SET, DISTANCE, VARIANT = range(8)
# Columns of States.node
WORD = 0
CHILD = 1  # four children, then the four actions that attached them
CHILD_ACTION = 5
N_LEFT, N_RIGHT = 9, 10
BEGIN = 11  # the first word that the top of the stack covers
NODE_SIZE = 12
MEMO_PLACES = 1 << 14, 1 << 19  # of a memo, at least and at most: the features of some sentences, or of many
MEMO_WORDS = 16  # places per word that will be parsed
POPPED = 8  # candidates examined per place of the beam, if many merge


@struct
class Grammar(NamedTuple):
    """Templates and actions as arrays."""

    kind: I32  # [M]    what an atom reads,
    node: I32  # [M]    of which node,
    column: I32  # [M]  in which column of cells
    stack: I32  # []    the atoms that read the stack, which distinguish states
    ptr: I32  # [T+1]
    atom: I32  # []     the atoms of each template
    seed: U64  # [T]
    move: I32  # [A]      SHIFT, LEFT, RIGHT or ROOT; action 0 is the shift, and no search makes a ROOT (see root.py)
    relation: I32  # [A]  of the arc that it makes, or of the root
    action: I32_2D  # [4, R] the number of a move with a relation, -1 if it was never seen
    mark: U64  # [R]      hashes of the relations
    reads_relations: bool  # whether any stack atom reads relations or variants
    variants: int = 1  # hidden variants of each arc: of arc a from 1 on, the actions 1 + (a - 1) * variants ...
    start_seed: int = 0  # of the random numbers that weights of variants start from,
    start_size: float = 0.0  # and their size; see state.py
    chooses_root: bool = False  # whether some actions have the move ROOT


@struct
class Words(NamedTuple):
    """Sentences as the parser sees them."""

    offset: I64  # [S+1]
    cells: U64_2D  # [columns, N]  hashes
    head: I32  # [N]      the gold head within the sentence, from 0; -1 for the root
    relation: I32  # [N]  gold; -1 if unknown


@struct
class Small(NamedTuple):
    """Weights of a compact parser, all arrays of size 0 for any other; see small.py."""

    start: I32  # [buckets + 1]
    lists: U8  # []
    step: F32  # [2]  of narrow and of wide lists
    action_bytes: int  # 1 or 2


@struct
class Weights(NamedTuple):
    """A feature owns a list of (action, weight), two entries on average; see weights.py, also for long ones."""

    table: U64  # [2 * places]  key, then place of its list; adjacent, so that both cost one cache miss
    entry: I32  # [2 * capacity] action, then the bits of its weight
    value: F32  # [2 * capacity] the same memory as numbers: weights are at odd places
    sums: F64  # [capacity]     sum of (time * change), for averaging; of size 0 when parsing
    state: F32  # [capacity]    learner state per weight, for rules that adapt; of size 0 otherwise
    free: I64  # [CLASSES]      free lists of each size, chained; -1: none
    used: I64  # [2]            keys in the table, allocated entries
    rows: F32  # [R * W]        long lists as rows of all actions; of size 0 in training
    long: U64  # [2 * places]   place of a long list, then its row
    least: int  # entries of a long list
    small: Small  # a compact parser has these instead of table and entry
    closed: bool = False  # whether training gives weights only to the features that are in the table already


class States(NamedTuple):
    """All states of one sentence's search, by number."""

    score: F64  # []    of the best derivation
    inside: F64  # []   of the part since the top of the stack was shifted
    shift: F64  # []    the score of its SHIFT
    front: I32  # []    the next word
    step: I32  # []     actions so far
    node: I32_2D  # [, NODE_SIZE]  the top of the stack
    sets: U64_2D  # [, 2]  its sets of relations to the left and to the right
    left: I32  # []     the state whose top is the second of this one; the best of several
    base: I32  # []     the state that shifted BEGIN; it has the list of all left states
    action: I32  # []   how the state was made: SHIFT, or an arc between the tops
    under: I32  # []    of these two states: under -> ours (of a shift: the state before)
    over: I32  # []
    atoms: U64_2D  # [, M]
    signature: U64  # []  equal for states with the same continuations
    first: I32  # []    links to the states on the left of a base: the first,
    link: I32_2D  # [, 2]  (state, next link or -1)
    rival: I32_2D  # [, 4] merged derivations: (state, action, under, over)
    right: U8  # []     in training: whether the derivation makes the arcs that gold makes, whatever their variants
    counts: I64  # [3]  states, links and rivals in use


class Beam(NamedTuple):
    """The items of a search after each step."""

    items: I32_2D  # [steps + 1, width]  states, best first
    size: I32  # [steps + 1]
    best: F64  # [steps + 1]
    gold: F64  # [steps + 1]
    gold_action: I32  # [steps]
    gold_item: I32  # [steps + 1]  the gold state, as long as it is in the beam


class Candidates(NamedTuple):
    """Candidates for the items of the next step."""

    score: F64  # [capacity]
    inside: F64  # [capacity]
    item: I32  # [capacity]
    action: I32  # [capacity]
    under: I32  # [capacity]
    heap: I32  # [capacity]


@struct
class SearchOptions(NamedTuple):
    width: int  # of the beam
    merge: bool  # whether equal states are merged
    update: int  # where gold and guess are cut in training, see kernels/learning/violation.py
    augment: bool = False  # cost-augmented search in training: 1 is added to the scores of actions that are not gold's
    forest: bool = False  # candidates of a rule are derivations of the merged states, not the items of the beam


class Memo(NamedTuple):
    """Features that a search has looked up before; see memo.py."""

    table: U64  # [2 * places]  key, then place of its list or row
    entry: I32  # [2 * capacity]  short lists: action, then the bits of its weight
    value: F32  # [2 * capacity]  the same memory as numbers
    missing: I64  # [2 T]  scratch space
    used: I64  # [2]       keys in the table, entries


class Paths(NamedTuple):
    """The candidates of one sentence for a rule: their states, actions and numbers."""

    states: I32_2D  # [K, steps]
    actions: I32_2D  # [K, steps]
    differ: I64  # [K]  the first step at which a candidate differs from gold
    list: CandidateList


class Derivations(NamedTuple):
    """The best derivations of merged states, a list of at most L per vertex; see derivations.py. Vertices are numbered:
    x the subtree on top of the stack of state x, V + x its whole stack, 2V all items of a step; V states."""

    score: F64_2D  # [2V + 1, L]
    edge: I32_2D  # [2V + 1, L]    how it is made: OWN or a rival, a link, an item
    action: I32_2D  # [2V + 1, L]
    ranks: I32_3D  # [2V + 1, L, 2]  which derivations of the parts
    size: I32  # [2V + 1]
    wanted: U8  # [2V + 1]
    first: I32  # [V]   rivals of a state: the first, and the next of each or -1
    next: I32  # []
    waiting: I32_2D  # [, 2]  vertices to be read, with a rank


class Differences(NamedTuple):
    """f(gold) - f(candidate k) for K candidates, by weight: a table from a weight's label to its row in `value`."""

    key: U64  # [size]   labels; 0: a free place
    place: I32  # [size] the row
    label: U64  # [F]    of each row
    value: I32_2D  # [F, K]
    used: I64  # [1]     rows in use


class Changes(NamedTuple):
    """Changes of weights that are not made yet, in their order."""

    key: U64  # [capacity]  of a feature
    action: I32  # [capacity]
    amount: F64  # [capacity]
    used: I64  # [1]


@struct
class Batch(NamedTuple):
    """What was found for each of B sentences that are searched with the same weights; all threads read and write it.
    Each thread lists changes in a row of its own."""

    key: U64_2D  # [threads, capacity]
    action: I32_2D  # [threads, capacity]
    amount: F64_2D  # [threads, capacity]
    used: I64_2D  # [threads, 1]
    place: I64_2D  # [B, 3]  the thread, its first change and the end of its changes
    counts: F64_2D  # [B, N_COUNTS]  see train.py


@struct
class Workspace(NamedTuple):
    """Arrays for the work on one sentence."""

    z: States
    b: Beam
    c: Candidates
    keys: U64  # [T]
    out: F32  # [A, and more for whole vectors]  the scores of all actions in a state
    memo: Memo
    node: I32  # [NODES]
    waiting: I32  # [2n+2]
    heads: I32  # [n]
    relations: I32  # [n]
    paths: Paths
    differences: Differences
    derivations: Derivations


def _states(longest: int, width: int, n_atoms: int, links: int) -> States:
    """Arrays for the states of one sentence and of gold; links: the maximum per place of the beam."""
    cap = 2 * longest * (width + 2) + 2
    joined = links * cap + 1
    return States(
        np.zeros(cap), np.zeros(cap), np.zeros(cap), np.zeros(cap, np.int32), np.zeros(cap, np.int32),
        np.zeros((cap, NODE_SIZE), np.int32), np.zeros((cap, 2), np.uint64), np.zeros(cap, np.int32),
        np.zeros(cap, np.int32), np.zeros(cap, np.int32), np.zeros(cap, np.int32), np.zeros(cap, np.int32),
        np.zeros((cap, n_atoms), np.uint64), np.zeros(cap, np.uint64), np.zeros(cap, np.int32),
        np.zeros((joined, 2), np.int32), np.zeros((joined, 4), np.int32), np.zeros(cap, np.uint8),
        np.zeros(3, np.int64),
    )  # fmt: skip


def _differences(features: int, K: int) -> Differences:
    size = 1 << (2 * features).bit_length() if features else 0
    return Differences(
        np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(features, np.uint64),
        np.zeros((features, K), np.int32), np.zeros(1, np.int64),
    )  # fmt: skip


def _derivations(states: int, rivals: int, steps: int, length: int) -> Derivations:
    """Lists of `length` derivations for so many states; of size 0 if there are none."""
    V = 2 * states + 1 if length else 0
    return Derivations(
        np.zeros((V, length)), np.zeros((V, length), np.int32), np.zeros((V, length), np.int32),
        np.zeros((V, length, 2), np.int32), np.zeros(V, np.int32), np.zeros(V, np.uint8),
        np.zeros(states if length else 0, np.int32), np.zeros(rivals if length else 0, np.int32),
        np.zeros((2 * steps + 4 if length else 0, 2), np.int32),
    )  # fmt: skip


def not_small() -> Small:
    return Small(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.float32), 1)


def action_bytes(actions: int) -> int:
    """The bytes of an action in compact lists."""
    return 1 if actions <= 256 else 2


def row_width(actions: int) -> int:
    """The size of a row of scores of all actions: rounded up to whole vectors."""
    return -(-actions // ROW_STEP) * ROW_STEP


def long_list(width: int) -> int:
    """The number of entries from which a list is faster as a row of this width."""
    return max(8, width // 8)


def make_memo(g: Grammar, words: int) -> Memo:
    """An empty memo for so many words, with room for the features of some states at least."""
    features, longest = g.seed.size, long_list(row_width(g.move.size))
    places = min(max(MEMO_PLACES[0], 1 << (MEMO_WORDS * words).bit_length()), MEMO_PLACES[1])
    entry = aligned_zeros((2 * max(places, 2 * features * longest),), np.int32)
    places = max(places, 4 << features.bit_length())
    return Memo(
        aligned_zeros((2 * places,), np.uint64), entry, entry.view(np.float32), np.zeros(2 * features, np.int64),
        np.zeros(2, np.int64),
    )  # fmt: skip


def make_workspace(
    g: Grammar, longest: int, how: SearchOptions, K: int = 0, differences: bool = False, words: int = 0
) -> Workspace:
    """A workspace for sentences of at most `longest` words; in training with K candidates, and with a table of their
    feature differences if the rule needs it; words: in all sentences, if that is known. Large arrays are virtual memory
    until they are used."""
    width, steps = how.width, 2 * longest
    n_next = (
        width * (4 * g.move.size if how.merge else 1) + 1
    )  # with merging more may be needed, which search allocates
    states = _states(longest, width, g.kind.size, POPPED if how.merge else 0)
    return Workspace(
        states,
        Beam(
            np.zeros((steps + 1, width), np.int32), np.zeros(steps + 1, np.int32), np.zeros(steps + 1),
            np.zeros(steps + 1), np.zeros(steps + 1, np.int32), np.zeros(steps + 1, np.int32),
        ),
        Candidates(
            np.zeros(n_next), np.zeros(n_next), np.zeros(n_next, np.int32), np.zeros(n_next, np.int32),
            np.zeros(n_next, np.int32), np.zeros(n_next, np.int32),
        ),
        np.zeros(g.seed.size, np.uint64), aligned_zeros((row_width(g.move.size),), np.float32), make_memo(g, words),
        np.zeros(NODES, np.int32),
        np.zeros(steps + 2, np.int32), np.zeros(longest, np.int32), np.zeros(longest, np.int32),
        Paths(
            np.zeros((K, steps), np.int32), np.zeros((K, steps), np.int32), np.zeros(K, np.int64), candidate_list(K)
        ),
        _differences((K + 1) * steps * g.seed.size if differences else 0, K),
        _derivations(states.score.size, states.rival.shape[0], steps, K + 1 if how.forest else 0),
    )  # fmt: skip
