"""Where the weights of attributes are: places in a dense row, places in a list, and the rows that one thread changes.

A row has H ** (arity - 1) * W numbers. The place of the states f, g, h in it is (f * H + g) * W + h, without f or g for
pairs and single states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Ngrams, StateLayout
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.team import Share, is_own_row
from palmette.kernels.core.types import I64


@inline
def layout_of(m: Chain) -> StateLayout:
    return StateLayout(m.label_of.size, m.bias.size, m.states_per_label, m.sizes, m.tied_update)


@inline
def ngrams_of(m: Chain, x: Data, arity: int) -> Ngrams:
    k = arity - 1
    return Ngrams(arity, m.learns[k], m.transitions[k], m.weights[k], x.features[k])


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


# --- lists of label combinations -------------------------------------------------------------------------------
# An attribute owns the places first[a] .. first[a] + slot[a] - 1, its combinations ascending. Fixed lists hold the
# combinations that exist; others have no weight. Lists that grow hold those that were changed so far; all others
# weigh zero: of thousands of labels an attribute meets a few. They have room for 2, 4, 8 ... combinations. A full
# list is moved to a place of twice the size behind all others; what it leaves is zero, and is reclaimed when Python
# makes room.


@inline
def is_growing(r: FeatureWeights) -> bool:
    """Whether combinations get a place at their first change."""
    return r.first.size > 0 and r.first.size == r.slot.size


@inline
def lower_place(first: np.ndarray, size: np.ndarray, combos: np.ndarray, attribute: int, combo: int) -> int:
    """The first place of the attribute's list with this combination or a larger one; its end if there is none."""
    low = first[attribute]
    high = low + size[attribute]
    while low < high:
        middle = (low + high) // 2
        if combos[middle] < combo:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def find_combination(first: np.ndarray, size: np.ndarray, combos: np.ndarray, attribute: int, combo: int) -> int:
    """The place of a combination in the list of an attribute; -1 if it is not there."""
    at = lower_place(first, size, combos, attribute, combo)
    return at if at < first[attribute] + size[attribute] and combos[at] == combo else -1


@part
def _move_list(r: FeatureWeights, attribute: int) -> None:
    """Move a full list behind all others, where it has twice the room."""
    first, n, to = r.first[attribute], np.int64(r.slot[attribute]), r.used[0]
    r.first[attribute] = to
    r.used[0] = to + max(2, 2 * n)
    for k in range(n):
        r.combo[to + k] = r.combo[first + k]
        for cell in range(r.w.shape[1]):
            r.w[to + k, cell], r.w[first + k, cell] = r.w[first + k, cell], np.float32(0.0)
            r.a[to + k, cell], r.a[first + k, cell] = r.a[first + k, cell], 0.0
            if r.state.shape[0] > 0:
                r.state[to + k, cell], r.state[first + k, cell] = r.state[first + k, cell], np.float32(0.0)


@part
def _insert(r: FeatureWeights, attribute: int, at: int, combo: int) -> int:
    """Insert a combination with weights of zero before the place `at` of its list. Returns its place."""
    n = np.int64(r.slot[attribute])
    if n == 0 or (n > 1 and n & (n - 1) == 0):
        offset = at - r.first[attribute]
        _move_list(r, attribute)
        at = r.first[attribute] + offset
    for p in range(r.first[attribute] + n, at, -1):
        r.combo[p] = r.combo[p - 1]
        for cell in range(r.w.shape[1]):
            r.w[p, cell], r.a[p, cell] = r.w[p - 1, cell], r.a[p - 1, cell]
            if r.state.shape[0] > 0:
                r.state[p, cell] = r.state[p - 1, cell]
    r.combo[at] = combo
    for cell in range(r.w.shape[1]):
        r.w[at, cell], r.a[at, cell] = np.float32(0.0), 0.0
        if r.state.shape[0] > 0:
            r.state[at, cell] = np.float32(0.0)
    r.slot[attribute] = n + 1
    return at


@part
def place_to_change(r: FeatureWeights, attribute: int, combo: int) -> int:
    """The place of a combination in the list of an attribute; -1 if it has no weight. A list that grows gets it."""
    at = lower_place(r.first, r.slot, r.combo, attribute, combo)
    if at < r.first[attribute] + r.slot[attribute] and r.combo[at] == combo:
        return at
    return _insert(r, attribute, at, combo) if is_growing(r) else -1


@part
def places_needed(r: FeatureWeights, x: Active, lo: int, n: int, paths: int) -> int:
    """The places that lists that grow may need for an update by so many paths of the tokens lo .. lo + n - 1. A list of
    k combinations that gets m more takes less than 4 * (k + m) places, however often it is moved."""
    ptr, att, size = x.ptr, x.att, r.slot
    needed = 0
    for k in range(ptr[lo], ptr[lo + n]):
        needed += 4 * (size[att[k]] + paths)
    return needed


# --- rows that one thread changes ------------------------------------------------------------------------------
# The dense rows of a token's attributes that one thread changes; see core/team.py.


class OwnRows(NamedTuple):
    """A list of rows; scratch space of one thread."""

    rows: I64  # [attributes of a token]
    places: I64  # [attributes of a token]  where their attributes stand


def make_own_rows(x: Data) -> OwnRows:
    """For any token of the corpus."""
    most = max(int(np.diff(features.ptr).max(initial=0)) for features in x.features)
    return OwnRows(np.empty(most + 1, np.int64), np.empty(most + 1, np.int64))


@part
def give_rows(r: FeatureWeights, x: Active, begin: int, end: int) -> None:
    """Give rows to those of the attributes begin..end that have none."""
    slot, used, att = r.slot, r.used, x.att
    for k in range(begin, end):
        if slot[att[k]] == 0:
            slot[att[k]] = used[0]
            used[0] += 1


@inline
def list_own_rows(r: FeatureWeights, x: Active, i: int, share: Share, own: OwnRows) -> int:
    """List the rows of token i that this share has, without branches that cannot be foreseen. Returns their number.
    Attributes get their rows before that, if this is the only thread that works."""
    slot, att, rows, places, n = r.slot, x.att, own.rows, own.places, 0
    begin, end = x.ptr[i], x.ptr[i + 1]
    if share.size == 1 or share.number < 0:
        give_rows(r, x, begin, end)
    if share.number >= 0:
        for k in range(begin, end):
            row = np.int64(slot[att[k]])
            rows[n], places[n] = row, k
            n += is_own_row(row, share)
    return n
