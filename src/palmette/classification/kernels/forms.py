"""The arrays of a classifier over latent structures, grouped under names. No compiled code.

Letters: R views, H the states of one of them, W their stride (see kernels/chain/forms.py), C the columns of all views
side by side: an attribute has one row of weights for all views, so that it is fetched once. Tables of pairs are flat,
one view after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, FeatureWeights, stride_of
from palmette.kernels.core.types import (
    F32,
    F32_2D,
    F64,
    F64_2D,
    I8,
    I16,
    I32,
    I32_2D,
    I32_3D,
    I64,
    Bool,
    Bool_2D,
    struct,
)
from palmette.kernels.learning.rule import CandidateList, Rule, candidate_list

ADD, VOTE, COTRAIN, JOINT = 0, 1, 2, 3  # how views are combined
STARTS, ENDS, AFTER, BEFORE = (
    1,
    2,
    4,
    8,
)  # position of a token in its chunk; AFTER, BEFORE: next to a chunk of the same type


@struct
class Views(NamedTuple):
    """Everything about the views except their weights."""

    size: I64  # [R]      H of each
    stride: I64  # [R]    W of each
    column: I64  # [R+1]  the first column of its states in a row
    edge: I64  # [R+1]    the start of its pairs in a flat table
    kind: I32  # [C]      the chunk type of a state, -1 outside of chunks
    opens: Bool  # [C]    whether a chunk always begins with it,
    closes: Bool  # [C]   or always ends with it
    written: I32_3D  # [R, types + 1, 16]  the state for a token of that type (the last: outside) and part
    forbid: F32  # [pairs]  0 or -inf
    first: F32  # [C]       0 or -inf
    last: F32  # [C]
    pairs: bool  # whether pairs of states, and the first and last state, have weights


@struct
class Weights(NamedTuple):
    """The weights of all views, and for averaging the sums of (time * change), of size 0 without averaging."""

    end: F32_2D  # [2, C]   start and end
    pair: F32  # [pairs]
    end_a: F64_2D  # f64, as end
    pair_a: F64  # f64, as pair
    one: FeatureWeights  # w f32[rows, C]
    state: (
        F32  # f32[rows * C + 2 * C + pairs]  learner state: of rows, ends, pairs; of size 0 unless the rule is adaptive
    )


@struct
class Sentences(NamedTuple):
    """Encoded sentences. `earlier` links an attribute to its previous occurrence in the sentence (-1: none), which the
    length of a feature vector depends on."""

    offset: I64  # [S+1]
    one: Active
    earlier: I64  # [z]
    token: I32  # [z]  the token in its sentence


@struct
class Labelled(NamedTuple):
    """Encoded sentences with their classes."""

    x: Sentences
    y: I8  # [S]  1 or -1


@struct
class Decoding(NamedTuple):
    """How the structure and the score of a sentence are found."""

    combine: int  # ADD, VOTE, COTRAIN or JOINT
    normalise: bool  # feature vectors are divided by their length


@struct
class Training(NamedTuple):
    """How weights are learnt."""

    decoding: Decoding
    rule: Rule
    cap: int  # a negative sentence is decoded at most so many times in a row


@struct
class Store(NamedTuple):
    """K fixed structures; those of one sentence are a linked list, newest first."""

    head: I64  # [S]   the newest entry of a sentence, -1: none
    link: I64  # [K]   the one before it
    owner: I64  # [K]  its sentence
    start: I64  # [K]  the start of its states
    states: I16  # []  of all views, one view after the other
    size: I64  # [2]   entries, and states in use


class Rival(NamedTuple):
    """Weights to compare with, as they were at the start of an epoch: attributes with later rows have weight 0."""

    end: F32_2D  # [2, C]
    pair: F32  # [pairs]
    w: F32_2D  # [rows, C]; no rows: no comparison


# Indexes into the counts of an epoch
UPDATES, WRONG_POSITIVES, WRONG_NEGATIVES, DECODED, CAPPED, SQUARED_LOSS, RIVAL_LOSS, N_COUNTS = range(8)
# Indexes into a clock
VECTORS, EXAMPLES = range(2)


class Batch(NamedTuple):
    """What was found for each of B sentences in a round; all threads read and write it."""

    path: I32_3D  # [B, R, n]  structures
    waits: Bool  # [B]     whether the sentence is decoded in this round; true between two batches
    updates: Bool  # [B]   whether there is a step
    rounds: I64  # [B]     of this sentence before; 0 between two batches
    score: F64  # [B]
    length: F64  # [B]     that features are divided by
    change: F64  # [B]     the step along the features
    loss: F64_2D  # [B, 2]  squared, of the learner and of the rival
    left: I64  # [1]       sentences that are decoded in the next round


@struct
class Tally(NamedTuple):
    """Counts of training, and scratch space of one thread for a step."""

    clock: F64  # [2]       number of the next weight vector in the mean, and of the next example, from 1
    counts: F64  # [N_COUNTS]
    again: I64  # [cap]     negative sentences that were decoded again 0, 1, 2, ... times
    rival: Rival
    batch: Batch
    # Of the thread
    list: CandidateList  # the structure found and the empty one
    done: Bool_2D  # [z, R]    features that are counted already; false between two sentences
    order: I64  # [B]       the sentences of the batch in the order in which they are searched
    stale: Bool  # [1]      whether weights have changed since its last search


@struct
class Product(NamedTuple):
    """Arrays for the exact joint search of one sentence (search.py), of size 0 if views are combined otherwise."""

    state: I32_2D  # [R, K]   the state of each view for a role
    follow: F32_2D  # [K, W]  0 if a role can follow another, else -inf
    border: F32_2D  # [2, W]  0 if a role can begin or end a sentence, else -inf
    U: F32  # [n * W]
    E: F32  # [K * W]
    D: F32  # [n * W]
    path: I32  # [n]


@struct
class Workspace(NamedTuple):
    """Arrays for the search of one sentence. Each call copies their addresses; arrays for a step are in `Tally`."""

    U: F32_2D  # [n, C]     scores of all states
    own: F32  # [n * W]  those of one view
    E: F32  # [pairs]
    D: F32  # [n * W]
    best: I32_2D  # [R, n]  the best path of each view
    path: I32_2D  # [R, n]  after the views have been combined
    kind: I32_2D  # [R, n]  the chunks of each view: types,
    starts: Bool_2D  # [R, n]  and where they begin
    won: I32  # [n]      the chunks of a vote: types,
    begins: Bool  # [n]  and where they begin
    times: I32  # [pairs]  occurrences of a pair; zeros between two sentences
    product: Product


def make_batch(v: Views, size: int, longest: int) -> Batch:
    """For up to `size` sentences of at most `longest` tokens."""
    score, length, change = (np.zeros(size) for _ in range(3))
    return Batch(
        np.zeros((size, v.size.size, longest), np.int32), np.ones(size, np.bool_), np.zeros(size, np.bool_),
        np.zeros(size, np.int64), score, length, change, np.zeros((size, 2)), np.zeros(1, np.int64),
    )  # fmt: skip


def make_tally(
    v: Views, how: Training, clock: np.ndarray, rival: Rival, batch: Batch, occurrences: int = 0
) -> Tally:  # fmt: skip
    """Counts of zero; for adaptive rules with scratch space for `occurrences` attributes of a sentence."""
    return Tally(
        clock, np.zeros(N_COUNTS), np.zeros(how.cap, np.int64), rival, batch, candidate_list(1),
        np.zeros((occurrences, v.size.size), np.bool_), np.zeros(batch.waits.size, np.int64), np.ones(1, np.bool_),
    )  # fmt: skip


def for_thread(tally: Tally) -> Tally:
    """A tally for another thread: it shares counts and batch, and has scratch space of its own."""
    done, order, stale = (np.zeros_like(own) for own in (tally.done, tally.order, tally.stale))
    return tally._replace(list=candidate_list(1), done=done, order=order, stale=stale)


def roles(types: int) -> np.ndarray:
    """i64[K, 2]: all roles as type and position; the first is outside, with the type -1."""
    inside = [role for role in range(16) if (role & STARTS or not role & AFTER) and (role & ENDS or not role & BEFORE)]
    return np.array([(-1, ENDS), *((kind, role) for kind in range(types) for role in inside)])


def make_product(v: Views, longest: int) -> Product:
    """Arrays for exact joint searches of sentences of at most `longest` tokens; none for a length of 0."""
    outside = v.written.shape[1] - 1
    kind, role = roles(outside if longest else 0).T
    K, W = kind.size, stride_of(kind.size)
    starts, ends, after, before = ((role & part) > 0 for part in (STARTS, ENDS, AFTER, BEFORE))
    same = (kind[:, None] == kind) & (kind >= 0)
    inside = same & ~ends[:, None] & ~starts  # the chunk goes on
    opens = (kind < 0) | starts
    border = ends[:, None] & opens & (before[:, None] == (same & starts)) & (after == (same & starts))
    follow, edge = np.full((K, W), -np.inf, np.float32), np.full((2, W), -np.inf, np.float32)
    follow[:, :K][inside | border] = 0.0
    edge[0, :K][opens & ~after] = 0.0
    edge[1, :K][ends & ~before] = 0.0
    state = v.written[:, np.where(kind < 0, outside, kind), np.where(kind < 0, 0, role)]
    return Product(
        np.ascontiguousarray(state, np.int32), follow, edge, np.zeros(longest * W, np.float32),
        np.zeros(K * W, np.float32), np.empty(longest * W, np.float32), np.empty(longest, np.int32),
    )  # fmt: skip


def make_workspace(v: Views, longest: int, combine: int = ADD) -> Workspace:
    """A workspace for sentences of at most `longest` tokens whose views are combined so."""
    R, C, pairs, widest = v.size.size, v.kind.size, v.forbid.size, int(v.stride.max(initial=1))
    return Workspace(
        np.empty((longest, C), np.float32), np.empty(longest * widest, np.float32), np.empty(pairs, np.float32),
        np.empty(longest * widest, np.float32),
        np.empty((R, longest), np.int32), np.empty((R, longest), np.int32),
        np.empty((R, longest), np.int32), np.empty((R, longest), np.bool_), np.empty(longest, np.int32),
        np.empty(longest, np.bool_), np.zeros(pairs, np.int32), make_product(v, longest if combine == JOINT else 0),
    )  # fmt: skip
