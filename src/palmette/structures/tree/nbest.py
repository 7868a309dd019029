"""The n best trees of a sentence, each once: from the last beam, or with merging by lazy k-best over the forest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from palmette.kernels.learning.violation import STANDARD
from palmette.kernels.tree.forms import LEFT, Grammar, SearchOptions, Words, make_workspace
from palmette.kernels.tree.lists import forest, list_parses
from palmette.structures.hypergraph import Derivation, Hypergraph
from palmette.structures.tree.model import ParserModel

TRIES = 50  # derivations per tree that are looked at, at most: many make the same tree


class Tree(NamedTuple):
    score: float
    heads: np.ndarray  # i32[n]  from 0, -1: the root
    relations: np.ndarray  # i32[n]  numbers of the model's relations, -1: the root, if its relation is not chosen


def best_trees(
    model: ParserModel, grammar: Grammar, words: Words, s: int, n: int, beam: int, merge: bool
) -> list[Tree]:
    """At most n different trees of sentence s, best first."""
    found: list[Tree] = []
    seen: set[bytes] = set()
    for tries, tree in enumerate(_all_trees(model, grammar, words, s, beam, merge)):
        spelt = tree.heads.tobytes() + tree.relations.tobytes()
        if spelt not in seen:
            seen.add(spelt)
            found.append(tree)
        if len(found) == n or tries > TRIES * n:
            break
    return found


def _all_trees(model: ParserModel, g: Grammar, words: Words, s: int, beam: int, merge: bool) -> Iterator[Tree]:
    """Trees, best first; the same tree may occur again."""
    size = int(words.offset[s + 1] - words.offset[s])
    how = SearchOptions(beam, merge, STANDARD)
    workspace = make_workspace(g, size, how)
    if not merge:
        heads, relations = np.full((beam, size), -1, np.int32), np.full((beam, size), -1, np.int32)
        scores = np.zeros(beam)
        for k in range(list_parses(workspace, g, model.weights, words, s, how, heads, relations, scores)):
            yield Tree(float(scores[k]), heads[k], relations[k])
        return
    edges, scores, word, last, roots, first_shift = forest(workspace, g, model.weights, words, s, how)
    graph = Hypergraph()
    for (x, action, under, over), score in zip(edges.tolist(), scores.tolist(), strict=True):
        graph.add(x, [] if under < 0 else [under, over], score, (action, under, over))
    for x, root in zip(last.tolist(), roots.tolist(), strict=True):
        graph.add("end", [x], float(first_shift), (root, -1, x))
    for found in graph.derivations("end"):
        yield _tree(found, g, word, size)


def _tree(found: Derivation, g: Grammar, word: np.ndarray, n: int) -> Tree:
    heads, relations = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for edge in found.edges():
        action, under, over = edge.label
        if under >= 0:
            s1, s0 = word[under], word[over]
            child, head = (s1, s0) if g.move[action] == LEFT else (s0, s1)
            heads[child], relations[child] = head, g.relation[action]
        elif over >= 0:
            relations[word[over]] = action  # of the last edge: the relation of the root
    return Tree(found.score, heads, relations)
