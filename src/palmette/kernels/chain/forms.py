"""The arrays that the chain kernels pass around, grouped under names.

Letters: N tokens, S sentences, Y labels, H states, W the stride of a row of states (H, rounded up to a
multiple of 8 from 8 on, so that vectors are full and rows lie on few cache lines), A attributes.
A plain model has one state a label; a latent one has several, and `label_of` tells whose they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def stride_of(H: int) -> int:
    return H if H < 8 else -(-H // 8) * 8


class Active(NamedTuple):
    """The attributes of each token for one order (labels, pairs or triples)."""

    ptr: np.ndarray  # i64[N+1], or of size 0 when the model has none of this order
    att: np.ndarray  # i32[z]
    val: np.ndarray  # f32[z], or of size 0 when all are 1


class FeatureWeights(NamedTuple):
    """The weights of one order. Dense: attribute a owns the row slot[a]; row 0 stays zero and is shared by
    all attributes that never moved. Seen: a owns the places first[a]..first[a+1], each for one combination
    of labels (numbered (f * Y + g) * Y + h): a block of all states of these labels."""

    slot: np.ndarray  # i32[A]
    used: np.ndarray  # i64[1]     rows given out so far, row 0 included
    first: np.ndarray  # i64[A+1], or of size 0 when dense
    combo: np.ndarray  # i32[places]  rising within an attribute
    w: np.ndarray  # f32[rows, width] or f32[places, block]; a block has per, per**2 or per**3 numbers
    a: np.ndarray  # f64, as w: sum of (time * change), for averaging; of size 0 when tagging


class TransitionWeights(NamedTuple):
    """Weights that depend on states alone."""

    end: np.ndarray  # f32[2, W]        start and end
    pair: np.ndarray  # f32[H, W]
    triple: np.ndarray  # f32[H, H, W]  of order 2, else empty


class TransitionSums(NamedTuple):
    """Their accumulators, float64."""

    end: np.ndarray
    pair: np.ndarray
    triple: np.ndarray


class Chain(NamedTuple):
    """All weights and restrictions of a chain model."""

    order: int
    plain: bool  # states are labels
    per: int  # states a label, side by side; 1 also where labels share states in another way
    label_of: np.ndarray  # i32[H]
    sizes: np.ndarray  # i32[H / per]  states that each label really has, at most `per`
    share: float  # of a change that goes to all states of the labels, in learning
    ends: bool  # whether bare start and end weights are learnt,
    transitions: bool  # bare pair weights,
    triples: bool  # bare triple weights
    local: bool  # scores are normalised token by token (maxent); see local.py
    forbid: np.ndarray  # f32[H, W]  0 or -inf, (previous, current)
    first: np.ndarray  # f32[W]      0 or -inf, plus the label bias; see `bias`
    last: np.ndarray  # f32[W]       0 or -inf
    bias: np.ndarray  # f32[W]
    bare: TransitionWeights
    bare_a: TransitionSums
    one: FeatureWeights
    two: FeatureWeights
    three: FeatureWeights


class Data(NamedTuple):
    """An encoded corpus."""

    offset: np.ndarray  # i64[S+1]
    known: np.ndarray  # i32[N]   a row of `allow`; rows below Y are single labels
    allow: np.ndarray  # bool[G, Y]
    weight: np.ndarray  # f32[S]
    one: Active
    two: Active
    three: Active


class Gather(NamedTuple):
    """Room to add up the blocks of one token before they go into its table: a block is one run of numbers, in the
    table it lies on many rows. Of size 0 unless combinations are seen ones."""

    total: np.ndarray  # f32[combinations, block]
    token: np.ndarray  # i64[combinations]   the token that a sum is of
    touched: np.ndarray  # i64[combinations] the combinations of this token
    place: np.ndarray  # i64[combinations]   where the first number of a block stands in a dense row


class Trellis(NamedTuple):
    """One sentence's scores, and room to search them. Forbidden means -inf."""

    U: np.ndarray  # f32[n, W]              state
    E: np.ndarray  # f32[1 or n, H, W]      (previous, current); E[0] when the edges are all alike
    S: np.ndarray  # f32[1 or n, H, H, W]   (before, previous, current); of order 2 only
    D: np.ndarray  # f32[n, 1 or H, W]      best score of a path that ends here


def no_weights(n_attributes: int = 0) -> FeatureWeights:
    return FeatureWeights(
        np.zeros(n_attributes, np.int32),
        np.ones(1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.int32),
        np.zeros((1, 1), np.float32),
        np.zeros((0, 1), np.float64),
    )


def no_active() -> Active:
    return Active(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
