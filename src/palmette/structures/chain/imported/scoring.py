"""Sums, posteriors and lists of imported models: the kernels of kernels/chain/double.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from palmette.kernels.chain.double import (
    DoubleWeights,
    decode_double,
    decode_marginal_double,
    decode_nbest_double,
    log_partitions_double,
    make_double_lists,
    make_double_posteriors,
    make_double_sums,
    make_double_trellis,
    posteriors_double,
)
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.chain.kbest import BestSequences
from palmette.kernels.core.compile import prepared
from palmette.structures.chain.scoring import Lists, Scoring

if TYPE_CHECKING:
    from palmette.kernels.chain.posteriors import Marks, Places, Posteriors


def at_temperature(weights: DoubleWeights, temperature: float) -> DoubleWeights:
    """The weights with every score divided by the temperature; themselves at 1."""
    if temperature == 1.0:
        return weights
    return weights._replace(
        w=weights.w / temperature, pair_w=weights.pair_w / temperature, transitions=weights.transitions / temperature,
        single=False,
    )  # fmt: skip


class DoubleLists(Lists):
    """As Lists, in float64."""

    def __init__(self, chain: Chain, weights: DoubleWeights, data: Data, n: int) -> None:
        self.chain, self.weights, self.data = chain, weights, data
        self.workspace = make_double_lists(chain, data, n)

    def fill(
        self, first: int, last: int, out: np.ndarray, scores: np.ndarray, probability: np.ndarray, restricted: bool
    ) -> np.ndarray:
        best = BestSequences(out, scores, probability, np.zeros(last - first, np.int64))
        decode_nbest_double(self.chain, self.weights, self.data, self.workspace, first, last, best, restricted)
        return best.found


class DoubleScoring(Scoring):
    """As Scoring, in float64; the chain has the bias and the restrictions."""

    def __init__(self, chain: Chain, weights: DoubleWeights) -> None:
        super().__init__(chain)
        self.weights = weights

    def log_partitions(self, data: Data, restricted: bool) -> np.ndarray:
        log_z = np.zeros(data.offset.size - 1)
        workspace = make_double_sums(self.chain, data)
        log_partitions_double(self.chain, self.weights, data, workspace, log_z, restricted)
        return log_z

    def most_probable(self, data: Data, restricted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        labels, confidence = np.zeros(data.known.size, np.int32), np.zeros(data.known.size)
        log_z, workspace = np.zeros(data.offset.size - 1), make_double_sums(self.chain, data, both=True)
        decode_marginal_double(self.chain, self.weights, data, workspace, labels, confidence, log_z, restricted)
        return labels, confidence, log_z

    def posteriors(
        self, data: Data, labels: np.ndarray, places: Places, marks: Marks, out: Posteriors, restricted: bool
    ) -> None:
        workspace = make_double_posteriors(self.chain, data)
        posteriors_double(self.chain, self.weights, data, workspace, labels, places, marks, out, restricted)

    def prepared_posteriors(
        self, data: Data, labels: np.ndarray, places: Places, marks: Marks, out: Posteriors
    ) -> Callable[[], None]:
        workspace = make_double_posteriors(self.chain, data)
        return prepared(
            posteriors_double, self.chain, self.weights, data, workspace, labels, places, marks, out, False
        )  # fmt: skip

    def prepared_partitions(self, data: Data, log_z: np.ndarray) -> Callable[[], None]:
        workspace = make_double_sums(self.chain, data)
        return prepared(log_partitions_double, self.chain, self.weights, data, workspace, log_z, True)

    def lists(self, data: Data, n: int) -> Lists:
        return DoubleLists(self.chain, self.weights, data, n)

    def most_probable_sequence(
        self, data: Data, cap: int, restricted: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """That of the best path: states are labels."""
        labels, scores = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
        trellis = make_double_trellis(self.chain, data)
        decode_double(self.chain, self.weights, data, trellis, labels, scores, restricted)
        with np.errstate(invalid="ignore"):
            posterior = np.exp(np.minimum(scores - self.log_partitions(data, restricted), 0.0))
        return labels, np.where(np.isneginf(scores), 0.0, posterior), np.ones(scores.size, np.bool_)
