"""Crossing arcs: find them, lift them until none is left, and restore lifted ones.

heads i32[N], counted from 1 within the sentence, 0 for the root; sentences in offset i64[S+1]. All input is trees. An
arc h -> d is projective when every word between the two descends from h.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import I32, I64, Bool


@part
def _descends(heads: np.ndarray, first: int, word: int, above: int) -> bool:
    """Whether `word` is `above` or a descendant of it; words are counted from 1, 0 is the ancestor of all."""
    while word != above and word != 0:
        word = heads[first + word - 1]
    return word == above


@part
def _crosses(heads: np.ndarray, first: int, word: int) -> bool:
    """Whether the arc to `word` has a word under it that does not descend from its head."""
    head = heads[first + word - 1]
    for k in range(min(head, word) + 1, max(head, word)):  # noqa: SIM110 (no generators in kernels)
        if not _descends(heads, first, k, head):
            return True
    return False


@kernel
def crossing_arcs(heads: I32, offset: I64) -> Bool:
    """bool[N]: words whose arc is not projective."""
    found = np.zeros(heads.size, np.bool_)
    for s in range(offset.size - 1):
        first = offset[s]
        for word in range(1, offset[s + 1] - first + 1):
            found[first + word - 1] = _crosses(heads, first, word)
    return found


@kernel
def lift_arcs(heads: I32, offset: I64) -> I32:
    """New heads i32[N] that make projective trees: as long as an arc crosses, the shortest one (then the leftmost) is
    moved to its head's head (Nivre & Nilsson 2005)."""
    made = heads.copy()
    for s in range(offset.size - 1):
        first, n = offset[s], offset[s + 1] - offset[s]
        while True:
            shortest, chosen = n + 1, 0
            for word in range(1, n + 1):
                far = abs(made[first + word - 1] - word)
                if far < shortest and _crosses(made, first, word):
                    shortest, chosen = far, word
            if chosen == 0:
                break
            made[first + chosen - 1] = made[first + made[first + chosen - 1] - 1]
    return made


@part
def _search(
    heads: np.ndarray, relations: np.ndarray, base: np.ndarray, first: int, n: int, word: int, wanted: int,
    queue: np.ndarray,
) -> int:  # fmt: skip
    """The first word with the relation `wanted` below the head of `word`, level by level, each from left to right;
    0 if there is none. Words below `word` itself cannot be its head."""
    queue[0] = heads[first + word - 1]
    size, at = 1, 0
    while at < size:
        above = queue[at]
        at += 1
        for k in range(1, n + 1):
            if heads[first + k - 1] != above or k == word:
                continue
            if base[relations[first + k - 1]] == wanted:
                return k
            queue[size] = k
            size += 1
    return 0


@part
def _by_depth(heads: np.ndarray, first: int, n: int, depth: np.ndarray, order: np.ndarray) -> None:
    """The words from the root down, each level from left to right."""
    deepest = 0
    for word in range(1, n + 1):
        at, steps = word, 0
        while at != 0:
            at = heads[first + at - 1]
            steps += 1
        depth[word - 1] = steps
        deepest = max(deepest, steps)
    size = 0
    for level in range(1, deepest + 1):
        for word in range(1, n + 1):
            if depth[word - 1] == level:
                order[size] = word
                size += 1


@kernel
def lower_arcs(heads: I32, relations: I32, offset: I64, base: I32, wanted: I32) -> I32:
    """New heads i32[N]: each word whose relation has a `wanted` one (i32[types], -1 for none) is attached to the word
    below its head that has it, from the root down; `base` i32[types] are the relations without marks. If there is no
    such word, it keeps its head."""
    made = heads.copy()
    for s in range(offset.size - 1):
        first, n = offset[s], offset[s + 1] - offset[s]
        marked = False
        for i in range(first, first + n):
            marked = marked or wanted[relations[i]] >= 0
        if not marked:
            continue
        depth, order, queue = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n + 1, np.int32)
        _by_depth(made, first, n, depth, order)
        moved = True
        while moved:  # a move can put the head of another word within reach
            moved = False
            for k in range(n):
                aim = wanted[relations[first + order[k] - 1]] if order[k] > 0 else -1
                found = _search(made, relations, base, first, n, order[k], aim, queue) if aim >= 0 else 0
                if found > 0:
                    made[first + order[k] - 1] = found
                    order[k] = 0
                    moved = True
    return made
