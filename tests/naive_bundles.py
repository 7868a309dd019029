"""Labels as bundles of parts, from the definition: scores by dictionaries, search by sorting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Weights = dict[tuple[int, int], float]  # by attribute and part


def score(token: Sequence[int], parts: Sequence[int], w: Weights) -> float:
    return sum(w.get((a, p), 0.0) for p in parts for a in token)


def ranked(token: Sequence[int], group: Sequence[int], labels: Sequence[Sequence[int]], w: Weights) -> list[int]:
    """The labels of a group, best first; of equal ones the smaller number."""
    return sorted(group, key=lambda y: (-score(token, labels[y], w), y))


def learnt(
    tokens: Sequence[Sequence[int]],
    gold: Sequence[int],
    groups: Sequence[Sequence[int]],
    labels: Sequence[Sequence[int]],
    order: Sequence[int],
    cap: float,
) -> tuple[Weights, Weights, int, bool]:
    """The last weights, the mean of the weights before each token and at the end, the number of updates, and whether
    rounding may have decided between labels. Only attributes and parts that occur together have weights."""
    seen = {(a, p) for token, y in zip(tokens, gold, strict=True) for a in token for p in labels[y]}
    w: Weights = defaultdict(float)
    total: Weights = defaultdict(float)
    updates, rounded, doubtful = 0, False, False
    for i in order:
        for key, value in w.items():
            total[key] += value
        token, y = tokens[i], gold[i]
        if len(groups[i]) < 2:
            continue
        cost = {label: score(token, labels[label], w) + (label != y) for label in groups[i]}
        guess = min(groups[i], key=lambda label: (-cost[label], label))
        most = sorted(cost.values())
        doubtful |= rounded and most[-1] - most[-2] < 1e-4
        if guess == y:
            continue
        updates += 1
        up, down = set(labels[y]) - set(labels[guess]), set(labels[guess]) - set(labels[y])
        moved = [(a, p) for a in token for p in up | down if (a, p) in seen]
        step = min(cap, (cost[guess] - cost[y]) / max(1, len(moved)))
        rounded |= step != cap and len(moved) not in (0, 1, 2, 4, 8)
        for a, p in moved:
            w[a, p] += step if p in up else -step
    for key, value in w.items():
        total[key] += value
    return dict(w), {key: value / (len(order) + 1) for key, value in total.items()}, updates, doubtful
