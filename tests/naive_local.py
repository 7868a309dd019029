"""The slow twin of local normalisation, from the definition: the labels of a path are drawn one after the other, each
by a softmax over the scores that it would have after the path's own history."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from naive_chain import Feature, Model, Path, Sentence, summed, token_parts


def choices(model: Model, sentence: Sentence, i: int, path: Path) -> list[float]:
    """The probability of each state at token i after path[:i]; all 0 where none is allowed."""
    scores = [summed(model, token_parts(model, sentence, i, (*path[:i], h))) for h in range(model.n_states)]
    top = max(scores)
    if top == -math.inf:
        return [0.0] * model.n_states
    weights = [math.exp(score - top) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def probability(model: Model, sentence: Sentence, path: Path) -> float:
    return math.prod(choices(model, sentence, i, path)[h] for i, h in enumerate(path))


def all_probabilities(
    model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]] | None = None
) -> dict[Path, float]:
    """Of every path whose states are allowed (all, unless given)."""
    options = [sorted(states) for states in allowed or [range(model.n_states)] * len(sentence)]
    return {path: probability(model, sentence, path) for path in itertools.product(*options)}


def expected_less_gold(model: Model, sentence: Sentence, gold: Path) -> dict[Feature, float]:
    """The gradient of -log probability(gold)."""
    found: dict[Feature, float] = defaultdict(float)
    for i, label in enumerate(gold):
        for h, p in enumerate(choices(model, sentence, i, gold)):
            for feature, value in token_parts(model, sentence, i, (*gold[:i], h)):
                if model.is_feature(feature):
                    found[feature] += (p - (h == label)) * value
    return found
