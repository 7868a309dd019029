"""Trees from their definitions: lists of heads counted from 1, 0 for the root. Slow twins of the tree kernels."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st


def above(heads: list[int], word: int) -> list[int]:
    """The words above a word, from its head up to 0."""
    found = []
    while word:
        word = heads[word - 1]
        found.append(word)
    return found


def is_tree(heads: list[int]) -> bool:
    """One root, and every word below it."""
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def crosses(heads: list[int], word: int) -> bool:
    """An arc is projective when all words under it descend from its head."""
    head = heads[word - 1]
    under = range(min(head, word) + 1, max(head, word))
    return any(head not in above(heads, k) for k in under)


def every_tree(n: int) -> list[list[int]]:
    return [list(heads) for heads in itertools.product(range(n + 1), repeat=n) if is_tree(list(heads))]


def lifted(heads: list[int]) -> list[int]:
    """The shortest crossing arc goes to its head's head, until none crosses."""
    heads = list(heads)
    while crossing := [d for d in range(1, len(heads) + 1) if crosses(heads, d)]:
        word = min(crossing, key=lambda d: (abs(heads[d - 1] - d), d))
        heads[word - 1] = heads[heads[word - 1] - 1]
    return heads


def lowered(heads: list[int], own: list[str], wanted: list[str | None]) -> list[int]:
    """Each word that wants a head with some relation searches for it below its head, from the root down; those that
    find none try again when others have moved."""
    heads = list(heads)
    depth = {word: len(above(heads, word)) for word in range(1, len(heads) + 1)}
    waiting = sorted((word for word in depth if wanted[word - 1]), key=lambda word: (depth[word], word))
    while True:
        left = []
        for word in waiting:
            level, found = [heads[word - 1]], None
            while level and found is None:
                level = [k for up in level for k in range(1, len(heads) + 1) if heads[k - 1] == up and k != word]
                found = next((k for k in level if own[k - 1] == wanted[word - 1]), None)
            if found is None:
                left.append(word)
            else:
                heads[word - 1] = found
        if left == waiting:
            return heads
        waiting = left


@st.composite
def trees(draw: st.DrawFn, most: int = 8, least: int = 1) -> list[int]:
    """A tree of any shape: words are put in some order, and each hangs on one before it."""
    n = draw(st.integers(least, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for k in range(1, n):
        heads[order[k] - 1] = order[draw(st.integers(0, k - 1))]
    return heads
