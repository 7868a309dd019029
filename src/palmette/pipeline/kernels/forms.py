"""The arrays of labels that are bundles of parts, as `Case=Gen|Number=Plur` is one of two.

A label scores as much as its parts do, a part as much as the attributes of the token weigh on it:

    score(i, y) = sum over parts p of label y of s[i, p],    s[i, p] = sum over attributes a of token i of w[a, p]

Letters: N tokens, A attributes, P parts, Y labels, G groups of labels that a token may have.
"""

from __future__ import annotations

from typing import NamedTuple

from palmette.kernels.core.types import F32, F64, I16, I32, I64, struct


@struct
class Bundles(NamedTuple):
    """Which parts a label has, and which labels a group."""

    first: I64  # [Y+1]   the parts of label y are part[first[y] : first[y + 1]], each once
    part: I32  # []
    begin: I64  # [G+1]   the labels of group g are member[begin[g] : begin[g + 1]], ascending, at least one
    member: I32  # []


@struct
class PartWeights(NamedTuple):
    """Weights that are learnt: attribute a has the places first[a] .. first[a + 1] - 1, one for each part that it was
    seen with."""

    first: I64  # [A+1]
    part: I32  # [places]  ascending within an attribute
    w: F32  # [places]
    a: F64  # [places]     sum of (time * change), for averaging


@struct
class SmallWeights(NamedTuple):
    """Weights to tag with: whole numbers, whose unit does not matter."""

    first: I64  # [A+1]
    part: I16  # [places]
    w: I16  # [places]
