"""The structures of negative sentences that a batch learner has met in a pass, each once.

Entries of one sentence are a linked list, newest first; their states lie one after the other in one flat array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import kernel, part


class Store(NamedTuple):
    """K entries."""

    head: np.ndarray  # i64[S]   the newest entry of a sentence, -1: none
    link: np.ndarray  # i64[K]   the one before it
    owner: np.ndarray  # i64[K]  its sentence
    start: np.ndarray  # i64[K]  where its states begin
    states: np.ndarray  # i16[]  of all views, one view after the other
    size: np.ndarray  # i64[2]   entries, and states in use


@part
def _is_entry(store: Store, entry: int, states: np.ndarray, lo: int, n: int) -> bool:
    at = store.start[entry]
    for r in range(states.shape[0]):
        for i in range(n):
            if store.states[at + r * n + i] != states[r, lo + i]:
                return False
    return True


@kernel
def add_new(store: Store, states: np.ndarray, offset: np.ndarray, sentences: np.ndarray) -> int:
    """Add the structures states i16[R, N] of some sentences, but for those that are there; how many were new. There
    must be room for all."""
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
