"""Slow twins of n-best lists, from the definition: score everything and sort.

Ties: of equal scores the one with the smaller state (or label) at the last token at which they differ comes first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from naive_chain import Model, Path, Sentence, path_score


def best_paths(
    model: Model, sentence: Sentence, K: int, allowed: Sequence[Iterable[int]] | None = None
) -> list[tuple[float, Path]]:
    """The K best paths whose states are allowed (all, unless given)."""
    choices = [sorted(states) for states in allowed or [range(model.n_states)] * len(sentence)]
    scored = [(path_score(model, sentence, path), path) for path in itertools.product(*choices)]
    return in_order([(score, path) for score, path in scored if score > -math.inf])[:K]


def best_label_sequences(
    model: Model, label_of: Sequence[int], sentence: Sentence, K: int, allowed: Sequence[Iterable[int]] | None = None
) -> list[tuple[float, Path]]:
    """The K best label sequences; one scores as its best path does."""
    best: dict[Path, float] = {}
    everything = model.n_states ** len(sentence)
    for score, path in best_paths(model, sentence, everything, allowed):
        best.setdefault(tuple(label_of[h] for h in path), score)
    return in_order([(score, labels) for labels, score in best.items()])[:K]


def in_order(scored: list[tuple[float, Path]]) -> list[tuple[float, Path]]:
    return sorted(scored, key=lambda item: (-item[0], item[1][::-1]))
