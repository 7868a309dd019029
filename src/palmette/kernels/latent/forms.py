"""The arrays of a classifier over latent structures: views of a sentence's chunking, their weights, and room to search.

Letters: R views, H the states of one of them, W their stride (see forms.py), C the columns of all views side by side:
one row of weights of an attribute serves them all, so that it is fetched once. Tables of pairs lie flat, one view's
after the other's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, FeatureWeights

ADD, VOTE, COTRAIN = 0, 1, 2  # how views are combined
PA, PA_I, PA_II = 0, 1, 2  # how long a step may be
STARTS, ENDS, AFTER, BEFORE = 1, 2, 4, 8  # what a token is in its chunk; AFTER, BEFORE one of the same type, touching


class Views(NamedTuple):
    """What the views are, apart from their weights."""

    size: np.ndarray  # i64[R]      H of each
    stride: np.ndarray  # i64[R]    W of each
    column: np.ndarray  # i64[R+1]  where its states begin in a row
    edge: np.ndarray  # i64[R+1]    where its pairs begin in a flat table
    kind: np.ndarray  # i32[C]      the chunk type of a state, -1 outside of chunks
    opens: np.ndarray  # bool[C]    whether a chunk begins with it whatever stands before,
    closes: np.ndarray  # bool[C]   ends with it whatever follows
    written: np.ndarray  # i32[R, types + 1, 16]  the state for a token of that type (the last: outside) and part
    forbid: np.ndarray  # f32[pairs]  0 or -inf
    first: np.ndarray  # f32[C]       0 or -inf
    last: np.ndarray  # f32[C]
    pairs: bool  # whether pairs of states, and the first and last state, have weights


class Weights(NamedTuple):
    """The weights of all views, and for averaging the sums of (time * change), of size 0 where nothing is averaged."""

    end: np.ndarray  # f32[2, C]   start and end
    pair: np.ndarray  # f32[pairs]
    end_a: np.ndarray  # f64, as end
    pair_a: np.ndarray  # f64, as pair
    one: FeatureWeights  # w f32[rows, C]


class Sentences(NamedTuple):
    """Encoded sentences. `earlier` links an attribute to where it occurred before in its sentence (-1: nowhere), which
    is what the length of a feature vector needs to know."""

    offset: np.ndarray  # i64[S+1]
    one: Active
    earlier: np.ndarray  # i64[z]
    token: np.ndarray  # i32[z]  the token in its sentence


class Rule(NamedTuple):
    """How a step is made."""

    combine: int  # ADD, VOTE or COTRAIN
    step: int  # PA, PA_I or PA_II
    C: float
    normalise: bool  # features are divided by their length
    cap: int  # how often a negative sentence is decoded at most


class Workspace(NamedTuple):
    """Space for one sentence."""

    U: np.ndarray  # f32[n, C]     scores of all states
    own: np.ndarray  # f32[n * W]  those of one view
    E: np.ndarray  # f32[pairs]
    S: np.ndarray  # f32[1, 0, 1, 1]  no triples
    D: np.ndarray  # f32[n * W]
    best: np.ndarray  # i32[R, n]  the best path of each view
    path: np.ndarray  # i32[R, n]  after the views have been combined
    kind: np.ndarray  # i32[R, n]  the chunks of each view: types,
    starts: np.ndarray  # bool[R, n]  and where they begin
    times: np.ndarray  # i32[pairs]  how often a pair occurs


class Rival(NamedTuple):
    """Weights to compare with, as they were at the start of a pass: attributes with later rows weigh nothing."""

    end: np.ndarray  # f32[2, C]
    pair: np.ndarray  # f32[pairs]
    w: np.ndarray  # f32[rows, C]; no rows: nothing is compared
