"""Cut-off of features: how often each one occurs in the states of gold derivations, and which ones may have weights."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import I64, U64
from palmette.parsing.kernels.forms import Grammar, Weights, Words, Workspace
from palmette.parsing.kernels.gold import make_gold, oracle
from palmette.parsing.kernels.search import begin_search
from palmette.parsing.kernels.state import feature_keys
from palmette.parsing.kernels.update import CAPACITY, NOTHING, PLACES
from palmette.parsing.kernels.weights import add_key, find_key, is_full


@kernel
def count_gold(
    workspace: Workspace, g: Grammar, words: Words, first: int, last: int, table: U64, used: I64
) -> int:  # fmt: skip
    """Add the features of the gold states of sentences first..last to the counts of a table of pairs (feature, count),
    a state before each action and before the choice of the root's relation; used i64[1]: features in the table. Returns
    the next sentence: `last`, or one for whose features the table is too small. Trees that no actions make are left
    out."""
    keys, z = workspace.keys, workspace.z
    for s in range(first, last):
        steps = 2 * (words.offset[s + 1] - words.offset[s]) - 1
        if is_full(table, used[0] + (steps + g.chooses_root) * keys.size):
            return s
        if not oracle(workspace, g, words, s):
            continue
        begin_search(workspace, g, words, s, steps + 1)
        make_gold(workspace, g, words, s)
        for i in range(steps + g.chooses_root):
            feature_keys(g, z.atoms[i], keys)
            for t in range(keys.size):
                k = find_key(table, keys[t])
                if table[k] == np.uint64(0):
                    table[k] = keys[t]
                    used[0] += 1
                table[k + 1] += np.uint64(1)
    return last


@kernel
def allow_features(w: Weights, keys: U64, first: int) -> tuple[int, int]:
    """Put the features from `first` on into the table of weights, with empty lists. Returns (the next feature, what is
    too small for it; see update.py)."""
    for k in range(first, keys.size):
        place = find_key(w.table, keys[k])
        if w.table[place] == np.uint64(0) and not add_key(w, place, keys[k]):
            return k, PLACES if is_full(w.table, w.used[0] + 1) else CAPACITY
    return keys.size, NOTHING
