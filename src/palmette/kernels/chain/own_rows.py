"""The dense rows of a token's attributes that one thread changes; see core/team.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Data, FeatureWeights
from palmette.kernels.core.compile import inline, part
from palmette.kernels.core.team import Share, is_own_row
from palmette.kernels.core.types import I64


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
