"""Tagging by beam search."""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.beam import BeamData, BeamWeights, BeamWorkspace, search, trace
from palmette.kernels.chain.score import restrict, score_states
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import F64_2D, I32_2D, I64


@kernel
def decode_beam(
    w: BeamWeights, d: BeamData, workspace: BeamWorkspace, out: I32_2D, scores: F64_2D, found: I64,
    restricted: bool,
) -> None:  # fmt: skip
    """Write the best label sequences of each sentence, at most K and at most the size of the last beam: labels to out
    i32[K, N], scores to scores f64[S, K], their number to found i64[S]."""
    m, x = w.chain, d.data
    T, r = workspace
    nothing = np.zeros(0, np.int32)
    for s in range(x.offset.size - 1):
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        score_states(T, m, x.features[0], lo, n)
        if restricted:
            restrict(T, m, x, lo, n)
        reached, _, _ = search(T, r, w, d, s, 0, nothing, False)
        found[s] = min(out.shape[0], r.size[n]) if reached == n else 0
        for k in range(found[s]):
            trace(r, n, k, out[k, lo : lo + n])
            scores[s, k] = r.score[n, k]
