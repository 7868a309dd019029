"""The derivation of a state: its arcs, states and actions."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import part
from palmette.parsing.kernels.forms import LEFT, SHIFT, WORD, Grammar, States


@part
def read_arcs(z: States, g: Grammar, x: int, heads: np.ndarray, relations: np.ndarray, waiting: np.ndarray) -> None:
    """Write the arcs below the top of state x to heads i32[n] (from 0) and relations i32[n]; others are unchanged."""
    waiting[0], size = x, 1
    while size > 0:
        size -= 1
        y = waiting[size]
        if z.action[y] > SHIFT:
            p, q = z.under[y], z.over[y]
            s1, s0 = z.node[p, WORD], z.node[q, WORD]
            if g.move[z.action[y]] == LEFT:
                heads[s1], relations[s1] = s0, g.relation[z.action[y]]
            else:
                heads[s0], relations[s0] = s1, g.relation[z.action[y]]
            waiting[size], waiting[size + 1] = p, q
            size += 2


@part
def trace(z: States, x: int, states: np.ndarray, actions: np.ndarray, waiting: np.ndarray) -> None:
    """Fill states and actions i32[steps]: the state before each step of the best derivation of x, and its action. Each
    state stores its step, so that the order of the traversal does not matter."""
    top = x
    while top >= 0:
        waiting[0], size = top, 1
        while size > 0:
            size -= 1
            y = waiting[size]
            if z.action[y] > SHIFT:
                p, q = z.under[y], z.over[y]
                states[z.step[q]], actions[z.step[q]] = q, z.action[y]
                states[z.step[p]], actions[z.step[p]] = p, SHIFT
                waiting[size], waiting[size + 1] = p, q
                size += 2
        top = z.left[top]
        if top >= 0:
            states[z.step[top]], actions[z.step[top]] = top, SHIFT


@part
def stands_for(g: Grammar, made: int, action: int) -> bool:
    """Whether a derivation step represents an action: its own; and if no template reads relations, all arcs of its
    direction, since the search keeps only the best of them."""
    if g.reads_relations or made == SHIFT:
        return action == made
    return g.move[action] == g.move[made]
