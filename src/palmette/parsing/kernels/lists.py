"""Several parses of one sentence: those of the last beam, or with merging the forest of the search."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.types import F64, I32, I32_2D
from palmette.parsing.kernels.forms import SHIFT, WORD, Grammar, SearchOptions, States, Weights, Words, Workspace
from palmette.parsing.kernels.memo import forget
from palmette.parsing.kernels.root import root_relation
from palmette.parsing.kernels.search import score_actions, search_without_gold
from palmette.parsing.kernels.state import read_arcs, stands_for


@kernel
def list_parses(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, how: SearchOptions, heads: I32_2D,
    relations: I32_2D, scores: F64,
) -> int:  # fmt: skip
    """The trees of the last beam of sentence s, best first: heads and relations i32[width, n], scores f64[width].
    Returns their number. A tree with several derivations is listed once per derivation."""
    forget(workspace.memo)
    search_without_gold(workspace, g, w, words, s, how)
    z, b = workspace.z, workspace.b
    n = words.offset[s + 1] - words.offset[s]
    last = 2 * n - 1
    for k in range(b.size[last]):
        x = b.items[last, k]
        scores[k] = z.score[x]
        read_arcs(z, g, x, heads[k], relations[k], workspace.waiting)
        root = z.node[x, WORD]
        heads[k, root], relations[k, root] = -1, root_relation(workspace, g, w, x)
    return int(np.int64(b.size[last]))


@kernel
def forest(
    workspace: Workspace, g: Grammar, w: Weights, words: Words, s: int, how: SearchOptions
) -> tuple[I32_2D, F64, I32, I32, I32, float]:
    """The forest of a search with merging in sentence s: (edges i32[E, 4] as (state, action, under, over), scores
    f64[E], word of each state i32[], the last states i32[], the relations of
    their roots i32[], score of the first shift). A shifted word is an edge
    without under and over (-1)."""
    forget(workspace.memo)
    search_without_gold(workspace, g, w, words, s, how)
    z, b, out = workspace.z, workspace.b, workspace.out
    n = words.offset[s + 1] - words.offset[s]
    ways = _ways(z)
    edges, scores = np.zeros((_n_edges(g, ways), 4), np.int32), np.zeros(_n_edges(g, ways))
    e = 0
    for way in range(ways.shape[0]):
        if ways[way, 1] != SHIFT:
            score_actions(workspace, g, w, ways[way, 3])
        for action in range(g.move.size):
            if stands_for(g, ways[way, 1], action):
                for k in range(4):
                    edges[e, k] = ways[way, k]
                edges[e, 1] = action
                scores[e] = z.shift[ways[way, 2]] + out[action] if action != SHIFT else 0.0
                e += 1
    last = b.items[2 * n - 1, : b.size[2 * n - 1]].copy()
    roots = np.zeros(last.size, np.int32)
    for k in range(last.size):
        roots[k] = root_relation(workspace, g, w, last[k])
    return edges, scores, z.node[: z.counts[0], WORD].copy(), last, roots, z.shift[0]


@part
def _ways(z: States) -> np.ndarray:
    """The derivation steps of each state as edges i32[, 4]: the best ones first, then merged ones."""
    states, rivals = z.counts[0], z.counts[2]
    ways = np.zeros((states - 1 + rivals, 4), np.int32)
    for x in range(1, states):
        ways[x - 1, 0], ways[x - 1, 1] = x, z.action[x]
        ways[x - 1, 2], ways[x - 1, 3] = z.under[x] if z.action[x] != SHIFT else -1, z.over[x]
    for r in range(rivals):
        for k in range(4):
            ways[states - 1 + r, k] = z.rival[r, k]
    return ways


@part
def _n_edges(g: Grammar, ways: np.ndarray) -> int:
    found = 0
    for way in range(ways.shape[0]):
        for action in range(g.move.size):
            if stands_for(g, ways[way, 1], action):
                found += 1
    return found
