"""Labels by beam search: the best ones, or all that the last beam holds."""

from __future__ import annotations

import numpy as np

from palmette.chain.past import Weights
from palmette.kernels.beam_train import decode_beam
from palmette.kernels.forms import Active, Data


def beam_labels(
    weights: Weights, data: Data, seen: Active, beam: int, restricted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The label of each token i32[N] and the score of each sentence f64[S]; -inf where the beam found a dead end."""
    out, scores, _ = beam_lists(weights, data, seen, beam, 1, restricted)
    return out[0], scores[:, 0]


def beam_lists(
    weights: Weights, data: Data, seen: Active, beam: int, n: int, restricted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The n best label sequences i32[n, N] of each sentence, their scores f64[S, n], and how many there are i64[S]."""
    S = data.offset.size - 1
    out, scores, found = np.zeros((n, data.known.size), np.int32), np.full((S, n), -np.inf), np.zeros(S, np.int64)
    decode_beam(weights.chain, weights.past, data, seen, beam, out, scores, found, restricted)
    return out, scores, found
