"""Arc-standard states: transitions between them, the atoms that templates read, hidden variants of arcs, and the
derivation of a state.

    SHIFT    push the next word
    LEFT r   the top takes the second as its dependant with relation r:   s1 <-r- s0
    RIGHT r  the second takes the top:                                    s1 -r-> s0

The stack is a linked list of states: the second of a state is the top of its left state. With merging a state
represents several ones that no template distinguishes, and its base has a list of the left states.

With k hidden variants arc a has the actions 1 + (a - 1) k, ..., a k, which make the same arc; the shift, action 0, has
none. Weights of variants would stay alike if they started alike, so those of the features of the first template start
at random numbers within [-size, size], given by a hash of seed, feature and action: they need no memory, and features
that never move are not stored. All other weights start at zero.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.parsing.kernels.forms import (
    BEGIN,
    CELL,
    CHILD,
    CHILD_ACTION,
    CHILDREN,
    DISTANCE,
    LEFT,
    LEFT_SET,
    LEFT_VALENCY,
    N_LEFT,
    N_RIGHT,
    NODE_SIZE,
    Q0,
    RELATION,
    RIGHT_SET,
    RIGHT_VALENCY,
    S2,
    SHIFT,
    VARIANT,
    WORD,
    Grammar,
    States,
    Words,
)

_NONE = np.uint64(0x9E3779B97F4A7C15)  # value of an atom for a missing node
_ODD = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
FARTHEST = 10


@part
def start(z: States, x: int) -> None:
    """Make state x: an empty stack before the first word."""
    z.score[x], z.inside[x], z.shift[x] = 0.0, 0.0, 0.0
    z.front[x], z.step[x] = 0, 0
    for k in range(NODE_SIZE):
        z.node[x, k] = -1
    z.node[x, N_LEFT], z.node[x, N_RIGHT] = 0, 0
    z.sets[x, 0], z.sets[x, 1] = np.uint64(0), np.uint64(0)
    z.left[x], z.base[x], z.first[x] = -1, x, -1
    z.action[x], z.under[x], z.over[x] = -1, -1, -1


@part
def shifted(z: States, x: int, p: int) -> None:
    """Make state x: p with the next word pushed."""
    word = z.front[p]
    for k in range(CHILD, N_LEFT):
        z.node[x, k] = -1
    z.node[x, WORD], z.node[x, BEGIN] = word, word
    z.node[x, N_LEFT], z.node[x, N_RIGHT] = 0, 0
    z.sets[x, 0], z.sets[x, 1] = np.uint64(0), np.uint64(0)
    z.front[x], z.step[x] = word + 1, z.step[p] + 1
    z.left[x], z.base[x], z.first[x] = p, x, -1
    z.action[x], z.under[x], z.over[x] = 0, p, -1
    z.score[x], z.inside[x] = z.score[p] + z.shift[p], 0.0


@part
def reduced(z: States, g: Grammar, x: int, p: int, q: int, action: int) -> None:
    """Make state x: an arc between the top of p and the top of q, whose left state is p. The caller sets scores."""
    relation = g.relation[action]
    left = g.move[action] == LEFT
    head, child = (q, p) if left else (p, q)
    for k in range(NODE_SIZE):
        z.node[x, k] = z.node[head, k]
    z.sets[x, 0], z.sets[x, 1] = z.sets[head, 0], z.sets[head, 1]
    side = 0 if left else 1
    outer = CHILD + 2 * side  # the new child is the outermost one of its side
    z.node[x, outer + 1] = z.node[x, outer]
    z.node[x, outer] = z.node[child, WORD]
    z.node[x, outer + 5] = z.node[x, outer + 4]
    z.node[x, outer + 4] = action
    z.node[x, N_LEFT + side] += 1
    z.sets[x, side] += g.mark[relation]
    z.node[x, BEGIN] = z.node[p, BEGIN]
    z.front[x], z.step[x] = z.front[q], z.step[q] + 1
    z.left[x], z.base[x] = z.left[p], z.base[p]
    z.action[x], z.under[x], z.over[x] = action, p, q


@inline
def _number(value: int) -> np.uint64:
    return np.uint64(value + 2) * _ODD


@part
def read_atoms(z: States, g: Grammar, words: Words, lo: int, n: int, x: int, node: np.ndarray) -> None:
    """Fill atoms[x] with the values of all atoms in state x. node i32[NODES] is scratch space."""
    second = np.int64(z.left[x])
    tops = (np.int64(x), second, np.int64(z.left[second]) if second >= 0 else np.int64(-1))
    for i in range(S2 + 1):
        top = tops[i]
        node[i] = z.node[top, WORD] if top >= 0 else -1
        for k in range(4):
            node[CHILDREN + 4 * i + k] = z.node[top, CHILD + k] if top >= 0 else -1
    for i in range(4):
        node[Q0 + i] = z.front[x] + i if z.front[x] + i < n else -1
    kinds, nodes, columns, cells, atoms = g.kind, g.node, g.column, words.cells, z.atoms
    for m in range(kinds.size):
        kind, at = kinds[m], nodes[m]
        found = _NONE
        if kind == CELL:
            if node[at] >= 0:
                found = cells[columns[m], lo + node[at]]
        elif kind == RELATION:
            if node[at] >= 0:
                place = at - CHILDREN
                found = g.mark[g.relation[z.node[tops[place // 4], CHILD_ACTION + place % 4]]]
        elif kind == VARIANT:
            if node[at] >= 0:
                place = at - CHILDREN
                found = _number(variant_of(g, z.node[tops[place // 4], CHILD_ACTION + place % 4]))
        elif kind == DISTANCE:
            if node[1] >= 0:
                found = _number(min(node[0] - node[1], FARTHEST))
        elif node[at] >= 0:
            top = tops[at]
            if kind == LEFT_VALENCY:
                found = _number(z.node[top, N_LEFT])
            elif kind == RIGHT_VALENCY:
                found = _number(z.node[top, N_RIGHT])
            elif kind == LEFT_SET:
                found = z.sets[top, 0] * _ODD
            elif kind == RIGHT_SET:
                found = z.sets[top, 1] * _ODD
        atoms[x, m] = found


@part
def sign(z: States, g: Grammar, x: int) -> None:
    """Set the signature of state x, from positions and all stack atoms. The position of the top is included: equal
    words at different positions give different trees and distances."""
    h = np.uint64(z.front[x]) * _ODD + np.uint64(z.node[x, BEGIN] + 1)
    h = (h ^ np.uint64(z.node[x, WORD] + 1)) * _NONE
    h ^= h >> _32
    for k in range(g.stack.size):
        h = (h ^ z.atoms[x, g.stack[k]]) * _NONE
        h ^= h >> _32
    z.signature[x] = h


@inline
def _finished(h: np.uint64) -> np.uint64:
    h *= _NONE
    h ^= h >> _32
    return h if h != np.uint64(0) else np.uint64(1)  # 0 marks an empty place


@inline
def feature_key(ptr: np.ndarray, atom: np.ndarray, seed: np.ndarray, atoms: np.ndarray, x: int, t: int) -> np.uint64:
    """The table key of template t in state x."""
    h = seed[t]
    for k in range(ptr[t], ptr[t + 1]):
        h = (h ^ atoms[x, atom[k]]) * _ODD
        h ^= h >> _32
    return _finished(h)


@part
def feature_keys(g: Grammar, row: np.ndarray, keys: np.ndarray) -> None:
    """The keys u64[T] of all templates in a state with the atoms u64[M]. The atoms of the templates follow each other;
    places are unsigned, since compiled code checks others for being negative."""
    ptr, atom, seed = g.ptr, g.atom, g.seed
    k = np.uint64(0)
    for t in range(np.uint64(seed.size)):
        h, end = seed[t], np.uint64(ptr[t + np.uint64(1)])
        while k < end:
            h = (h ^ row[np.uint64(atom[k])]) * _ODD
            h ^= h >> _32
            k += np.uint64(1)
        keys[t] = _finished(h)


@inline
def depth(z: States, x: int) -> int:
    """The number of words on the stack: each reduction removes one."""
    return 2 * z.front[x] - z.step[x]


# --- hidden variants -----------------------------------------------------------------------------------------


_MIX = np.uint64(0x9E3779B97F4A7C15)
_40 = np.uint64(40)
_UNIT = 1.0 / (1 << 23)


@inline
def variant_of(g: Grammar, action: int) -> np.int64:
    """The variant of an arc, from 0."""
    return (np.int64(action) - 1) % g.variants


@inline
def same_arc(g: Grammar, one: int, other: int) -> bool:
    """Whether two actions are the same but for their variants."""
    return one == other or (one > 0 and other > 0 and (one - 1) // g.variants == (other - 1) // g.variants)


@part
def add_start(g: Grammar, key: np.uint64, out: np.ndarray) -> None:
    """out[action] += the number that the weight of (feature, action) starts from, for each arc."""
    seeded = (key ^ np.uint64(g.start_seed + 1) * _MIX) * _ODD
    for a in range(1, g.move.size):
        h = (seeded ^ np.uint64(a)) * _MIX
        h = (h ^ (h >> _32)) * _ODD
        out[a] += np.float32(g.start_size * ((h >> _40) * _UNIT - 1.0))


# --- the derivation of a state -------------------------------------------------------------------------------


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
