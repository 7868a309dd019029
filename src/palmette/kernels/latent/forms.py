"""The arrays of a classifier over latent structures, grouped under names. No compiled code.

Letters: R views, H the states of one of them, W their stride (see kernels/chain/forms.py), C the columns of all views
side by side: an attribute has one row of weights for all views, so that it is fetched once. Tables of pairs are flat,
one view after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, FeatureWeights
from palmette.kernels.learning.rule import CandidateList, Rule, candidate_list

ADD, VOTE, COTRAIN = 0, 1, 2  # how views are combined
STARTS, ENDS, AFTER, BEFORE = (
    1,
    2,
    4,
    8,
)  # position of a token in its chunk; AFTER, BEFORE: next to a chunk of the same type


class Views(NamedTuple):
    """Everything about the views except their weights."""

    size: np.ndarray  # i64[R]      H of each
    stride: np.ndarray  # i64[R]    W of each
    column: np.ndarray  # i64[R+1]  the first column of its states in a row
    edge: np.ndarray  # i64[R+1]    the start of its pairs in a flat table
    kind: np.ndarray  # i32[C]      the chunk type of a state, -1 outside of chunks
    opens: np.ndarray  # bool[C]    whether a chunk always begins with it,
    closes: np.ndarray  # bool[C]   or always ends with it
    written: np.ndarray  # i32[R, types + 1, 16]  the state for a token of that type (the last: outside) and part
    forbid: np.ndarray  # f32[pairs]  0 or -inf
    first: np.ndarray  # f32[C]       0 or -inf
    last: np.ndarray  # f32[C]
    pairs: bool  # whether pairs of states, and the first and last state, have weights


class Weights(NamedTuple):
    """The weights of all views, and for averaging the sums of (time * change), of size 0 without averaging."""

    end: np.ndarray  # f32[2, C]   start and end
    pair: np.ndarray  # f32[pairs]
    end_a: np.ndarray  # f64, as end
    pair_a: np.ndarray  # f64, as pair
    one: FeatureWeights  # w f32[rows, C]
    state: (
        np.ndarray
    )  # f32[rows * C + 2 * C + pairs]  learner state: of rows, ends, pairs; of size 0 unless the rule is adaptive


class Sentences(NamedTuple):
    """Encoded sentences. `earlier` links an attribute to its previous occurrence in the sentence (-1: none), which the
    length of a feature vector depends on."""

    offset: np.ndarray  # i64[S+1]
    one: Active
    earlier: np.ndarray  # i64[z]
    token: np.ndarray  # i32[z]  the token in its sentence


class Labelled(NamedTuple):
    """Encoded sentences with their classes."""

    x: Sentences
    y: np.ndarray  # i8[S]  1 or -1


class Decoding(NamedTuple):
    """How the structure and the score of a sentence are found."""

    combine: int  # ADD, VOTE or COTRAIN
    normalise: bool  # feature vectors are divided by their length


class Training(NamedTuple):
    """How weights are learnt."""

    decoding: Decoding
    rule: Rule
    cap: int  # a negative sentence is decoded at most so many times in a row


class Store(NamedTuple):
    """K fixed structures; those of one sentence are a linked list, newest first."""

    head: np.ndarray  # i64[S]   the newest entry of a sentence, -1: none
    link: np.ndarray  # i64[K]   the one before it
    owner: np.ndarray  # i64[K]  its sentence
    start: np.ndarray  # i64[K]  the start of its states
    states: np.ndarray  # i16[]  of all views, one view after the other
    size: np.ndarray  # i64[2]   entries, and states in use


class Rival(NamedTuple):
    """Weights to compare with, as they were at the start of an epoch: attributes with later rows have weight 0."""

    end: np.ndarray  # f32[2, C]
    pair: np.ndarray  # f32[pairs]
    w: np.ndarray  # f32[rows, C]; no rows: no comparison


# Indexes into the counts of an epoch
UPDATES, WRONG_POSITIVES, WRONG_NEGATIVES, DECODED, CAPPED, SQUARED_LOSS, RIVAL_LOSS, N_COUNTS = range(8)
# Indexes into a clock
VECTORS, EXAMPLES = range(2)


class Tally(NamedTuple):
    """Counts of training, and scratch space of a step."""

    clock: np.ndarray  # f64[2]       number of the next weight vector in the mean, and of the next example, from 1
    counts: np.ndarray  # f64[N_COUNTS]
    again: np.ndarray  # i64[cap]     negative sentences that were decoded again 0, 1, 2, ... times
    rival: Rival
    list: CandidateList  # the structure found and the empty one
    done: np.ndarray  # bool[z, R]    features that are counted already; false between two sentences


class Workspace(NamedTuple):
    """Arrays for the search of one sentence. Each call copies their addresses; arrays for a step are in `Tally`."""

    U: np.ndarray  # f32[n, C]     scores of all states
    own: np.ndarray  # f32[n * W]  those of one view
    E: np.ndarray  # f32[pairs]
    S: np.ndarray  # f32[1, 0, 1, 1]  no triples
    D: np.ndarray  # f32[n * W]
    best: np.ndarray  # i32[R, n]  the best path of each view
    path: np.ndarray  # i32[R, n]  after the views have been combined
    kind: np.ndarray  # i32[R, n]  the chunks of each view: types,
    starts: np.ndarray  # bool[R, n]  and where they begin
    won: np.ndarray  # i32[n]      the chunks of a vote: types,
    begins: np.ndarray  # bool[n]  and where they begin
    times: np.ndarray  # i32[pairs]  occurrences of a pair; zeros between two sentences


def make_tally(v: Views, how: Training, clock: np.ndarray, rival: Rival, occurrences: int = 0) -> Tally:
    """Counts of zero; for adaptive rules with scratch space for `occurrences` attributes of a sentence."""
    again, done = np.zeros(how.cap, np.int64), np.zeros((occurrences, v.size.size), np.bool_)
    return Tally(clock, np.zeros(N_COUNTS), again, rival, candidate_list(1), done)


def make_workspace(v: Views, longest: int) -> Workspace:
    """A workspace for sentences of at most `longest` tokens."""
    R, C, pairs, widest = v.size.size, v.kind.size, v.forbid.size, int(v.stride.max(initial=1))
    return Workspace(
        np.empty((longest, C), np.float32), np.empty(longest * widest, np.float32), np.empty(pairs, np.float32),
        np.empty((1, 0, 1, 1), np.float32), np.empty(longest * widest, np.float32),
        np.empty((R, longest), np.int32), np.empty((R, longest), np.int32),
        np.empty((R, longest), np.int32), np.empty((R, longest), np.bool_), np.empty(longest, np.int32),
        np.empty(longest, np.bool_), np.zeros(pairs, np.int32),
    )  # fmt: skip
