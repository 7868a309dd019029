"""The arrays that the chain kernels pass around, grouped under names.

Letters: N tokens, S sentences, Y labels, H states, W the stride of a row of states (H, rounded up to a
multiple of 8 from 8 on, so that vectors are full and rows lie on few cache lines), A attributes.
A plain model has one state per label; a latent one has several, and `label_of` maps them to labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.types import (
    F32,
    F32_2D,
    F32_3D,
    F32_4D,
    F64_2D,
    I8,
    I32,
    I64,
    U8,
    U32,
    U64,
    Bool,
    Bool_2D,
    aligned_zeros,
    struct,
)

MANY_STATES = 128  # from so many on search skips pairs of states
FEW = 8  # states that follow at most this part of all states have lists of them


def stride_of(H: int) -> int:
    return H if H < 8 else -(-H // 8) * 8


@struct
class Active(NamedTuple):
    """The attributes of each token for one arity (labels, pairs or triples)."""

    ptr: I64  # [N+1], or of size 0 if the model has none of this arity
    att: I32  # [z]
    val: F32  # [z], or of size 0 if all are 1


@struct
class FeatureWeights(NamedTuple):
    """Weights of attributes for one arity. Dense: attribute a owns the row slot[a]; row 0 stays zero and is shared by
    all attributes without weights. Lists: a owns slot[a] places from first[a] on, each for one combination of labels
    (numbered (f * Y + g) * Y + h): a block of all states of these labels. Fixed lists (of seen combinations) follow one
    another and end at first[A]; lists that grow (weights.py) have no first[A]."""

    slot: I32  # [A]
    used: I64  # [1]     allocated rows, row 0 included, or allocated places of lists that grow
    first: I64  # [A+1], of size 0 if dense, of size A if lists grow
    combo: I32  # [places]  ascending within an attribute
    w: F32_2D  # [rows, width] or f32[places, block]; a block has states_per_label ** arity numbers
    a: F64_2D  # as w: sum of (time * change), for averaging; of size 0 when tagging
    state: F32_2D  # as w: learner state per weight; of size 0 if the learner has none


class TransitionWeights(NamedTuple):
    """Weights of state n-grams of one arity, independent of observations: a row per context. The contexts are start
    and end of a sentence (arity 1), the previous state (2), the two previous states (3; f * H + g)."""

    w: F32_2D  # [contexts, W]
    a: F64_2D  # as in FeatureWeights
    state: F32_2D  # as in FeatureWeights


NOT_STORED, ENTRIES, WHOLE_ROWS, ENTRIES_ALONE = range(4)  # see StoredRows


@struct
class StoredRows(NamedTuple):
    """Weights of attributes for one arity as a model file has them, in place of FeatureWeights; see score.py. A row has
    H ** arity numbers, without padding, of 32 bits (`value`) or of 8 bits with a scale per attribute (`number`)."""

    kind: int  # NOT_STORED: none; ENTRIES: those that are not zero; WHOLE_ROWS; ENTRIES_ALONE: summed one by one
    item: int  # bytes of the number of a state n-gram: 1, 2 or 4
    cells: int  # numbers of a row
    times: float  # what all weights are multiplied by
    first: U32  # [A+1]  of entries: those of attribute a are first[a] .. first[a+1] - 1
    state: U8  # [entries * item]  state n-grams, rising within an attribute, little-endian
    value: F32  # [entries] or [A * H ** arity]
    number: I8  # likewise
    scale: F32  # [A]


def not_stored() -> StoredRows:
    """What an arity has whose weights are FeatureWeights."""
    numbers = np.zeros(0, np.float32)
    return StoredRows(NOT_STORED, 1, 1, 1.0, np.zeros(0, np.uint32), np.zeros(0, np.uint8), numbers, np.zeros(0, np.int8),
                      numbers)  # fmt: skip


NONE_STORED = (not_stored(), not_stored(), not_stored())


@struct
class Chain(NamedTuple):
    """All weights and restrictions of a chain model. In tuples the index is the arity minus 1."""

    order: int
    plain: bool  # states are labels
    states_per_label: int  # adjacent in a row; 1 also if labels share states in another way
    label_of: I32  # [H]
    sizes: I32  # [H / states_per_label]  states that each label really has
    tied_update: float  # fraction of an update that all states of the labels get
    learns: tuple[bool, bool, bool]  # whether transition weights are learnt
    local: bool  # scores are normalised token by token (maxent); see score.py
    forbid: F32_2D  # [H, W]  0 or -inf, (previous, current)
    first: F32  # [W]      0 or -inf, plus the label bias; see `bias`
    last: F32  # [W]       0 or -inf
    bias: F32  # [W]
    transitions: tuple[TransitionWeights, TransitionWeights, TransitionWeights]
    weights: tuple[FeatureWeights, FeatureWeights, FeatureWeights]
    stored: tuple[StoredRows, StoredRows, StoredRows] = NONE_STORED  # of a loaded model: what searches and sums read


@struct
class Data(NamedTuple):
    """An encoded corpus."""

    offset: I64  # [S+1]
    known: I32  # [N]   a row of `allow`; rows below Y are single labels
    allow: Bool_2D  # [G, Y]
    weight: F32  # [S]
    features: tuple[Active, Active, Active]  # by arity minus 1


class Ngrams(NamedTuple):
    """Weights and features of one arity, for code that is common to all arities."""

    arity: int  # 1, 2 or 3
    learns: bool  # whether transition weights are learnt
    transitions: TransitionWeights
    weights: FeatureWeights
    features: Active


class StateLayout(NamedTuple):
    """The layout of states in a row, for code that needs no other part of a Chain."""

    H: int
    W: int
    states_per_label: int
    sizes: I32  # [H / states_per_label]
    tied_update: float


class Gather(NamedTuple):
    """Scratch space to sum the blocks of one token before they are added to its table: a block is contiguous, while in
    the table it is spread over many rows. Of size 0 unless combinations are seen ones."""

    total: F32_2D  # [combinations, block]
    token: I64  # [combinations]   the token of a sum
    touched: I64  # [combinations] the combinations of this token
    place: I64  # [combinations]   place of the first number of a block in a dense row


class Skips(NamedTuple):
    """What search needs to skip pairs of states; of size 0: it looks at all of them. See viterbi.py."""

    top: F32  # [H]  the largest edge from a state
    few: Bool  # [H]  states that may follow only few others: those in `previous`
    first: I64  # [H+1]
    previous: I32  # []
    bound: F32  # [H]  scratch space
    heap: I32  # [H]  scratch space


@struct
class Trellis(NamedTuple):
    """Scores of one sentence, and the table D of its search. Forbidden means -inf."""

    U: F32_2D  # [n, W]              state
    E: F32_3D  # [1 or n, H, W]      (previous, current); only E[0] if all tokens have the same edges
    S: F32_4D  # [1 or n, H, H, W]   (before, previous, current); of order 2 only
    D: F32_3D  # [n, 1 or H, W]      best score of a path that ends here
    skips: Skips


def longest_of(x: Data, first: int = 0, last: int | None = None) -> int:
    """Tokens of the longest sentence from `first` to `last`, of all by default; at least 1."""
    return int(np.diff(x.offset[first : None if last is None else last + 1]).max(initial=1))


def make_trellis(m: Chain, x: Data, longest: int | None = None) -> Trellis:
    """Arrays for any sentence of the corpus, or for sentences of up to so many tokens."""
    H, W, kind = m.label_of.size, m.bias.size, m.bias.dtype
    longest = longest_of(x) if longest is None else longest
    edges = longest if (x.features[1].ptr.size > 0 and m.order >= 1) or (m.local and m.order == 2) else 1
    triples = longest if x.features[2].ptr.size > 0 and m.order >= 2 else 1
    return Trellis(
        aligned_zeros((longest, W), kind),
        aligned_zeros((edges, H if m.order >= 1 else 0, W), kind),
        aligned_zeros((triples, H if m.order >= 2 else 0, H, W), kind),
        aligned_zeros((longest, H if m.order >= 2 else 1, W), kind),
        make_skips(m.forbid) if m.order == 1 and edges == 1 and H >= MANY_STATES else no_skips(),
    )


def make_skips(forbid: np.ndarray) -> Skips:
    """For edges that all tokens share; `forbid` as in Chain."""
    H = forbid.shape[0]
    allowed = np.isfinite(forbid[:, :H]).T  # (current, previous)
    few = allowed.sum(axis=1) <= H // FEW
    now, before = np.nonzero(allowed & few[:, None])
    first = np.searchsorted(now, np.arange(H + 1)).astype(np.int64)
    return Skips(
        np.zeros(H, np.float32), few, first, before.astype(np.int32), np.zeros(H, np.float32), np.zeros(H, np.int32)
    )


def no_skips() -> Skips:
    numbers, whole = np.zeros(0, np.float32), np.zeros(0, np.int32)
    return Skips(numbers, np.zeros(0, np.bool_), np.zeros(0, np.int64), whole, numbers, whole)


def no_sums() -> np.ndarray:
    """Accumulators of weights that are not learnt."""
    return np.zeros((0, 1), np.float64)


def no_state() -> np.ndarray:
    """Learner state of size 0, for learners without state per weight."""
    return np.zeros((0, 1), np.float32)


def no_weights(n_attributes: int = 0) -> FeatureWeights:
    return FeatureWeights(
        np.zeros(n_attributes, np.int32),
        np.ones(1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.int32),
        np.zeros((1, 1), np.float32),
        no_sums(),
        no_state(),
    )


def no_active() -> Active:
    return Active(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


def no_contexts(W: int) -> LabelContextWeights:
    """Empty weights, for chains without templates that read earlier labels."""
    i32, i64, u64 = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return LabelContextWeights(
        i32, np.zeros(1, np.int64), i32, u64, i32, np.zeros(1, np.int64), i32, i64,
        np.zeros((0, W), np.float32), np.zeros((0, W)), np.zeros((0, W), np.float32),
    )  # fmt: skip


class LabelContextWeights(NamedTuple):
    """Rows for pairs of an attribute and a code of labels. T templates, A attributes."""

    template: I32  # [A]     of an attribute
    first: I64  # [T+1]
    back: I32  # []          the labels that template t reads, first[t]..first[t+1]: 1 is the one before
    keys: U64  # [size]      a table of rows, see core/hashing.py
    numbers: I32  # [size]
    used: I64  # [1]         allocated rows
    owner: I32  # [R]        the attribute of a row
    code: I64  # [R]         the labels of a row
    w: F32_2D  # [R, W]
    a: F64_2D  # [R, W]         as in FeatureWeights; of no rows when tagging
    state: F32_2D  # [R, W]     as in FeatureWeights; f32[0, 0] unless a learner keeps it
