"""Templates compiled to arrays, the cells that they read, and the workspaces of `encode.py`."""

from __future__ import annotations

from typing import NamedTuple

from palmette.kernels.core.types import I32, I32_2D, I64, U64, U64_2D, struct

HERE, FIRST, LAST = 0, 1, 2  # the token that a macro's row is relative to
UNKNOWN = -2  # an attribute that has not been looked up


@struct
class Program(NamedTuple):
    """T templates of one order, M macros, R the largest distance past an edge."""

    macro: I32  # [T+1]   macros of template t: macro[t]..macro[t+1]
    row: I32  # [M]       which token
    anchor: I32  # [M]    HERE, FIRST or LAST
    sight: I32  # [M]     which view of a column (a row of Cells.column)
    before_hash: U64  # [M] the literal before the macro
    before_power: U64  # [M]
    tail_hash: U64  # [T] the literal after the last macro
    tail_power: U64  # [T]
    edge_hash: U64_2D  # [V, 2R+1] cells outside the sentence, index R + distance
    edge_power: U64_2D  # [V, 2R+1]
    skip: int  # tokens of a sentence that get no attribute: 0 for labels, 1 for pairs, 2 for triples


@struct
class Cells(NamedTuple):
    """V views (a column through an atom) of C columns of N tokens."""

    ids: I32_2D  # [C, N]
    column: I32  # [V]    the column of a view
    start: I64  # [V+1]   start of a view's types in hash and power
    hash: U64  # [sum of types]
    power: U64  # [sum of types]  0 where the atom is absent


class Memo(NamedTuple):
    """Memoised attributes of templates. The attribute of a template is a function of its cells; a template with few
    combinations of cells (a single cell, two or three parts of speech) has a place for each of them. Each distance
    outside the sentence counts as one more type."""

    start: I64  # [T]     the first place of a template, -1: it has too many combinations
    factor: I64  # [M]    of a macro's cell in the number of the place
    attribute: I32  # [places]  UNKNOWN, ABSENT or a number


class Chunk(NamedTuple):
    """Workspace for the tokens of some sentences."""

    out: I32_2D  # [tokens, T]  attributes, ABSENT where a template does not fire
    token: I64  # [tokens]   of one template: the tokens whose attribute is not in the memo,
    sentence: I64  # [tokens]  their sentences,
    key: U64  # [tokens]     their keys
    place: I64  # [tokens]   and their places in the memo, -1: none


class Range(NamedTuple):
    """Sentences first..last - 1 of a corpus."""

    offset: I64  # [S+1]
    first: int
    last: int
