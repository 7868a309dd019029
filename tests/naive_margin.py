"""Slow twins of margins and bounds, from the definitions: every path is looked at, a stretched separator is a
dictionary with every copy of every feature, and a minimum is searched on a fine grid. Nothing of src is used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from naive_chain import Feature, Model, Path, Sentence, differences, dot, feature_vector, norm, path_score

OBSERVED = ("one", "two", "three")


def right_and_wrong(model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]]) -> tuple[float, float, float]:
    """The scores of the best and of the worst path whose states are all allowed, and of the best one with some other
    state. A path of score -inf is forbidden: it is no path."""
    right, wrong = [], []
    for path in itertools.product(range(model.n_states), repeat=len(sentence)):
        score = path_score(model, sentence, path)
        if score > -math.inf:
            agrees = all(h in states for h, states in zip(path, allowed, strict=True))
            (right if agrees else wrong).append(score)
    return max(right, default=-math.inf), min(right, default=math.inf), max(wrong, default=-math.inf)


def longest(model: Model, sentences: Iterable[Sentence]) -> float:
    """M: the length of the longest feature vector of any path."""
    paths = (
        (sentence, path)
        for sentence in sentences
        for path in itertools.product(range(model.n_states), repeat=len(sentence))
    )
    return max(norm(feature_vector(model, sentence, path)) for sentence, path in paths)


def widest(model: Model, sentences: Iterable[Sentence], golds: Iterable[Path]) -> float:
    """R: the longest difference between gold and another path."""
    pairs = zip(sentences, golds, strict=True)
    return max(norm(bag) for sentence, gold in pairs for bag in differences(model, sentence, gold))


def plain_margin(model: Model, sentence: Sentence, gold: Path) -> float:
    """How far the weights prefer gold to every other path."""
    return min(dot(model.weights, bag) for bag in differences(model, sentence, gold))


# --- the stretched separator --------------------------------------------------------------------------------


def labels_of(feature: Feature) -> tuple[int, ...]:
    return tuple(feature[2:] if feature[0] in OBSERVED else feature[1:])


def copies(feature: Feature, counts: Sequence[int], states_per_label: int) -> list[Feature]:
    """A feature on labels for all their states, which lie in blocks of `per`."""
    labels = labels_of(feature)
    head = feature[: len(feature) - len(labels)]
    blocks = [range(y * states_per_label, y * states_per_label + counts[y]) for y in labels]
    return [(*head, *states) for states in itertools.product(*blocks)]


def stretched(weights: dict[Feature, float], counts: Sequence[int], states_per_label: int) -> dict[Feature, float]:
    """The weight of each feature on every latent copy of it."""
    return {copy: weight for feature, weight in weights.items() for copy in copies(feature, counts, states_per_label)}


def stretched_length(unit: dict[Feature, float], counts: Sequence[int]) -> float:
    """T: the square root of the sum of m_k a_k^2, m_k being the product of the state counts of feature k's labels."""
    return math.sqrt(sum(math.prod(counts[y] for y in labels_of(f)) * a * a for f, a in unit.items()))


# --- the bound of the first pass ----------------------------------------------------------------------------


def first_pass_bound(distances: Sequence[float], longest_vector: float) -> float:
    """The minimum over d > 0 of (sqrt(2) M + D)^2 / d^2, where D^2 sums the squares of what each lacks to d."""
    sizes = [abs(x) for x in distances if x] + [longest_vector]

    def at(d: float) -> float:
        lack = math.sqrt(sum(max(0.0, d - x) ** 2 for x in distances))
        return (math.sqrt(2) * longest_vector + lack) ** 2 / d**2

    low, high = math.log10(min(sizes)) - 1, math.log10(max(sizes)) + 4
    return min(at(10 ** (low + (high - low) * k / 1000)) for k in range(1001))
