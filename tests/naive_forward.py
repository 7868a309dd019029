"""Slow twins of sums over paths, from the definitions: every path is listed, with the exponential of its score as its
weight. For long sentences and scores of any size there is a recursion on logarithms over plain arrays."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from naive_chain import Model, Path, Sentence, path_score


class Listed(NamedTuple):
    """All paths that are allowed, with their probabilities; none when there is no such path."""

    log_z: float
    probability: dict[Path, float]

    def of_part(self, i: int, size: int) -> dict[Path, float]:
        """How probable each combination of states of the `size` tokens that end at token i is."""
        found: dict[Path, float] = defaultdict(float)
        for path, p in self.probability.items():
            found[path[i + 1 - size : i + 1]] += p
        return found

    def of_labels(self, label_of: Sequence[int]) -> dict[Path, float]:
        """How probable each label sequence is."""
        found: dict[Path, float] = defaultdict(float)
        for path, p in self.probability.items():
            found[tuple(label_of[h] for h in path)] += p
        return found


def all_paths(model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]] | None = None) -> Listed:
    """List every path whose states are allowed (all, unless given)."""
    choices = [sorted(states) for states in allowed or [range(model.n_states)] * len(sentence)]
    return listed({path: path_score(model, sentence, path) for path in itertools.product(*choices)})


def listed(scores: dict[Path, float]) -> Listed:
    """Probabilities from the scores of all paths."""
    possible = {path: score for path, score in scores.items() if score > -math.inf}
    if not possible:
        return Listed(-math.inf, {})
    top = max(possible.values())
    total = math.fsum(math.exp(score - top) for score in possible.values())
    return Listed(top + math.log(total), {path: math.exp(s - top) / total for path, s in possible.items()})


class Scores(NamedTuple):
    """The scores of a sentence, with tables of their own for each token: E from token 1 on, S from token 2 on."""

    order: int
    U: np.ndarray  # f64[n, H]
    E: np.ndarray  # f64[n, H, H]
    S: np.ndarray  # f64[n, H, H, H]

    def of(self, path: Path) -> float:
        total = sum(float(self.U[i, h]) for i, h in enumerate(path))
        if self.order >= 1:
            total += sum(float(self.E[i][path[i - 1 : i + 1]]) for i in range(1, len(path)))
        if self.order >= 2:
            total += sum(float(self.S[i][path[i - 2 : i + 1]]) for i in range(2, len(path)))
        return total

    def all_paths(self) -> Listed:
        n, H = self.U.shape
        return listed({path: self.of(path) for path in itertools.product(range(H), repeat=n)})


class Logs(NamedTuple):
    """log Z and the logarithms of the marginals of states, by recursion."""

    log_z: float
    states: np.ndarray  # f64[n, H]


def by_logarithms(x: Scores) -> Logs:
    """Forward and backward over pairs of states (whatever the order), one logaddexp after the other."""
    n, H = x.U.shape
    E = x.E if x.order >= 1 else np.zeros_like(x.E)
    S = x.S if x.order >= 2 else np.zeros_like(x.S)
    if n == 1:
        return Logs(float(_log_sum(x.U[0], 0)), x.U - _log_sum(x.U[0], 0))
    A = {1: x.U[0][:, None] + E[1] + x.U[1]}
    for i in range(2, n):
        A[i] = x.U[i] + E[i] + _log_sum(A[i - 1][:, :, None] + S[i], 0)
    B = {n - 1: np.zeros((H, H))}
    for i in range(n - 1, 1, -1):
        B[i - 1] = _log_sum(S[i] + (E[i] + x.U[i] + B[i]), 2)
    log_z = float(_log_sum(A[n - 1].ravel(), 0))
    states = [_log_sum(A[1] + B[1], 1)] + [_log_sum(A[i] + B[i], 0) for i in range(1, n)]
    return Logs(log_z, np.array(states) - log_z)


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    return np.logaddexp.reduce(values, axis=axis)
