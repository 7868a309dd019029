"""Labels by beam search: the best ones, or all that the last beam holds."""

from __future__ import annotations

import numpy as np

from palmette.errors import DataError
from palmette.kernels.chain.beam import BeamData, BeamWeights, decode_beam, make_beam_workspace
from palmette.kernels.chain.forms import Active, Data
from palmette.structures.chain.search import BeamSearch


def beam_labels(
    weights: BeamWeights, data: Data, seen: Active, beam: BeamSearch, restricted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The label of each token i32[N] and the score of each sentence f64[S]; -inf where the beam found a dead end."""
    states, scores = beam_states(weights, data, seen, beam, restricted)
    return states if weights.chain.plain else weights.chain.label_of[states], scores


def beam_states(
    weights: BeamWeights, data: Data, seen: Active, beam: BeamSearch, restricted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The state of each token i32[N] and the score of each sentence f64[S]; -inf where the beam found a dead end."""
    out, scores, _ = beam_lists(weights, data, seen, beam, 1, restricted)
    return out[0], scores[:, 0]


MOST_BYTES = 8 << 30  # of the prefixes of one sentence


def _check_memory(offset: np.ndarray, beam: int) -> None:
    """DataError if the prefixes of the longest sentence would not fit into memory."""
    longest = int(np.diff(offset).max(initial=0))
    needed = 16 * longest * beam
    if needed > MOST_BYTES:
        s = int(np.argmax(np.diff(offset)))
        raise DataError(
            f"sentence {s + 1} has {longest:,} tokens: a beam of {beam} would take {needed / 2**30:.0f} GB",
            hint="split the sentence, or use a narrower beam",
        )


def beam_lists(
    weights: BeamWeights, data: Data, seen: Active, beam: BeamSearch, n: int, restricted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The n best sequences of states i32[n, N] of each sentence, their scores f64[S, n], and how many there are
    i64[S]."""
    S = data.offset.size - 1
    _check_memory(data.offset, beam.width)
    out, scores, found = np.zeros((n, data.known.size), np.int32), np.full((S, n), -np.inf), np.zeros(S, np.int64)
    both = BeamData(data, seen)
    workspace = make_beam_workspace(weights, both, beam.width, beam.recombine)
    decode_beam(weights, both, workspace, out, scores, found, restricted)
    return out, scores, found
