"""Costs of wrong label sequences, as tables for compiled loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.evaluation.spans import ChunkTables
from palmette.kernels.chain.candidates import Chunks, no_chunks
from palmette.options.learners import Learner


def chunks_for(learner: Learner, labels: Sequence[str], scheme: str | None = None) -> Chunks:
    """Tables for the cost of spans; empty if the learner counts wrong tokens. `scheme`: of bare labels."""
    if learner.values().get("cost") != "span":
        return no_chunks()
    tables = ChunkTables.of(labels, scheme)
    return Chunks(tables.starts, tables.ends, np.asarray(tables.type_of, np.int64))
