"""The best derivations of the items of a step, from the forest of a search with merging.

A state x is made of parts, each derived in one of several ways:

    subtree(x)  a shifted word, or an arc between subtree(p) and subtree(q): that of x or of a rival merged with it;
                scores shift(p) + arc(q)
    stack(x)    stack(p) and subtree(x), p being a left state of x: scores shift(p); empty for the first state

All derivations of a part fit into all stacks, since templates cannot distinguish merged states. If no template reads
relations, an arc stands for all arcs of its direction. Every part of a state has a smaller number, so that one loop
over the states makes all lists (Huang & Chiang 2005, Algorithm 2, without its heap): of an edge with parts of ranks i
and j the first (i + 1)(j + 1) combinations are at least as good, so that a list of L needs no others.

Ties: the way that the search found first, then the smaller action, then the better first part.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.parsing.kernels.forms import SHIFT, Derivations, Grammar, States, Weights, Workspace
from palmette.parsing.kernels.search import score_actions
from palmette.parsing.kernels.state import stands_for

OWN = -1  # the edge of a subtree that the search made first; others are numbers of rivals


@part
def list_derivations(workspace: Workspace, g: Grammar, w: Weights, step: int, L: int) -> np.int64:
    """Find the L best derivations of the items after `step` steps; the last vertex lists them. Returns their number."""
    z, b, d = workspace.z, workspace.b, workspace.derivations
    V, last = d.first.size, d.size.size - 1
    states = z.counts[0]
    _index_rivals(z, d, states)
    for v in range(states):
        d.wanted[v], d.wanted[V + v], d.size[v], d.size[V + v] = 0, 0, 0, 0
    for k in range(b.size[step]):
        d.wanted[V + b.items[step, k]] = 1
    _mark_parts(z, d, states)
    scored = -1
    for x in range(states):
        if d.wanted[x]:
            scored = _list_subtrees(workspace, g, w, x, L, scored)
        if d.wanted[V + x]:
            _list_stacks(z, d, x, L)
    d.size[last] = 0
    for k in range(b.size[step]):
        v = V + b.items[step, k]
        for i in range(d.size[v]):
            _insert(d, last, L, d.score[v, i], k, SHIFT, i, 0)
    for i in range(d.size[last]):  # from items to their vertices
        d.edge[last, i] = V + b.items[step, d.edge[last, i]]
    return np.int64(d.size[last])


@part
def _index_rivals(z: States, d: Derivations, states: int) -> None:
    """Chain the rivals of each state, in the order in which they were merged."""
    for x in range(states):
        d.first[x] = -1
    for r in range(z.counts[2] - 1, -1, -1):
        x = z.rival[r, 0]
        d.next[r] = d.first[x]
        d.first[x] = r


@part
def _mark_parts(z: States, d: Derivations, states: int) -> None:
    """Mark all parts of the marked vertices."""
    V = d.first.size
    for x in range(states - 1, 0, -1):
        if d.wanted[V + x]:
            d.wanted[x] = 1
            link = z.first[z.base[x]]
            while link >= 0:
                d.wanted[V + z.link[link, 0]] = 1
                link = z.link[link, 1]
        if d.wanted[x] and z.action[x] != SHIFT:
            edge = OWN
            while True:
                _, p, q = arc_of(z, x, edge)
                d.wanted[p], d.wanted[q] = 1, 1
                edge = d.first[x] if edge == OWN else d.next[edge]
                if edge < 0:
                    break


@inline
def arc_of(z: States, x: int, edge: int) -> tuple[np.int64, np.int64, np.int64]:
    """(action, under, over) of an edge of a subtree."""
    if edge == OWN:
        return np.int64(z.action[x]), np.int64(z.under[x]), np.int64(z.over[x])
    return np.int64(z.rival[edge, 1]), np.int64(z.rival[edge, 2]), np.int64(z.rival[edge, 3])


@part
def _list_subtrees(workspace: Workspace, g: Grammar, w: Weights, x: int, L: int, scored: int) -> int:
    """Fill the list of subtree(x). `scored` is the state whose actions have scores in workspace.out; returns it."""
    z, d, out = workspace.z, workspace.derivations, workspace.out
    if z.action[x] <= SHIFT:
        _insert(d, x, L, 0.0, OWN, SHIFT, 0, 0)
        return scored
    edge = OWN
    while True:
        made, p, q = arc_of(z, x, edge)
        if q != scored:
            score_actions(workspace, g, w, q)
            scored = q
        for action in range(1, g.move.size):
            if stands_for(g, made, action):
                _combine(d, x, L, z.shift[p] + out[action], edge, action, p, q)
        edge = d.first[x] if edge == OWN else d.next[edge]
        if edge < 0:
            return scored


@part
def _list_stacks(z: States, d: Derivations, x: int, L: int) -> None:
    """Fill the list of stack(x); that of the first state is the empty stack."""
    V = d.first.size
    if x == 0:
        _insert(d, V, L, 0.0, OWN, SHIFT, 0, 0)
        return
    link = z.first[z.base[x]]
    while link >= 0:
        p = z.link[link, 0]
        _combine(d, V + x, L, z.shift[p], link, SHIFT, V + p, x)
        link = z.link[link, 1]


@part
def _combine(d: Derivations, v: int, L: int, own: float, edge: int, action: int, one: int, other: int) -> None:
    """Offer all derivations of an edge with the parts `one` and `other` to the list of vertex v."""
    for i in range(d.size[one]):
        for j in range(d.size[other]):
            score = own + d.score[one, i] + d.score[other, j]
            if (i + 1) * (j + 1) > L or (d.size[v] == L and score <= d.score[v, L - 1]):
                break
            _insert(d, v, L, score, edge, action, i, j)


@part
def _insert(d: Derivations, v: int, L: int, score: float, edge: int, action: int, i: int, j: int) -> None:
    """Insert a derivation into the sorted list of vertex v, behind equal ones; the last of a full list falls out."""
    k = d.size[v]
    if k == L:
        if score <= d.score[v, L - 1]:
            return
        k -= 1
    while k > 0 and d.score[v, k - 1] < score:
        d.score[v, k], d.edge[v, k], d.action[v, k] = d.score[v, k - 1], d.edge[v, k - 1], d.action[v, k - 1]
        d.ranks[v, k, 0], d.ranks[v, k, 1] = d.ranks[v, k - 1, 0], d.ranks[v, k - 1, 1]
        k -= 1
    d.score[v, k], d.edge[v, k], d.action[v, k] = score, edge, action
    d.ranks[v, k, 0], d.ranks[v, k, 1] = i, j
    d.size[v] = min(d.size[v] + 1, L)


@part
def read_derivation(workspace: Workspace, rank: int, states: np.ndarray, actions: np.ndarray) -> None:
    """Fill states and actions i32[steps] with those of a derivation of the last vertex, as `trace` does."""
    z, d = workspace.z, workspace.derivations
    V, last, waiting = d.first.size, d.size.size - 1, d.waiting
    waiting[0, 0], waiting[0, 1], size = d.edge[last, rank], d.ranks[last, rank, 0], 1
    while size > 0:
        size -= 1
        v, k = waiting[size, 0], waiting[size, 1]
        if v >= V:
            if v == V:
                continue
            x = v - V
            p = z.link[d.edge[v, k], 0]
            one, other = V + p, x
        else:
            if z.action[v] <= SHIFT:
                continue
            _, p, q = arc_of(z, v, d.edge[v, k])
            states[z.step[q]], actions[z.step[q]] = q, d.action[v, k]
            one, other = p, q
        states[z.step[p]], actions[z.step[p]] = p, SHIFT
        waiting[size, 0], waiting[size, 1] = one, d.ranks[v, k, 0]
        waiting[size + 1, 0], waiting[size + 1, 1] = other, d.ranks[v, k, 1]
        size += 2
