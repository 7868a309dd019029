"""The slow twin of kernels/chain/double.py: scores added one by one in Python's floats, which are float64, in the order
of CRFsuite; Viterbi as CRFsuite writes it; everything else by looking at all paths. Nothing of src is used."""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import dataclass, field

Attributes = list[tuple[int, float]]  # number and value, in order
Path = tuple[int, ...]


@dataclass
class Token:
    one: Attributes = field(default_factory=list)
    two: Attributes = field(default_factory=list)
    allowed: frozenset[int] | None = None  # None: every label


@dataclass
class Model:
    Y: int
    one: dict[tuple[int, int], float]  # (attribute, label)
    two: dict[tuple[int, int, int], float]  # (attribute, previous, current)
    pair: list[list[float]]
    bias: list[float]
    forbidden: frozenset[tuple[int, int]] = frozenset()
    single: bool = False


def added(model: Model, total: float, more: float) -> float:
    """A sum, rounded to float32 if the tool does."""
    total += more
    return struct.unpack("f", struct.pack("f", total))[0] if model.single else total


def state_score(model: Model, token: Token, y: int) -> float:
    if token.allowed is not None and y not in token.allowed:
        return -math.inf
    total = 0.0
    for a, value in token.one:
        if (a, y) in model.one:
            total = added(model, total, model.one[a, y] * value)
    return total + model.bias[y]


def edge_score(model: Model, token: Token, x: int, y: int) -> float:
    if (x, y) in model.forbidden:
        return -math.inf
    total = model.pair[x][y]
    for a, value in token.two:
        if (a, x, y) in model.two:
            total = added(model, total, model.two[a, x, y] * value)
    return total


def viterbi(model: Model, sentence: list[Token]) -> tuple[float, Path]:
    """The first best previous label by a strict comparison, then the state's score; the first best last label."""
    best = [state_score(model, sentence[0], y) for y in range(model.Y)]
    back: list[list[int]] = []
    for token in sentence[1:]:
        now, pointers = [], []
        for y in range(model.Y):
            top, came = -math.inf, 0
            for x in range(model.Y):
                score = best[x] + edge_score(model, token, x, y)
                if top < score:
                    top, came = score, x
            now.append(top + state_score(model, token, y))
            pointers.append(came)
        best = now
        back.append(pointers)
    y = max(range(model.Y), key=lambda k: (best[k], -k))
    path, total = [y], best[y]
    for pointers in reversed(back):
        path.append(pointers[path[-1]])
    return total, tuple(reversed(path))


def path_scores(model: Model, sentence: list[Token]) -> dict[Path, float]:
    """The score of every path."""
    found = {}
    for path in itertools.product(range(model.Y), repeat=len(sentence)):
        terms = [state_score(model, token, y) for token, y in zip(sentence, path, strict=True)]
        terms += [edge_score(model, sentence[i], path[i - 1], path[i]) for i in range(1, len(path))]
        found[path] = -math.inf if -math.inf in terms else math.fsum(terms)
    return found


def log_sum(scores: list[float]) -> float:
    top = max(scores)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(score - top) for score in scores))


def marginals(model: Model, sentence: list[Token]) -> list[list[float]]:
    scores = path_scores(model, sentence)
    total = log_sum(list(scores.values()))
    return [
        [math.fsum(math.exp(s - total) for path, s in scores.items() if path[i] == y) for y in range(model.Y)]
        for i in range(len(sentence))
    ]
