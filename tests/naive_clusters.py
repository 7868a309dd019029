"""Clusters of words from the definitions: pairs of neighbours in dictionaries, the objective from scratch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

END, RARE = "<end>", "<rare>"
Of = Mapping[str, int]  # the class of each word; END and RARE have classes of their own


def streamed(lines: Iterable[Sequence[str]], known: Iterable[str]) -> list[str]:
    """All words one after the other, with an END before and after each line that is not empty."""
    known = set(known)
    words = [END]
    for line in lines:
        if line:
            words += [word if word in known else RARE for word in line] + [END]
    return words


def objective(words: Sequence[str], of: Of) -> float:
    """F: sum of N(g, h) log N(g, h), minus twice the sum of N(g) log N(g) over the words that have a neighbour."""
    pairs = Counter((of[a], of[b]) for a, b in pairwise(words))
    before = Counter(of[a] for a in words[:-1])
    return sum(map(_x_log_x, pairs.values())) - 2 * sum(map(_x_log_x, before.values()))


def _x_log_x(n: int) -> float:
    return n * math.log(n) if n else 0.0


def objectives(words: Sequence[str], of: Of, word: str, classes: Iterable[int]) -> dict[int, float]:
    """F with the word in each of some classes."""
    return {c: objective(words, {**of, word: c}) for c in classes}


def merge_loss(words: Sequence[str], of: Of, a: int, b: int) -> float:
    """What F loses if class b becomes class a."""
    return objective(words, of) - objective(words, {word: a if c == b else c for word, c in of.items()})
