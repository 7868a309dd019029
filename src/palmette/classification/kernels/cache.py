"""The store of fixed structures that the batch learners train on, each once."""

from __future__ import annotations

import numpy as np

from palmette.classification.kernels.forms import Store
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import I16_2D, I64


@part
def _is_entry(store: Store, entry: int, states: np.ndarray, lo: int, n: int) -> bool:
    at = store.start[entry]
    for r in range(states.shape[0]):
        for i in range(n):
            if store.states[at + r * n + i] != states[r, lo + i]:
                return False
    return True


@kernel
def add_new(store: Store, states: I16_2D, offset: I64, sentences: I64) -> int:
    """Add the structures states i16[R, N] of some sentences, except those that are already stored. Returns the
    number of new ones. The store must be large enough for all."""
    found = 0
    for k in range(sentences.size):
        s = sentences[k]
        lo = offset[s]
        n = offset[s + 1] - lo
        entry = store.head[s]
        while entry >= 0 and not _is_entry(store, entry, states, lo, n):
            entry = store.link[entry]
        if entry >= 0:
            continue
        new, at = store.size[0], store.size[1]
        store.link[new], store.owner[new], store.start[new] = store.head[s], s, at
        store.head[s] = new
        for r in range(states.shape[0]):
            for i in range(n):
                store.states[at + r * n + i] = states[r, lo + i]
        store.size[0], store.size[1] = new + 1, at + states.shape[0] * n
        found += 1
    return found
